// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A level that all errors of a stream keep to together, from drawn streams of noise.
///
/// ```cpp
/// #include "dpftrl/strategy/catalogue.hpp"
/// const auto strategy = dpftrl::make_strategy({.name = "square-root", .num_steps = 64});
/// const auto once = dpftrl::Participation::single();
/// const std::optional<double> level = dpftrl::sampled_error(*strategy, once, {.beta = 0.05});
/// assert(level < dpftrl::simultaneous_error(*strategy, once, {.beta = 0.05}).value);
/// ```

#include <cstdint>
#include <optional>

#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl {

/// Most paths, and most rows of noise, that one call draws.
inline constexpr std::int64_t kMaxSampledPaths = std::int64_t{1} << 20;
inline constexpr std::int64_t kMaxSampledRows = std::int64_t{1} << 33;
/// Probability, over the seed, that a level is too low.
inline constexpr double kSampledRisk = 1e-6;

struct SampledErrorOptions {
  double beta;                     ///< probability of a larger error, 0 < beta < 1
  std::int64_t dimension = 1;      ///< entries of a record, 1..kMaxDimension
  std::int64_t num_paths = 20000;  ///< streams of one coordinate that are drawn
  std::uint64_t seed = 0;          ///< of the noise that is drawn: the same level again
};

/// Upper bound on the error that every coordinate keeps to at every step with probability
/// 1 - beta, unit noise: an order statistic of the largest errors of `num_paths` streams. It says
/// the same as SimultaneousError::value, and is mostly lower, but it is itself drawn: over the
/// seeds, it is too low with probability at most kSampledRisk.
///
/// @return     empty where so many paths prove nothing: about 14 / beta for one coordinate, times
///             the dimension, are the least.
/// @guarantee  as said, given that the bits of a seed are as good as random; the counts of the
///             binomial law, the entries of noise and the result are rounded up.
/// @throws Error{invalid_argument} an option outside its range; Error{unsupported} more than
///         kMaxSampledRows rows; as NoiseStream.
/// @cost       num_paths streams of noise: natively some 40 ns an entry.
/// @source     Clopper, Pearson, Biometrika 26 (1934); docs/math/simultaneous.md.
/// @checked-by sampled_error_test
std::optional<double> sampled_error(const Strategy& strategy, const Participation& participation,
                                    const SampledErrorOptions& options);

}  // namespace dpftrl
