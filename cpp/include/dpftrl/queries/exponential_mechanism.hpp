// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The exponential mechanism on integer utilities, sampled exactly:
///
///     P[i] ~ exp(epsilon u_i / (2 sensitivity))
///
/// Samples by rejection: a candidate drawn uniformly is accepted with the probability exp(-epsilon
/// (max u - u_i) / (2 sensitivity)), by a coin tossed in integer arithmetic. Nothing is rounded, so
/// the attacks of Mironov (2012) and Ilvento (2020) do not apply; epsilon is exactly the fraction
/// that the double represents. How LONG a draw takes depends on the utilities, so do not let it be
/// observed.
///
/// @source  McSherry, Talwar, Mechanism Design via Differential Privacy (2007); the coin: Canonne,
///          Kamath, Steinke, arXiv 2004.00010, Algorithm 1. Ilvento, arXiv 1912.04222, reaches
///          exactness by powers of a rational base instead, whose size grows with the utilities.
///          Proofs: docs/math/queries.md.
///
/// ```cpp
/// const std::vector<std::int64_t> histogram{10, 0, 3, 7};
/// const dpftrl::Key key = dpftrl::Key::from_entropy();
/// const std::int64_t winner = dpftrl::private_winner(histogram, {.epsilon = 100}, key);
/// assert(winner == 0);
/// ```

#include <cstdint>
#include <span>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/problem/privacy.hpp"
#include "dpftrl/random/random.hpp"

namespace dpftrl {

struct ExponentialOptions {
  double epsilon;            ///< 2^-30 .. 2^20
  std::int64_t sensitivity;  ///< largest change of a utility between neighbours; below 2^31
  /// True if all utilities change in the same direction between neighbours. The law is then
  /// exp(epsilon u_i / sensitivity), without the 2.
  bool is_monotone = false;
};

/// Draws the index of a candidate.
///
/// @param utilities  up to 2^53 in magnitude, up to 2^24 of them.
/// @param key        must be fresh for every draw.
/// @exactness   the law is exact given ideal random bits.
/// @guarantee   epsilon-DP if `sensitivity` and `is_monotone` are correct.
/// @throws Error{invalid_argument} no utilities, or a number out of range.
/// @cost        at most (candidates / best candidates) coins on average.
/// @checked-by  exponential_mechanism_test
std::int64_t exponential_mechanism(std::span<const std::int64_t> utilities,
                                   const ExponentialOptions& options, const Key& key);

/// Probabilities of the candidates, to rounding.
std::vector<double> exponential_probabilities(std::span<const std::int64_t> utilities,
                                              const ExponentialOptions& options);

struct WinnerOptions {
  double epsilon;
  Neighbours neighbours = Neighbours::zero_out;
  /// Largest number of records of one person. zero_out: one person more or less, with up to that
  /// many records. replace_one: up to that many records are replaced by up to that many others, and
  /// the number of records is not public.
  std::int64_t max_contributions = 1;
};

/// Selects a value with nearly the most records. The utility is the count, with sensitivity
/// max_contributions, monotone with zero_out.
/// @checked-by  exponential_mechanism_test "replace_one protects persons whatever their numbers of
///              records"
std::int64_t private_winner(std::span<const std::int64_t> histogram, const WinnerOptions& options,
                            const Key& key);

struct QuantileOptions {
  double epsilon;
  std::int64_t numerator;    ///< the quantile is numerator / denominator: 1 / 2 for the median
  std::int64_t denominator;  ///< at most 2^20
  Neighbours neighbours = Neighbours::zero_out;
  std::int64_t max_contributions = 1;  ///< as in WinnerOptions
};

/// Utility of each value v as the quantile of n records: minus `denominator` times the number of
/// records between the ranks that v covers and the rank n numerator / denominator. The sensitivity
/// is max_contributions times `denominator` (replace_one), or times the larger of `numerator` and
/// `denominator` - `numerator` (zero_out).
struct QuantileUtilities {
  std::vector<std::int64_t> utilities;
  std::int64_t sensitivity;
};
QuantileUtilities quantile_utilities(std::span<const std::int64_t> histogram,
                                     const QuantileOptions& options);

/// Selects a value near the requested quantile of the records.
std::int64_t private_quantile(std::span<const std::int64_t> histogram,
                              const QuantileOptions& options, const Key& key);

/// Randomised response: reports the true bit with probability e^epsilon / (1 + e^epsilon), and else
/// its complement. This is the exponential mechanism on the two bits, for users who trust nobody
/// with their bits.
///
/// @param epsilon  2^-31 .. 2^19
/// @param key      must be fresh for every report.
/// @exactness   the law is exact given ideal random bits.
/// @guarantee   epsilon-DP for the bit, against everyone who sees the report.
/// @throws Error{invalid_argument} epsilon out of range.
/// @source      Warner, Randomized Response (1965).
/// @checked-by  exponential_mechanism_test "reports lie as often as they should"
bool randomized_response(bool bit, double epsilon, const Key& key);

struct EstimatedCount {
  double count;   ///< unbiased; may lie outside 0 .. num_reports
  double stddev;  ///< the same for any bits, because every report has the same variance
};
/// Estimates how many of the true bits behind `num_reports` reports are 1, from the number of
/// reports that are 1.
/// @throws Error{invalid_argument} a number out of range.
/// @checked-by exponential_mechanism_test "the estimate is unbiased and has its deviation"
EstimatedCount estimate_count(std::int64_t num_ones, std::int64_t num_reports, double epsilon);

}  // namespace dpftrl
