// SPDX-License-Identifier: Apache-2.0
#include "noise/programs/window.hpp"

#include <utility>

namespace dpftrl::noise {

Window::Window(const ProgramOptions& options, const DecoderForm& form)
    : options_(options), form_(form) {
  if (options.precision == Precision::plain) {
    PrecisionChoice choice = choose_precision(options, form);
    options_.precision = choice.precision;
    all_bounds_ = std::move(choice.bounds);
  }
  program_ = make_program(options_, form, slots_);
  period_ = program_->period();
  shape_ = program_->shape();
}

void Window::prepare(std::int64_t first_step, std::int64_t steps) {
  first_step_ = first_step;
  steps_ = steps;
  if (period_ == 0) {
    if (!std::exchange(has_resumed_, false)) operations_.clear();
    for (std::int64_t i = 0; i < steps; ++i) emit(first_step + i);
  } else {
    for (; num_emitted_ < std::min(period_, first_step + steps); ++num_emitted_) emit(num_emitted_);
  }
  if (period_ > 0 && options_.precision != Precision::single) {
    bounds_.clear();
    for (std::int64_t i = 0; i < steps; ++i) append_bound(first_step + i);
  }
}

void Window::resume(std::int64_t step) {
  operations_.clear();
  num_emitted_ = 0;
  has_resumed_ = period_ == 0 && step > 0;
  if (step > 0 && program_) {
    program_->resume(step, operations_);
    return;
  }
  program_.reset();
  slots_ = {};
  num_state_ = num_scratch_ = 0;
  program_ = make_program(options_, form_, slots_);
  if (step > 0) program_->resume(step, operations_);
}

void Window::append_bound(std::int64_t step) {
  if (all_bounds_.empty()) bounds_.push_back(program_->bound(step));
}

void Window::emit(std::int64_t step) {
  const std::size_t begin = operations_.steps() == 0 ? 0 : operations_.all().size();
  operations_.finish(program_->emit(step, operations_));
  for (const Operation& operation : operations_.all().subspan(begin)) {
    std::size_t& count = operation.target.is_scratch ? num_scratch_ : num_state_;
    count = std::max(count, static_cast<std::size_t>(operation.target.index) + 1);
    for (const Term& term : operations_.terms(operation))
      if (!term.slot.is_scratch)
        num_state_ = std::max(num_state_, static_cast<std::size_t>(term.slot.index) + 1);
  }
  if (period_ == 0 && options_.precision != Precision::single) {
    if (operations_.steps() == 1) bounds_.clear();
    append_bound(step);
  }
}

std::int64_t Window::measurement_shift(std::int64_t i) const {
  if (period_ <= 1) return period_ * (first_step_ + i);
  return (first_step_ + i) / period_ * period_;
}

}  // namespace dpftrl::noise
