// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Consecutive steps of a program, with their operations, draws and error bounds.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "noise/programs/program.hpp"

namespace dpftrl::noise {

class Window {
 public:
  /// If the options request plain precision, choose_precision decides.
  /// @throws Error{resource_exhausted} noise generated in advance would need more than 1 GiB.
  Window(const ProgramOptions& options, const DecoderForm& form);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  Precision precision() const { return options_.precision; }
  const ProgramOptions& options() const { return options_; }

  /// Prepares steps first_step .. first_step + steps - 1; windows follow each other without
  /// gaps.
  void prepare(std::int64_t first_step, std::int64_t steps);
  /// Makes the next window begin at `step`, which is 0 or a result of resume_point. At 0, every
  /// state slot must be 0. Must be called again if memory runs out, here or in `prepare`.
  void resume(std::int64_t step);
  std::int64_t steps() const { return steps_; }
  std::span<const Operation> operations(std::int64_t i) const {
    return operations_.step(in_period(i));
  }
  /// The measurements drawn, without the shift.
  std::span<const std::int64_t> draws(std::int64_t i) const {
    return operations_.draws(in_period(i));
  }
  std::span<const Term> terms(const Operation& operation) const {
    return operations_.terms(operation);
  }
  /// Shift of the measurements of these operations.
  std::int64_t measurement_shift(std::int64_t i) const;
  const Bound& bound(std::int64_t i) const {
    return all_bounds_.empty() ? bounds_[static_cast<std::size_t>(i)]
                               : all_bounds_[static_cast<std::size_t>(first_step_ + i)];
  }
  const StepOperations& all_operations() const { return operations_; }
  std::int64_t first_step() const { return first_step_; }
  /// See Program::shape.
  const std::optional<StepShape>& shape() const { return shape_; }
  /// Whether steps repeat, so that the list of operations only grows.
  bool is_periodic() const { return period_ > 0; }
  /// Slots that the operations refer to.
  std::size_t num_state() const { return num_state_; }
  std::size_t num_scratch() const { return num_scratch_; }
  /// State slots that later steps may read. They depend on the last prepared step alone;
  /// num_state() may also count slots of longer earlier blocks.
  std::size_t num_slots_in_use() const {
    return std::min(num_state_, static_cast<std::size_t>(slots_.num_state()));
  }

 private:
  void emit(std::int64_t step);
  void append_bound(std::int64_t step);
  /// Index of step i of the window in the operations.
  std::size_t in_period(std::int64_t i) const {
    if (period_ == 1) return 0;
    return static_cast<std::size_t>(period_ == 0 ? i : (first_step_ + i) % period_);
  }

  ProgramOptions options_;
  const DecoderForm& form_;
  SlotAllocator slots_;
  ProgramPointer program_;
  std::optional<StepShape> shape_;
  std::int64_t period_ = 0;  ///< period of the program
  std::int64_t first_step_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t num_emitted_ = 0;
  bool has_resumed_ = false;  ///< the operations begin with what Program::resume appended
  StepOperations operations_;
  std::vector<Bound> all_bounds_;  ///< bounds of every row, if known in advance
  std::vector<Bound> bounds_;      ///< otherwise bounds of the rows of the window
  std::size_t num_state_ = 0;
  std::size_t num_scratch_ = 0;
};

}  // namespace dpftrl::noise
