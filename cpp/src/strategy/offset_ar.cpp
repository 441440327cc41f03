// SPDX-License-Identifier: Apache-2.0
#include "strategy/offset_ar.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/double_double.hpp"
#include "dpftrl/base/error.hpp"
#include "strategy/family_row.hpp"

namespace dpftrl {
namespace {

constexpr double kThetaOne = 1 / OffsetArStrategy::kThetaUnit;
constexpr double kOffsetOne = 1 / OffsetArStrategy::kOffsetUnit;
/// Covers the rounding of energies, below 2^-80, and the final rounding to a double.
constexpr double kEnergyRoundUp = 1 + 0x1p-50;
/// Largest number of phases of two people, times steps, of the program for replacement.
constexpr std::int64_t kMaxPhases = std::int64_t{1} << 24;

double require_multiple(const char* name, double value, double unit, double most) {
  if (!(value >= 0 && value <= most && std::floor(value / unit) == value / unit))
    fail_argument(OffsetArStrategy::kName, name,
                  "a multiple of 1/" + to_text(1 / unit) + " between 0 and " + to_text(most),
                  to_text(value));
  return value;
}

/// Square root, rounded up.
double root_above(double square) {
  const double root = std::sqrt(square);
  const DoubleDouble back = two_product(root, root);
  const bool is_below = back.high < square || (back.high == square && back.low < 0);
  return is_below ? std::nextafter(root, std::numeric_limits<double>::infinity()) : root;
}

/// Numbers of a pattern from which its energy u^T Sigma^-1 u follows.
struct RunCount {
  std::int64_t active;  ///< steps
  std::int64_t runs;
  std::int64_t ends;  ///< how many of the first and last steps are active
};

/// Energies u^T Sigma^-1 u. With p = theta 2^10, q = 2^10 and r = offset 2^14, all intermediate
/// numbers are integers below 2^53, so f and g are exact and the energy has an error of about
/// 2^-100 f.
class Energies {
 public:
  Energies(std::int64_t steps, const OffsetArStrategy::Parameters& parameters)
      : p_(parameters.theta * kThetaOne),
        q_(kThetaOne),
        square_(q_ * q_ - p_ * p_),
        slope_((q_ - p_) * (q_ - p_)) {
    const double r = parameters.offset * kOffsetOne;
    const double sum = (q_ - p_) * static_cast<double>(steps) + 2 * p_;
    kappa_ = r * (q_ + p_);
    kappa_divisor_ = kOffsetOne * (q_ + p_) + r * sum;
  }

  double of(const RunCount& count) const {
    const double a = static_cast<double>(count.active), e = static_cast<double>(count.ends);
    const double f = slope_ * a + 2 * p_ * q_ * static_cast<double>(count.runs) - p_ * p_ * e;
    const double g = slope_ * a + p_ * (q_ - p_) * e;
    const DoubleDouble common =
        divide(divide(multiply(two_product(g, g), kappa_), kappa_divisor_), square_);
    return divide(add(negative(common), f), square_).high;
  }

  /// Largest energy over a range of active steps. The energy is concave in their number.
  double largest(RunCount count, std::int64_t most) const {
    if (count.active > most) return 0;
    const std::int64_t least = count.active;
    double best = static_cast<double>(most);
    if (kappa_ > 0) {
      const double e = static_cast<double>(count.ends);
      best = (square_ * (kappa_divisor_ / kappa_) / 2 - p_ * (q_ - p_) * e) / slope_;
    }
    const std::int64_t middle = static_cast<std::int64_t>(
        std::clamp(std::floor(best), static_cast<double>(least), static_cast<double>(most)));
    double largest = 0;
    for (std::int64_t active = std::max(least, middle - 1); active <= std::min(most, middle + 2);
         ++active) {
      count.active = active;
      largest = std::max(largest, of(count));
    }
    return largest;
  }

  /// Terms of d^T Sigma^-1 d without an offset, per step and per pair of consecutive steps.
  double middle() const { return (q_ * q_ + p_ * p_) / square_; }
  double end() const { return q_ * q_ / square_; }
  double pair() const { return -2 * p_ * q_ / square_; }

 private:
  double p_;
  double q_;
  double square_;  ///< 1 - theta^2, in units of 2^-20
  double slope_;   ///< (1 - theta)^2, in units of 2^-20
  double kappa_;   ///< offset / (1 + offset 1^T Sigma_0^-1 1), as a quotient
  double kappa_divisor_;
};

/// Largest energy of the pattern of a person who is removed.
double removal_energy(std::int64_t steps, const ActivePattern& pattern,
                      const OffsetArStrategy::Parameters& parameters) {
  const Energies energies(steps, parameters);
  const std::int64_t n = steps, most_runs = std::min(pattern.runs.value_or(n), (n + 1) / 2);
  const std::int64_t window = std::min(pattern.window, n);
  const std::int64_t cut = pattern.has_open_start ? 2 : 1;  // most runs that the ends may cut
  double largest = energies.of({n, 1, 2});
  for (std::int64_t runs = 1; runs <= most_runs; ++runs) {
    const std::int64_t inner = window * (runs - 1);
    if (window * std::max<std::int64_t>(0, runs - cut) + cut > n - runs + 1) break;
    largest = std::max(largest, energies.largest({inner + window, runs, 0}, n - runs - 1));
    largest = std::max(largest, energies.largest({inner + 1, runs, 1}, n - runs));
    if (runs == 1) continue;
    const std::int64_t least = window * (runs - cut) + cut;
    largest = std::max(largest, energies.largest({least, runs, 2}, n - runs + 1));
  }
  return largest * kEnergyRoundUp;
}

/// Largest d^T Sigma^-1 d without an offset, d the difference of two people's activities. A
/// person's phase is 0, or the steps of the run so far, at most the window. Only pairs in which
/// the first person's phase is not smaller are kept, because d and -d are alike.
class ReplacementProgram {
 public:
  ReplacementProgram(std::int64_t steps, const ActivePattern& pattern, const Energies& energies)
      : steps_(steps),
        window_(std::min(pattern.window, steps)),
        energies_(energies),
        values_(size(), kNone),
        later_(size(), kNone) {
    // A run that began before the first step may end at once.
    const std::int64_t started = pattern.has_open_start ? window_ : 1;
    for (const std::int64_t a : {std::int64_t{0}, started})
      for (const std::int64_t b : {std::int64_t{0}, started}) keep(values_, a, b, own(0, a, b));
    for (std::int64_t step = 1; step < steps; ++step) advance(step);
  }

  double largest() const { return std::ranges::max(values_); }

 private:
  static constexpr double kNone = -1;

  std::size_t size() const { return static_cast<std::size_t>((window_ + 1) * (window_ + 1)); }
  static std::int64_t difference(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(a > 0) - static_cast<std::int64_t>(b > 0);
  }
  double own(std::int64_t step, std::int64_t a, std::int64_t b) const {
    if (difference(a, b) == 0) return 0;
    // One step has no neighbours: its term is 1, the inverse of its variance.
    if (steps_ == 1) return 1;
    return step == 0 || step == steps_ - 1 ? energies_.end() : energies_.middle();
  }
  void keep(std::vector<double>& values, std::int64_t a, std::int64_t b, double value) const {
    double& best =
        values[static_cast<std::size_t>(std::max(a, b) * (window_ + 1) + std::min(a, b))];
    best = std::max(best, value);
  }

  void advance(std::int64_t step) {
    std::ranges::fill(later_, kNone);
    for (std::int64_t a = 0; a <= window_; ++a)
      for (std::int64_t b = 0; b <= a; ++b) {
        const double value = values_[static_cast<std::size_t>(a * (window_ + 1) + b)];
        if (value < 0) continue;
        for (const std::int64_t next_a : {std::int64_t{0}, std::min(a + 1, window_)}) {
          if (next_a == 0 && a > 0 && a < window_) continue;
          for (const std::int64_t next_b : {std::int64_t{0}, std::min(b + 1, window_)}) {
            if (next_b == 0 && b > 0 && b < window_) continue;
            const double product =
                static_cast<double>(difference(a, b) * difference(next_a, next_b));
            keep(later_, next_a, next_b,
                 value + own(step, next_a, next_b) + energies_.pair() * product);
          }
        }
      }
    std::swap(values_, later_);
  }

  std::int64_t steps_;
  std::int64_t window_;
  const Energies& energies_;
  std::vector<double> values_;  ///< indexed by both phases, the larger one first
  std::vector<double> later_;
};

/// Squared distance between two people who replace each other, divided by 4.
Strategy::PatternNorm replacement_norm(std::int64_t steps, const ActivePattern& pattern,
                                       const OffsetArStrategy::Parameters& parameters) {
  // Triangle inequality: replacing a person changes at most twice as much as removing one.
  const double both = removal_energy(steps, pattern, parameters);
  const std::int64_t window = std::min(pattern.window, steps);
  if ((window + 1) * (window + 1) > kMaxPhases / steps) return {both, false};
  const Energies energies(steps, {parameters.theta, 0});
  const double rounded = 1 + static_cast<double>(steps + 2) * 0x1p-51;
  const double quarter = ReplacementProgram(steps, pattern, energies).largest() / 4 * rounded;
  return {std::min(both, quarter), parameters.offset == 0 && !pattern.runs};
}

/// Integer in [least, most] at which a function that falls and then rises is least.
std::int64_t lowest(std::int64_t least, std::int64_t most,
                    const std::function<double(std::int64_t)>& value) {
  while (most - least > 2) {
    const std::int64_t third = (most - least) / 3;
    if (value(least + third) <= value(most - third)) {
      most -= third;
    } else {
      least += third;
    }
  }
  std::int64_t best = least;
  for (std::int64_t i = least + 1; i <= most; ++i)
    if (value(i) < value(best)) best = i;
  return best;
}

/// The matrix X A, X = Sigma^-1 = T - kappa T 1 1^T T, T = Sigma_0^-1 with three diagonals.
Matrix inverse_times_sums(Eigen::Index n, const OffsetArStrategy::Parameters& parameters) {
  const double theta = parameters.theta, one = 1 - theta * theta;
  const auto apply = [&](const Vector& u) {
    if (n == 1) return Vector(u);
    Vector result(n);
    for (Eigen::Index i = 0; i < n; ++i) {
      const double before = i > 0 ? u(i - 1) : 0, after = i + 1 < n ? u(i + 1) : 0;
      const double own = i == 0 || i + 1 == n ? 1 : 1 + theta * theta;
      result(i) = (own * u(i) - theta * (before + after)) / one;
    }
    return result;
  };
  const Vector ones = apply(Vector::Ones(n));
  const double kappa = parameters.offset / (1 + parameters.offset * ones.sum());
  Matrix result(n, n);
  for (Eigen::Index j = 0; j < n; ++j) {
    Vector u = Vector::Zero(n);
    u.tail(n - j).setOnes();
    result.col(j) = apply(u) - kappa * ones.tail(n - j).sum() * ones;
  }
  return result;
}

}  // namespace

OffsetArStrategy::OffsetArStrategy(std::int64_t steps, const Parameters& parameters)
    : Strategy(Workload::prefix_sums(require_between(kName, "steps", steps, 1, kMaxSteps))),
      parameters_{require_multiple("theta", parameters.theta, kThetaUnit, 1 - kThetaUnit),
                  require_multiple("offset", parameters.offset, kOffsetUnit, kMaxOffset)},
      scale_(root_above(parameters.offset)),
      innovation_(root_above(1 - parameters.theta * parameters.theta)),
      // A column of C is the effect of a run that lasts to the end.
      max_column_norm_squared_(
          removal_energy(steps, {.window = steps, .has_open_start = false}, parameters)) {}

double OffsetArStrategy::column_norm_squared(std::int64_t step) const {
  require_step(step);
  return Energies(steps(), parameters_).of({steps() - step, 1, step == 0 ? 2 : 1});
}

double OffsetArStrategy::row_norm_squared(std::int64_t step) const {
  require_step(step);
  return 1 + parameters_.offset;
}

RowNorms OffsetArStrategy::row_norms() const {
  const double variance = 1 + parameters_.offset;
  return {variance, variance, variance};
}

Matrix OffsetArStrategy::encoder() const {
  const Eigen::Index n = dense_size();
  const Matrix weights = inverse_times_sums(n, parameters_);  // X A
  Matrix encoder(n + 1, n);
  encoder.row(0) = scale_ * weights.colwise().sum();
  Eigen::RowVectorXd sum = weights.row(n - 1);  // of theta^(i-t) times rows i >= t
  for (Eigen::Index t = n - 1; t > 0; --t) {
    encoder.row(t + 1) = innovation_ * sum;
    sum = weights.row(t - 1) + parameters_.theta * sum;
  }
  encoder.row(1) = sum;
  return encoder;
}

Matrix OffsetArStrategy::decoder() const {
  const Eigen::Index n = dense_size();
  Matrix decoder = Matrix::Zero(n, n + 1);
  for (Eigen::Index t = 0; t < n; ++t) {
    if (t > 0) decoder.row(t) = parameters_.theta * decoder.row(t - 1);
    decoder(t, 0) = scale_;
    decoder(t, t + 1) = t == 0 ? 1 : innovation_;
  }
  return decoder;
}

DecoderForm OffsetArStrategy::decoder_form() const {
  return AutoregressiveDecoder{
      .offset = scale_, .decay = parameters_.theta, .innovation = innovation_};
}

std::optional<Strategy::PatternNorm> OffsetArStrategy::active_norm_squared(
    const ActivePattern& pattern) const {
  if (pattern.neighbours == Neighbours::replace_one)
    return replacement_norm(steps(), pattern, parameters_);
  return PatternNorm{removal_energy(steps(), pattern, parameters_), true};
}

OffsetArStrategy::Parameters best_offset_ar(std::int64_t steps, const ActivePattern& pattern) {
  using Parameters = OffsetArStrategy::Parameters;
  const std::int64_t window = std::min(pattern.window, steps);
  const bool is_replaced = pattern.neighbours == Neighbours::replace_one &&
                           (window + 1) * (window + 1) <= kMaxPhases / steps;
  const auto at = [](std::int64_t theta, std::int64_t offset) {
    return Parameters{static_cast<double>(theta) * OffsetArStrategy::kThetaUnit,
                      static_cast<double>(offset) * OffsetArStrategy::kOffsetUnit};
  };
  const auto error = [&](const Parameters& parameters) {
    return removal_energy(steps, pattern, parameters) * (1 + parameters.offset);
  };
  // An offset is useless for replacement, where differences have mean 0.
  const auto offset_for = [&](std::int64_t theta) {
    const auto most = static_cast<std::int64_t>(OffsetArStrategy::kMaxOffset * kOffsetOne);
    return is_replaced
               ? 0
               : lowest(0, most, [&](std::int64_t offset) { return error(at(theta, offset)); });
  };
  const auto error_of_theta = [&](std::int64_t theta) {
    if (is_replaced) return replacement_norm(steps, pattern, at(theta, 0)).squared;
    return error(at(theta, offset_for(theta)));
  };
  const std::int64_t theta = lowest(0, static_cast<std::int64_t>(kThetaOne) - 1, error_of_theta);
  return at(theta, offset_for(theta));
}

FamilyRow offset_ar_family() {
  return {.info = {.name = OffsetArStrategy::kName,
                   .summary = "one offset and an autoregression, for counts of active people",
                   .step_cost = "O(1)",
                   .memory_cost = "2 vectors",
                   .parameters = "",
                   .workloads = WorkloadSupport::decoded,
                   .max_steps = OffsetArStrategy::kMaxSteps,
                   .is_causal = false},
          .makes = Makes::prefix_sums,
          .make = [](const ToeplitzRequest& request, const StrategyParameters&) -> StrategyPointer {
            const std::int64_t n = request.workload.steps();
            require_between(OffsetArStrategy::kName, "steps", n, 1, OffsetArStrategy::kMaxSteps);
            // A single participation is a run that lasts to the end.
            const ActivePattern pattern = request.participation.pattern().value_or(
                ActivePattern{.window = n, .has_open_start = false});
            return std::make_shared<const OffsetArStrategy>(n, best_offset_ar(n, pattern));
          },
          .is_for_active_people = true};
}

}  // namespace dpftrl
