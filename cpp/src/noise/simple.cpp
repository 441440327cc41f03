// SPDX-License-Identifier: Apache-2.0
// Identity and running sum.
#include <cmath>

#include "dpftrl/gaussian.hpp"
#include "noise/program.hpp"

namespace dpftrl::noise {
namespace {

class IdentityProgram final : public Program {
 public:
  IdentityProgram(const ProgramOptions& options, SlotAllocator& slots)
      : first_measurement_(options.first_measurement), row_(slots.scratch()) {}

  Slot emit(std::int64_t step, Plan& plan) override {
    plan.draw(row_, first_measurement_ + step);
    return row_;
  }
  Bound bound(std::int64_t) override { return {kNormalErrorBound, kTail}; }
  std::int64_t period() const override { return 1; }

 private:
  std::int64_t first_measurement_;
  Slot row_;
};

class RunningSumProgram final : public Program {
 public:
  RunningSumProgram(const ProgramOptions& options, SlotAllocator& slots)
      : first_measurement_(options.first_measurement),
        step_error_(step_error(options.precision)),
        fresh_(slots.scratch()),
        total_(slots.state()) {}

  Slot emit(std::int64_t step, Plan& plan) override {
    plan.draw(fresh_, first_measurement_ + step);
    plan.add(total_, total_, fresh_);
    return total_;
  }
  Bound bound(std::int64_t step) override {
    const double num_terms = static_cast<double>(step + 1);
    const double magnitude = kTail * std::sqrt(num_terms);
    return {num_terms * (kNormalErrorBound + step_error_ * 2 * magnitude), magnitude};
  }
  std::int64_t period() const override { return 1; }

 private:
  std::int64_t first_measurement_;
  double step_error_;
  Slot fresh_;
  Slot total_;
};

}  // namespace

ProgramPointer make(const ProgramOptions& options, const IdentityDecoder&, SlotAllocator& slots) {
  return std::make_unique<IdentityProgram>(options, slots);
}
ProgramPointer make(const ProgramOptions& options, const RunningSumDecoder&, SlotAllocator& slots) {
  return std::make_unique<RunningSumProgram>(options, slots);
}

}  // namespace dpftrl::noise
