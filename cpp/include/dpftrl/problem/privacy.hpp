// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Conversions between privacy parameters and the noise multiplier of the Gaussian mechanism.
///
/// A Gaussian mechanism whose noiseless outputs on neighbours are at l2 distance at most Delta,
/// with noise of standard deviation sigma, is described by
/// mu = Delta / sigma = 1 / noise_multiplier (mu-GDP). A noisy matrix release is a single mechanism
/// of this kind, even if its rows are chosen adaptively. The neighbouring relation enters only
/// through Delta: replacing a contribution instead of zeroing it out doubles the distance.
///
/// Conversions are exact for that mechanism unless they say otherwise, at every representable
/// argument, and rounded to the safe side by a few parts in 10^14 (the mu, rho or noise multiplier
/// of a target by 10^-12: see kCompositionSlack): a resulting delta, epsilon, rho or noise is never
/// below the true value, and a mu or rho that may be spent is never above it. This assumes that
/// exp, expm1, log1p and tanh of the C++ library are accurate to 4 units in the last place; log
/// enters only initial guesses and classical_gaussian. Proofs: docs/math/privacy.md.
///
/// Sources:
///   [BW18]  Balle, Wang, Improving the Gaussian Mechanism for Differential Privacy, 1805.06530.
///   [DRS22] Dong, Roth, Su, Gaussian Differential Privacy, 1905.02383.
///   [BS16]  Bun, Steinke, Concentrated Differential Privacy, 1605.02065.
///   [CKS20] Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy, 2004.00010.
///   [DR14]  Dwork, Roth, The Algorithmic Foundations of Differential Privacy, appendix A.
///
/// ```cpp
/// const double multiplier = dpftrl::noise_multiplier({.epsilon = 1, .delta = 1e-6});
/// assert(multiplier > 4 && multiplier < 5);
/// const double mu = dpftrl::mu_from_approximate_dp({.epsilon = 1, .delta = 1e-6});
/// assert(dpftrl::delta_from_mu({.mu = mu, .epsilon = 1}) <= 1e-6);
/// ```

#include <span>

#include "dpftrl/base/error.hpp"

namespace dpftrl {

/// (epsilon, delta)-differential privacy. epsilon > 0, 0 < delta < 1.
struct ApproximateDp {
  double epsilon;
  double delta;
};

struct MuEpsilon {
  double mu;
  double epsilon;
};
struct MuDelta {
  double mu;
  double delta;
};
struct RhoEpsilon {
  double rho;
  double epsilon;
};
struct RhoDelta {
  double rho;
  double delta;
};

/// Largest relative excess of a total over a limit that fits_limit accepts (below 1e-12). Limits
/// computed from (epsilon, delta) are lowered by as much, and the noise for them is raised.
inline constexpr double kCompositionSlack = 0x1p-40;

/// Delta of a mu-GDP mechanism at epsilon:
///
///     delta = Phi(-epsilon / mu + mu / 2) - e^epsilon Phi(-epsilon / mu - mu / 2)
///
/// @param parameters  mu > 0, epsilon >= 0 (at 0: the total variation distance).
/// @return            0 < delta <= 1; clamped to 1 or 5e-324 where doubles cannot represent the
///                    true value.
/// @exactness         exact; the excess is below 3e-14 of delta (of 1 - delta when delta > 1/2).
/// @guarantee         never below the true value.
/// @throws Error{invalid_argument} mu not positive, epsilon negative, either not finite.
/// @cost              200 to 800 terms of a quadrature, 3 to 10 microseconds.
/// @source            [BW18] Theorem 8; [DRS22] the mu-GDP case of the primal-dual conversion.
/// @checked-by        privacy_test "delta is at least the thirty digit value and within 3e14 of
///                    it"
double delta_from_mu(const MuEpsilon& parameters);

/// Smallest epsilon >= 0 at which a mu-GDP mechanism is (epsilon, delta)-DP.
///
/// @param parameters  mu > 0, 0 < delta < 1.
/// @return            epsilon >= 0; 0 exactly when delta is at least the total variation distance.
/// @exactness         exact; delta_from_mu at the result is at most delta, but no longer at an
///                    epsilon lower by a relative 1e-12 (or by the effect of a relative change of
///                    delta by 3e-14).
/// @guarantee         never below the true value.
/// @throws Error{invalid_argument} mu or delta outside its range; mu so large (1e154) that epsilon
///                    overflows.
/// @cost              about 20 evaluations of delta_from_mu.
/// @source            as delta_from_mu, inverted.
/// @checked-by        privacy_test "epsilon of mu is at least the thirty digit value and within
///                    1e12 of it"
double epsilon_from_mu(const MuDelta& parameters);

/// Largest mu such that every mu-GDP mechanism is (epsilon, delta)-DP.
///
/// @param target  epsilon > 0, 0 < delta < 1.
/// @return        mu > 0, unitless.
/// @exactness     below the true value by kCompositionSlack and at most 1e-13 more, relative.
/// @guarantee     never above the true value; delta_from_mu({mu, epsilon}) <= delta.
/// @throws Error{invalid_argument} epsilon or delta outside its range.
/// @cost          about 20 evaluations of delta_from_mu, 0.15 ms.
/// @source        [BW18] Algorithm 1 solves the same equation. This function uses Newton steps and
///                a certified search, because the erf-based form loses all digits for small delta.
/// @checked-by    privacy_test "mu is at most the thirty digit value and within 1e12 of it"
double mu_from_approximate_dp(const ApproximateDp& target);

/// Smallest noise standard deviation per unit of l2 distance for (epsilon, delta)-DP: 1 / mu.
///
/// @param target  epsilon > 0, 0 < delta < 1.
/// @return        sigma / Delta > 0, unitless.
/// @exactness     above the true value by kCompositionSlack and at most 1e-13 more, relative.
/// @guarantee     never below the true value.
/// @throws Error{invalid_argument} epsilon or delta outside its range, or both so small (1e-308)
///                that the multiplier overflows.
/// @cost          as mu_from_approximate_dp.
/// @source        [BW18] Theorem 8.
/// @checked-by    privacy_test "noise multiplier is at least the thirty digit value and within
///                1e12 of it"
double noise_multiplier(const ApproximateDp& target);

/// Gaussian DP parameter that epsilon-DP implies: mu with Phi(-mu / 2) = 1 / (1 + e^epsilon). Every
/// epsilon-DP mechanism is mu-GDP, and no smaller mu holds for all of them; for epsilon near 0, mu
/// is 1.2533 epsilon. Pure and Gaussian releases can therefore be composed in mu (compose_mu).
///
/// @exactness   an upper bound, too large by less than 1e-9 relative up to epsilon 20; beyond 700
///              it is sqrt(8 epsilon), too large by at most 1e-2.
/// @guarantee   never below the true value.
/// @throws Error{invalid_argument} epsilon not positive and finite.
/// @source      the trade-off function of epsilon-DP consists of the chords from its ends to its
///              fixed point 1 / (1 + e^epsilon), and that of mu-GDP is convex and passes through
///              these points: Dong, Roth, Su, arXiv 1905.02383.
/// @checked-by  privacy_test "pure dp is gaussian dp of known mu"
double mu_from_pure_dp(double epsilon);

/// Zero-concentrated DP parameter that epsilon-DP implies: rho = epsilon tanh(epsilon / 2), which
/// is below epsilon^2 / 2. Every epsilon-DP mechanism is rho-zCDP, and no smaller rho holds for
/// randomised response. Pure, Gaussian and lattice releases can therefore be composed in rho
/// (compose_rho).
///
/// @exactness   an upper bound, too large by less than 2^-48 relative (plus two units of 5e-324).
/// @guarantee   never below the true value.
/// @throws Error{invalid_argument} epsilon not positive and finite, or so large that rho overflows.
/// @source      docs/math/budgets.md, Lemma 2; [BS16] has epsilon^2 / 2.
/// @checked-by  privacy_test "pure dp is concentrated dp of known rho"
double rho_from_pure_dp(double epsilon);

/// Zero-concentrated DP parameter of a mu-GDP mechanism: rho = mu^2 / 2.
///
/// @exactness   the smallest double that is >= mu^2 / 2 (for mu < 1e-140, perhaps the next one).
/// @guarantee   never below the true value.
/// @throws Error{invalid_argument} mu not positive and finite, or mu^2 / 2 overflows.
/// @source      [BS16] for the Gaussian mechanism; every mu-GDP mechanism follows by
///              post-processing.
/// @checked-by  privacy_test "rho of mu is rounded up and mu of rho is rounded down"
double rho_from_mu(double mu);

/// The mu of the Gaussian mechanism that is rho-zCDP: sqrt(2 rho). Not valid for other mechanisms,
/// because rho-zCDP does not imply mu-GDP for any mu.
///
/// @exactness   the largest double that is <= sqrt(2 rho).
/// @guarantee   never above the true value.
/// @throws Error{invalid_argument} rho not positive and finite.
/// @source      [BS16] the Gaussian mechanism.
/// @checked-by  privacy_test "rho of mu is rounded up and mu of rho is rounded down"
double mu_from_rho(double rho);

/// Best known generic conversion of rho-zCDP: an UPPER bound on delta at epsilon.
///
///     delta = inf over alpha > 1 of
///             exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) * (1 - 1 / alpha)^alpha
///
/// Use it for mechanisms known only to be rho-zCDP, for example the discrete Gaussian. A continuous
/// or rounded Gaussian is mu-GDP, for which delta_from_mu is smaller.
///
/// @param parameters  rho > 0, epsilon >= 0.
/// @return            0 < delta <= 1.
/// @exactness         the infimum, too large by a relative error of at most 2e-15 times the summed
///                    magnitudes of the terms of its logarithm: 3e-12 up to epsilon = 10^3.
/// @guarantee         never below the infimum: every alpha gives a valid bound.
/// @throws Error{invalid_argument} rho not positive, epsilon negative, either not finite.
/// @cost              64 steps of a bisection in ln(alpha - 1), about 3 microseconds.
/// @source            [CKS20] Corollary 13.
/// @checked-by        privacy_test "concentrated delta is at least the thirty digit infimum and
///                    close above it"
double delta_from_rho(const RhoEpsilon& parameters);

/// Smallest epsilon >= 0 for which delta_from_rho is at most delta.
///
/// @param parameters  rho > 0, 0 < delta < 1.
/// @return            epsilon >= 0.
/// @exactness         inverse of the UPPER bound above, to 1e-12.
/// @guarantee         never below the inverse; delta_from_rho({rho, epsilon}) <= delta.
/// @throws Error{invalid_argument} rho or delta outside its range; epsilon overflows.
/// @cost              about 20 evaluations of delta_from_rho.
/// @source            [CKS20] Corollary 13, inverted.
/// @checked-by        privacy_test "concentrated epsilon is at least the thirty digit value and
///                    within 1e12 of it"
double epsilon_from_rho(const RhoDelta& parameters);

/// Largest rho for which the generic conversion gives (epsilon, delta)-DP.
///
/// @param target  epsilon > 0, 0 < delta < 1.
/// @return        rho > 0.
/// @exactness     inverse of the UPPER bound above, lower by kCompositionSlack, to 1e-12 more.
/// @guarantee     never above the inverse; delta_from_rho({rho, epsilon}) <= delta.
/// @throws Error{invalid_argument} epsilon or delta outside its range, or both so small (1e-160)
///                that rho underflows.
/// @cost          about 20 evaluations of delta_from_rho.
/// @source        [CKS20] Corollary 13, inverted.
/// @checked-by    privacy_test "concentrated rho is at most the thirty digit value and within
///                2e12 of it"
double rho_from_approximate_dp(const ApproximateDp& target);

/// Result of the textbook formula sqrt(2 ln(1.25 / delta)) / epsilon.
struct ClassicalGaussian {
  double noise_multiplier;
  double actual_delta;   ///< exact delta at the target epsilon with that multiplier, rounded up
  bool theorem_applies;  ///< epsilon < 1; otherwise the formula is a guess
  bool sound;            ///< actual_delta <= delta, so that multiplier meets the target
};

/// The classical calibration, for comparison only; no mechanism uses it. Its theorem covers
/// 0 < epsilon < 1, where it adds more noise than needed (38 % at epsilon = 0.5, delta = 1e-5). For
/// larger epsilon it can add too LITTLE noise (epsilon = 10, delta = 1e-6); `sound` is false then.
///
/// @param target  epsilon > 0, 0 < delta < 1.
/// @exactness     noise_multiplier is the formula to rounding; actual_delta as delta_from_mu.
/// @guarantee     `sound` is true only if the multiplier meets the target.
/// @throws Error{invalid_argument} epsilon or delta outside its range; the multiplier overflows.
/// @source        [DR14] Theorem A.1; its failure for large epsilon: [BW18] section 2.
/// @checked-by    privacy_test "classical formula says when it is unsound"
ClassicalGaussian classical_gaussian(const ApproximateDp& target);

/// mu of the adaptive composition of mu_i-GDP mechanisms: sqrt(sum mu_i^2); 0 if there are none.
///
/// @param mus   each positive and finite.
/// @exactness   within 2 units in the last place; exact for one entry.
/// @guarantee   never below the true value.
/// @throws Error{invalid_argument} an entry not positive and finite (its index is named); overflow.
/// @source      [DRS22] composition of Gaussian DP.
/// @checked-by  privacy_test "composition adds squares of mu and adds rho rounded up"
double compose_mu(std::span<const double> mus);

/// rho of the composition of rho_i-zCDP mechanisms: sum rho_i; 0 if there are none.
///
/// @param rhos  each positive and finite.
/// @exactness   within 2 units in the last place; exact where the sum is.
/// @guarantee   never below the true value.
/// @throws Error{invalid_argument} an entry not positive and finite (its index is named); overflow.
/// @source      [BS16] composition.
/// @checked-by  privacy_test "composition adds squares of mu and adds rho rounded up"
double compose_rho(std::span<const double> rhos);

struct SpentAndLimit {
  double total;
  double limit;
};

/// True if a total of compose_mu or compose_rho stays within a limit of mu_from_approximate_dp or
/// rho_from_approximate_dp, up to rounding: three releases of a third of a rho, or of a mu divided
/// by the root of 3, may exceed it by a few units in the last place.
///
/// @param each  total >= 0, limit > 0.
/// @exactness   total <= (1 + kCompositionSlack) limit, decided without rounding.
/// @guarantee   if true, the total is at most the largest mu or rho that is (epsilon, delta)-DP,
///              because the limit is lower than that by a factor 1 - kCompositionSlack.
/// @throws Error{invalid_argument} total negative, limit not positive, either not finite.
/// @source      docs/math/budgets.md, Lemma 5.
/// @checked-by  privacy_test "parts of a limit fit it and the whole stays within the target"
bool fits_limit(const SpentAndLimit& each);

}  // namespace dpftrl
