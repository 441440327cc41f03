// SPDX-License-Identifier: Apache-2.0
#include "math/sincos.hpp"

#include <cstdint>

#include "simd/normal_arithmetic.hpp"

namespace dpftrl::detail {
namespace {

using Long = std::uint64_t;

}  // namespace

SinCos sincos_2pi(std::uint64_t fraction) {
  const Long moved = fraction + (Long{1} << 61);
  const Long rest = moved & ((Long{1} << 62) - 1);
  const double y = (static_cast<double>(rest >> 32) * 0x1p-30 - 0.5) +
                   static_cast<double>(rest & 0xffffffff) * 0x1p-62;
  const auto [c, s] = cos_sin_quarter<double>(y);
  constexpr Long kSign = Long{1} << 63;
  const Long odd = Long{0} - (moved >> 62 & 1);
  const auto [cosine, sine] = turn_quarters(c, s, odd, (moved ^ moved << 1) & kSign, moved & kSign);
  return {cosine, sine};
}

}  // namespace dpftrl::detail
