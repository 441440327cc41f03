// SPDX-License-Identifier: Apache-2.0
// Identity and running sum.
#include "double_double.hpp"
#include "dpftrl/gaussian.hpp"
#include "noise/kernel.hpp"

namespace dpftrl::noise {
namespace {

class IdentityKernel final : public Kernel {
 public:
  explicit IdentityKernel(const KernelOptions& options) : options_(options) {}

  void write_row(std::int64_t step, std::span<double> row) override {
    fill_measurement(options_, step, row);
  }
  RowErrorBound error_bound() const override { return {kNormalErrorBound, 0}; }

 private:
  KernelOptions options_;
};

/// Sums in double-double, so that the error of a million additions stays that of the normals.
class RunningSumKernel final : public Kernel {
 public:
  explicit RunningSumKernel(const KernelOptions& options)
      : options_(options), sums_(width_of(options)) {}

  void write_row(std::int64_t step, std::span<double> row) override {
    fill_measurement(options_, step, row);
    for (std::size_t i = 0; i < row.size(); ++i) {
      sums_[i] = add(sums_[i], row[i]);
      row[i] = sums_[i].high;
    }
    num_terms_ = static_cast<double>(step + 1);
  }

  RowErrorBound error_bound() const override {
    const double accumulation =
        4 * kUnitRoundoff * kUnitRoundoff * num_terms_ * num_terms_ * kNormalMax;
    return {(num_terms_ * kNormalErrorBound + accumulation) * kSlack, kUnitRoundoff};
  }

 private:
  KernelOptions options_;
  std::vector<DoubleDouble> sums_;
  double num_terms_ = 0;
};

}  // namespace

KernelPointer make(const KernelOptions& options, const IdentityDecoder&) {
  return std::make_unique<IdentityKernel>(options);
}
KernelPointer make(const KernelOptions& options, const RunningSumDecoder&) {
  return std::make_unique<RunningSumKernel>(options);
}

}  // namespace dpftrl::noise
