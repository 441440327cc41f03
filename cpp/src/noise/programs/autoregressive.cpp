// SPDX-License-Identifier: Apache-2.0
// One common offset and an autoregression: row t = offset z_0 + x_t.
#include <cmath>

#include "noise/programs/program.hpp"
#include "random/gaussian.hpp"

namespace dpftrl::noise {
namespace {

/// Keeps the offset's normal, drawn in step 0, and x.
class AutoregressiveProgram final : public Program {
 public:
  AutoregressiveProgram(const ProgramOptions& options, const AutoregressiveDecoder& decoder,
                        SlotAllocator& slots)
      : first_measurement_(options.first_measurement),
        normal_error_(normal_error(options.precision)),
        relative_(combine_error(options.precision, 2)),
        offset_(std::abs(decoder.offset)),
        innovation_(std::abs(decoder.innovation)),
        decoder_(decoder),
        common_(slots.state()),
        x_(slots.state()),
        fresh_(slots.scratch()),
        row_(slots.scratch()) {}

  Slot emit(std::int64_t step, StepOperations& operations) override {
    if (step == 0) {
      operations.draw(common_, first_measurement_);
      operations.draw(x_, first_measurement_ + 1);
    } else {
      operations.draw(fresh_, first_measurement_ + step + 1);
      operations.combine(x_,
                         {Term{{decoder_.decay, 0}, x_}, Term{{decoder_.innovation, 0}, fresh_}});
    }
    operations.combine(row_, {Term{{decoder_.offset, 0}, common_}, Term{{1, 0}, x_}});
    return row_;
  }

  Bound bound(std::int64_t step) override {
    if (step < num_steps_ - 1) num_steps_ = 0;
    for (; num_steps_ <= step; ++num_steps_) advance();
    const double x = kTail * std::sqrt(variance_);
    const double rounding = relative_ * (offset_ * kNormalMax + x);
    return {offset_ * normal_error_ + error_ + rounding,
            kTail * std::sqrt(offset_ * offset_ + variance_)};
  }

 private:
  /// Updates the error and the variance of x by one step.
  void advance() {
    if (num_steps_ == 0) {
      error_ = normal_error_;
      variance_ = 1;
      return;
    }
    const double decay = decoder_.decay;
    const double terms = decay * kTail * std::sqrt(variance_) + innovation_ * kNormalMax;
    error_ = decay * error_ + innovation_ * normal_error_ + relative_ * terms;
    variance_ = decay * decay * variance_ + innovation_ * innovation_;
  }

  std::int64_t first_measurement_;
  double normal_error_;
  double relative_;  ///< error relative to the magnitudes of the two terms of a sum
  double offset_;
  double innovation_;
  AutoregressiveDecoder decoder_;
  Slot common_;
  Slot x_;
  Slot fresh_;
  Slot row_;
  std::int64_t num_steps_ = 0;  ///< number of steps that error_ and variance_ cover
  double error_ = 0;
  double variance_ = 0;
};

}  // namespace

ProgramPointer make(const ProgramOptions& options, const AutoregressiveDecoder& decoder,
                    SlotAllocator& slots) {
  return std::make_unique<AutoregressiveProgram>(options, decoder, slots);
}

}  // namespace dpftrl::noise
