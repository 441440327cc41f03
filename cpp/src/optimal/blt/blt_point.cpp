// SPDX-License-Identifier: Apache-2.0
#include "optimal/blt/blt_point.hpp"

#include <Eigen/Core>
#include <cmath>
#include <vector>

namespace dpftrl::detail {
namespace {

/// sum_k binomial(count + order - 1, k + order) (-x)^k and its derivative, for count x < 1. With
/// q = 1 - x, order 1 is sum q^k, order 2 is sum (count - k) q^k.
Jet binomial_series(double x, double count, double order) {
  double term = order == 1 ? count : count * (count + 1) / 2;
  double value = 0, derivative = 0;
  double power = 1;  // (-x)^(k-1)
  for (double k = 0; k < 60; ++k) {
    // `term` is the binomial coefficient alone; powers of x are kept apart, as x may be 0.
    const double signed_power = k == 0 ? 1 : -x * power;
    value += term * signed_power;
    if (k > 0) derivative -= k * term * power;
    if (k > 0) power = signed_power;
    const double top = count + order - 1 - (k + order);
    if (top <= 0) break;
    term *= top / (k + order + 1);
    if (k > 1 && std::abs((k + 1) * term * power * x) < 1e-18 * std::abs(value) &&
        std::abs((k + 1) * term * power) < 1e-18 * std::abs(derivative))
      break;
  }
  return {value, derivative};
}

/// The closed forms suffer from cancellation where count * complement is below this.
constexpr double kSeriesBelow = 0.5;

}  // namespace

Jet power_of_complement(double complement, std::int64_t exponent) {
  if (exponent == 0) return {1, 0};
  const double n = static_cast<double>(exponent);
  const double log_q = std::log1p(-complement);
  const double before = exponent == 1 ? 1 : std::exp((n - 1) * log_q);
  return {std::exp(n * log_q), -n * before};
}

Jet geometric_sum(double complement, std::int64_t count) {
  if (count <= 0) return {0, 0};
  if (count == 1) return {1, 0};
  const double n = static_cast<double>(count);
  if (n * complement < kSeriesBelow) return binomial_series(complement, n, 1);
  const double log_q = std::log1p(-complement);
  const double value = -std::expm1(n * log_q) / complement;
  return {value, (n * std::exp((n - 1) * log_q) - value) / complement};
}

Jet weighted_geometric_sum(double complement, std::int64_t count) {
  if (count <= 0) return {0, 0};
  if (count == 1) return {1, 0};
  const double n = static_cast<double>(count);
  if (n * complement < kSeriesBelow) return binomial_series(complement, n, 2);
  const Jet inner = geometric_sum(complement, count);
  const double q = 1 - complement;
  const double value = (n - q * inner.value) / complement;
  return {value, (inner.value - q * inner.derivative - value) / complement};
}

// Position of roots in the chain, counted from the smallest: theta^_d, theta_d, theta^_{d-1}, ...
namespace {

Eigen::Index position_of_decay(Eigen::Index buffers, Eigen::Index i) {
  return 2 * (buffers - 1 - i) + 1;
}
Eigen::Index position_of_inverse(Eigen::Index buffers, Eigen::Index i) {
  return 2 * (buffers - 1 - i);
}

/// ln |root_p - root_q| = -s_q + ln(1 - exp(-(s_p - s_q))) for p > q, s the heights.
Matrix log_differences(const Vector& gaps, const Vector& heights) {
  const Eigen::Index size = gaps.size();
  Matrix result = Matrix::Zero(size, size);
  for (Eigen::Index q = 0; q < size; ++q) {
    double distance = 0;
    for (Eigen::Index p = q + 1; p < size; ++p) {
      distance += gaps(p);
      result(p, q) = result(q, p) = -heights(q) + std::log(-std::expm1(-distance));
    }
  }
  return result;
}

}  // namespace

BltPoint::BltPoint(const Vector& log_gaps)
    : buffers(log_gaps.size() / 2),
      gaps(log_gaps.array().exp()),
      decay(buffers),
      inverse(buffers),
      weight(buffers),
      sum_weight(buffers),
      limit(1) {
  const Eigen::Index size = gaps.size();
  Vector heights(size);  // -ln(1 - root)
  double height = 0;
  for (Eigen::Index p = 0; p < size; ++p) heights(p) = height += gaps(p);
  const Matrix differences = log_differences(gaps, heights);
  double log_limit = 0;
  for (Eigen::Index i = 0; i < buffers; ++i) {
    const Eigen::Index p = position_of_decay(buffers, i);
    const Eigen::Index q = position_of_inverse(buffers, i);
    decay(i) = std::exp(-heights(p));
    inverse(i) = std::exp(-heights(q));
    log_limit -= gaps(p);
    double log_weight = 0, log_sum_weight = heights(q);
    for (Eigen::Index j = 0; j < buffers; ++j) {
      log_weight += differences(p, position_of_inverse(buffers, j));
      log_sum_weight += differences(q, position_of_decay(buffers, j));
      if (j == i) continue;
      log_weight -= differences(p, position_of_decay(buffers, j));
      log_sum_weight -= differences(q, position_of_inverse(buffers, j));
    }
    weight(i) = std::exp(log_weight);
    sum_weight(i) = std::exp(log_sum_weight);
  }
  limit = std::exp(log_limit);
  is_finite = height < 600 && weight.allFinite() && sum_weight.allFinite();
}

Vector BltPoint::log_gaps_of(const Vector& decay_complements, const Vector& inverse_complements) {
  const Eigen::Index d = decay_complements.size();
  Vector result(2 * d);
  double below = 0;
  for (Eigen::Index i = d - 1; i >= 0; --i) {
    const double low = -std::log(inverse_complements(i));
    const double high = -std::log(decay_complements(i));
    result(position_of_inverse(d, i)) = std::log(low - below);
    result(position_of_decay(d, i)) = std::log(high - low);
    below = high;
  }
  return result;
}

void pull_back(const BltPoint& point, const BltSlopes& slopes, Eigen::Ref<Vector> gradient) {
  const Eigen::Index d = point.buffers;
  const Eigen::Index size = 2 * d;
  Vector by_height = Vector::Zero(size);
  Matrix by_difference = Matrix::Zero(size, size);  // [p][q], p > q
  const auto add = [&](Eigen::Index p, Eigen::Index q, double amount) {
    by_difference(std::max(p, q), std::min(p, q)) += amount;
  };
  for (Eigen::Index i = 0; i < d; ++i) {
    const Eigen::Index p = position_of_decay(d, i);
    const Eigen::Index q = position_of_inverse(d, i);
    by_height(p) -= slopes.decay(i) * point.decay(i) + slopes.log_limit;
    by_height(q) +=
        slopes.log_limit + slopes.log_sum_weight(i) - slopes.inverse(i) * point.inverse(i);
    for (Eigen::Index j = 0; j < d; ++j) {
      add(p, position_of_inverse(d, j), slopes.log_weight(i));
      add(q, position_of_decay(d, j), slopes.log_sum_weight(i));
      if (j == i) continue;
      add(p, position_of_decay(d, j), -slopes.log_weight(i));
      add(q, position_of_inverse(d, j), -slopes.log_sum_weight(i));
    }
  }
  Vector by_gap = Vector::Zero(size);
  for (Eigen::Index q = 0; q < size; ++q) {
    double distance = 0;
    for (Eigen::Index p = q + 1; p < size; ++p) {
      distance += point.gaps(p);
      by_height(q) -= by_difference(p, q);
      const double slope = by_difference(p, q) / std::expm1(distance);
      for (Eigen::Index k = q + 1; k <= p; ++k) by_gap(k) += slope;
    }
  }
  double above = 0;
  for (Eigen::Index k = size - 1; k >= 0; --k) {
    above += by_height(k);
    gradient(k) = (by_gap(k) + above) * point.gaps(k);
  }
}

namespace {

/// States of the encoder at the participations: after the i-th, the buffer with decay q holds P_i,
/// with P_0 = 1, P_{i+1} = 1 + q^b P_i; before it, R_i = q^(b-1) P_{i-1}. Derivatives in 1 - q.
struct States {
  std::vector<Jet> before;
  std::vector<Jet> after;

  States(double complement, const Repeats& repeats)
      : before(static_cast<std::size_t>(repeats.num_participations), Jet{0, 0}),
        after(before.size(), Jet{1, 0}) {
    const Jet q = power_of_complement(complement, repeats.separation - 1);
    for (std::size_t i = 1; i < after.size(); ++i) {
      const Jet& last = after[i - 1];
      before[i] = {q.value * last.value, q.derivative * last.value + q.value * last.derivative};
      after[i] = {1 + (1 - complement) * before[i].value,
                  (1 - complement) * before[i].derivative - before[i].value};
    }
  }
};

}  // namespace

double sensitivity_squared(const BltPoint& point, const Repeats& repeats, BltSlopes* slopes,
                           double scale) {
  const Eigen::Index d = point.buffers;
  const std::size_t count = static_cast<std::size_t>(repeats.num_participations);
  const std::int64_t rest = repeats.steps - (repeats.num_participations - 1) * repeats.separation;
  std::vector<States> states;
  for (Eigen::Index a = 0; a < d; ++a) states.emplace_back(point.decay(a), repeats);
  const auto at = [&](Eigen::Index a) -> const States& {
    return states[static_cast<std::size_t>(a)];
  };
  double total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    double peak = 1;
    for (Eigen::Index a = 0; a < d; ++a) peak += point.weight(a) * at(a).before[i].value;
    total += peak * peak;
    if (slopes == nullptr) continue;
    for (Eigen::Index a = 0; a < d; ++a) {
      const double slope = 2 * peak * scale * point.weight(a);
      slopes->log_weight(a) += slope * at(a).before[i].value;
      slopes->decay(a) += slope * at(a).before[i].derivative;
    }
  }
  for (Eigen::Index a = 0; a < d; ++a) {
    for (Eigen::Index c = 0; c < d; ++c) {
      double product = 0, derivative = 0;  // between participations; in the decay of a
      for (std::size_t i = 0; i + 1 < count; ++i) {
        product += at(a).after[i].value * at(c).after[i].value;
        derivative += at(a).after[i].derivative * at(c).after[i].value;
      }
      const double last = at(a).after.back().value * at(c).after.back().value;
      const double last_derivative = at(a).after.back().derivative * at(c).after.back().value;
      const double joint = joint_complement(point.decay(a), point.decay(c));
      const Jet between = geometric_sum(joint, repeats.separation - 1);
      const Jet after = geometric_sum(joint, rest - 1);
      const double weight = point.weight(a) * point.weight(c);
      const double term = weight * (between.value * product + after.value * last);
      total += term;
      if (slopes == nullptr) continue;
      slopes->log_weight(a) += 2 * scale * term;
      slopes->decay(a) +=
          2 * scale * weight *
          (between.value * derivative + after.value * last_derivative +
           (between.derivative * product + after.derivative * last) * (1 - point.decay(c)));
    }
  }
  return total;
}

namespace {

/// limit^2 ones + 2 limit sum u_i S(i) + sum u_i u_l S(i, l), divided by `divisor`.
template <class Sum>
double quadratic_in_rows(const BltPoint& point, double ones, double divisor, const Sum& sum,
                         BltSlopes* slopes, double scale) {
  const Eigen::Index d = point.buffers;
  const double factor = scale / divisor;
  const double square = point.limit * point.limit * ones;
  double total = square;
  if (slopes != nullptr) slopes->log_limit += 2 * factor * square;
  for (Eigen::Index i = 0; i < d; ++i) {
    const Jet single = sum(point.inverse(i));
    const double outer = 2 * point.limit * point.sum_weight(i);
    total += outer * single.value;
    if (slopes != nullptr) {
      slopes->log_limit += factor * outer * single.value;
      slopes->log_sum_weight(i) += factor * outer * single.value;
      slopes->inverse(i) += factor * outer * single.derivative;
    }
    for (Eigen::Index l = 0; l < d; ++l) {
      const Jet both = sum(joint_complement(point.inverse(i), point.inverse(l)));
      const double weight = point.sum_weight(i) * point.sum_weight(l);
      total += weight * both.value;
      if (slopes == nullptr) continue;
      slopes->log_sum_weight(i) += 2 * factor * weight * both.value;
      slopes->inverse(i) += 2 * factor * weight * both.derivative * (1 - point.inverse(l));
    }
  }
  return total / divisor;
}

}  // namespace

double largest_row_squared(const BltPoint& point, std::int64_t steps, BltSlopes* slopes,
                           double scale) {
  return quadratic_in_rows(
      point, static_cast<double>(steps), 1,
      [&](double complement) { return geometric_sum(complement, steps); }, slopes, scale);
}

double mean_row_squared(const BltPoint& point, std::int64_t steps, BltSlopes* slopes,
                        double scale) {
  const double n = static_cast<double>(steps);
  return quadratic_in_rows(
      point, n * (n + 1) / 2, n,
      [&](double complement) { return weighted_geometric_sum(complement, steps); }, slopes, scale);
}

}  // namespace dpftrl::detail
