// SPDX-License-Identifier: Apache-2.0
// Another workload on top of a decoder for prefix sums: w_t = D_t (r_t - r_{t-1}), row = A w.
#include <algorithm>
#include <cmath>
#include <vector>

#include "dpftrl/gaussian.hpp"
#include "noise/kernel.hpp"
#include "noise/rows.hpp"

namespace dpftrl::noise {
namespace {

/// Rows of the base, and bounds over all of them so far.
class BaseRows {
 public:
  BaseRows(const KernelOptions& options, const DecoderForm& form)
      : kernel_(make_kernel(options, form)) {}

  void write_row(std::int64_t step, std::span<double> row) {
    kernel_->write_row(step, row);
    const double magnitude = max_magnitude(row);
    const RowErrorBound bound = kernel_->error_bound();
    largest_ = std::max(largest_, magnitude);
    // An error that is not a number must not be passed over.
    const double error = bound.absolute + bound.relative * magnitude;
    if (!(error <= error_)) error_ = error;
  }
  double largest() const { return largest_; }
  double error() const { return error_; }

 private:
  KernelPointer kernel_;
  double largest_ = 0;
  double error_ = 0;
};

/// Follows a sequence: its largest magnitude and its total variation.
class Variation {
 public:
  void append(double value) {
    if (!is_empty_) total_ = add(total_, std::abs(value - last_));
    largest_ = std::max(largest_, std::abs(value));
    last_ = value;
    is_empty_ = false;
  }
  double largest() const { return largest_; }
  double total() const { return total_.high; }
  double last() const { return std::abs(last_); }

 private:
  bool is_empty_ = true;
  double last_ = 0;
  double largest_ = 0;
  DoubleDouble total_;
};

double column_scale(const FilteredDecoder& decoder, std::int64_t step) {
  return decoder.column_scales.empty() ? 1 : decoder.column_scales[static_cast<std::size_t>(step)];
}

/// Workloads that a short recursion makes.
class FilteredKernel final : public Kernel {
 public:
  FilteredKernel(const KernelOptions& options, const FilteredDecoder& decoder)
      : base_(options, *decoder.base),
        decoder_(decoder),
        workload_(decoder.workload),
        previous_(width_of(options)),
        step_row_(width_of(options)),
        average_(width_of(options)),
        total_(width_of(options)) {
    if (workload_.kind() == Workload::Kind::window) {
      const std::int64_t width = std::min(workload_.width(), options.num_rows);
      window_.assign(static_cast<std::size_t>(width), DoubleDoubles(width_of(options)));
    }
  }

  void write_row(std::int64_t step, std::span<double> row) override {
    base_.write_row(step, row);
    const double scale = column_scale(decoder_, step);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const DoubleDouble w = multiply(two_sum(row[i], -previous_[i]), scale);
      previous_[i] = row[i];
      step_row_.high[i] = w.high;
      step_row_.low[i] = w.low;
    }
    apply_workload(step);
    std::copy(total_.high.begin(), total_.high.end(), row.begin());
    scales_.append(scale);
    if (workload_.kind() == Workload::Kind::rates)
      rates_.append(workload_.rates()[static_cast<std::size_t>(step)]);
    num_steps_ = static_cast<double>(step + 1);
  }

  RowErrorBound error_bound() const override {
    const Entries entries = bound_entries();
    const double magnitude =
        entries.largest * (2 * scales_.largest() + scales_.total()) + entries.variation;
    const double rounding = num_steps_ * 0x1p-97 * base_.largest() * magnitude;
    return {(base_.error() * entries.variation + rounding) * kSlack, kUnitRoundoff};
  }

 private:
  /// Bounds of the rows of A so far: entries, and sum_i |A_ti D_i - A_t,i+1 D_{i+1}|.
  struct Entries {
    double largest;
    double variation;
  };

  void apply_workload(std::int64_t step) {
    switch (workload_.kind()) {
      case Workload::Kind::momentum:
        multiply_add(average_, workload_.momentum(), step_row_);
        multiply_add(total_, workload_.decay(), average_);
        break;
      case Workload::Kind::window: {
        add(total_, step_row_);
        DoubleDoubles& oldest = window_[static_cast<std::size_t>(step % std::ssize(window_))];
        subtract(total_, oldest);  // 0 in the first round
        oldest = step_row_;
        break;
      }
      case Workload::Kind::rates:
        multiply_add(average_, workload_.momentum(), step_row_);
        add_product(total_, workload_.rates()[static_cast<std::size_t>(step)], average_);
        normalize(total_);
        break;
      case Workload::Kind::prefix:
      case Workload::Kind::matrix:  // MatrixFilteredKernel
        add(total_, step_row_);
        break;
    }
  }

  Entries bound_entries() const {
    // Largest sum of the powers of the momentum or of the decay.
    const double memory = std::min(num_steps_, 1 / (1 - workload_.momentum()));
    switch (workload_.kind()) {
      case Workload::Kind::momentum: {
        const double largest =
            workload_.decay() < 1 ? std::min(memory, 1 / (1 - workload_.decay())) : memory;
        return {largest, largest * (2 * scales_.largest() + scales_.total())};
      }
      case Workload::Kind::window:
        return {1, 2 * scales_.largest() + scales_.total()};
      case Workload::Kind::rates: {
        const double largest = memory * rates_.largest();
        return {largest, memory * scales_.largest() * (rates_.total() + rates_.largest()) +
                             largest * scales_.total()};
      }
      case Workload::Kind::prefix:
      case Workload::Kind::matrix:
        break;
    }
    return {1, scales_.last() + scales_.total()};
  }

  BaseRows base_;
  const FilteredDecoder& decoder_;
  const Workload& workload_;
  std::vector<double> previous_;
  DoubleDoubles step_row_;
  DoubleDoubles average_;
  DoubleDoubles total_;
  std::vector<DoubleDoubles> window_;
  Variation scales_;
  Variation rates_;
  double num_steps_ = 0;
};

/// Any matrix: row t = sum_i (A_ti D_i - A_t,i+1 D_{i+1}) r_i over all rows of the base.
class MatrixFilteredKernel final : public Kernel {
 public:
  MatrixFilteredKernel(const KernelOptions& options, const FilteredDecoder& decoder)
      : base_(options, *decoder.base),
        decoder_(decoder),
        matrix_(decoder.workload.matrix()),
        history_(static_cast<std::size_t>(options.num_rows),
                 std::vector<double>(width_of(options))),
        sum_(width_of(options)) {}

  void write_row(std::int64_t step, std::span<double> row) override {
    base_.write_row(step, row);
    std::copy(row.begin(), row.end(), history_[static_cast<std::size_t>(step)].begin());
    sum_.clear();
    double variation = 0, magnitude = 0;
    DoubleDouble next;  // A_t,i+1 D_{i+1}
    for (std::int64_t i = step; i >= 0; --i) {
      const double entry = matrix_(static_cast<Eigen::Index>(step), static_cast<Eigen::Index>(i));
      const DoubleDouble own = two_product(entry, column_scale(decoder_, i));
      const DoubleDouble difference = add(add(own, -next.high), -next.low);
      add_product(sum_, difference, history_[static_cast<std::size_t>(i)]);
      variation += std::abs(difference.high);
      magnitude += std::abs(own.high);
      next = own;
    }
    normalize(sum_);
    std::copy(sum_.high.begin(), sum_.high.end(), row.begin());
    const double rounding =
        product_sum_error(static_cast<double>(step + 1)) * variation + 0x1p-101 * magnitude;
    error_ = base_.error() * variation + base_.largest() * rounding;
  }

  RowErrorBound error_bound() const override { return {error_ * kSlack, kUnitRoundoff}; }

 private:
  BaseRows base_;
  const FilteredDecoder& decoder_;
  Matrix matrix_;
  std::vector<std::vector<double>> history_;
  DoubleDoubles sum_;
  double error_ = 0;
};

}  // namespace

KernelPointer make(const KernelOptions& options, const FilteredDecoder& decoder) {
  if (decoder.workload.is_prefix() && decoder.column_scales.empty())
    return make_kernel(options, *decoder.base);
  if (decoder.workload.kind() == Workload::Kind::matrix)
    return std::make_unique<MatrixFilteredKernel>(options, decoder);
  return std::make_unique<FilteredKernel>(options, decoder);
}

}  // namespace dpftrl::noise
