// SPDX-License-Identifier: Apache-2.0

/// The optimum as a stream: a lower-triangular C with C^T C = X_q, the rational approximation
///
///     X_q = direct D_v^-1 + sum_k w_k (A^-1 D_u^-1 A^-T + s_k D_v)^-1,        A_ij = decay^(i-j),
///
/// of the optimal X, run as a recursion with one buffer for each of the q nodes.
///
/// Idea. The k-th term is the covariance of a Markov chain that runs backward in time, so X_q is
/// the covariance of q chains and independent noise. Its Cholesky factor from the last row up comes
/// from conditioning on later steps, which is Kalman's recursion backward in time.
///
///     forward   x_t = s v_t + decay phi_{t-1} x_{t-1},    phi_t = decay / (1 + u_t x_t)
///     backward  P_t = Phi_t (P_{t+1} - h h^T / c^2) Phi_t + diag(w u_t phi_t / decay)
///               h = P_t 1,    c_t^2 = direct / v_t + 1^T h,    gains_t = h / c_t^2
///
/// (`MarkovFactors`, `Riccati`), where h and c in the formula for P_t belong to step t + 1. The
/// stream:
///
///     z_t ---(1 / c_t)---> (+) --------------+--------> w_t, a row of C^-1 Z
///                           ^ -              |
///                           |                v
///                      gains_t . s <---- s <- phi_t (s + w_t)
///
/// Everything else here reads the stored numbers, whatever made them, so that no guarantee rests on
/// the recursions above: column norms and inner products (sensitivity), row variances (error), and
/// upper bounds on variances (rounding). Norms and products come from one pass, `visit_columns`:
///
///     Q_t = c_t^2 g_t g_t^T + Phi_t Q_{t+1} Phi_t
///     ||C_t||^2 = c_t^2 + 1^T Phi_t Q_{t+1} Phi_t 1
///     C_i . C_t = r_t . (phi_{t-1} * ... * phi_i),    r_t = c_t^2 g_t + Phi_t Q_{t+1} Phi_t 1
///
/// Source: docs/math/optimal.md, section 4.

#include "optimal/realisation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "dpftrl/base/types.hpp"
#include "optimal/varying_numbers.hpp"

namespace dpftrl::detail {
namespace {

constexpr double kLeast = std::numeric_limits<double>::denorm_min();

/// phi_t of every node. In the backward chain of a node, step t multiplies what comes from later
/// steps by phi_t and adds variance u_t phi_t / decay.
class MarkovFactors {
 public:
  MarkovFactors(const InverseRoot& root, const Weights& weights)
      : root_(root),
        weights_(weights),
        before_(root.shifts.size(), 0.0),
        x_(root.shifts.size(), 0.0) {}

  /// Fills `factors` with phi_first, phi_{first + 1}, ...; called in the order of steps.
  void fill(std::size_t first, std::vector<double>& factors) {
    const std::size_t q = x_.size(), count = factors.size() / q;
    for (std::size_t t = first; t < first + count; ++t)
      for (std::size_t k = 0; k < q; ++k) {
        const double before = weights_.decay * before_[k] * x_[k];
        x_[k] = root_.shifts[k] * weights_.columns[t] + before;
        // If the quotient underflows to 0, the least positive number replaces it: 0 would not be a
        // valid factor.
        before_[k] = factors[(t - first) * q + k] =
            std::max(weights_.decay / (1 + weights_.rows[t] * x_[k]), kLeast);
      }
  }

 private:
  const InverseRoot& root_;
  const Weights& weights_;
  std::vector<double> before_, x_;
};

double square(double x) {
  return x * x;
}

/// Gains from the last step to the first. P is the covariance of the chains given later steps.
class Riccati {
 public:
  Riccati(const InverseRoot& root, const Weights& weights)
      : root_(root),
        weights_(weights),
        covariance_(root.shifts.size() * root.shifts.size(), 0.0),
        h_(root.shifts.size()) {}

  /// Writes the gains of step t and returns 1 / c_t; called from the last step to the first.
  double advance(std::size_t t, const double* phi, double* gains) {
    const std::size_t q = h_.size();
    if (has_later_)
      for (std::size_t k = 0; k < q; ++k)
        for (std::size_t l = 0; l < q; ++l)
          covariance_[k * q + l] =
              phi[k] * phi[l] * (covariance_[k * q + l] - h_[k] * h_[l] / scale_squared_);
    for (std::size_t k = 0; k < q; ++k)
      covariance_[k * q + k] += root_.weights[k] * weights_.rows[t] * phi[k] / weights_.decay;
    scale_squared_ = root_.direct / weights_.columns[t];
    for (std::size_t k = 0; k < q; ++k) {
      h_[k] = 0;
      for (std::size_t l = 0; l < q; ++l) h_[k] += covariance_[k * q + l];
      scale_squared_ += h_[k];
    }
    for (std::size_t k = 0; k < q; ++k) gains[k] = h_[k] / scale_squared_;
    has_later_ = true;
    return 1 / std::sqrt(scale_squared_);
  }

 private:
  const InverseRoot& root_;
  const Weights& weights_;
  std::vector<double> covariance_, h_;
  double scale_squared_ = 0;  ///< c^2 of the later step
  bool has_later_ = false;
};

}  // namespace

VaryingBuffers realise(const InverseRoot& root, const Weights& weights,
                       std::size_t max_whole_numbers) {
  const std::size_t q = root.shifts.size(), n = weights.columns.size();
  const auto packed = n * q <= max_whole_numbers ? nullptr : std::make_shared<PackedNumbers>(n, q);
  const std::size_t length = packed ? PackedNumbers::kBlock : n;
  const std::size_t num_blocks = (n + length - 1) / length;
  const auto size = [&](std::size_t b) { return std::min(length, n - b * length) * q; };
  std::vector<double> inverse_scales(n), gains, factors;
  MarkovFactors markov(root, weights);
  for (std::size_t b = 0; b < num_blocks; ++b) {
    factors.resize(size(b));
    markov.fill(b * length, factors);
    if (packed) packed->set_factors(b, factors);
  }
  Riccati riccati(root, weights);
  for (std::size_t b = num_blocks; b-- > 0;) {
    if (packed) packed->get_factors(b, factors);
    gains.resize(size(b));
    for (std::size_t i = size(b) / q; i-- > 0;) {
      const std::size_t t = b * length + i;
      inverse_scales[t] = riccati.advance(t, &factors[i * q], &gains[i * q]);
    }
    if (packed) packed->set_gains(b, gains);
  }
  if (packed) gains = factors = {};
  return with_stddevs({.buffers = static_cast<std::int64_t>(q),
                       .inverse_scales = std::move(inverse_scales),
                       .gains = std::move(gains),
                       .factors = std::move(factors),
                       .max_row_stddev = 0,
                       .max_state_stddev = 0,
                       .packed = packed});
}

VaryingBuffers with_stddevs(VaryingBuffers recursion) {
  constexpr double kSlack = 1 + 0x1p-40;  // for the roots
  constexpr double kMostDoubt = 1 + 0x1p-10;
  const Variances noise = variances(recursion, {}, 1), bounds = variance_bounds(recursion);
  double largest = 0;
  for (std::size_t t = 0; t < bounds.rows.size(); ++t)
    largest = bounds.rows[t] <= kMostDoubt * noise.rows[t]
                  ? std::max(largest, bounds.rows[t])
                  : std::numeric_limits<double>::infinity();
  recursion.max_row_stddev = kSlack * std::sqrt(largest);
  recursion.max_state_stddev = kSlack * std::sqrt(bounds.max_state);
  return recursion;
}

namespace {

/// Calls visit(t, ||C_t||^2, r_t) from the last column to the first.
template <class Numbers, class Visit>
void visit_columns(Numbers numbers, const Visit& visit) {
  const std::size_t q = numbers.buffers();
  std::vector<double> later(q * q, 0.0), products(q);
  for (std::size_t t = numbers.steps(); t-- > 0;) {
    const double* phi = numbers.factors(t);
    const double* gain = numbers.gains(t);
    const double scale_squared = 1 / square(numbers.inverse_scale(t));
    double below = 0;
    for (std::size_t k = 0; k < q; ++k) {
      products[k] = scale_squared * gain[k];
      for (std::size_t l = 0; l < q; ++l) {
        double& entry = later[k * q + l];
        entry *= phi[k] * phi[l];
        below += entry;
        products[k] += entry;
        entry += scale_squared * gain[k] * gain[l];
      }
    }
    visit(t, scale_squared + below, products);
  }
}

template <class Numbers>
std::vector<double> norms_squared_of(Numbers numbers) {
  std::vector<double> norms(numbers.steps());
  visit_columns(std::move(numbers), [&](std::size_t t, double norm_squared,
                                        const std::vector<double>&) { norms[t] = norm_squared; });
  return norms;
}

/// Reads |numbers|, whose column norms bound the sums of magnitudes.
class Magnitudes {
 public:
  explicit Magnitudes(const VaryingBuffers& recursion)
      : numbers_(recursion), gains_(numbers_.buffers()), factors_(numbers_.buffers()) {}

  std::size_t steps() const { return numbers_.steps(); }
  std::size_t buffers() const { return numbers_.buffers(); }
  double inverse_scale(std::size_t step) const { return numbers_.inverse_scale(step); }
  const double* gains(std::size_t step) { return magnitudes(numbers_.gains(step), gains_); }
  const double* factors(std::size_t step) { return magnitudes(numbers_.factors(step), factors_); }

 private:
  static const double* magnitudes(const double* numbers, std::vector<double>& out) {
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = std::abs(numbers[k]);
    return out.data();
  }

  VaryingReader numbers_;
  std::vector<double> gains_, factors_;
};

}  // namespace

std::vector<double> column_norms_squared(const VaryingBuffers& recursion) {
  return norms_squared_of(VaryingReader(recursion));
}

NumberRange range_of(const VaryingBuffers& recursion) {
  VaryingReader numbers(recursion);
  NumberRange range{.is_nonnegative = true, .largest_factor = 0};
  for (std::size_t t = 0; t < numbers.steps(); ++t) {
    const double *gain = numbers.gains(t), *factor = numbers.factors(t);
    for (std::size_t k = 0; k < numbers.buffers(); ++k) {
      if (!(gain[k] >= 0 && factor[k] >= 0)) range.is_nonnegative = false;
      range.largest_factor = std::max(range.largest_factor, factor[k]);
    }
  }
  return range;
}

std::vector<double> epoch_norms_squared(const VaryingBuffers& recursion,
                                        const std::vector<double>& column_scales,
                                        std::int64_t separation) {
  const std::size_t q = static_cast<std::size_t>(recursion.buffers);
  const std::size_t n = recursion.inverse_scales.size();
  const std::size_t b = std::min(n, static_cast<std::size_t>(separation));
  std::vector<double> norms(n), with_earlier(n * q);
  visit_columns(VaryingReader(recursion),
                [&](std::size_t t, double norm_squared, const std::vector<double>& products) {
                  norms[t] = norm_squared;
                  std::ranges::copy(products, &with_earlier[t * q]);
                });

  // `states`: for each phase, the buffers filled by its earlier columns. From one column of a phase
  // to the next, b steps later, each buffer is multiplied by b decay factors: those up to the end
  // of the block, then (`since`) those from the beginning of the next block.
  VaryingReader numbers(recursion);
  std::vector<double> sums(b, 0.0), states(b * q, 0.0), since(q);
  for (std::size_t first = 0; first < n; first += b) {
    const std::size_t size = std::min(b, n - first);
    std::ranges::fill(since, 1.0);
    for (std::size_t s = 0; s < size; ++s) {
      const std::size_t t = first + s;
      const double* const phi = numbers.factors(t);
      double product = 0;
      for (std::size_t k = 0; k < q; ++k) {
        double& state = states[s * q + k];
        state *= since[k];
        product += with_earlier[t * q + k] * state;
        since[k] *= phi[k];
      }
      sums[s] += (norms[t] / column_scales[t] + 2 * product) / column_scales[t];
    }
    if (size < b) break;
    std::ranges::fill(since, 1.0);
    for (std::size_t s = b; s-- > 0;) {
      const double* const phi = numbers.factors(first + s);
      for (std::size_t k = 0; k < q; ++k) {
        since[k] *= phi[k];
        double& state = states[s * q + k];
        state = (state + 1 / column_scales[first + s]) * since[k];
      }
    }
  }
  return sums;
}

std::vector<double> largest_products(const VaryingBuffers& recursion,
                                     const std::vector<double>& column_scales) {
  const std::size_t q = static_cast<std::size_t>(recursion.buffers);
  std::vector<double> largest(recursion.inverse_scales.size() * q), running(q, 0.0);
  const auto visit = [&](std::size_t t, double, const std::vector<double>& products) {
    for (std::size_t k = 0; k < q; ++k) {
      running[k] = std::max(running[k], products[k] / column_scales[t]);
      largest[t * q + k] = running[k];
    }
  };
  visit_columns(VaryingReader(recursion), visit);
  return largest;
}

std::vector<double> later_products(const VaryingBuffers& recursion,
                                   const std::vector<double>& column_scales,
                                   const std::vector<double>& largest, std::int64_t lag) {
  const std::size_t q = static_cast<std::size_t>(recursion.buffers);
  const std::size_t n = recursion.inverse_scales.size();
  const std::size_t distance = std::min(n, static_cast<std::size_t>(lag));
  // Covers the roundings of `largest` and of the products of factors.
  const double rounding = 1 + static_cast<double>(3 * n + q * q + distance + 16) * 0x1p-52;
  // The product of `distance` factors from i on is split at the end of i's block: `to_end` times
  // `beyond`.
  VaryingReader numbers(recursion);
  std::vector<double> bounds(n, 0.0), to_end(distance * q), product(q), beyond(q);
  for (std::size_t first = 0; first + distance < n; first += distance) {
    std::ranges::fill(product, 1.0);
    for (std::size_t s = distance; s-- > 0;) {
      const double* const phi = numbers.factors(first + s);
      for (std::size_t k = 0; k < q; ++k) {
        product[k] *= phi[k];
        to_end[s * q + k] = product[k];
      }
    }
    std::ranges::fill(beyond, 1.0);
    const std::size_t size = std::min(distance, n - distance - first);
    for (std::size_t s = 0; s < size; ++s) {
      const std::size_t later = first + s + distance;
      const double* const phi = numbers.factors(later);
      double sum = 0;
      for (std::size_t k = 0; k < q; ++k) {
        sum += to_end[s * q + k] * beyond[k] * largest[later * q + k];
        beyond[k] *= phi[k];
      }
      bounds[first + s] = sum / column_scales[first + s] * rounding;
    }
  }
  return bounds;
}

double rounding_of_column_norms(const VaryingBuffers& recursion,
                                const std::vector<double>& norms_squared) {
  const auto n = static_cast<double>(recursion.inverse_scales.size());
  const auto q = static_cast<double>(recursion.buffers);
  const double rounding = (3 * n + q * q + 8) * 0x1p-53;
  if (range_of(recursion).is_nonnegative) return rounding;
  const std::vector<double> sums = norms_squared_of(Magnitudes(recursion));
  double cancellation = 1;
  for (std::size_t j = 0; j < sums.size(); ++j)
    cancellation = norms_squared[j] > 0 ? std::max(cancellation, sums[j] / norms_squared[j])
                                        : std::numeric_limits<double>::infinity();
  return cancellation * rounding;
}

Variances variances(const VaryingBuffers& recursion, const std::vector<double>& column_scales,
                    double decay) {
  const std::size_t q = static_cast<std::size_t>(recursion.buffers);
  const std::size_t n = recursion.inverse_scales.size();
  // Covariances of the buffers s with each other, with w, and with the row.
  Variances result{std::vector<double>(n), 0};
  VaryingReader numbers(recursion);
  std::vector<double> with_each_other(q * q, 0.0), with_w(q), with_row(q, 0.0);
  double variance = 0;
  for (std::size_t t = 0; t < n; ++t) {
    const double* phi = numbers.factors(t);
    const double* gain = numbers.gains(t);
    const double scale = column_scales.empty() ? 1 : column_scales[t];
    double w_variance = square(recursion.inverse_scales[t]), row_with_w = 0;
    for (std::size_t k = 0; k < q; ++k) {
      with_w[k] = 0;
      for (std::size_t l = 0; l < q; ++l) with_w[k] -= with_each_other[k * q + l] * gain[l];
      w_variance -= gain[k] * with_w[k];
      row_with_w -= gain[k] * decay * with_row[k];
    }
    variance = decay * decay * variance + scale * (scale * w_variance + 2 * row_with_w);
    result.rows[t] = variance;
    for (std::size_t k = 0; k < q; ++k)
      with_row[k] =
          phi[k] * (decay * with_row[k] + scale * with_w[k] + row_with_w + scale * w_variance);
    for (std::size_t k = 0; k < q; ++k)
      for (std::size_t l = 0; l < q; ++l)
        with_each_other[k * q + l] =
            phi[k] * phi[l] * (with_each_other[k * q + l] + with_w[k] + with_w[l] + w_variance);
    for (std::size_t k = 0; k < q; ++k)
      result.max_state = std::max(result.max_state, with_each_other[k * q + k]);
  }
  return result;
}

Variances variance_bounds(const VaryingBuffers& recursion) {
  constexpr double kSlack = 1 + 0x1p-20;  // for the rounding of these bounds
  constexpr double kTiny = 0x1p-1000;     // for products below the range of double precision
  const auto q = static_cast<std::size_t>(recursion.buffers), n = recursion.inverse_scales.size();
  const std::size_t size = q + 1;  // the states, then the row
  // A number is rounded at most q + 8 times from one covariance to the next.
  const double unit = static_cast<double>(q + 8) * 0x1p-53;
  Variances result{std::vector<double>(n), 0};
  VaryingReader numbers(recursion);
  std::vector<double> covariance(size * size, 0.0), with_w(size), error(size), onto(size, 1.0);
  std::vector<double> root(size), inverse_root(size), excess(size), doubt(size * size);
  for (std::size_t t = 0; t < n; ++t) {
    const double* gain = numbers.gains(t);
    std::copy_n(numbers.factors(t), q, onto.begin());
    const double fresh = square(recursion.inverse_scales[t]);
    double w = fresh, w_error = unit * fresh;
    for (std::size_t i = 0; i < size; ++i) {
      double sum = 0, magnitude = 0;
      for (std::size_t k = 0; k < q; ++k) {
        const double product = gain[k] * covariance[i * size + k];
        sum -= product;
        magnitude += std::abs(product);
      }
      with_w[i] = sum;
      error[i] = unit * magnitude;
      if (i == q) break;
      w -= gain[i] * sum;
      w_error += std::abs(gain[i]) * (unit * std::abs(sum) + error[i]);
    }
    // Covariance of y_i' = onto_i (y_i + w); `doubt` bounds the rounding of each entry.
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        const double factor = onto[i] * onto[j], before = covariance[i * size + j];
        covariance[i * size + j] = factor * (before + (with_w[i] + with_w[j]) + w);
        doubt[i * size + j] = std::abs(factor) * (unit * (std::abs(before) + std::abs(with_w[i]) +
                                                          std::abs(with_w[j]) + std::abs(w)) +
                                                  error[i] + error[j] + w_error) +
                              kTiny;
      }
      root[i] = std::sqrt(covariance[i * size + i]);
    }
    // Adds to the diagonal what dominates `doubt` (Gershgorin, in units of the roots).
    std::ranges::fill(excess, 0.0);
    for (std::size_t i = 0; i < size; ++i) inverse_root[i] = 1 / (root[i] += 0x1p-100 * root[q]);
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        excess[i] += doubt[i * size + j] * inverse_root[j];
        if (j < i) excess[j] += doubt[i * size + j] * inverse_root[i];
      }
    for (std::size_t i = 0; i < size; ++i) {
      covariance[i * size + i] += kSlack * root[i] * excess[i];
      for (std::size_t j = 0; j < i; ++j) covariance[j * size + i] = covariance[i * size + j];
    }
    // NaN propagates to all later rows, where `with_stddevs` finds it.
    for (std::size_t k = 0; k < q; ++k) {
      const double state = covariance[k * size + k];
      result.max_state = state <= result.max_state ? result.max_state : state;
    }
    result.rows[t] = covariance[q * size + q];
  }
  return result;
}

}  // namespace dpftrl::detail
