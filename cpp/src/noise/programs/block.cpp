// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "noise/programs/program.hpp"

namespace dpftrl::noise {
namespace {

/// Runs one program at a time and keeps the sum of the totals of completed blocks. Successive
/// blocks reuse the same slots.
class BlockProgram final : public Program {
 public:
  BlockProgram(const ProgramOptions& options, const BlockDecoder& decoder, SlotAllocator& slots)
      : options_(options),
        blocks_(decoder.blocks),
        first_measurement_(options.first_measurement),
        slots_(slots),
        carry_(slots.state()),
        closing_(slots.state()),
        row_(slots.scratch()),
        shared_(slots) {}

  Slot emit(std::int64_t step, StepOperations& operations) override {
    if (step - first_step_ == block().steps) complete_block(operations);
    if (!program_) start_block(0, operations);
    const Slot own = emit_own(step - first_step_, operations);
    operations.combine(row_, {Term{{1, 0}, carry_}, Term{{1, 0}, own}});
    bound_ = with_own(own_bound_);
    return row_;
  }

  void resume(std::int64_t step, StepOperations& operations) override {
    program_.reset();
    current_ = 0;
    first_step_ = 0;
    first_measurement_ = options_.first_measurement;
    carry_bound_ = {};
    operations.set_zero(carry_);
    while (current_ < blocks_.size() && step - first_step_ >= block().steps) {
      start_block(block().closing_row, operations);
      emit_own(block().closing_row, operations);
      leave_block(operations);
    }
    if (step > first_step_) start_block(step - first_step_, operations);
  }

  Bound bound(std::int64_t) override { return bound_; }

 private:
  const BlockDecoder::Block& block() const { return blocks_[current_]; }

  /// Starts the current block at its own row `step`.
  void start_block(std::int64_t step, StepOperations& operations) {
    ProgramOptions options = options_;
    options.num_rows = std::max(block().steps, block().closing_row + 1);
    options.first_measurement = first_measurement_;
    slots_ = shared_;
    const std::int32_t first = slots_.num_state();
    program_ = make_program(options, *block().form, slots_);
    for (std::int32_t index = first; index < slots_.num_state(); ++index)
      operations.set_zero({index, false});
    if (step > 0) program_->resume(step, operations);
  }

  /// Emits the next row of the block's form, and keeps a copy of the closing row.
  Slot emit_own(std::int64_t step, StepOperations& operations) {
    const Slot row = program_->emit(step, operations);
    own_bound_ = program_->bound(step);
    if (step == block().closing_row) {
      operations.copy(closing_, row);
      closing_bound_ = own_bound_;
    }
    return row;
  }

  /// Bound of carry + row.
  Bound with_own(const Bound& own) const {
    const double magnitude = carry_bound_.magnitude + own.magnitude;
    return {carry_bound_.error + own.error + step_error(options_.precision) * 2 * magnitude,
            magnitude};
  }

  void complete_block(StepOperations& operations) {
    for (std::int64_t t = block().steps; t <= block().closing_row; ++t) emit_own(t, operations);
    leave_block(operations);
  }

  void leave_block(StepOperations& operations) {
    operations.combine(carry_, {Term{{1, 0}, carry_}, Term{{1, 0}, closing_}});
    carry_bound_ = with_own(closing_bound_);
    first_step_ += block().steps;
    first_measurement_ += block().num_measurements;
    program_.reset();
    ++current_;
  }

  ProgramOptions options_;
  const std::vector<BlockDecoder::Block>& blocks_;
  std::size_t current_ = 0;
  std::int64_t first_step_ = 0;
  std::int64_t first_measurement_;
  SlotAllocator& slots_;
  Slot carry_;
  Slot closing_;
  Slot row_;
  SlotAllocator shared_;  ///< state of slots_ before the first block
  ProgramPointer program_;
  Bound own_bound_;
  Bound closing_bound_;
  Bound carry_bound_;
  Bound bound_;
};

}  // namespace

ProgramPointer make(const ProgramOptions& options, const BlockDecoder& decoder,
                    SlotAllocator& slots) {
  return std::make_unique<BlockProgram>(options, decoder, slots);
}

}  // namespace dpftrl::noise
