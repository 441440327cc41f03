// SPDX-License-Identifier: Apache-2.0
// Laws that every strategy obeys, and closed forms of the implemented ones.
#include "dpftrl/strategy/catalogue.hpp"

#include <bit>

#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/problem/workload.hpp"
#include "golden/mechanisms_golden.hpp"
#include "strategy/laws.hpp"
#include "strategy/toeplitz/filtered.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::awkward_horizons;
using testing::relatively_close;

std::shared_ptr<const Strategy> strategy_made(std::string_view name, std::int64_t steps) {
  return testing::make_known(name, steps);
}

template <class Law>
void for_every_strategy(Law&& law) {
  for (const StrategyInfo& info : strategy_catalogue())
    for (const std::int64_t n : awkward_horizons()) {
      SCOPED_TRACE(std::string(info.name) + ", n = " + std::to_string(n));
      law(*strategy_made(info.name, n));
    }
}

/// True if the strategy factorizes the workload; a function, so that it can be tested with wrong
/// matrices.
bool factorizes_prefix_sums(const Matrix& decoder, const Matrix& encoder) {
  const Matrix workload = Workload::prefix_sums(decoder.rows()).matrix();
  return (decoder * encoder - workload).cwiseAbs().maxCoeff() <= 1e-13;
}

TEST(Strategy, decoder_times_encoder_is_the_workload) {
  for_every_strategy(
      [](const Strategy& s) { EXPECT_TRUE(factorizes_prefix_sums(s.decoder(), s.encoder())); });
}

TEST(Strategy, a_transposed_factor_is_not_a_factorization) {
  const auto s = strategy_made("square-root", 8);
  EXPECT_FALSE(factorizes_prefix_sums(s->decoder(), s->encoder().transpose()));
}

TEST(Strategy, column_norms_are_those_of_the_encoder) {
  for_every_strategy([](const Strategy& s) {
    const Matrix encoder = s.encoder();
    EXPECT_EQ(encoder.rows(), s.num_measurements());
    for (std::int64_t j = 0; j < s.steps(); ++j)
      EXPECT_TRUE(relatively_close(s.column_norm_squared(j),
                                   encoder.col(testing::index_of(j)).squaredNorm(), 1e-13));
    EXPECT_TRUE(relatively_close(s.max_column_norm_squared(),
                                 encoder.colwise().squaredNorm().maxCoeff(), 1e-13));
  });
}

TEST(Strategy, row_norms_are_those_of_the_decoder) {
  for_every_strategy([](const Strategy& s) {
    const Vector rows = s.decoder().rowwise().squaredNorm();
    for (std::int64_t t = 0; t < s.steps(); ++t)
      EXPECT_TRUE(relatively_close(s.row_norm_squared(t), rows(testing::index_of(t)), 1e-13));
    EXPECT_TRUE(relatively_close(s.row_norms().min_squared, rows.minCoeff(), 1e-13));
    EXPECT_TRUE(relatively_close(s.row_norms().max_squared, rows.maxCoeff(), 1e-13));
    EXPECT_TRUE(relatively_close(s.row_norms().mean_squared, rows.mean(), 1e-13));
  });
}

TEST(Strategy, closed_row_norms_agree_with_the_rows_to_1024_steps) {
  const std::int64_t most_steps = testing::is_full_size() ? 1024 : 260;
  for (const StrategyInfo& info : strategy_catalogue())
    for (std::int64_t n = 1; n <= testing::within_reach(info, most_steps);) {
      const auto s = strategy_made(info.name, n);
      const RowNorms rows = s->row_norms(), each = testing::norms_of_the_rows(*s);
      ASSERT_TRUE(relatively_close(rows.min_squared, each.min_squared, 1e-12))
          << info.name << " " << n;
      ASSERT_TRUE(relatively_close(rows.max_squared, each.max_squared, 1e-12))
          << info.name << " " << n;
      ASSERT_TRUE(relatively_close(rows.mean_squared, each.mean_squared, 1e-12))
          << info.name << " " << n;
      // Every horizon at first, then those next to powers of two. Strategies that store the norms
      // of all rows look up the extremes, so some horizons suffice.
      const bool is_stored = !s->toeplitz_encoder().empty() ||
                             dynamic_cast<const FilteredStrategy*>(s.get()) != nullptr;
      const auto power = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
      n += testing::is_optimised(info) ? 341
           : is_stored                 ? 31
           : n < 65                    ? 1
           : n + 1 < power             ? power - 1 - n
                                       : 1;
    }
}

TEST(Strategy, encoder_is_causal_measurements_use_no_later_step_than_the_one_that_makes_them) {
  // Row m of C can be measured once step `ready` has arrived; the decoder must not use it earlier.
  for_every_strategy([](const Strategy& s) {
    if (!s.is_causal()) return;
    const Matrix encoder = s.encoder(), decoder = s.decoder();
    for (Eigen::Index m = 0; m < encoder.rows(); ++m) {
      Eigen::Index ready = 0;
      for (Eigen::Index j = 0; j < encoder.cols(); ++j)
        if (encoder(m, j) != 0) ready = j;
      for (Eigen::Index t = 0; t < ready; ++t) EXPECT_EQ(decoder(t, m), 0);
    }
  });
}

TEST(Strategy, independent_and_output_have_the_textbook_errors) {
  for (std::int64_t n = 1; n <= 1024; ++n) {
    const double steps = static_cast<double>(n);
    const UnitError independent =
        unit_error(*strategy_made("independent", n), Participation::single());
    const UnitError output = unit_error(*strategy_made("output", n), Participation::single());
    ASSERT_TRUE(relatively_close(independent.max_error, std::sqrt(steps), 1e-14));
    ASSERT_TRUE(relatively_close(independent.mean_error, std::sqrt((steps + 1) / 2), 1e-14));
    ASSERT_TRUE(relatively_close(output.max_error, std::sqrt(steps), 1e-14));
    ASSERT_TRUE(relatively_close(output.mean_error, std::sqrt(steps), 1e-14));
  }
}

TEST(Strategy, tree_has_popcount_variances_and_the_exact_power_of_two_errors) {
  for (std::int64_t n = 1; n <= 1024; ++n) {
    const auto tree = strategy_made("tree", n);
    const auto count = static_cast<std::uint64_t>(n);
    ASSERT_EQ(tree->max_column_norm_squared(), std::bit_width(count));
    ASSERT_EQ(tree->row_norm_squared(n - 1), std::popcount(count));
  }
  for (int k = 0; k <= 40; ++k) {
    const UnitError tree =
        unit_error(*strategy_made("tree", std::int64_t{1} << k), Participation::single());
    const double max_squared = k == 0 ? 1 : k * (k + 1.0);
    const double mean_squared = (k + 1) * (k / 2.0 + std::ldexp(1.0, -k));
    ASSERT_TRUE(relatively_close(tree.max_error, std::sqrt(max_squared), 1e-14)) << k;
    ASSERT_TRUE(relatively_close(tree.mean_error, std::sqrt(mean_squared), 1e-14)) << k;
  }
}

TEST(Strategy, honaker_node_variances_are_one_over_two_minus_powers) {
  const auto honaker = strategy_made("honaker", 1024);
  EXPECT_NEAR(honaker->row_norm_squared(1), 2.0 / 3, 1e-15);
  EXPECT_NEAR(honaker->row_norm_squared(3), 4.0 / 7, 1e-15);
  EXPECT_NEAR(honaker->row_norm_squared(7), 8.0 / 15, 1e-15);
  for (int k = 1; k <= 30; ++k) {
    double below = 0;
    for (int l = 0; l < k; ++l) below += 1 / (2 * (1 - std::ldexp(1.0, -l - 1)));
    const double top = 1 / (2 * (1 - std::ldexp(1.0, -k - 1)));
    const UnitError error =
        unit_error(*strategy_made("honaker", std::int64_t{1} << k), Participation::single());
    const double mean_squared = (k + 1) * (below / 2 + std::ldexp(top, -k));
    EXPECT_TRUE(
        relatively_close(error.max_error, std::sqrt((k + 1) * std::max(below, top)), 1e-13));
    EXPECT_TRUE(relatively_close(error.mean_error, std::sqrt(mean_squared), 1e-13));
  }
}

TEST(Strategy, honaker_is_nowhere_worse_than_the_tree) {
  for (std::int64_t n : {1, 2, 3, 100, 1023, 1024}) {
    const auto tree = strategy_made("tree", n), honaker = strategy_made("honaker", n);
    for (std::int64_t t = 0; t < n; ++t)
      EXPECT_LE(honaker->row_norm_squared(t), tree->row_norm_squared(t));
  }
}

TEST(Strategy, square_root_has_equal_factors_so_max_error_is_squared_sensitivity) {
  for (std::int64_t n = 1; n <= 1024; ++n) {
    const auto s = strategy_made("square-root", n);
    const UnitError error = unit_error(*s, Participation::single());
    ASSERT_TRUE(relatively_close(error.max_error, s->max_column_norm_squared(), 1e-15));
  }
}

TEST(Strategy, known_answers) {
  const auto errors = [](const char* name) {
    return unit_error(*strategy_made(name, 1024), Participation::single());
  };
  EXPECT_NEAR(errors("square-root").max_error, 3.272554150273, 5e-13);
  EXPECT_NEAR(errors("square-root").mean_error, 3.109789906940, 8e-13);
  EXPECT_NEAR(errors("tree").max_error, 10.488088481702, 5e-13);
  EXPECT_NEAR(errors("honaker").max_error, 7.989458711, 5e-10);
  EXPECT_NEAR(errors("honaker").mean_error, 5.649876013, 5e-10);
}

TEST(Strategy, golden_errors_and_sensitivities) {
  for (const golden::mechanisms::Errors& golden : golden::mechanisms::errors) {
    SCOPED_TRACE(std::string(golden.name) + ", n = " + std::to_string(golden.num_steps));
    const UnitError error =
        unit_error(*strategy_made(golden.name, golden.num_steps), Participation::single());
    EXPECT_TRUE(relatively_close(error.sensitivity.value, golden.sensitivity, 1e-12));
    EXPECT_TRUE(relatively_close(error.max_error, golden.max_error, 1e-12));
    EXPECT_TRUE(relatively_close(error.mean_error, golden.mean_error, 1e-12));
  }
}

TEST(UnitError, per_step_error_has_the_stated_max_and_mean) {
  for_every_strategy([](const Strategy& s) {
    const std::vector<double> errors = unit_error_per_step(s, Participation::single());
    const UnitError summary = unit_error(s, Participation::single());
    double largest = 0, squares = 0;
    for (const double error : errors) {
      largest = std::max(largest, error);
      squares += error * error;
    }
    EXPECT_TRUE(relatively_close(summary.max_error, largest, 1e-13));
    EXPECT_TRUE(relatively_close(summary.mean_error,
                                 std::sqrt(squares / static_cast<double>(errors.size())), 1e-13));
  });
}

TEST(Strategy, bad_input_is_refused_by_name) {
  EXPECT_ERROR(strategy_made("square-root", 0), "invalid_argument",
               "steps must be between 1 and 1099511627776, got 0");
  EXPECT_ERROR(strategy_made("tree", -3), "invalid_argument", "got -3");
  EXPECT_ERROR(strategy_made("honaker", kMaxNumSteps + 1), "invalid_argument",
               "steps must be between");
  EXPECT_ERROR(strategy_made("square-root", (std::int64_t{1} << 24) + 1), "invalid_argument",
               "square-root: steps must be between 1 and 16777216, got 16777217");
  EXPECT_ERROR(strategy_made("fft", 8), "invalid_argument",
               "strategy must be one of independent, output, tree, honaker, honaker-full, haar, ");
  EXPECT_ERROR(strategy_made("honacker", 8), "invalid_argument",
               ", optimal (did you mean honaker?), got \"honacker\"");
  EXPECT_ERROR(strategy_made("fft", 8), "invalid_argument", ", optimal, got \"fft\"");
  EXPECT_ERROR(strategy_made("tree", 8)->row_norm_squared(8), "invalid_argument",
               "tree: step must be between 0 and 7, got 8");
  EXPECT_ERROR(strategy_made("tree", 8)->column_norm_squared(-1), "invalid_argument", "got -1");
  EXPECT_ERROR(strategy_made("tree", 4097)->encoder(), "unsupported",
               "steps must be at most 4096 for matrices, got 4097");
}

}  // namespace
}  // namespace dpftrl
