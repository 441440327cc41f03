// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The exponential mechanism on integer utilities, with its law exactly:
///
///     P[i] ~ exp(epsilon u_i / (2 sensitivity))
///
/// By rejection: a candidate drawn uniformly is taken with probability exp(-epsilon (max u - u_i) /
/// (2 sensitivity)), a coin that is tossed in integer arithmetic. Nothing is rounded, so there is
/// nothing of what Mironov (2012) and Ilvento (2020) warn of: epsilon is the fraction that the
/// double is. How LONG a draw takes depends on the utilities: do not let it be seen.
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

#include "dpftrl/problem/participation.hpp"
#include "dpftrl/random/random.hpp"

namespace dpftrl {

struct ExponentialOptions {
  double epsilon;            ///< 2^-30 .. 2^20
  std::int64_t sensitivity;  ///< how much one utility can change between neighbours; below 2^31
  /// Between neighbours all utilities change in the same direction: the law then is
  /// exp(epsilon u_i / sensitivity), without the 2.
  bool is_monotone = false;
};

/// Index of a candidate.
///
/// @param utilities  up to 2^53 in magnitude, up to 2^24 of them.
/// @param key        a fresh one for every draw.
/// @exactness   the law is exact given ideal random bits.
/// @guarantee   epsilon-DP if `sensitivity` and `is_monotone` are what they say.
/// @throws Error{invalid_argument} no utilities, or a number out of range.
/// @cost        about one coin per candidate, divided by the number of best candidates.
/// @checked-by  exponential_mechanism_test
std::int64_t exponential_mechanism(std::span<const std::int64_t> utilities,
                                   const ExponentialOptions& options, const Key& key);

/// The law, to rounding.
std::vector<double> exponential_probabilities(std::span<const std::int64_t> utilities,
                                              const ExponentialOptions& options);

struct WinnerOptions {
  double epsilon;
  Neighbours neighbours = Neighbours::zero_out;
  /// Records of one person. zero_out: a person more or less, with up to so many. replace_one: up to
  /// so many records in the place of up to so many others, and their number is not public.
  std::int64_t max_contributions = 1;
};

/// Which value has the most records. Utility: the count, of sensitivity max_contributions; with
/// zero_out monotone.
/// @checked-by  exponential_mechanism_test "replace_one protects persons whatever their numbers"
std::int64_t private_winner(std::span<const std::int64_t> histogram, const WinnerOptions& options,
                            const Key& key);

struct QuantileOptions {
  double epsilon;
  std::int64_t numerator;    ///< of the quantile: 1 of 2 is the median
  std::int64_t denominator;  ///< below 2^20
  Neighbours neighbours = Neighbours::zero_out;
  std::int64_t max_contributions = 1;  ///< records of one person, as in WinnerOptions
};

/// Utilities of values as quantiles: minus `denominator` times by how many records the ranks that
/// value v covers miss the rank n numerator / denominator.
/// @return  with their sensitivity: denominator, or with zero_out the larger of numerator and
///          denominator - numerator; that times max_contributions.
struct QuantileUtilities {
  std::vector<std::int64_t> utilities;
  std::int64_t sensitivity;
};
QuantileUtilities quantile_utilities(std::span<const std::int64_t> histogram,
                                     const QuantileOptions& options);

/// A value at about that quantile of the records.
std::int64_t private_quantile(std::span<const std::int64_t> histogram,
                              const QuantileOptions& options, const Key& key);

/// Randomised response: reports a bit as it is with probability e^epsilon / (1 + e^epsilon), else
/// the other one. For one who trusts nobody with the bit: it is the exponential mechanism of the
/// two.
///
/// @param epsilon  2^-31 .. 2^19
/// @param key      a fresh one for every report.
/// @exactness   the law is exact given ideal random bits.
/// @guarantee   epsilon-DP for the bit, against everyone who sees the report.
/// @throws Error{invalid_argument} epsilon out of range.
/// @source      Warner, Randomized Response (1965).
/// @checked-by  exponential_mechanism_test "reports lie as often as they should"
bool randomized_response(bool bit, double epsilon, const Key& key);

struct EstimatedCount {
  double count;   ///< unbiased; may lie outside of 0 .. num_reports
  double stddev;  ///< whatever the bits are, for the coins are the same
};
/// Estimates how many of the bits behind `num_reports` reports are 1, by how many reports are.
/// @throws Error{invalid_argument} a number out of range.
/// @checked-by exponential_mechanism_test "the estimate is unbiased and has its deviation"
EstimatedCount estimate_count(std::int64_t num_ones, std::int64_t num_reports, double epsilon);

}  // namespace dpftrl
