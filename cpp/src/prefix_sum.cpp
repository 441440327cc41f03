// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/prefix_sum.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "double_double.hpp"
#include "dpftrl/error.hpp"

namespace dpftrl {
namespace {

/// One record spans at most 2^31 grid points, so that squared norms fit 62 bits.
constexpr double kMaxNormInGrids = 0x1p31;
constexpr double kMaxSumInGrids = 0x1p62;
/// Beyond this many grids a double row has no fractional bits left to round.
constexpr double kMaxNoiseInGrids = 0x1p40;
/// Up to here every release is finite.
constexpr double kMaxGrid = 0x1p900;
/// The default grid is not made finer than this part of the noise: the finer it is, the more
/// entries need the slow way of rounding.
constexpr double kFinestOfNoise = 0x1p-20;
/// Below this, products of the noise std could underflow.
constexpr double kMinNoise = 0x1p-900;

double power_of_two_at_most(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);  // value = m 2^exponent, 1/2 <= m < 1
  return std::ldexp(1.0, exponent - 1);
}

bool is_power_of_two(double value) {
  int exponent = 0;
  return value > 0 && std::isnormal(value) && std::frexp(value, &exponent) == 0.5;
}

/// Largest integer at most x^2, exactly.
std::int64_t floor_of_square(double x) {
  const DoubleDouble square = two_product(x, x);
  const double whole = std::floor(square.high);
  // Where the high part has a fraction, the low part is too small to reach an integer.
  const double rest = whole == square.high ? std::floor(square.low) : 0;
  return static_cast<std::int64_t>(whole) + static_cast<std::int64_t>(rest);
}

std::shared_ptr<const Mechanism> require_given(std::shared_ptr<const Mechanism> mechanism) {
  if (!mechanism) fail(ErrorCode::invalid_argument, "prefix_sum: mechanism must be given");
  const Workload& workload = mechanism->strategy().workload();
  // The sums below are running totals: with another decoder they would be neither those nor A G.
  if (!workload.is_prefix())
    fail_argument("prefix_sum", "workload", "prefix", "\"" + workload.name() + "\"");
  return mechanism;
}

}  // namespace

double default_grid(const Mechanism& mechanism, std::int64_t dimension) {
  require_between("default_grid", "dimension", dimension, 1, kMaxDimension);
  const RowNorms rows = mechanism.strategy().row_norms();
  const double num_steps = static_cast<double>(mechanism.num_steps());
  const double smallest = mechanism.noise_stddev() * std::sqrt(rows.min_squared);
  const double typical = mechanism.noise_stddev() * std::sqrt(rows.mean_squared);
  const double resolution = mechanism.clip_norm() / std::sqrt(static_cast<double>(dimension));
  // Truncation takes up to one grid from every record: n of them shall stay below typical / 4.
  const double horizon = typical * std::max(1 / (4 * num_steps), kFinestOfNoise);
  const double wanted = std::min({1.0, smallest / 64, resolution / 64, horizon});
  const double finest = std::max(
      {mechanism.clip_norm() / kMaxNormInGrids, mechanism.clip_norm() * num_steps / kMaxSumInGrids,
       mechanism.noise_stddev() * std::sqrt(rows.max_squared) / kMaxNoiseInGrids});
  return std::max(power_of_two_at_most(wanted), 2 * power_of_two_at_most(finest));
}

void clip_to_norm(std::span<double> record, double clip_norm) {
  require_positive("clip_to_norm", "clip_norm", clip_norm);
  require_all_finite("clip_to_norm", "record", record);
  double largest = 0;
  for (const double x : record) largest = std::max(largest, std::abs(x));
  if (largest == 0) return;
  double sum = 0;
  for (const double x : record) sum += (x / largest) * (x / largest);
  const double ratio = std::sqrt(sum);  // norm / largest; the norm itself may overflow
  if (largest * ratio <= clip_norm) return;
  for (double& x : record) x = x / largest / ratio * clip_norm;
}

PrefixSum::PrefixSum(std::shared_ptr<const Mechanism> mechanism, const PrefixSumOptions& options)
    : mechanism_(require_given(std::move(mechanism))),
      noise_(mechanism_->strategy(), {.key = options.key, .dimension = options.dimension}) {
  if (!(mechanism_->noise_stddev() >= kMinNoise))
    fail_argument("prefix_sum", "noise_stddev", "at least 2^-900",
                  to_text(mechanism_->noise_stddev()));
  grid_ = options.grid ? *options.grid : default_grid(*mechanism_, options.dimension);
  if (!is_power_of_two(grid_))
    fail_argument("prefix_sum", "grid", "a power of two", to_text(grid_));
  const double clip_in_grids = mechanism_->clip_norm() / grid_;
  noise_scale_ = mechanism_->noise_stddev() / grid_;
  if (!(grid_ <= kMaxGrid)) fail_argument("prefix_sum", "grid", "at most 2^900", to_text(grid_));
  if (!options.grid && !(clip_in_grids >= 1))
    fail_argument("prefix_sum", "clip_norm", "at least 2^-40 of the largest release std",
                  to_text(mechanism_->clip_norm()));
  const double num_steps = static_cast<double>(mechanism_->num_steps());
  const double largest_row = std::sqrt(mechanism_->strategy().row_norms().max_squared);
  if (!(clip_in_grids >= 1))
    fail_argument("prefix_sum", "grid", "at most clip_norm = " + to_text(mechanism_->clip_norm()),
                  to_text(grid_));
  if (!(noise_scale_ >= kMinNoise))
    fail_argument("prefix_sum", "grid", "at most 2^900 noise stds", to_text(grid_));
  if (!(clip_in_grids <= kMaxNormInGrids) || !(clip_in_grids * num_steps <= kMaxSumInGrids) ||
      !(noise_scale_ * largest_row <= kMaxNoiseInGrids))
    fail_argument("prefix_sum", "grid",
                  "coarse enough that a record spans at most 2^31 grids, the sums 2^62 and the "
                  "noise std 2^40",
                  to_text(grid_));
  max_norm_squared_ = floor_of_square(clip_in_grids);
  const std::size_t dimension = static_cast<std::size_t>(options.dimension);
  sums_.assign(dimension, 0);
  quantised_.assign(dimension, 0);
  rounded_noise_.assign(dimension, 0);
  scratch_.assign(dimension, 0);
}

void PrefixSum::release(std::span<const double> record, std::span<double> noisy) {
  require_length("prefix_sum", "record", static_cast<std::int64_t>(record.size()), dimension());
  require_length("prefix_sum", "noisy", static_cast<std::int64_t>(noisy.size()), dimension());
  quantise(record);
  noise_.next(scratch_);
  const RowErrorBound bound = noise_.row_error_bound();
  for (std::size_t i = 0; i < scratch_.size(); ++i) {
    const std::optional<std::int64_t> certain = round_if_certain(scratch_[i], bound);
    if (!certain) ++num_recomputed_;
    rounded_noise_[i] =
        certain ? *certain : noise_.rounded(static_cast<std::int64_t>(i), noise_scale_);
  }
  // Only now, as a recomputation may lack memory: nothing below throws, so a record counts once.
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    sums_[i] += quantised_[i];
    // Integer addition first: the sum of a grid point and rounded noise, then one exact scaling.
    noisy[i] = static_cast<double>(sums_[i] + rounded_noise_[i]) * grid_;
  }
}

void PrefixSum::quantise(std::span<const double> record) {
  std::copy(record.begin(), record.end(), scratch_.begin());
  clip_to_norm(scratch_, mechanism_->clip_norm());
  std::int64_t norm_squared = 0;
  for (std::size_t i = 0; i < scratch_.size(); ++i) {
    quantised_[i] = static_cast<std::int64_t>(scratch_[i] / grid_);  // toward zero
    norm_squared += quantised_[i] * quantised_[i];
  }
  // Clipping rounds; the integers do not. This loop is what the privacy proof rests on.
  while (norm_squared > max_norm_squared_) {
    const auto largest =
        std::max_element(quantised_.begin(), quantised_.end(),
                         [](std::int64_t a, std::int64_t b) { return std::abs(a) < std::abs(b); });
    norm_squared -= 2 * std::abs(*largest) - 1;
    *largest += *largest > 0 ? -1 : 1;
  }
}

std::optional<std::int64_t> PrefixSum::round_if_certain(double unit_noise,
                                                        const RowErrorBound& bound) const {
  constexpr double kUnitRoundoff = 0x1p-53;
  const double scaled = noise_scale_ * unit_noise;
  const double nearest = std::floor(scaled + 0.5);
  const double margin = 0.5 - std::abs(scaled - nearest);
  const double error = noise_scale_ * (bound.absolute + bound.relative * std::abs(unit_noise)) +
                       2 * kUnitRoundoff * std::abs(scaled);
  // False for a NaN, and from 2^51 on, where the error exceeds 1/2.
  if (!(margin > error * (1 + 0x1p-30))) return std::nullopt;
  return static_cast<std::int64_t>(nearest);
}

}  // namespace dpftrl
