// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "dpftrl/base/types.hpp"

namespace dpftrl::detail {

/// A number and its derivative.
struct Jet {
  double value;
  double derivative;
};

/// sum_{k<count} q^k at q = 1 - complement, and its derivative in the complement. No cancellation
/// for complements near 0.
Jet geometric_sum(double complement, std::int64_t count);
/// sum_{k<count} (count - k) q^k.
Jet weighted_geometric_sum(double complement, std::int64_t count);
/// q^exponent.
Jet power_of_complement(double complement, std::int64_t exponent);

/// 1 - (1 - a)(1 - b).
inline double joint_complement(double a, double b) {
  return a + b - a * b;
}

/// A buffered linear Toeplitz encoder C(x) = prod (1 - theta^_i x) / (1 - theta_i x) with
/// 1 > theta_1 > theta^_1 > theta_2 > ... > theta^_d > 0, from any vector of 2d real numbers:
/// -ln(1 - root), from the smallest root up, grows by exp(y_0), exp(y_1), ...
///
/// Complements of the roots and their differences are computed from sums of positive gaps, so that
/// everything here is accurate to a few rounding errors, however close to 1 the roots are.
struct BltPoint {
  explicit BltPoint(const Vector& log_gaps);

  /// Parameters that give these complements, which must interlace; theta_1 comes first.
  static Vector log_gaps_of(const Vector& decay_complements, const Vector& inverse_complements);

  Eigen::Index buffers;
  Vector gaps;        ///< exp(y)
  Vector decay;       ///< 1 - theta_i
  Vector inverse;     ///< 1 - theta^_i
  Vector weight;      ///< omega_i > 0: c_j = sum omega_i theta_i^(j-1)
  Vector sum_weight;  ///< u_i > 0: B has coefficients b_j = limit + sum u_i theta^_i^j
  double limit;       ///< prod (1 - theta_i) / (1 - theta^_i)
  bool is_finite;     ///< nothing overflowed
};

/// Derivatives of a function of a BltPoint.
struct BltSlopes {
  explicit BltSlopes(Eigen::Index buffers)
      : decay(Vector::Zero(buffers)),
        inverse(Vector::Zero(buffers)),
        log_weight(Vector::Zero(buffers)),
        log_sum_weight(Vector::Zero(buffers)),
        log_limit(0) {}
  Vector decay;
  Vector inverse;
  Vector log_weight;
  Vector log_sum_weight;
  double log_limit;
};

/// Overwrites `gradient` with the derivatives in the log gaps.
void pull_back(const BltPoint& point, const BltSlopes& slopes, Eigen::Ref<Vector> gradient);

struct Repeats {
  std::int64_t steps;
  std::int64_t num_participations;
  std::int64_t separation;
};
/// ||sum_{i<k} column i b||^2 with k participations b steps apart, in closed form, at a cost of
/// O(k d^2). The derivatives, times `scale`, are added to `slopes` if it is given.
/// @pre  (num_participations - 1) separation < steps
double sensitivity_squared(const BltPoint& point, const Repeats& repeats, BltSlopes* slopes,
                           double scale);

/// ||B_t||^2 of the last row (the largest), or its mean over rows; only derivatives are scaled.
double largest_row_squared(const BltPoint& point, std::int64_t steps, BltSlopes* slopes,
                           double scale);
double mean_row_squared(const BltPoint& point, std::int64_t steps, BltSlopes* slopes, double scale);

}  // namespace dpftrl::detail
