// SPDX-License-Identifier: Apache-2.0
#include "strategy/toeplitz/scaled_toeplitz.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/double_double.hpp"
#include "math/online_product.hpp"

namespace dpftrl {
namespace {

using Spectrum = BlockProducts::Spectrum;

/// Computes the sums h_t = sum_{s<t} ratio^(t-1-s) D_s <G_t, G_s>.
class WeightedProducts {
 public:
  WeightedProducts(std::span<const double> inverse, std::span<const double> column_scales,
                   double ratio)
      : steps_(inverse.size()), inverse_(inverse.begin(), inverse.end()) {
    int log2_length = kLog2Direct;
    while ((std::size_t{1} << log2_length) < steps_)
      levels_.emplace_back(log2_length++, 0, std::span<const double>());
    const std::size_t padded = std::size_t{1} << log2_length;
    inverse_.resize(padded);
    scales_.assign(column_scales.begin(), column_scales.end());
    scales_.resize(padded);
    sums_.resize(padded);
    powers_.resize(padded);
    double power = 1;
    for (double& value : powers_) value = std::exchange(power, power * ratio);
  }

  std::vector<double> sums() && {
    std::vector<double> products = inverse_;
    for (double& product : products) product *= inverse_[0];
    fill(0, levels_.size(), std::move(products));
    sums_.resize(steps_);
    return std::move(sums_);
  }

 private:
  /// Base-2 logarithm of the block length that is summed term by term.
  static constexpr int kLog2Direct = 7;

  /// Adds the sums within the block that begins at `first`.
  /// @param products  <G_first, G_{first+k}> for k below the block's length.
  void fill(std::size_t first, std::size_t level, std::vector<double> products) {
    if (first >= steps_) return;
    if (level == 0) return fill_directly(first, products);
    const std::size_t half = products.size() / 2;
    std::vector<double> second = half + first < steps_ ? cross(first, levels_[level - 1], products)
                                                       : std::vector<double>(half);
    products.resize(half);
    fill(first, level - 1, std::move(products));
    fill(first + half, level - 1, std::move(second));
  }

  void fill_directly(std::size_t first, const std::vector<double>& products) {
    const std::size_t size = products.size();
    for (std::size_t lag = 1; lag < size; ++lag) {
      double product = products[lag];
      for (std::size_t s = first; s + lag < first + size; ++s) {
        if (s > first) product += inverse_[s] * inverse_[s + lag];
        sums_[s + lag] += powers_[lag - 1] * scales_[s] * product;
      }
    }
  }

  /// Adds the contributions of the first half to the sums of the second half.
  /// @return the second half's own products.
  std::vector<double> cross(std::size_t first, const BlockProducts& blocks,
                            std::span<const double> products) {
    const std::size_t half = products.size() / 2, middle = first + half;
    std::vector<double> weights(half), backward(half),
        local(inverse_.begin() + at(first), inverse_.begin() + at(middle + half));
    local[0] = 0;
    for (std::size_t a = 0; a < half; ++a) {
      weights[a] = powers_[half - 1 - a] * scales_[first + a];
      backward[half - 1 - a] = weights[a];
    }
    const std::span<const double> all = local;
    const Spectrum kernel = blocks.transformed(all.first(half), all.last(half));
    // Column sums of the weighted first half, as seen by the rows of the second half.
    Spectrum columns = blocks.zero();
    BlockProducts::add_product(blocks.transformed(backward), blocks.transformed(all.first(half)),
                               columns);
    std::vector<double> reversed(half);
    blocks.write_first_half(std::move(columns), reversed);
    std::ranges::reverse(reversed);
    Spectrum sum = blocks.zero();
    BlockProducts::add_product(blocks.transformed(reversed), kernel, sum);
    BlockProducts::add_product(blocks.transformed(weights),
                               blocks.transformed(products.first(half), products.last(half)), sum);
    std::vector<double> added(half);
    blocks.add_second_half(std::move(sum), added);
    for (std::size_t b = 0; b < half; ++b) sums_[middle + b] += powers_[b] * added[b];

    for (std::size_t j = 0; j < half; ++j) backward[j] = inverse_[middle - j];
    Spectrum own = blocks.zero();
    BlockProducts::add_product(blocks.transformed(backward), kernel, own);
    std::vector<double> second(products.begin(), products.begin() + at(half));
    blocks.add_second_half(std::move(own), second);
    return second;
  }

  static std::ptrdiff_t at(std::size_t i) { return static_cast<std::ptrdiff_t>(i); }

  std::size_t steps_;
  std::vector<double> inverse_, scales_;  ///< g and D, padded with zeros to a power of two
  std::vector<double> powers_;            ///< ratio^0, ratio^1, ...
  std::vector<double> sums_;
  std::vector<BlockProducts> levels_;  ///< one per length of a half: 2^kLog2Direct, twice that, ...
};

}  // namespace

bool has_scaled_toeplitz_rows(const Workload& workload) {
  // Powers of the two ratios are subtracted from each other, which cancels if they are close.
  constexpr double kLeastDifference = 0x1p-10;
  switch (workload.kind()) {
    case Workload::Kind::prefix:
      return true;
    case Workload::Kind::momentum:
      return workload.momentum() == 0 ||
             std::abs(workload.decay() - workload.momentum()) >= kLeastDifference;
    case Workload::Kind::rates:
      return workload.momentum() == 0;
    case Workload::Kind::window:
    case Workload::Kind::matrix:
      break;
  }
  return false;
}

std::vector<double> scaled_toeplitz_rows(const Workload& workload, std::span<const double> inverse,
                                         std::span<const double> column_scales) {
  const std::size_t n = inverse.size();
  const double decay = workload.decay(), momentum = workload.momentum();
  std::vector<double> scales(column_scales.begin(), column_scales.end());
  for (std::size_t t = 0; t < workload.rates().size(); ++t) scales[t] *= workload.rates()[t];
  // <G_t, out_{t-1}>, and <G_t, m_{t-1}> of the average.
  std::vector<double> with_outputs = WeightedProducts(inverse, scales, decay).sums();
  std::vector<double> with_averages(momentum == 0 ? 0 : n);
  if (momentum != 0) {
    with_averages = WeightedProducts(inverse, scales, momentum).sums();
    for (std::size_t t = 0; t < n; ++t)
      with_outputs[t] =
          (decay * with_outputs[t] - momentum * with_averages[t]) / (decay - momentum);
  }
  std::vector<double> rows;
  rows.reserve(n);
  DoubleDouble own, total;         // ||G_t||^2, ||out_t||^2
  double average = 0, across = 0;  // ||m_t||^2, <m_t, out_t>
  for (std::size_t t = 0; t < n; ++t) {
    own = add(own, inverse[t] * inverse[t]);
    const double scale = scales[t];
    average *= momentum * momentum;
    if (momentum != 0) average += 2 * momentum * scale * with_averages[t];
    average += scale * scale * own.high;
    const double with_output = momentum * across + scale * with_outputs[t];
    across = decay * with_output + average;
    total = add(multiply(total, decay * decay), 2 * decay * with_output + average);
    rows.push_back(total.high);
  }
  return rows;
}

}  // namespace dpftrl
