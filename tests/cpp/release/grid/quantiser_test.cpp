// SPDX-License-Identifier: Apache-2.0
// Conversion of records to integers, without a release.
#include "release/grid/quantiser.hpp"

#include <array>
#include <cmath>
#include <numeric>

#include "support.hpp"

namespace dpftrl {
namespace {

std::vector<std::int64_t> integers(const std::vector<double>& record, double clip, double grid) {
  constexpr std::array<double, 1> kOne = {1};
  std::vector<std::int64_t> sums(record.size());
  detail::GridRecord({kOne, record}, clip, grid).add_to(sums);
  return sums;
}

std::int64_t squared(const std::vector<std::int64_t>& integers) {
  return std::inner_product(integers.begin(), integers.end(), integers.begin(), std::int64_t{0});
}

/// Pairs (a, b) in lowest terms with a < b and a^2 + b^2 a square, from Euclid's formula.
std::vector<std::pair<std::int64_t, std::int64_t>> pythagorean_pairs(std::int64_t most) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (std::int64_t m = 2; m <= most; ++m)
    for (std::int64_t k = 1 + m % 2; k < m; k += 2)
      if (std::gcd(m, k) == 1)
        pairs.emplace_back(std::min(m * m - k * k, 2 * m * k), std::max(m * m - k * k, 2 * m * k));
  return pairs;
}

// The norm of this record is an integer number of grids, and the clip norm is slightly smaller. If
// rounding undoes the clipping, the squared norm of the integers is too large by exactly one.
TEST(Quantiser, a_pythagorean_record_a_few_ulps_too_long_is_shortened) {
  std::int64_t num_unchanged_by_clipping = 0;
  for (const auto& [a, b] : pythagorean_pairs(24))
    for (const std::int64_t multiple : {1, 3, 7, 1000})
      for (const double grid : {1.0, 0x1p-7, 0x1p-500}) {
        const std::int64_t norm =
            multiple * static_cast<std::int64_t>(std::lround(std::hypot(a, b)));
        const std::vector<double> record = {static_cast<double>(multiple * a) * grid,
                                            -static_cast<double>(multiple * b) * grid};
        double clip = static_cast<double>(norm) * grid;
        EXPECT_EQ(squared(integers(record, clip, grid)), norm * norm);
        for (int ulps = 1; ulps <= 4; ++ulps) {
          clip = std::nextafter(clip, 0.0);
          ASSERT_EQ(detail::max_norm_squared(clip, grid), norm * norm - 1);
          const std::vector<std::int64_t> made = integers(record, clip, grid);
          EXPECT_LE(squared(made), norm * norm - 1)
              << multiple * a << " " << multiple * b << ", " << ulps << " ulps";
          // Shortening takes one from the largest entry only.
          num_unchanged_by_clipping += made[0] == multiple * a && made[1] == 1 - multiple * b;
        }
      }
  EXPECT_GE(num_unchanged_by_clipping, 100);
}

// Which of several largest entries is lowered does not affect privacy, but releases agree across
// platforms only if it is always the first.
TEST(Quantiser, of_several_largest_entries_the_first_is_lowered_toward_zero) {
  std::int64_t num_unchanged_by_clipping = 0;
  for (std::int64_t p = 1; p <= 24; ++p)
    for (std::int64_t q = 1; q <= 24; ++q) {
      // 2 a^2 + b^2 is a perfect square, and the two a are the largest entries.
      const std::int64_t a = 2 * p * q;
      const std::int64_t b = std::abs(p * p - 2 * q * q);
      if (b >= a) continue;
      for (const std::int64_t sign : {-1, 1}) {
        const double clip = std::nextafter(static_cast<double>(p * p + 2 * q * q), 0.0);
        const std::vector<std::int64_t> made = integers(
            {static_cast<double>(b), static_cast<double>(sign * a), static_cast<double>(-sign * a)},
            clip, 1);
        EXPECT_LE(squared(made), detail::max_norm_squared(clip, 1)) << a << " " << b;
        const bool is_last_lowered = made[1] == sign * a && made[2] == -sign * (a - 1);
        EXPECT_FALSE(made[0] == b && is_last_lowered) << a << " " << b;
        num_unchanged_by_clipping +=
            made == std::vector<std::int64_t>{b, sign * (a - 1), -sign * a};
      }
    }
  EXPECT_GE(num_unchanged_by_clipping, 50);
}

}  // namespace
}  // namespace dpftrl
