// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "dpftrl/gaussian.hpp"
#include "noise/kernel.hpp"
#include "noise/rows.hpp"

namespace dpftrl::noise {
namespace {

/// One kernel at a time, and the sum of what the completed blocks left.
class BlockKernel final : public Kernel {
 public:
  BlockKernel(const KernelOptions& options, const BlockDecoder& decoder)
      : options_(options),
        blocks_(decoder.blocks),
        carry_(width_of(options)),
        sum_(width_of(options)),
        closing_row_(width_of(options)) {}

  void write_row(std::int64_t step, std::span<double> row) override {
    if (step - first_step_ == block().num_steps) complete_block(row);
    if (!kernel_) kernel_ = make_kernel(options_of_block(), *block().form);
    write_own_row(step - first_step_, row);
    const double scale = block().scale;
    sum_ = carry_;
    add_product(sum_, {scale, 0}, row);
    normalize(sum_);
    const double largest = max_magnitude(row);
    std::copy(sum_.high.begin(), sum_.high.end(), row.begin());
    error_ = carry_error_ + scaled_error(scale, kernel_->error_bound(), largest);
  }

  RowErrorBound error_bound() const override { return {error_ * kSlack, kUnitRoundoff}; }

 private:
  const BlockDecoder::Block& block() const { return blocks_[current_]; }

  KernelOptions options_of_block() const {
    KernelOptions options = options_;
    options.num_rows = std::max(block().num_steps, block().closing_row + 1);
    options.first_measurement = first_measurement_;
    return options;
  }

  /// The next row of the block's own form; the closing one is kept.
  void write_own_row(std::int64_t step, std::span<double> row) {
    kernel_->write_row(step, row);
    if (step != block().closing_row) return;
    std::copy(row.begin(), row.end(), closing_row_.begin());
    closing_bound_ = kernel_->error_bound();
  }

  /// Error of carry + scale * row: that of the row, and the rounding of the product and the sum.
  double scaled_error(double scale, const RowErrorBound& bound, double largest) const {
    const double magnitude = max_magnitude(carry_.high) + std::abs(scale) * largest;
    return std::abs(scale) * (bound.absolute + bound.relative * largest) +
           product_sum_error(1) * magnitude;
  }

  void complete_block(std::span<double> scratch) {
    double scale = block().scale;
    if (block().closing_row < 0) {
      scale = block().total_scale;
      KernelOptions options = options_;
      options.first_measurement = first_measurement_;
      fill_measurement(options, block().num_measurements, closing_row_);
      closing_bound_ = {kNormalErrorBound, 0};
    }
    for (std::int64_t t = block().num_steps; t <= block().closing_row; ++t)
      write_own_row(t, scratch);
    carry_error_ += scaled_error(scale, closing_bound_, max_magnitude(closing_row_));
    add_product(carry_, {scale, 0}, closing_row_);
    normalize(carry_);
    first_step_ += block().num_steps;
    first_measurement_ += block().num_measurements + (block().closing_row < 0 ? 1 : 0);
    kernel_.reset();
    ++current_;
  }

  KernelOptions options_;
  const std::vector<BlockDecoder::Block>& blocks_;
  std::size_t current_ = 0;
  std::int64_t first_step_ = 0;
  std::int64_t first_measurement_ = options_.first_measurement;
  KernelPointer kernel_;
  DoubleDoubles carry_;
  double carry_error_ = 0;
  DoubleDoubles sum_;
  std::vector<double> closing_row_;
  RowErrorBound closing_bound_{};
  double error_ = 0;
};

}  // namespace

KernelPointer make(const KernelOptions& options, const BlockDecoder& decoder) {
  return std::make_unique<BlockKernel>(options, decoder);
}

}  // namespace dpftrl::noise
