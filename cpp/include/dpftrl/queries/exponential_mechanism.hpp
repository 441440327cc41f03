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
#include "dpftrl/problem/privacy.hpp"
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

/// Private selection among learners of one table, settings of which nobody knows in advance.
///
///     held out        h of the n rows, drawn by coins; no candidate learns from them
///     candidates      k learners of the n - h other rows, each mu-GDP
///     coins           each candidate takes part with probability 3/4; all again if none does
///     the choice      of those by the exponential mechanism, from how many of the h rows each
///                     reads right
///
/// A row is learned from or held out, so it pays for the learners or for the choice, never for
/// both. Coins make the learners cheap: whoever sees the model does not know which candidates it
/// was compared with, so k of them cost much less than k releases. Which ones took part is a
/// secret.
///
/// @source  the coins are those of Papernot and Steinke, arXiv 2110.03620, tossed for each
///          candidate instead of drawing a number of them; the bound by way of the privacy profile
///          is in the manner of Koskela, Redberg and Wang, arXiv 2402.06701. Proof:
///          docs/math/learning.md, section 12.
inline constexpr std::int64_t kMaxCandidates = 64;

struct TuningTarget {
  ApproximateDp target;         ///< of the model that is chosen
  std::int64_t num_candidates;  ///< 2 .. kMaxCandidates
  /// Whether the choice may cost an account (of mu or rho) no more than the learners do: for models
  /// that are composed with other releases.
  bool composes = false;
};

/// Budget of the parts.
struct TuningPlan {
  double learner_epsilon;    ///< of each learner, at the target's delta
  double selection_epsilon;  ///< of the choice, which has no delta
  double mu;                 ///< Gaussian DP of the whole: what an account is charged
  double rho;                ///< zero-concentrated DP of the whole
};

/// Plans a model that is chosen from candidates at (epsilon, delta).
///
/// @exactness   learner_epsilon is short of the largest that the bound admits by about 1e-5 for
///              each candidate.
/// @guarantee   learners that are (learner_epsilon, delta)-DP with Gaussian noise and choose_tuned
///              with selection_epsilon give an (epsilon, delta)-DP model. mu and rho hold as well.
/// @throws Error{invalid_argument} a number out of range.
/// @cost        milliseconds.
/// @checked-by  tuning_test, tests/reference/tuning_oracle.py
TuningPlan plan_tuning(const TuningTarget& target);

/// Greatest factor, from above, by which the chance that no other candidate takes part and is
/// better can change between neighbours, for one other candidate that is mu-GDP: the maximum over x
/// of (1 - 3/4 Phi(x)) / (1 - 3/4 Phi(x + mu)).
/// @checked-by  tuning_test "the ratio is at least that at every point and hardly more"
double tuning_ratio(double mu);

/// Delta of the chosen model at `epsilon`, from above, for learners that are mu-GDP.
struct TuningLoss {
  double mu;
  double epsilon;
  std::int64_t num_candidates;
};
double tuning_delta(const TuningLoss& loss);

/// Draws which rows are held out: a tenth of them, rounded up, every set with the same chance.
/// @param num_rows  2 .. 2^31; both parts then have a row.
/// @param key       a fresh one; those of the learners are others.
/// @return          rows in ascending order.
std::vector<std::int64_t> draw_held_out(std::int64_t num_rows, const Key& key);

struct TunedChoice {
  double selection_epsilon;
  Neighbours neighbours = Neighbours::zero_out;
};

/// Tosses the coins and chooses: the index of a candidate.
///
/// @param num_right  how many rows that are held out each candidate reads right; a row that is
///                   zeroed out is read right by none.
/// @param key        a fresh one; that of draw_held_out may be the same.
/// @exactness   the law is exact given ideal random bits.
/// @guarantee   selection_epsilon-DP for a row that is held out.
/// @checked-by  tuning_test
std::int64_t choose_tuned(std::span<const std::int64_t> num_right, const TunedChoice& options,
                          const Key& key);

/// The law of choose_tuned, to rounding; up to 16 candidates.
std::vector<double> tuned_probabilities(std::span<const std::int64_t> num_right,
                                        const TunedChoice& options);

}  // namespace dpftrl
