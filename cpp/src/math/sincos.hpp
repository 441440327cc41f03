// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Cosines and sines with the same bits on every platform (internal header).

#include <cstdint>

namespace dpftrl::detail {

/// Proven bound on |cos - ideal| and |sin - ideal| in sincos_2pi.
inline constexpr double kSinCosErrorBound = 1.7e-16;

struct SinCos {
  double cos;
  double sin;
};

/// Cosine and sine of 2 pi fraction / 2^64.
///
/// @exactness   each within kSinCosErrorBound of the real value; 0, 1/4, 1/2, 3/4 of a turn exact.
/// @checked-by  gaussian_test SinCos2Pi.*
SinCos sincos_2pi(std::uint64_t fraction);

}  // namespace dpftrl::detail
