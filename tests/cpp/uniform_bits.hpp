// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Bits of uniforms for testing the normals: random ones, and those at which the computation
/// changes.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dpftrl/random/random.hpp"

namespace dpftrl::testing {

inline std::vector<std::uint64_t> random_longs(std::size_t count, std::uint64_t row) {
  std::vector<std::uint32_t> words(2 * count);
  fill_bits(Key::insecure_from_seed(2026), Stream::test, row, 0, words);
  std::vector<std::uint64_t> result(count);
  for (std::size_t n = 0; n < count; ++n)
    result[n] = std::uint64_t{words[2 * n]} << 32 | words[2 * n + 1];
  return result;
}

inline void push_around(std::vector<std::uint64_t>& values, std::uint64_t centre) {
  for (std::uint64_t d = 0; d < 3; ++d) {
    values.push_back(centre + d);
    values.push_back(centre - 1 - d);
  }
}

/// Values of u1 at which the computation changes: powers of two, the ends of the logarithm's
/// interval, rounding of the conversion, the middle, the thresholds; each approached from both
/// sides and mirrored.
inline std::vector<std::uint64_t> awkward_u1() {
  std::vector<std::uint64_t> values;
  for (int b = 0; b < 64; ++b) {
    push_around(values, std::uint64_t{1} << b);
    push_around(values, 0xb504f333f9de6484 >> b);  // sqrt(1/2)
    push_around(values, 0x4afb0ccc06219b7b >> b);  // 1 - sqrt(1/2)
    values.push_back(~std::uint64_t{0} >> b);
    values.push_back(0xffffffff80000000 >> b);
    values.push_back(0xfffffffffffffc00 >> b);
  }
  const std::size_t half = values.size();
  for (std::size_t n = 0; n < half; ++n) values.push_back(~values[n]);
  return values;
}

/// Values of u2 at and around the eighths and sixteenths of a turn, powers of two, zeros, ones.
inline std::vector<std::uint64_t> awkward_u2() {
  std::vector<std::uint64_t> values;
  for (std::uint64_t k = 0; k < 16; ++k) push_around(values, k << 60);
  for (int b = 0; b < 60; b += 5) {
    values.push_back((std::uint64_t{1} << 61) + (std::uint64_t{1} << b));
    values.push_back((std::uint64_t{3} << 62) - (std::uint64_t{1} << b));
  }
  return values;
}

}  // namespace dpftrl::testing
