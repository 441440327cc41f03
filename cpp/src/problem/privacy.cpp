// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/problem/privacy.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <string>

#include "base/double_double.hpp"
#include "dpftrl/base/error.hpp"

// Every guarantee that leaves this file is the end point of an interval, not an estimate. Only the
// noise multiplier of classical_gaussian is a formula, and its delta is certified. The scheme
// (docs/math/privacy.md has the proofs): write delta(mu, epsilon) as a density times an integral of
// a positive function, so that nothing cancels; bound the error of the floating-point value; round
// the bound up. All inverses are searches over doubles for the last argument at which that upper
// bound still meets the target, so they inherit its guarantee however the search got there.

static_assert(FLT_EVAL_METHOD == 0, "the error-free transformations below need plain doubles");

namespace dpftrl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
constexpr double kInvSqrt2Pi = 0.39894228040143267794;
constexpr double kLogSqrt2Pi = 0.91893853320467274178;

/// Relative error allowed for a density times an integral; about ten times its proven bound.
constexpr double kMargin = 0x1p-46;
/// Step of the trapezoidal rule in ln t; its relative error is below 1e-17.
constexpr double kStep = 7.0 / 64.0;
/// |a| beyond which delta is below the smallest double (a > 0), or 1 - delta below 2^-1000 (a < 0).
constexpr double kFar = 40;

double up(double value) {
  return std::nextafter(value, kInfinity);
}
double down(double value) {
  return std::nextafter(value, -kInfinity);
}

/// Smallest double >= a + b.
double add_up(double a, double b) {
  const DoubleDouble sum = two_sum(a, b);
  return sum.low > 0 ? up(sum.high) : sum.high;
}

/// Smallest double >= 1 - value, for 0 <= value <= 1/2.
double one_minus_up(double value) {
  const double difference = 1 - value;
  return (1 - difference) > value ? up(difference) : difference;
}

/// numerator / denominator with a relative error below 2^-104, whatever the exponents.
DoubleDouble divide_scaled(double numerator, double denominator) {
  int numerator_exponent = 0;
  int denominator_exponent = 0;
  const double n = std::frexp(numerator, &numerator_exponent);
  const double d = std::frexp(denominator, &denominator_exponent);
  const double quotient = n / d;
  const double rest = std::fma(-quotient, d, n) / d;
  const int exponent = numerator_exponent - denominator_exponent;
  return {std::ldexp(quotient, exponent), std::ldexp(rest, exponent)};
}

/// R(x) - R(x + width) for x >= 0, where R = (1 - Phi) / phi is the Mills ratio of the normal law;
/// R(x) itself when width is infinite. Relative error below 2^-49.
///
///     R(x) - R(x + width) = int_0^inf exp(-x t - t^2 / 2) (1 - exp(-width t)) dt
///
/// by the trapezoidal rule in ln t. The integrand is positive and log-concave in ln t, so nothing
/// cancels for any width, and both tails may be cut at the first negligible term.
double mills_difference(double x, double width) {
  constexpr double kLinear = 1e-280;  // below it, 1 - exp(-width t) is width t to every digit
  if (width < kLinear) return mills_difference(x, kLinear) * (width / kLinear);
  const double scale = x > 1 ? 1 / x : 1;
  double sum = 0;
  double carry = 0;
  const auto negligible = [&](int index) {
    const double t = scale * std::exp(index * kStep);
    const double term = t * std::exp(-t * (x + 0.5 * t)) * -std::expm1(-width * t);
    const double corrected = term - carry;  // Kahan: the sum has up to 400 terms
    const double next = sum + corrected;
    carry = (next - sum) - corrected;
    sum = next;
    return term <= sum * 0x1p-60;
  };
  for (int index = 0; !negligible(index);) ++index;
  for (int index = -1; !negligible(index);) --index;
  return kStep * sum;
}

double mills(double x) {
  return mills_difference(x, kInfinity);
}

/// (Phi(x) - Phi(-x)) / phi(x) = 2 (x + x^3 / 3 + x^5 / 15 + ...), 0 <= x <= 1: positive terms.
double centre_over_density(double x) {
  double term = x;
  double sum = x;
  for (int odd = 3; term > sum * 0x1p-60; odd += 2) {
    term *= x * x / odd;
    sum += term;
  }
  return 2 * sum;
}

/// delta = phi(a) ratio, or 1 - delta = phi(a) ratio if `complement`; a = epsilon / mu - mu / 2.
struct Profile {
  double half_square;  ///< a^2 / 2 = half_square + correction
  double correction;
  bool complement;
  double ratio;

  double log_value() const { return -half_square - correction - kLogSqrt2Pi + std::log(ratio); }
  double value() const {
    return std::exp(-half_square) * ((1 - correction) * (ratio * kInvSqrt2Pi));
  }
};

/// The tail value at (mu, epsilon), mu > 0, epsilon >= 0. With b = a + mu, e^epsilon phi(b) =
/// phi(a) turns delta = Phi(-a) - e^epsilon Phi(-b) into phi(a) (R(a) - R(b)); each branch is a
/// form of this without cancellation. `ratio` is left 0 where |a| > kFar.
Profile profile(double mu, double epsilon) {
  const DoubleDouble quotient = divide_scaled(epsilon, mu);
  if (!(quotient.high < 1e300)) return {kInfinity, 0, false, 0};
  const DoubleDouble difference = two_sum(quotient.high, -0.5 * mu);
  // a is rounded down, that is, towards larger delta: epsilon / mu > 2^50 needs this to stay on the
  // safe side; below that, it makes no difference.
  const double rest = difference.low + quotient.low - quotient.high * 0x1p-103;
  const DoubleDouble a = two_sum(difference.high, rest);
  const double square = a.high * a.high;
  const double square_rest = std::fma(a.high, a.high, -square);
  if (!(std::abs(a.high) <= kFar)) return {kInfinity, 0, a.high < 0, 0};
  Profile result{0.5 * square, 0.5 * square_rest + a.high * a.low, false, 0};
  if (a.high >= 0) {
    result.ratio = mills_difference(a.high, mu);
  } else if (a.high > -0.7) {
    result.ratio = centre_over_density(-a.high) + mills_difference(-a.high, 2 * quotient.high);
  } else {
    result.complement = true;
    result.ratio = mills(-a.high) + mills(quotient.high + 0.5 * mu);
  }
  return result;
}

/// Rounds up by two doubles, which also covers the absolute rounding error of a subnormal result:
/// at most 1.5 units, and at most one if the result is 0.
double up_from_zero(double value) {
  return value > 0 ? up(up(value)) : kSmallest;
}

/// Upper bound on delta(mu, epsilon), relative excess at most 2^-45 (of delta up to 1/2, of
/// 1 - delta beyond), never 0.
double delta_upper(double mu, double epsilon) {
  const Profile tail = profile(mu, epsilon);
  if (tail.complement) return one_minus_up(tail.value() * (1 - kMargin));
  return up_from_zero(tail.value() * (1 + kMargin));
}

/// Moves a guess onto the safe side of `holds`, then as close to its edge as doubles allow.
/// `safe_side` is +1 if larger arguments are safe, -1 if smaller ones are. The result satisfies
/// `holds`, except 0 or infinity when no positive finite double does.
template <class Holds>
double safe_edge(double guess, int safe_side, const Holds& holds) {
  const auto moved = [](double from, int side, double gap) {
    return side > 0 ? from * (1 + gap) : from / (1 + gap);
  };
  double safe = std::clamp(guess, kSmallest, DBL_MAX);
  double unsafe = safe;
  if (holds(safe)) {
    for (double gap = 0x1p-50;; gap *= 8) {
      unsafe = std::min(moved(safe, -safe_side, gap), DBL_MAX);
      if (!(unsafe > 0) || !holds(unsafe)) break;
      if (unsafe == DBL_MAX) return unsafe;
      safe = unsafe;
    }
  } else {
    for (double gap = 0x1p-50;; gap *= 8) {
      safe = moved(unsafe, safe_side, gap);
      if (!(safe > 0 && safe < kInfinity)) return safe;
      if (holds(safe)) break;
      unsafe = safe;
    }
  }
  for (;;) {
    const double middle = safe + (unsafe - safe) / 2;
    if (middle == safe || middle == unsafe) return safe;
    (holds(middle) ? safe : unsafe) = middle;
  }
}

constexpr int kMostNewtonSteps = 60;

/// ln delta or ln(1 - delta), whichever `tail` describes.
double log_target(const Profile& tail, double delta) {
  return tail.complement ? std::log1p(-delta) : std::log(delta);
}

/// A bound z >= a for every (mu, epsilon) whose delta is the given one: delta <= exp(-a^2 / 2) / 2.
double largest_a(double delta) {
  return delta < 0.5 ? std::sqrt(-2 * std::log(2 * delta)) : 0;
}

/// Root of delta(mu, epsilon) = delta in mu, to rounding; not certified. Newton's method in (ln mu,
/// ln delta), where the function is concave, so from the lower bound used here it only moves up.
double guess_mu(double epsilon, double delta) {
  const double z = largest_a(delta);
  const double root = std::hypot(z, std::sqrt(2.0) * std::sqrt(epsilon));  // 2 epsilon may overflow
  double mu = std::max(2 * (epsilon / (z + root)), delta / kInvSqrt2Pi);
  if (!(mu > 0)) mu = kSmallest;
  for (int step = 0; step < kMostNewtonSteps; ++step) {
    const Profile tail = profile(mu, epsilon);
    if (!(tail.ratio > 0)) break;
    const double slope = (tail.complement ? -mu : mu) / tail.ratio;  // d ln(value) / d ln mu
    const double move = (log_target(tail, delta) - tail.log_value()) / slope;
    mu *= std::exp(std::clamp(move, -3.0, 3.0));
    if (!(std::abs(move) > 1e-15)) break;
  }
  return mu;
}

/// Lowers a limit by kCompositionSlack, rounded down. The smallest double stays, as fits_limit adds
/// nothing to it.
double lowered(double limit) {
  return limit > kSmallest ? down(limit * (1 - kCompositionSlack)) : limit;
}

double mu_lower(double epsilon, double delta) {
  return lowered(safe_edge(guess_mu(epsilon, delta), -1,
                           [&](double mu) { return delta_upper(mu, epsilon) <= delta; }));
}

/// Root of delta(mu, epsilon) = delta in epsilon > 0, to rounding; not certified.
double guess_epsilon(double mu, double delta) {
  double epsilon = mu * (largest_a(delta) + 0.5 * mu);
  for (int step = 0; step < kMostNewtonSteps && epsilon < kInfinity; ++step) {
    const Profile tail = profile(mu, epsilon);
    if (!(tail.ratio > 0)) break;
    const double next_tail = mills(epsilon / mu + 0.5 * mu);
    const double slope = (tail.complement ? next_tail : -next_tail) / tail.ratio;
    const double next = epsilon + (log_target(tail, delta) - tail.log_value()) / slope;
    const double previous = epsilon;
    epsilon = next > 0 ? next : 0.125 * epsilon;
    if (!(std::abs(epsilon - previous) > 1e-15 * previous)) break;
  }
  return epsilon;
}

/// The point of [low, high] where is_low turns false, if it does so only once.
double bisect(double low, double high, auto&& is_low) {
  for (int step = 0; step < 64; ++step) {
    const double middle = low + 0.5 * (high - low);
    (is_low(middle) ? low : high) = middle;
  }
  return low + 0.5 * (high - low);
}

/// Search range of ln(alpha - 1): every alpha gives a valid bound, and none outside is needed.
constexpr double kLowestLog = -690;
constexpr double kHighestLog = 400;

/// Upper bound on the delta that rho-zCDP implies. In beta = alpha - 1 its logarithm is
///     f(beta) = beta ((1 + beta) rho - epsilon - ln(1 + 1 / beta)) - ln(1 + beta),
/// convex, with f'(beta) = (1 + 2 beta) rho - epsilon - ln(1 + 1 / beta). Any beta is sound.
double delta_upper_zcdp(double rho, double epsilon) {
  const double beta = std::exp(bisect(kLowestLog, kHighestLog, [&](double log_beta) {
    const double at = std::exp(log_beta);
    return (1 + 2 * at) * rho < epsilon + std::log1p(1 / at);
  }));
  const double grow = beta * ((1 + beta) * rho);
  const double shrink = beta * epsilon;
  const double entropy = beta * std::log1p(1 / beta);
  const double normaliser = std::log1p(beta);
  const double magnitude = grow + shrink + entropy + normaliser;
  if (!(magnitude < kInfinity)) return 1;
  const double log_delta = (grow - shrink) - entropy - normaliser + 0x1p-50 * magnitude;
  if (log_delta >= 0) return 1;
  if (log_delta > -0.6) return one_minus_up(-std::expm1(log_delta) * (1 - 0x1p-50));
  return up_from_zero(std::exp(log_delta) * (1 + 0x1p-50));
}

/// The optimal beta at a given delta, where ln(1 / delta) = rho beta^2 + ln(1 + beta) (put f' = 0
/// into f). Accurate to rounding; only guesses depend on it.
double optimal_beta(double delta, auto&& rho_at) {
  const double target = -std::log(delta);
  return std::exp(bisect(kLowestLog, kHighestLog, [&](double log_beta) {
    const double beta = std::exp(log_beta);
    return beta * (beta * rho_at(beta)) + std::log1p(beta) < target;
  }));
}

double require_delta(std::string_view function, double delta) {
  return require_inside(function, "delta", delta, 0, 1);
}

double require_positive_entry(std::string_view function, const char* name,
                              std::span<const double> values, std::size_t index) {
  const double value = values[index];
  if (value > 0 && value < kInfinity) return value;  // builds no text for valid entries
  return require_positive(function, std::string(name) + "[" + std::to_string(index) + "]", value);
}

void require_target(std::string_view function, const ApproximateDp& target) {
  require_positive(function, "epsilon", target.epsilon);
  require_delta(function, target.delta);
}

}  // namespace

double delta_from_mu(const MuEpsilon& parameters) {
  require_positive("delta_from_mu", "mu", parameters.mu);
  require_non_negative("delta_from_mu", "epsilon", parameters.epsilon);
  return delta_upper(parameters.mu, parameters.epsilon);
}

double epsilon_from_mu(const MuDelta& parameters) {
  const double mu = require_positive("epsilon_from_mu", "mu", parameters.mu);
  const double delta = require_delta("epsilon_from_mu", parameters.delta);
  const auto holds = [&](double epsilon) { return delta_upper(mu, epsilon) <= delta; };
  if (holds(0)) return 0;
  const double epsilon = safe_edge(guess_epsilon(mu, delta), +1, holds);
  if (!(epsilon < kInfinity))
    fail_argument("epsilon_from_mu", "mu", "small enough for a finite epsilon", to_text(mu));
  return epsilon;
}

double mu_from_approximate_dp(const ApproximateDp& target) {
  require_target("mu_from_approximate_dp", target);
  return mu_lower(target.epsilon, target.delta);
}

double noise_multiplier(const ApproximateDp& target) {
  require_target("noise_multiplier", target);
  const double mu = mu_lower(target.epsilon, target.delta);
  const double multiplier = 1 / mu;
  if (!(multiplier < kInfinity))
    fail_argument("noise_multiplier", "epsilon", "large enough for a finite noise multiplier",
                  to_text(target.epsilon));
  return std::fma(multiplier, mu, -1.0) < 0 ? up(multiplier) : multiplier;
}

double mu_from_pure_dp(double epsilon) {
  require_positive("mu_from_pure_dp", "epsilon", epsilon);
  const double asymptote = up(std::sqrt(8.0) * std::sqrt(epsilon) * (1 + 0x1p-50));
  // Soon beyond this, 1 / (1 + e^epsilon) leaves the range of doubles; Phi(-x) <= e^(-x^2 / 2) / 2
  // suffices.
  if (epsilon > 700) return asymptote;
  // tanh x <= x, and mu^2 is below all rounding, so sqrt(pi / 2) epsilon, rounded up, suffices. The
  // search below would round half of a subnormal epsilon down.
  if (epsilon < 0x1p-900) return up_from_zero(1.2533141373155006 * epsilon);
  // 1 - 2 Phi(-mu / 2) = delta(mu, 0) must be at least tanh(epsilon / 2).
  const auto holds = [epsilon](double mu) {
    const Profile tail = profile(mu, 0);
    if (tail.complement)
      return tail.value() * (1 + kMargin) + kSmallest <=
             2 / (1 + std::exp(epsilon)) * (1 - kMargin);
    return tail.value() * (1 - kMargin) >= std::tanh(epsilon / 2) * (1 + kMargin);
  };
  return safe_edge(std::min(1.2533141373155003 * epsilon, asymptote), +1, holds);
}

double rho_from_pure_dp(double epsilon) {
  require_positive("rho_from_pure_dp", "epsilon", epsilon);
  // tanh from functions whose errors are known, together below 2^-49.
  const double slope = -std::expm1(-epsilon) / (1 + std::exp(-epsilon));
  const double rho = up_from_zero(epsilon * slope * (1 + 0x1p-49));
  if (!(rho < kInfinity))
    fail_argument("rho_from_pure_dp", "epsilon", "small enough for a finite rho", to_text(epsilon));
  return rho;
}

double rho_from_mu(double mu) {
  require_positive("rho_from_mu", "mu", mu);
  const double half = 0.5 * mu;  // mu^2 may overflow where mu^2 / 2 does not
  const double product = half * mu;
  // Below 1e-281 the residual itself may underflow, so always round up.
  const bool exact = product > 1e-281 && std::fma(half, mu, -product) <= 0;
  const double rho = exact ? product : up(product);
  if (!(rho < kInfinity))
    fail_argument("rho_from_mu", "mu", "small enough for a finite rho", to_text(mu));
  return rho;
}

double mu_from_rho(double rho) {
  require_positive("mu_from_rho", "rho", rho);
  if (rho < 1e-200) return 0x1p-100 * mu_from_rho(0x1p200 * rho);  // keeps the residual exact
  const double half = std::sqrt(0.5 * rho);  // 2 rho would overflow at the top of the range
  return 2 * (std::fma(half, half, -0.5 * rho) <= 0 ? half : down(half));
}

double delta_from_rho(const RhoEpsilon& parameters) {
  require_positive("delta_from_rho", "rho", parameters.rho);
  require_non_negative("delta_from_rho", "epsilon", parameters.epsilon);
  return delta_upper_zcdp(parameters.rho, parameters.epsilon);
}

double epsilon_from_rho(const RhoDelta& parameters) {
  const double rho = require_positive("epsilon_from_rho", "rho", parameters.rho);
  const double delta = require_delta("epsilon_from_rho", parameters.delta);
  const auto holds = [&](double epsilon) { return delta_upper_zcdp(rho, epsilon) <= delta; };
  if (holds(0)) return 0;
  const double beta = optimal_beta(delta, [rho](double) { return rho; });
  const double guess = (1 + 2 * beta) * rho - std::log1p(1 / beta);
  const double epsilon = safe_edge(guess, +1, holds);
  if (!(epsilon < kInfinity))
    fail_argument("epsilon_from_rho", "rho", "small enough for a finite epsilon", to_text(rho));
  return epsilon;
}

double rho_from_approximate_dp(const ApproximateDp& target) {
  require_target("rho_from_approximate_dp", target);
  const double epsilon = target.epsilon;
  const auto rho_at = [epsilon](double beta) {
    return (epsilon + std::log1p(1 / beta)) / (1 + 2 * beta);
  };
  const double guess = rho_at(optimal_beta(target.delta, rho_at));
  const double rho = lowered(safe_edge(guess, -1, [&](double candidate) {
    return delta_upper_zcdp(candidate, epsilon) <= target.delta;
  }));
  if (!(rho > 0))
    fail_argument("rho_from_approximate_dp", "epsilon", "large enough for a positive rho",
                  to_text(epsilon));
  return rho;
}

ClassicalGaussian classical_gaussian(const ApproximateDp& target) {
  require_target("classical_gaussian", target);
  const double log_term = std::log(1.25) - std::log(target.delta);
  const double multiplier = std::sqrt(2 * log_term) / target.epsilon;
  if (!(multiplier < kInfinity))
    fail_argument("classical_gaussian", "epsilon", "large enough for a finite noise multiplier",
                  to_text(target.epsilon));
  const double actual = delta_upper(up(1 / multiplier), target.epsilon);
  return {.noise_multiplier = multiplier,
          .actual_delta = actual,
          .theorem_applies = target.epsilon < 1,
          .sound = actual <= target.delta};
}

double compose_mu(std::span<const double> mus) {
  double largest = 0;
  for (std::size_t i = 0; i < mus.size(); ++i)
    largest = std::max(largest, require_positive_entry("compose_mu", "mus", mus, i));
  if (!(largest > 0)) return 0;
  int exponent = 0;
  std::frexp(largest, &exponent);
  double high = 0;
  double low = 0;
  for (const double mu : mus) {
    // An entry too small for its square to be exact is counted as slightly larger, which is safe
    // and makes no visible difference.
    const double scaled = std::max(std::ldexp(mu, -exponent), 0x1p-400);
    const double square = scaled * scaled;
    const DoubleDouble sum = two_sum(high, square);
    high = sum.high;
    low = add_up(add_up(low, sum.low), std::fma(scaled, scaled, -square));
  }
  const DoubleDouble total = two_sum(high, low);
  const double root = std::sqrt(total.high);
  const bool short_of_it = std::fma(root, root, -total.high) < total.low;
  double result = std::ldexp(short_of_it ? up(root) : root, exponent);
  if (result < DBL_MIN) result = up(result);  // ldexp may have rounded down
  if (!(result < kInfinity))
    fail_argument("compose_mu", "mus", "small enough for a finite total", to_text(largest));
  return result;
}

double compose_rho(std::span<const double> rhos) {
  double high = 0;
  double low = 0;
  for (std::size_t i = 0; i < rhos.size(); ++i) {
    const double rho = require_positive_entry("compose_rho", "rhos", rhos, i);
    const DoubleDouble sum = two_sum(high, rho);
    if (!(sum.high < kInfinity))
      fail_argument("compose_rho", "rhos", "small enough for a finite total", to_text(rho));
    high = sum.high;
    low = add_up(low, sum.low);
  }
  return add_up(high, low);
}

bool fits_limit(const SpentAndLimit& each) {
  const double total = require_non_negative("fits_limit", "total", each.total);
  const double limit = require_positive("fits_limit", "limit", each.limit);
  // The difference is exact where the two are within a factor of 2; elsewhere, rounding does not
  // change the outcome.
  return total - limit <= kCompositionSlack * limit;
}

}  // namespace dpftrl
