// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Convolution of sequences of fixed-point numbers without rounding (internal header).

#include <cstddef>
#include <vector>

#include "math/fixed_point.hpp"

namespace dpftrl::detail {

/// Maximum length of the sequences of `convolve`.
inline constexpr std::size_t kMaxConvolution = std::size_t{1} << 22;

/// Entry i is a_0 b_i + ... + a_i b_0, rounded down to the last digit and otherwise exact, for two
/// sequences of equal length.
///
/// @param a, b  digits in two's complement, |a| <= 2^30, |b| <= 2^30 and |a| |b| <= 2^38.
/// @throws std::bad_alloc. Memory: about 400 bytes per entry at 2 digits, 1000 at 8.
/// @cost   O(length^1.59), by Karatsuba's method.
std::vector<Digits> convolve(const std::vector<Digits>& a, const std::vector<Digits>& b,
                             std::size_t num_digits);

}  // namespace dpftrl::detail
