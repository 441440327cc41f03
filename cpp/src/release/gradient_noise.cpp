// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include "dpftrl/base/error.hpp"
#include "dpftrl/release/prefix_sum.hpp"
#include "release/grid/quantiser.hpp"
#include "release/release_engine.hpp"

namespace dpftrl {
namespace {

/// The default grid is so fine that truncation adds at most this fraction to the norm of a sum.
constexpr double kNormShare = 0x1p-10;
/// Beyond this many grids, a sum with noise may not be representable as a double.
constexpr double kMaxNoisyGradientInGrids = 0x1p52;
/// Covers the rounding of the norm.
constexpr double kNormRoundUp = 1 + 0x1p-50;

double root_of(std::int64_t dimension) {
  return std::sqrt(static_cast<double>(dimension));
}

double grid_of_gradients(const GradientNoiseOptions& options, const Mechanism& promised) {
  const double standard = default_grid(promised, options.dimension);
  const double finest = kNormShare * promised.clip() / root_of(options.dimension);
  const double grid =
      options.grid.value_or(std::min(standard, detail::power_of_two_at_most(finest)));
  detail::require_grid("gradient_noise", promised, grid);
  return grid;
}

}  // namespace

GradientNoise::GradientNoise(const GradientNoiseOptions& options)
    : GradientNoise(options, Mechanism::make(options.mechanism)) {}

GradientNoise::GradientNoise(const GradientNoiseOptions& options,
                             std::shared_ptr<const Mechanism> promised)
    : clip_(promised->clip()),
      grid_(grid_of_gradients(options, *promised)),
      // Truncation moves a difference of two numbers by less than a grid.
      mechanism_(promised->with_clip((clip_ + root_of(options.dimension) * grid_) * kNormRoundUp)),
      noise_(mechanism_->strategy(), {.key = options.key, .dimension = options.dimension}),
      row_(static_cast<std::size_t>(options.dimension)) {
  detail::require_grid("gradient_noise", *mechanism_, grid_);
}

void GradientNoise::add_noise_to(std::span<double> sum, std::int64_t step) {
  require_length("gradient_noise", "sum", std::ssize(sum), noise_.dimension());
  if (step >= noise_.steps())
    fail(ErrorCode::past_horizon, "gradient_noise", "step",
         "must be below the horizon " + to_text(noise_.steps()), to_text(step));
  if (step < noise_.step())
    fail(ErrorCode::already_released, "gradient_noise", "step",
         "must be at least " + to_text(noise_.step()) +
             ": two sums with the same noise show their difference",
         to_text(step));
  require_all_finite("gradient_noise", "sum", sum);
  for (const double x : sum)
    if (!(std::abs(x / grid_) <= kMaxNoisyGradientInGrids))
      fail_argument("gradient_noise", "sum", "at most 2^52 grids = " + to_text(0x1p52 * grid_),
                    to_text(x));
  const std::int64_t before = noise_.step();
  noise_.seek(step);
  try {
    noise_.next_rounded(row_, 1, mechanism_->noise_stddev() / grid_);
  } catch (...) {
    noise_.seek(before);
    throw;
  }
  for (std::size_t i = 0; i < row_.size(); ++i)
    sum[i] = static_cast<double>(static_cast<std::int64_t>(sum[i] / grid_) + row_[i]) * grid_;
}

}  // namespace dpftrl
