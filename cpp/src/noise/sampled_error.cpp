// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/noise/noise_stream.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/base/error.hpp"

namespace dpftrl {
namespace {

constexpr const char* kFunction = "sampled_error";
/// Covers the error of sensitivities, which are accurate to 10 digits.
constexpr double kRoundUp = 1 + 0x1p-34;
/// Covers the rounding of 2^20 sums of logarithms, each of magnitude at most 2^26.
constexpr double kSumUp = 1 + 0x1p-6;
constexpr double kUnknown = std::numeric_limits<double>::infinity();
/// Limits on the number of noise streams drawn at once, and on the number of their entries.
constexpr std::int64_t kMostAtOnce = 1024, kEntriesAtOnce = std::int64_t{1} << 22;

/// Largest number of paths above a level that still proves the level: if each of `num_paths` paths
/// exceeds it with probability `beta`, the largest k such that at most k paths do so with
/// probability at most kSampledRisk; -1 if none.
std::int64_t num_above(std::int64_t num_paths, double beta) {
  const double n = static_cast<double>(num_paths);
  const double odds = std::log(beta) - std::log1p(-beta);
  double log_term = n * std::log1p(-beta);
  double sum = 0;
  for (std::int64_t k = 0; k < num_paths; ++k) {
    sum += std::exp(log_term);
    if (!(sum * kSumUp <= kSampledRisk)) return k - 1;
    const double j = static_cast<double>(k);
    log_term += odds + std::log((n - j) / (j + 1));
  }
  return num_paths - 1;
}

/// Writes the largest |entry| of each coordinate of the noise, with its error bound added.
void largest_entries(NoiseStream noise, std::span<double> largest) {
  std::vector<double> row(largest.size());
  for (std::int64_t t = 0; t < noise.steps(); ++t) {
    noise.next(row);
    const RowErrorBound bound = noise.row_error_bound();
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double entry = std::abs(row[i]) * (1 + bound.relative) + bound.absolute;
      if (!(entry <= largest[i])) largest[i] = entry < kUnknown ? entry : kUnknown;
    }
  }
}

}  // namespace

std::optional<double> sampled_error(const Strategy& strategy, const Participation& participation,
                                    const SampledErrorOptions& options) {
  const double beta = require_inside(kFunction, "beta", options.beta, 0, 1);
  const std::int64_t dimension =
      require_between(kFunction, "dimension", options.dimension, 1, kMaxDimension);
  const std::int64_t num_paths =
      require_between(kFunction, "num_paths", options.num_paths, 1, kMaxSampledPaths);
  const std::int64_t most = kMaxSampledRows / strategy.steps();
  if (num_paths > most)
    fail(ErrorCode::unsupported, kFunction, "num_paths",
         "must be at most " + to_text(most) + " at so many steps", to_text(num_paths));
  const double each = -std::expm1(std::log1p(-beta) / static_cast<double>(dimension));
  const std::int64_t above = num_above(num_paths, each * (1 - 0x1p-40));
  if (above < 0) return std::nullopt;
  std::vector<double> largest(static_cast<std::size_t>(num_paths), 0.0);
  const std::int64_t at_once =
      std::clamp<std::int64_t>(kEntriesAtOnce / strategy.steps(), 1, kMostAtOnce);
  const Key key = Key::insecure_from_seed(options.seed);
  for (std::int64_t first = 0; first < num_paths; first += at_once) {
    const std::int64_t count = std::min(at_once, num_paths - first);
    largest_entries(
        NoiseStream(strategy, {.key = key, .dimension = count, .first_coordinate = first}),
        std::span(largest).subspan(static_cast<std::size_t>(first),
                                   static_cast<std::size_t>(count)));
  }
  std::ranges::nth_element(largest, largest.begin() + static_cast<std::ptrdiff_t>(above),
                           std::greater<>());
  const double level = largest[static_cast<std::size_t>(above)];
  if (!(level < kUnknown)) return std::nullopt;
  return level * sensitivity(strategy, participation).value * kRoundUp;
}

}  // namespace dpftrl
