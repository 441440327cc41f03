// SPDX-License-Identifier: Apache-2.0
// Identity, running sum, and sums of the last few normals.
#include <algorithm>
#include <cmath>
#include <vector>

#include "noise/programs/program.hpp"
#include "random/gaussian.hpp"

namespace dpftrl::noise {
namespace {

class IdentityProgram final : public Program {
 public:
  IdentityProgram(const ProgramOptions& options, SlotAllocator& slots)
      : first_measurement_(options.first_measurement),
        normal_error_(normal_error(options.precision)),
        row_(slots.scratch()) {}

  Slot emit(std::int64_t step, StepOperations& operations) override {
    operations.draw(row_, first_measurement_ + step);
    return row_;
  }
  Bound bound(std::int64_t) override { return {normal_error_, kTail}; }
  std::int64_t period() const override { return 1; }

 private:
  std::int64_t first_measurement_;
  double normal_error_;
  Slot row_;
};

class RunningSumProgram final : public Program {
 public:
  RunningSumProgram(const ProgramOptions& options, SlotAllocator& slots)
      : first_measurement_(options.first_measurement),
        normal_error_(normal_error(options.precision)),
        step_error_(step_error(options.precision)),
        fresh_(slots.scratch()),
        total_(slots.state()) {}

  Slot emit(std::int64_t step, StepOperations& operations) override {
    operations.draw(fresh_, first_measurement_ + step);
    operations.add(total_, total_, fresh_);
    return total_;
  }
  Bound bound(std::int64_t step) override {
    const double num_terms = static_cast<double>(step + 1);
    const double magnitude = kTail * std::sqrt(num_terms);
    return {num_terms * (normal_error_ + step_error_ * 2 * magnitude), magnitude};
  }
  std::int64_t period() const override { return 1; }

 private:
  std::int64_t first_measurement_;
  double normal_error_;
  double step_error_;
  Slot fresh_;
  Slot total_;
};

/// Keeps no state, and draws its normals into scratch afresh for every row.
class MovingSumProgram final : public Program {
 public:
  MovingSumProgram(const ProgramOptions& options, const MovingSumDecoder& decoder,
                   SlotAllocator& slots)
      : first_measurement_(options.first_measurement),
        normal_error_(normal_error(options.precision)),
        relative_(
            combine_error(options.precision, static_cast<double>(decoder.coefficients.size()))),
        coefficients_(decoder.coefficients) {
    for (const double g : coefficients_) {
      normals_.push_back(slots.scratch());
      sum_ += std::abs(g);
      squares_ += g * g;
    }
    row_ = slots.scratch();
  }

  Slot emit(std::int64_t step, StepOperations& operations) override {
    const std::int64_t num_terms = std::min<std::int64_t>(std::ssize(coefficients_), step + 1);
    terms_.clear();
    for (std::int64_t lag = 0; lag < num_terms; ++lag) {
      const auto i = static_cast<std::size_t>(lag);
      operations.draw(normals_[i], first_measurement_ + step - lag);
      terms_.push_back({{coefficients_[i], 0}, normals_[i]});
    }
    operations.combine(row_, terms_);
    return row_;
  }
  /// Also holds for the first rows, which have fewer terms.
  Bound bound(std::int64_t) override {
    return {sum_ * (normal_error_ + relative_ * kNormalMax), kTail * std::sqrt(squares_)};
  }

 private:
  std::int64_t first_measurement_;
  double normal_error_;
  double relative_;  ///< error relative to the magnitudes of the terms
  const std::vector<double>& coefficients_;
  double sum_ = 0;  ///< sum of the coefficients' magnitudes
  double squares_ = 0;
  std::vector<Slot> normals_;
  Slot row_{};
  std::vector<Term> terms_;
};

}  // namespace

ProgramPointer make(const ProgramOptions& options, const MovingSumDecoder& decoder,
                    SlotAllocator& slots) {
  return std::make_unique<MovingSumProgram>(options, decoder, slots);
}
ProgramPointer make(const ProgramOptions& options, const IdentityDecoder&, SlotAllocator& slots) {
  return std::make_unique<IdentityProgram>(options, slots);
}
ProgramPointer make(const ProgramOptions& options, const RunningSumDecoder&, SlotAllocator& slots) {
  return std::make_unique<RunningSumProgram>(options, slots);
}

}  // namespace dpftrl::noise
