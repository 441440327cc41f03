// SPDX-License-Identifier: Apache-2.0
// Long recursions of the optimum, whose gains and factors are stored packed.
#include "optimal/varying_numbers.hpp"

#include <cmath>

#include "dpftrl/noise/noise_stream.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "noise/checkpoint.hpp"
#include "noise/exact/exact_rows.hpp"
#include "optimal/realisation.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

constexpr std::size_t kBlock = detail::PackedNumbers::kBlock;

/// One recursion, with up to `max_whole_numbers` numbers stored in plain lists.
VaryingBuffers recursion(std::size_t steps, double decay, std::size_t max_whole_numbers) {
  std::vector<double> columns(steps), rows(steps);
  for (std::size_t i = 0; i < steps; ++i) {
    columns[i] = 1 + 3 / (1 + static_cast<double>(i));
    rows[i] = 2 - 1 / (2 + static_cast<double>(i % 97));
  }
  const detail::InverseRoot root{
      .shifts = {1e-7, 1e-4, 0.02}, .weights = {0.003, 0.05, 0.4}, .direct = 0.3};
  return detail::realise(root, {.rows = rows, .columns = columns, .decay = decay},
                         max_whole_numbers);
}

struct Both {
  VaryingBuffers whole, packed;
};
Both both(std::size_t steps, double decay = 1) {
  return {recursion(steps, decay, steps * 3), recursion(steps, decay, steps * 3 - 1)};
}

const std::vector<std::size_t> kLengths{1,      2,          7,          kBlock - 1,
                                        kBlock, kBlock + 1, 2 * kBlock, 2 * kBlock + 3};

TEST(VaryingNumbers, packed_numbers_are_those_that_are_not) {
  for (const std::size_t n : kLengths)
    for (const double decay : {1.0, 0.99}) {
      SCOPED_TRACE(n);
      const auto [whole, packed] = both(n, decay);
      ASSERT_FALSE(whole.packed);
      ASSERT_TRUE(packed.packed && packed.gains.empty() && packed.factors.empty());
      EXPECT_EQ(packed.inverse_scales, whole.inverse_scales);
      EXPECT_EQ(packed.max_row_stddev, whole.max_row_stddev);
      EXPECT_EQ(packed.max_state_stddev, whole.max_state_stddev);
      // Forward, then backward, then far apart.
      detail::VaryingReader reader(packed);
      std::vector<std::size_t> order;
      for (std::size_t t = 0; t < n; ++t) order.push_back(t);
      for (std::size_t t = n; t-- > 0;) order.push_back(t);
      for (std::size_t t = 0; t < n; t += 17) order.push_back(t * 709 % n);
      for (const std::size_t t : order)
        for (std::size_t k = 0; k < 3; ++k) {
          ASSERT_EQ(reader.gains(t)[k], whole.gains[t * 3 + k]) << t;
          ASSERT_EQ(reader.factors(t)[k], whole.factors[t * 3 + k]) << t;
        }
    }
}

TEST(VaryingNumbers, norms_variances_and_products_of_packed_numbers_are_the_same) {
  for (const std::size_t n : kLengths) {
    SCOPED_TRACE(n);
    const auto [whole, packed] = both(n);
    const std::vector<double> norms = detail::column_norms_squared(whole);
    EXPECT_EQ(detail::column_norms_squared(packed), norms);
    EXPECT_EQ(detail::rounding_of_column_norms(packed, norms),
              detail::rounding_of_column_norms(whole, norms));
    EXPECT_EQ(detail::variances(packed, norms, 0.9).rows,
              detail::variances(whole, norms, 0.9).rows);
    const std::vector<double> largest = detail::largest_products(whole, norms);
    EXPECT_EQ(detail::largest_products(packed, norms), largest);
    for (const std::int64_t b : {1, 5, 300, 1500}) {
      EXPECT_EQ(detail::epoch_norms_squared(packed, norms, b),
                detail::epoch_norms_squared(whole, norms, b));
      EXPECT_EQ(detail::later_products(packed, norms, largest, b),
                detail::later_products(whole, norms, largest, b));
    }
    const detail::NumberRange range = detail::range_of(packed);
    EXPECT_TRUE(range.is_nonnegative);
    EXPECT_EQ(range.largest_factor, detail::range_of(whole).largest_factor);
  }
}

VaryingBufferedStrategy stream_of(const VaryingBuffers& buffers) {
  return {Workload::prefix_sums(std::ssize(buffers.inverse_scales)),
          {.name = "stream", .numbers = std::make_shared<const VaryingBuffers>(buffers)}};
}

TEST(VaryingNumbers, noise_of_packed_numbers_has_the_same_bits_and_the_same_name) {
  for (const std::size_t n : {std::size_t{5}, kBlock + 1, 2 * kBlock + 3}) {
    SCOPED_TRACE(n);
    const auto [whole, packed] = both(n);
    const VaryingBufferedStrategy expected = stream_of(whole), actual = stream_of(packed);
    EXPECT_EQ(actual.encoder_slack(), expected.encoder_slack());
    EXPECT_EQ(actual.row_norms().max_squared, expected.row_norms().max_squared);
    const NoiseStreamOptions options{.key = Key::insecure_from_seed(8), .dimension = 3};
    NoiseStream a(expected, options), b(actual, options);
    std::vector<double> row_a(3), row_b(3);
    for (std::size_t t = 0; t < n; ++t) {
      a.next(row_a);
      b.next(row_b);
      ASSERT_EQ(row_a, row_b) << t;
    }
    // Saved states identify the form by its numbers, so earlier states remain valid.
    const std::vector<std::byte> saved = a.checkpoint();
    EXPECT_EQ(b.checkpoint(), saved);
    b.seek(0);
    b.restore(saved);
    EXPECT_EQ(b.step(), a.step());
    // Recomputes an entry in the first block after one in the last.
    const DecoderForm form_a = expected.decoder_form(), form_b = actual.decoder_form();
    detail::Normals normals(options, 0, 2);
    const auto exact_a = detail::make_exact_rows(form_a, normals, 0);
    const auto exact_b = detail::make_exact_rows(form_b, normals, 0);
    for (const std::size_t t : {n - 1, std::size_t{2}}) {
      const auto step = static_cast<std::int64_t>(t);
      EXPECT_EQ(exact_b->row(step).digits, exact_a->row(step).digits);
    }
  }
}

TEST(VaryingNumbers, those_of_a_long_horizon_take_a_quarter_of_their_doubles) {
  const std::int64_t n = (std::int64_t{1} << 17) + 1;
  const OptimalStrategy strategy(
      Workload::prefix_sums(n), plan_optimal(Workload::prefix_sums(n), {.use_solver = false}).plan);
  ASSERT_TRUE(strategy.numbers().packed);
  const auto doubles = static_cast<double>(16 * n) * sizeof(double);
  EXPECT_LT(static_cast<double>(strategy.numbers().packed->num_bytes()), doubles / 4);
  // With one step fewer, the numbers are stored unpacked.
  const OptimalStrategy shorter(
      Workload::prefix_sums(n - 1),
      plan_optimal(Workload::prefix_sums(n - 1), {.use_solver = false}).plan);
  EXPECT_FALSE(shorter.numbers().packed);
}

}  // namespace
}  // namespace dpftrl
