// SPDX-License-Identifier: Apache-2.0
#include "optimal/resolvent.hpp"

#include <algorithm>
#include <cmath>

namespace dpftrl::detail {
namespace {

/// So many nodes are swept side by side, as vectors that every compiler maps to what there is.
constexpr std::size_t kLanes = 8;
using Packet [[gnu::vector_size(kLanes * sizeof(double))]] = double;
struct Lanes {
  Packet packet{};
};

double sum_of(const Packet& p) {
  return ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]));
}

/// ((T + s I)^-1)_ii = 1 / (y_i + z_i) with
///     z_0 = 0,                z_{i+1} = e_i (z_i + s) / (q_i + z_i + s),
///     y_{n-1} = s + q_{n-1},  y_i = s + q_i y_{i+1} / (e_i + y_{i+1}).
void add_resolvents(const Bidiagonal& factors, const Lanes& shifts, const Lanes& weights,
                    std::vector<Lanes>& forward, std::vector<double>& sum) {
  const double* q = factors.diagonal_squared.data();
  const double* e = factors.subdiagonal_squared.data();
  const std::size_t last = sum.size() - 1;
  const Packet s = shifts.packet, w = weights.packet;
  Packet z{};
  for (std::size_t i = 0; i < last; ++i) {
    forward[i].packet = z;
    const Packet x = z + s;
    z = e[i] * x / (q[i] + x);
  }
  Packet y = s + q[last];
  sum[last] += sum_of(w / (y + z));
  for (std::size_t i = last; i-- > 0;) {
    y = s + q[i] * y / (e[i] + y);
    sum[i] += sum_of(w / (y + forward[i].packet));
  }
}

/// Largest relative error, in units of rounding, of y_i and z_i together for one shift: a relative
/// error of z_i enters z_{i+1} times z/(z+s) q/(q+x), one of y_{i+1} enters y_i times
/// (y_i - s)/y_i e/(e+y).
double sweep_error(const Bidiagonal& factors, double shift) {
  constexpr double kOperations = 5;
  const std::vector<double>& q = factors.diagonal_squared;
  const std::vector<double>& e = factors.subdiagonal_squared;
  double z = 0, error = 0, worst_forward = 0;
  for (std::size_t i = 0; i + 1 < q.size(); ++i) {
    const double x = z + shift;
    error = error * (z / x) * (q[i] / (q[i] + x)) + kOperations;
    z = e[i] * x / (q[i] + x);
    worst_forward = std::max(worst_forward, error);
  }
  double y = shift + q.back(), worst_backward = 1;
  error = 1;
  for (std::size_t i = e.size(); i-- > 0;) {
    const double carried = q[i] * y / (e[i] + y);
    error = error * (carried / (shift + carried)) * (e[i] / (e[i] + y)) + kOperations;
    y = shift + carried;
    worst_backward = std::max(worst_backward, error);
  }
  return std::max(worst_forward, worst_backward);
}

}  // namespace

Interval spectrum(const Bidiagonal& factors, double trace_of_inverse) {
  double largest = 0;
  for (std::size_t i = 0; i < factors.diagonal_squared.size(); ++i) {
    const double before = i == 0 ? 0 : factors.subdiagonal_squared[i - 1];
    largest = std::max(largest, factors.diagonal_squared[i] + before);
  }
  constexpr double kSlack = 1 + 0x1p-30;
  return {1 / (trace_of_inverse * kSlack), 2 * largest * kSlack};
}

std::vector<double> diagonal_of(const InverseRoot& root, const Bidiagonal& factors) {
  std::vector<double> sum(factors.diagonal_squared.size(), root.direct);
  std::vector<Lanes> forward(sum.size());
  for (std::size_t first = 0; first < root.shifts.size(); first += kLanes) {
    Lanes shifts, weights;
    for (std::size_t k = 0; k < kLanes; ++k) {
      const bool used = first + k < root.shifts.size();
      shifts.packet[k] = used ? root.shifts[first + k] : 1;
      weights.packet[k] = used ? root.weights[first + k] : 0;
    }
    add_resolvents(factors, shifts, weights, forward, sum);
  }
  return sum;
}

double rounding_error_of(const InverseRoot& root, const Bidiagonal& factors) {
  double worst = 0;
  for (const double shift : root.shifts) worst = std::max(worst, sweep_error(factors, shift));
  const double summation = static_cast<double>(root.shifts.size()) + 8;
  return 0x1p-53 * (worst + summation) * (1 + 0x1p-20);
}

}  // namespace dpftrl::detail
