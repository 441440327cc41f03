// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Makes the rows of a form in order, a window of steps at a time, and hands them out one by one.

#include <algorithm>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "noise/programs/engine.hpp"

namespace dpftrl::noise {

template <class Value>
class CopySink final : public Sink<Value> {
 public:
  CopySink(std::span<Value> rows, std::size_t dimension) : rows_(rows), dimension_(dimension) {}
  void take(std::int64_t i, std::size_t first, std::span<const Value> values) override {
    const std::size_t begin = static_cast<std::size_t>(i) * dimension_ + first;
    std::copy(values.begin(), values.end(), rows_.data() + begin);
  }
  void expect(std::int64_t i, std::size_t first, std::size_t count) override {
    fetch(rows_.data() + static_cast<std::size_t>(i) * dimension_ + first, count * sizeof(Value));
  }
  Value* rows() override { return rows_.data(); }

 private:
  std::span<Value> rows_;
  std::size_t dimension_;
};

template <class Value>
class RowMaker {
 public:
  RowMaker(const ProgramOptions& options, const DecoderForm& form)
      : form_(form), window_(options, form), machine_(make_machine(window_)) {}

  /// Makes row `step` the next one, with the same bits as without seeking. Also recovers after
  /// memory ran out.
  void seek(std::int64_t step) {
    const bool is_buffered = step <= step_ && step_ - step <= num_buffered_;
    if (is_intact_ && is_buffered)
      first_buffered_ = num_buffered_ - (step_ - step);
    else
      go_to(step);
  }

  /// Appends the state before some step up to `step`, and returns that step. Appends nothing if the
  /// form needs no state; otherwise the maker keeps the state before every window from now on.
  std::int64_t write_state(std::int64_t step, std::vector<std::byte>& out) {
    if (resume_point(form_, step) == step) return step;
    keeps_states_ = true;
    if (!is_intact_ || (step_ != step && !(0 <= kept_step_ && kept_step_ <= step))) go_to(step);
    if (step_ == step) {
      append_state(out);
      return step;
    }
    out.insert(out.end(), kept_state_.begin(), kept_state_.end());
    return kept_step_;
  }

  /// Restores the state of the step that write_state returned.
  /// @throws Error{bad_state} the size does not fit the slots in use; seek recovers from this.
  void read_state(std::int64_t step, std::span<const std::byte> bytes) {
    is_intact_ = false;
    kept_step_ = last_bound_ = -1;
    first_buffered_ = num_buffered_ = 0;
    if (resume_point(form_, step) == step) {
      go_to(step);
      return;
    }
    // The state that a program keeps besides its slots depends on the steps alone.
    window_.resume(0);
    for (std::int64_t done = 0; done < step; done += window_.steps())
      window_.prepare(done, std::min(step - done, max_window()));
    require_slots(bytes);
    std::visit([&](auto& machine) { machine.read_state(bytes); }, machine_);
    step_ = step;
    is_intact_ = true;
  }

  /// Rows made but not yet handed out.
  std::int64_t buffered() const { return num_buffered_ - first_buffered_; }

  /// Writes the next rows, which must exist.
  void next_rows(std::span<Value> rows, std::int64_t num_rows) {
    const std::int64_t from_buffer = std::min(num_rows, buffered());
    std::copy_n(buffered_row(), static_cast<std::size_t>(from_buffer) * dimension(), rows.data());
    first_buffered_ += from_buffer;
    if (from_buffer > 0) last_bound_ = first_buffered_ - 1;
    for (std::int64_t done = from_buffer; done < num_rows;) {
      const std::int64_t count = std::min(num_rows - done, max_window());
      CopySink<Value> sink(rows.subspan(static_cast<std::size_t>(done) * dimension()), dimension());
      make(count, sink);
      done += count;
    }
  }

  /// Writes one row, from a buffer of several.
  void next(std::span<Value> row) {
    if (buffered() == 0) {
      // Makes at most as many rows at once as were handed out before.
      const std::int64_t count = std::min(
          {max_window(), std::max<std::int64_t>(1, step_), window_.options().num_rows - step_});
      buffer_.resize(static_cast<std::size_t>(count) * dimension());
      CopySink<Value> sink(buffer_, dimension());
      make(count, sink);
      first_buffered_ = 0;
      num_buffered_ = count;
    }
    next_rows(row, 1);
  }

  /// Runs the next num_rows <= max_window() steps, bypassing the buffer, which must be empty.
  void make(std::int64_t num_rows, Sink<Value>& sink) {
    if (keeps_states_) keep_state();
    is_intact_ = false;
    window_.prepare(step_, num_rows);
    std::visit([&](auto& machine) { machine.run(window_, sink); }, machine_);
    is_intact_ = true;
    step_ += num_rows;
    first_buffered_ = num_buffered_ = 0;
    last_bound_ = num_rows - 1;
  }

  std::int64_t max_window() const {
    constexpr std::size_t kMaxValues = std::size_t{1} << 23;
    const std::size_t most = dimension() <= 64 ? 64 : 16;
    return static_cast<std::int64_t>(std::clamp<std::size_t>(kMaxValues / dimension(), 1, most));
  }
  std::size_t dimension() const { return width_of(window_.options()); }
  const Window& window() const { return window_; }
  /// Whether a row was handed out since the start or the last seek.
  bool has_row() const { return last_bound_ >= 0; }
  /// Bound of the row handed out last.
  const Bound& last_bound() const { return window_.bound(last_bound_); }
  const Value* buffered_row() const {
    return buffer_.data() + static_cast<std::size_t>(first_buffered_) * dimension();
  }

 private:
  void go_to(std::int64_t step) {
    first_buffered_ = num_buffered_ = 0;
    const std::int64_t start = resume_point(form_, step);
    if (!is_intact_ || step < step_ || start > step_) {
      is_intact_ = false;
      window_.resume(start);
      if (start == 0) std::visit([](auto& machine) { machine.clear(); }, machine_);
      step_ = start;
      is_intact_ = true;
    }
    NullSink sink;
    while (step_ < step) make(std::min(step - step_, max_window()), sink);
    last_bound_ = -1;
  }

  void keep_state() {
    kept_step_ = -1;
    kept_state_.clear();
    if (resume_point(form_, step_) != step_) append_state(kept_state_);
    kept_step_ = step_;
  }

  void append_state(std::vector<std::byte>& out) const {
    const std::size_t num_slots = window_.num_slots_in_use();
    std::visit([&](const auto& machine) { machine.write_state(num_slots, out); }, machine_);
  }

  /// Bytes of one slot.
  std::size_t state_bytes() const {
    const std::size_t parts = is_extended(window_.precision()) ? 2 : 1;
    return dimension() * sizeof(Value) * parts;
  }

  /// Checks the size of a state of the step up to which the window is prepared. It may include
  /// slots of longer earlier blocks, which no step reads.
  void require_slots(std::span<const std::byte> bytes) const {
    const std::size_t least = window_.num_slots_in_use() * state_bytes();
    const std::size_t most = window_.num_state() * state_bytes();
    const bool are_whole = bytes.size() % state_bytes() == 0;
    if (are_whole && least <= bytes.size() && bytes.size() <= most) return;
    const auto text = [](std::size_t size) { return to_text(static_cast<std::int64_t>(size)); };
    fail(ErrorCode::bad_state, "noise_stream", "checkpoint",
         "must contain " + text(least) + " bytes of state", text(bytes.size()));
  }

  class NullSink final : public Sink<Value> {
    void take(std::int64_t, std::size_t, std::span<const Value>) override {}
  };
  using Machines = std::conditional_t<std::is_same_v<Value, float>, std::variant<Machine<float>>,
                                      std::variant<Machine<double>, Machine<DoubleDouble>>>;

  static Machines make_machine(const Window& window) {
    if constexpr (std::is_same_v<Value, double>)
      if (is_extended(window.precision())) return Machine<DoubleDouble>(window.options());
    return Machine<Value>(window.options());
  }

  const DecoderForm& form_;
  Window window_;
  Machines machine_;
  std::int64_t step_ = 0;
  bool keeps_states_ = false;
  std::int64_t kept_step_ = -1;
  std::vector<std::byte> kept_state_;
  bool is_intact_ = true;  ///< false while a step is incomplete; seek recovers
  std::vector<Value> buffer_;
  std::int64_t first_buffered_ = 0;
  std::int64_t num_buffered_ = 0;
  std::int64_t last_bound_ = -1;
};

}  // namespace dpftrl::noise
