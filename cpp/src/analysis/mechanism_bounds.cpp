// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/base/types.hpp"

namespace dpftrl {
namespace {

/// Covers the rounding of the functions of the C++ library and of the sums.
constexpr double kMechanismRoundDown = 1 - 0x1p-40;

/// Upper bound on the root of the chi-squared divergence of the outputs on streams that differ in
/// `num_records` records.
double root_chi(const MechanismBoundOptions& options, double num_records) {
  const double chi_root =
      options.notion == PrivacyNotion::pure
          ? 2 * std::sinh(num_records * options.parameter / 2)
          : std::sqrt(std::expm1(2 * num_records * num_records * options.parameter));
  return chi_root / kMechanismRoundDown;
}

/// Lower bound on ||A D||_* / L^(3/2), D the indicators of n' blocks of L steps: with at least
/// (L - 1) / 2 steps beyond the blocks, D^T A^T A D >= L^3 A'^T A' - (L^3 - L) / 6 for the prefix
/// sums A' of n' steps. Their singular values are s_i = 1 / (2 sin x_i), x_i = (2i - 1) x, and
/// with b = (1 - L^-2) / 6, sqrt(s^2 - b) >= s - b / (s (1 + sqrt(1 - 4 b))) for s >= 1/2.
double nuclear_norm_of_blocks(std::int64_t num_blocks, double length) {
  const double n = static_cast<double>(num_blocks);
  const double b = (1 - 1 / (length * length)) / 6;
  const double x = std::numbers::pi / (4 * n + 2);
  const double root = std::sin(n * x);
  const double sum_of_inverses = 2 * root * root / std::sin(x);
  return n * schatten_lower_bound(num_blocks) - b * sum_of_inverses / (1 + std::sqrt(1 - 4 * b));
}

}  // namespace

MechanismBounds mechanism_bounds(const MechanismBoundOptions& options) {
  constexpr const char* kFunction = "mechanism_bounds";
  const std::int64_t n = require_between(kFunction, "steps", options.steps, 1, kMaxNumSteps);
  require_positive(kFunction, options.notion == PrivacyNotion::pure ? "epsilon" : "rho",
                   options.parameter);
  const Workload prefix = Workload::prefix_sums(n);
  const double chi = root_chi(options, 1);
  const auto least = [&](Objective objective) {
    return certified_lower_bound(prefix, Participation::single(), objective)->value / chi *
           kMechanismRoundDown;
  };
  MechanismBounds bounds{.unbiased_max = least(Objective::max),
                         .unbiased_mean = least(Objective::mean),
                         .every = 0,
                         .block_length = 1};
  // Any length gives a valid bound; blocks much longer than 1 / epsilon, or rho^(-1/2), give a
  // useless bound.
  for (std::int64_t length = 1; length <= n; length += 1 + length / 8) {
    const std::int64_t num_blocks = (n - length / 2) / length;
    const double size = static_cast<double>(length);
    const double divisor = (1 + root_chi(options, size)) *
                           std::sqrt(static_cast<double>(n) * static_cast<double>(num_blocks));
    if (num_blocks < 1 || !(divisor < 1e300)) break;
    const double bound = nuclear_norm_of_blocks(num_blocks, size) * size * std::sqrt(size) /
                         divisor * kMechanismRoundDown;
    if (bound > bounds.every) bounds.every = bound, bounds.block_length = length;
    if (bound < bounds.every / 4) break;
  }
  return bounds;
}

}  // namespace dpftrl
