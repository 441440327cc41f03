// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The optimum, or a strategy close to it, as a recursion with a few buffers, that is, a
/// time-varying buffered linear encoder (docs/math/optimal.md).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dpftrl/optimal/optimum.hpp"
#include "optimal/quadrature.hpp"
#include "optimal/weights.hpp"

namespace dpftrl::detail {

/// C with C^T C = direct D_v^-1 + sum_k w_k (A^-1 D_u^-1 A^-T + s_k D_v)^-1:
/// D_v^(-1/2) T^(-1/2) D_v^(-1/2) with the inverse root replaced by its rational approximation.
/// @param max_whole_numbers  largest number of gains that is stored unpacked; by default, 8 buffers
///                           are packed beyond 2^17 steps.
/// @cost        O(n q^2) for q nodes.
/// @checked-by  varying_numbers_test "packed numbers are those that are not"
VaryingBuffers realise(const InverseRoot& root, const Weights& weights,
                       std::size_t max_whole_numbers = std::size_t{1} << 20);

/// Fills in max_row_stddev and max_state_stddev, computed from the other numbers. They are upper
/// bounds; max_row_stddev is infinite if double precision cannot determine the variances to within
/// a thousandth.
VaryingBuffers with_stddevs(VaryingBuffers recursion);

/// ||C_j||^2 of every column, from the stored numbers.
std::vector<double> column_norms_squared(const VaryingBuffers& recursion);

struct NumberRange {
  bool is_nonnegative;  ///< true if no gain or factor is negative
  double largest_factor;
};
NumberRange range_of(const VaryingBuffers& recursion);

/// ||sum over i of C_{s + i b} / column_scales_{s + i b}||^2 for the phases s = 0 .. b - 1; for
/// non-negative numbers.
/// @cost  O(n q^2), n q doubles of memory.
std::vector<double> epoch_norms_squared(const VaryingBuffers& recursion,
                                        const std::vector<double>& column_scales,
                                        std::int64_t separation);

/// For every step and buffer, the largest r_j / column_scales_j from that step on, where C_i . C_j
/// = r_j . (factors_i * ... * factors_{j-1}).
/// @cost  O(n q^2), n q doubles.
std::vector<double> largest_products(const VaryingBuffers& recursion,
                                     const std::vector<double>& column_scales);

/// Upper bounds, for every column i, on its inner products with all columns j >= i + lag, for
/// non-negative numbers and factors of at most 1: the largest products from i + lag on, times the
/// factors of i .. i + lag - 1, because more factors only make them smaller. Includes rounding
/// errors.
/// @param largest  from `largest_products`.
/// @cost  O(n q), n q doubles.
std::vector<double> later_products(const VaryingBuffers& recursion,
                                   const std::vector<double>& column_scales,
                                   const std::vector<double>& largest, std::int64_t lag);

/// Bound on the relative amount by which rounding can have taken any ||C_j|| below its value.
///
/// A summand of ||C_j||^2 is rounded at most three times per step, and every sum of q^2 summands
/// once more per addition. This gives (3 n + q^2 + 8) 2^-53 relative to the sum of magnitudes; half
/// of it would suffice for the root.
double rounding_of_column_norms(const VaryingBuffers& recursion,
                                const std::vector<double>& norms_squared);

struct Variances {
  std::vector<double> rows;
  double max_state;
};

/// Variances of the rows of A D C^-1 Z for unit normals, A_ij = decay^(i-j), D =
/// diag(column_scales) (empty: all 1), and the largest variance of a state.
Variances variances(const VaryingBuffers& recursion, const std::vector<double>& column_scales,
                    double decay);

/// Upper bounds on the variances of A C^-1 Z, A_ij = 1 for i >= j, and of the states: `variances`
/// with every rounding error bounded (docs/math/optimal.md).
/// @cost  O(n q^2)
Variances variance_bounds(const VaryingBuffers& recursion);

}  // namespace dpftrl::detail
