// SPDX-License-Identifier: Apache-2.0
// Extended normals, compared with the same transform in 256 bits.
#include "random/gaussian_extended.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "dpftrl/noise/noise_stream.hpp"
#include "math/fixed_point.hpp"
#include "noise/exact/exact_rows.hpp"
#include "random/gaussian.hpp"
#include "random/normal_pairs.hpp"
#include "simd/normal_arithmetic.hpp"
#include "simd/simd.hpp"
#include "uniform_bits.hpp"

namespace dpftrl {
namespace {

using detail::Digits;
using detail::Enclosure;
using detail::FixedPoint;
using Long = std::uint64_t;
using HalfWord = std::uint32_t;
/// Digits after the point, in base 2^64.
using Planes = std::array<Long, detail::kNumPlanes>;

const FixedPoint& fixed() {
  static const FixedPoint instance(detail::kMaxDigits);
  return instance;
}

Enclosure enclosed_double(double x) {
  Enclosure value = fixed().from_double(std::abs(x));
  value.negative = std::signbit(x);
  return value;
}

/// |sum - ideal|.
double distance_from_ideal(const Enclosure& ideal, const DoubleDouble& sum) {
  const Enclosure rest = fixed().subtract(fixed().subtract(ideal, enclosed_double(sum.high)),
                                          enclosed_double(sum.low));
  EXPECT_LT(rest.error * fixed().unit(), 0x1p-100);
  return fixed().to_double(rest.digits);
}

/// Larger distance of the two normals from the ideal ones for these bits, where all further planes
/// are `rest`.
double distance_from_ideal(const Planes& u1, Long u2, Long rest, const detail::NormalPair& z) {
  EXPECT_LE(std::abs(z.cos.low), 0x1p-53 * std::abs(z.cos.high));
  EXPECT_LE(std::abs(z.sin.low), 0x1p-53 * std::abs(z.sin.high));
  if (std::ranges::all_of(u1, [](Long digit) { return digit == ~Long{0}; }) && rest == ~Long{0})
    return std::max(std::abs(z.cos.high), std::abs(z.sin.high));  // u1 = 1 has radius 0
  Digits log_of, turn;
  log_of.fill(rest);
  turn.fill(rest);
  log_of[0] = turn[0] = 0;
  std::ranges::copy(u1, log_of.begin() + 1);
  turn[1] = u2;
  const Enclosure log = fixed().minus_log(log_of);
  const Enclosure radius = fixed().square_root(fixed().add(log, log));
  const Enclosure cosine = fixed().multiply(radius, fixed().cosine_of_turn(turn));
  turn[1] -= Long{1} << 62;
  const Enclosure sine = fixed().multiply(radius, fixed().cosine_of_turn(turn));
  return std::max(distance_from_ideal(cosine, z.cos), distance_from_ideal(sine, z.sin));
}

/// Larger distance from the ideal when the known planes of u1 are followed by zeros or by ones.
double distance_of_any(const Planes& u1, std::size_t num_known, Long u2,
                       const detail::NormalPair& z) {
  double worst = 0;
  for (const Long rest : {Long{0}, ~Long{0}}) {
    Planes all = u1;
    std::fill(all.begin() + static_cast<std::ptrdiff_t>(num_known), all.end(), rest);
    worst = std::max(worst, distance_from_ideal(all, u2, rest, z));
  }
  return worst;
}

bool is_exceptional_extended(Long u1) {
  return (u1 >> 63 != 0 ? ~u1 : u1) >> 32 < detail::kExceptionalHighWordExtended;
}

std::vector<HalfWord> words_of(const std::vector<Long>& u1, const std::vector<Long>& u2) {
  std::vector<HalfWord> words((u1.size() + 3) / 4 * 16, 0x55555555);
  for (std::size_t n = 0; n < u1.size(); ++n) {
    HalfWord* p = &words[16 * (n / 4) + n % 4];
    p[0] = static_cast<HalfWord>(u1[n]);
    p[4] = static_cast<HalfWord>(u1[n] >> 32);
    p[8] = static_cast<HalfWord>(u2[n]);
    p[12] = static_cast<HalfWord>(u2[n] >> 32);
  }
  return words;
}

/// Largest distance of the fast path, over non-exceptional pairs.
double worst_of(const std::vector<Long>& u1, const std::vector<Long>& u2) {
  const std::vector<HalfWord> words = words_of(u1, u2);
  std::vector<DoubleDouble> z(words.size() / 2);
  EXPECT_EQ(detail::normals_from_words(words, z.data()),
            std::ranges::any_of(u1, is_exceptional_extended));
  double worst = 0;
  for (std::size_t n = 0; n < u1.size(); ++n) {
    const DoubleDouble* pair = &z[8 * (n / 4) + n % 4];
    if (!is_exceptional_extended(u1[n]))
      worst = std::max(worst, distance_of_any({u1[n]}, 1, u2[n], {pair[0], pair[4]}));
  }
  return worst;
}

/// Expects the largest observed error to be below the bound, and the bound to be tight enough to
/// detect errors.
void expect_tight_to_extended(double worst) {
  EXPECT_LE(worst, kExtendedNormalErrorBound);
  EXPECT_GE(worst, kExtendedNormalErrorBound / 20);
}

TEST(ExtendedNormal, error_is_below_the_proven_bound_on_random_bits) {
  expect_tight_to_extended(
      worst_of(testing::random_longs(6000, 31), testing::random_longs(6000, 32)));
}

TEST(ExtendedNormal, error_is_below_the_proven_bound_on_awkward_bits) {
  const std::vector<Long> u1 = testing::awkward_u1();
  const std::vector<Long> angles = testing::awkward_u2();
  for (const std::size_t shift : {0u, 41u}) {
    std::vector<Long> u2;
    for (std::size_t n = 0; n < u1.size(); ++n) u2.push_back(angles[(n + shift) % angles.size()]);
    expect_tight_to_extended(worst_of(u1, u2));
  }
}

TEST(ExtendedNormal, exceptional_pairs_are_below_the_bound_whatever_bits_follow) {
  std::vector<Planes> strings;
  const std::vector<Long> random = testing::random_longs(4 * 1500, 33);
  for (std::size_t n = 0; n < 1500; ++n)
    strings.push_back(
        {random[4 * n] >> (9 + n % 55), random[4 * n + 1], random[4 * n + 2], random[4 * n + 3]});
  for (int b = 0; b < 64; ++b) {  // leading one in plane 0, 1, 2, with zeros or ones after it
    for (const Long rest : {Long{0}, ~Long{0}}) {
      strings.push_back({(Long{1} << b) >> 9, rest, rest, rest});
      strings.push_back({0, Long{1} << b, rest, rest});
      strings.push_back({0, 0, Long{1} << b, rest});
    }
  }
  const std::vector<Long> angles = testing::awkward_u2();
  double worst = 0;
  for (std::size_t n = 0; n < strings.size(); ++n) {
    const Long u2 = n % 2 == 0 ? angles[n / 2 % angles.size()] : random[n];
    Planes u1 = strings[n];
    // All planes drawn for these strings, up to the one after the first non-zero plane.
    const std::size_t num_known = u1[0] != 0 ? 2 : u1[1] != 0 ? 3 : 4;
    Planes known = u1;
    std::fill(known.begin() + static_cast<std::ptrdiff_t>(num_known), known.end(), 0);
    if ((u1[0] | u1[1] | u1[2]) != 0)  // 2^-192: not covered by the theorem
      worst = std::max(worst, distance_of_any(u1, num_known, u2, detail::careful_pair(known, u2)));
    for (Long& digit : u1) digit = ~digit;
    for (std::size_t plane = 0; plane < num_known; ++plane) known[plane] = u1[plane];
    worst = std::max(worst, distance_of_any(u1, 2, u2, detail::careful_pair(known, u2)));
  }
  expect_tight_to_extended(worst);
}

TEST(ExtendedNormal, is_the_normal_of_its_address) {
  const NoiseStreamOptions options{
      .key = Key::insecure_from_seed(34), .dimension = 600, .first_coordinate = 77};
  for (const std::int64_t row : {0, 5, 6}) {
    std::vector<DoubleDouble> z(600);
    std::vector<double> doubles(600);
    fill_normals(options.key, Stream::noise, static_cast<std::uint64_t>(row), 77, std::span(z));
    fill_normals(options.key, Stream::noise, static_cast<std::uint64_t>(row), 77,
                 std::span(doubles));
    for (std::size_t i = 0; i < z.size(); ++i) {
      const detail::Normals exact(options, static_cast<std::int64_t>(i), 4);
      EXPECT_LE(distance_from_ideal(exact.draw(row), z[i]), kExtendedNormalErrorBound)
          << row << " " << i;
      EXPECT_LE(std::abs(z[i].high - doubles[i]), kNormalErrorBound) << row << " " << i;
    }
  }
}

bool is_same(const DoubleDouble& a, const DoubleDouble& b) {
  return a.high == b.high && a.low == b.low;
}

TEST(ExtendedNormal, any_range_and_a_batch_of_rows_have_the_same_bits) {
  const Key key = Key::insecure_from_seed(35);
  std::vector<DoubleDouble> all(3000);
  fill_normals(key, Stream::test, 3, 0, std::span(all));
  for (const std::size_t first : {0u, 1u, 5u, 31u, 64u, 97u}) {
    for (const std::size_t length : {1u, 8u, 33u, 257u, 2500u}) {
      std::vector<DoubleDouble> some(length);
      fill_normals(key, Stream::test, 3, first, std::span(some));
      for (std::size_t i = 0; i < length; ++i) ASSERT_TRUE(is_same(some[i], all[first + i]));
    }
  }
  for (const std::uint64_t coordinate : {0u, 6u, 29u}) {
    std::vector<DoubleDouble> column(1500);  // 6 exceptional ones expected
    fill_normals_rows(key, Stream::test, 2, coordinate, std::span(column));
    for (std::size_t i = 0; i < column.size(); ++i) {
      std::array<DoubleDouble, 1> one;
      fill_normals(key, Stream::test, 2 + i, coordinate, std::span<DoubleDouble>(one));
      ASSERT_TRUE(is_same(one[0], column[i]));
    }
  }
}

TEST(ExtendedNormal, every_kernel_makes_the_same_bits) {
  const std::vector<HalfWord> words =
      words_of(testing::random_longs(4096, 36), testing::random_longs(4096, 37));
  std::vector<double> expected(words.size());
  const bool is_any =
      simd::baseline_kernels().normals_extended(words.data(), words.size(), expected.data());
  for (const simd::Kernels* kernels : simd::all_kernels()) {
    std::vector<double> made(words.size());
    EXPECT_EQ(kernels->normals_extended(words.data(), words.size(), made.data()), is_any);
    EXPECT_EQ(std::memcmp(made.data(), expected.data(), 8 * made.size()), 0);
  }
}

TEST(ExtendedNormal, bits_are_the_same_everywhere) {
  std::vector<DoubleDouble> z(1 << 14);
  fill_normals(Key::insecure_from_seed(38), Stream::test, 1, 0, std::span(z));
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, a double at a time
  for (const DoubleDouble& x : z)
    for (const double part : {x.high, x.low})
      hash = (hash ^ std::bit_cast<std::uint64_t>(part)) * 0x100000001b3;
  EXPECT_EQ(hash, 0x7879af4fdd8a15a2u);
}

}  // namespace
}  // namespace dpftrl
