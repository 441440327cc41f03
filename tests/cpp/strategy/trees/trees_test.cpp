// SPDX-License-Identifier: Apache-2.0
// Laws and known values of the strategies that sum over nodes: k-ary trees, Haar bases, and
// restarts.
#include <algorithm>
#include <bit>
#include <chrono>
#include <map>
#include <set>

#include "dense_algebra.hpp"
#include "dpftrl/analysis/unit_error.hpp"
#include "golden/trees_golden.hpp"
#include "strategy/laws.hpp"
#include "strategy/toeplitz/square_root.hpp"
#include "strategy/trees/haar.hpp"
#include "strategy/trees/kary.hpp"
#include "strategy/trees/restart.hpp"
#include "strategy/trees/tree.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::awkward_horizons;
using testing::index_of;
using testing::relatively_close;

using Pointer = std::shared_ptr<const Strategy>;

/// Factory of strategies for any horizon of at least min_steps.
struct Recipe {
  std::string name;
  Pointer (*make)(std::int64_t steps);
};

template <std::int64_t arity, bool subtractive>
Pointer kary_tree(std::int64_t steps) {
  return std::make_shared<KaryStrategy>(
      KaryStrategy::Options{.steps = steps, .arity = arity, .subtractive = subtractive});
}

template <class Concrete>
Pointer plain(std::int64_t steps) {
  return std::make_shared<Concrete>(steps);
}

template <class Concrete>
Pointer make_epoch(const StrategyOptions& options) {
  return std::make_shared<Concrete>(options.steps);
}

template <class Concrete, std::int64_t epoch_length, bool completed>
Pointer restarted(std::int64_t steps) {
  return RestartStrategy::make(
      {.name = "restart",
       .steps = steps,
       .parameters = {.epoch_length = std::min(epoch_length, steps), .complete_epochs = completed}},
      make_epoch<Concrete>);
}

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = {
      {"tree-2", kary_tree<2, false>},
      {"tree-3", kary_tree<3, false>},
      {"tree-7", kary_tree<7, false>},
      {"tree-10", kary_tree<10, false>},
      {"tree-3 subtractive", kary_tree<3, true>},
      {"tree-5 subtractive", kary_tree<5, true>},
      {"tree-7 subtractive", kary_tree<7, true>},
      {"tree-1023 subtractive", kary_tree<1023, true>},
      {"haar", plain<HaarStrategy>},
      {"honaker-full", plain<HonakerFullStrategy>},
      {"tree every 1", restarted<TreeStrategy, 1, false>},
      {"tree every 6", restarted<TreeStrategy, 6, false>},
      {"honaker every 6", restarted<HonakerStrategy, 6, false>},
      {"honaker every 5, completed", restarted<HonakerStrategy, 5, true>},
      {"tree every 11, completed", restarted<TreeStrategy, 11, true>},
      {"square-root every 7", restarted<SquareRootStrategy, 7, false>},
      {"haar every 5", restarted<HaarStrategy, 5, false>},
      {"honaker-full every 9", restarted<HonakerFullStrategy, 9, false>},
  };
  return all;
}

template <class Law>
void for_every_recipe(const std::vector<std::int64_t>& horizons, Law&& law) {
  for (const Recipe& recipe : recipes())
    for (const std::int64_t n : horizons) {
      SCOPED_TRACE(recipe.name + ", n = " + std::to_string(n));
      law(*recipe.make(n));
    }
}

/// Every horizon up to 40, and some with more levels.
std::vector<std::int64_t> many_horizons() {
  std::vector<std::int64_t> horizons;
  for (std::int64_t n = 1; n <= 40; ++n) horizons.push_back(n);
  for (const std::int64_t n : {63, 64, 65, 122, 127, 171, 172, 243, 256, 300})
    if (n < 100 || !testing::is_sanitized()) horizons.push_back(n);
  return horizons;
}

bool tree_factorizes(const Matrix& decoder, const Matrix& encoder) {
  const Matrix workload = Workload::prefix_sums(decoder.rows()).matrix();
  return (decoder * encoder - workload).cwiseAbs().maxCoeff() <= 1e-12;
}

// Decoder forms by their definitions.

using TreeRow = std::map<std::int64_t, double>;  ///< weights of the measurements

/// Reaches the end of the step by whole nodes, greedily from the left and with the largest first,
/// which is equivalent to the digits of a number.
TreeRow tree_row(const KaryDecoder& form, std::int64_t step) {
  const auto measurement = [&](std::int64_t level, std::int64_t last) {
    std::int64_t number = level, place = 1;
    for (std::int64_t j = 0; j < form.num_levels; ++j, place *= form.arity) number += last / place;
    return number;
  };
  TreeRow row;
  std::int64_t at = 0, place = 1;
  for (std::int64_t l = 1; l < form.num_levels; ++l) place *= form.arity;
  for (std::int64_t l = form.num_levels; l-- > 0; place /= form.arity) {
    const auto is_near = [&](std::int64_t position) {
      const std::int64_t missing = step + 1 - position;
      return form.subtractive ? std::abs(missing) <= (place - 1) / 2
                              : missing >= 0 && missing < place;
    };
    for (; !is_near(at) && at < step + 1; at += place) row[measurement(l, at + place - 1)] += 1;
    for (; !is_near(at) && at > step + 1; at -= place) row[measurement(l, at - 1)] -= 1;
  }
  EXPECT_EQ(at, step + 1);
  return row;
}

TreeRow tree_row(const HaarDecoder& form, std::int64_t step) {
  const std::size_t k = form.scales.size();
  TreeRow row;
  row[0] = form.mean_scale * static_cast<double>(step + 1);
  for (std::size_t l = 1; l <= k; ++l) {
    const std::int64_t support = std::int64_t{1} << l, r = (step + 1) % support;
    row[(std::int64_t{1} << (k - l)) + step / support] =
        form.scales[l - 1] * static_cast<double>(std::min(r, support - r));
  }
  return row;
}

TreeRow form_row(const DecoderForm& form, const Strategy& inside, std::int64_t step);

TreeRow tree_row(const BlockDecoder& form, const std::vector<const Strategy*>& inside,
                 std::int64_t step) {
  TreeRow row;
  std::int64_t measurement = 0, first = 0;
  for (std::size_t b = 0; b < form.blocks.size() && first <= step; ++b) {
    const BlockDecoder::Block& block = form.blocks[b];
    const bool is_finished = step >= first + block.steps;
    const std::int64_t inner = is_finished ? block.closing_row : step - first;
    for (const auto& [index, weight] : form_row(*block.form, *inside[b], inner))
      row[measurement + index] += weight;
    measurement += block.num_measurements;
    first += block.steps;
  }
  return row;
}

/// Row of a form by its definition. Forms other than those of trees are tested elsewhere, so their
/// dense decoder is used.
TreeRow form_row(const DecoderForm& form, const Strategy& inside, std::int64_t step) {
  if (const auto* tree = std::get_if<KaryDecoder>(&form)) return tree_row(*tree, step);
  if (const auto* haar = std::get_if<HaarDecoder>(&form)) return tree_row(*haar, step);
  if (const auto* blocks = std::get_if<BlockDecoder>(&form)) {
    std::vector<const Strategy*> parts(blocks->blocks.size(), &inside);
    if (const auto* restart = dynamic_cast<const RestartStrategy*>(&inside))
      std::ranges::fill(parts, &restart->epoch_strategy());
    return tree_row(*blocks, parts, step);
  }
  const Matrix dense = inside.decoder();
  TreeRow row;
  for (Eigen::Index j = 0; j < dense.cols(); ++j) row[j] = dense(index_of(step), j);
  return row;
}

/// True if the form defines exactly the entries of the decoder, and no further measurement.
bool form_defines(const DecoderForm& form, const Strategy& strategy, const Matrix& decoder) {
  for (std::int64_t step = 0; step < strategy.steps(); ++step) {
    Vector expected = Vector::Zero(decoder.cols());
    for (const auto& [measurement, weight] : form_row(form, strategy, step)) {
      if (weight == 0) continue;
      if (measurement >= decoder.cols()) return false;
      expected(index_of(measurement)) = weight;
    }
    if ((decoder.row(index_of(step)).transpose() - expected).cwiseAbs().maxCoeff() > 1e-14 * 64)
      return false;
  }
  return true;
}

// Laws.

TEST(StrategyTrees, decoder_times_encoder_is_the_workload) {
  for_every_recipe(many_horizons(), [](const Strategy& s) {
    EXPECT_TRUE(tree_factorizes(s.decoder(), s.encoder()));
  });
}

TEST(StrategyTrees, a_lost_node_or_a_neighbouring_shape_is_not_a_factorization) {
  const auto tree = kary_tree<7, true>(64);
  Matrix encoder = tree->encoder();
  encoder.row(7).setZero();
  EXPECT_FALSE(tree_factorizes(tree->decoder(), encoder));
  const auto plain_tree = kary_tree<7, false>(64);
  EXPECT_FALSE(tree_factorizes(plain_tree->decoder(), tree->encoder()));
  EXPECT_FALSE(tree_factorizes(HaarStrategy(16).decoder(), HonakerFullStrategy(16).encoder()));
}

TEST(StrategyTrees, decoder_forms_define_the_decoders) {
  for (const Recipe& recipe : recipes())
    for (const std::int64_t n : awkward_horizons()) {
      const auto s = recipe.make(n);
      EXPECT_TRUE(form_defines(s->decoder_form(), *s, s->decoder())) << recipe.name << " " << n;
    }
}

TEST(StrategyTrees, another_form_does_not_define_the_decoder) {
  const auto five = kary_tree<5, true>(64), seven = kary_tree<7, true>(64);
  EXPECT_FALSE(form_defines(five->decoder_form(), *seven, seven->decoder()));
  const HaarStrategy haar(16);
  const HonakerFullStrategy honaker(16);
  EXPECT_FALSE(form_defines(haar.decoder_form(), honaker, honaker.decoder()));
  const auto whole = restarted<HonakerStrategy, 5, false>(64);
  const auto completed = restarted<HonakerStrategy, 5, true>(64);
  EXPECT_FALSE(form_defines(whole->decoder_form(), *whole, completed->decoder()));
}

TEST(StrategyTrees, column_norms_are_those_of_the_encoder) {
  for_every_recipe(many_horizons(), [](const Strategy& s) {
    const Vector columns = s.encoder().colwise().squaredNorm();
    ASSERT_EQ(columns.size(), s.steps());
    for (std::int64_t j = 0; j < s.steps(); ++j)
      ASSERT_TRUE(relatively_close(s.column_norm_squared(j), columns(index_of(j)), 1e-13)) << j;
    EXPECT_TRUE(relatively_close(s.max_column_norm_squared(), columns.maxCoeff(), 1e-13));
  });
}

TEST(StrategyTrees, row_norms_are_those_of_the_decoder) {
  for_every_recipe(many_horizons(), [](const Strategy& s) {
    const Matrix decoder = s.decoder();
    EXPECT_EQ(decoder.cols(), s.num_measurements());
    EXPECT_EQ(decoder.rows(), s.steps());
    const Vector rows = decoder.rowwise().squaredNorm();
    for (std::int64_t t = 0; t < s.steps(); ++t)
      ASSERT_TRUE(relatively_close(s.row_norm_squared(t), rows(index_of(t)), 1e-13)) << t;
  });
}

TEST(StrategyTrees, row_norms_are_those_of_the_rows_for_every_horizon_to_600) {
  for (const Recipe& recipe : recipes())
    for (std::int64_t n = 1; n <= 600; ++n) {
      const auto s = recipe.make(n);
      const RowNorms rows = s->row_norms(), each = testing::norms_of_the_rows(*s);
      ASSERT_TRUE(relatively_close(rows.min_squared, each.min_squared, 1e-13))
          << recipe.name << " " << n;
      ASSERT_TRUE(relatively_close(rows.max_squared, each.max_squared, 1e-13))
          << recipe.name << " " << n;
      ASSERT_TRUE(relatively_close(rows.mean_squared, each.mean_squared, 1e-12))
          << recipe.name << " " << n;
    }
}

TEST(StrategyTrees, largest_column_is_the_largest_for_every_horizon_to_600) {
  for (const Recipe& recipe : recipes())
    for (std::int64_t n = 1; n <= 600; ++n) {
      const auto s = recipe.make(n);
      double largest = 0;
      for (std::int64_t j = 0; j < n; ++j) largest = std::max(largest, s->column_norm_squared(j));
      ASSERT_TRUE(relatively_close(s->max_column_norm_squared(), largest, 1e-14))
          << recipe.name << " " << n;
    }
}

TEST(StrategyTrees, those_called_causal_are) {
  for_every_recipe(many_horizons(), [](const Strategy& s) {
    if (s.is_causal()) {
      EXPECT_TRUE(testing::waits_for_its_measurements(s));
    }
  });
  EXPECT_FALSE(testing::waits_for_its_measurements(*kary_tree<3, true>(8)));
  EXPECT_FALSE(testing::waits_for_its_measurements(HaarStrategy(8)));
  const std::set<std::string_view> not_causal = {"tree-k", "haar", "honaker-full"};
  for (const StrategyInfo& info : strategy_catalogue())
    EXPECT_EQ(info.is_causal, !not_causal.contains(info.name)) << info.name;
}

TEST(StrategyTrees, gram_matrices_called_non_negative_are) {
  for_every_recipe(many_horizons(), [](const Strategy& s) {
    const Matrix encoder = s.encoder();
    const double smallest = (encoder.transpose() * encoder).minCoeff();
    if (s.has_nonnegative_gram()) {
      EXPECT_GE(smallest, -1e-15);
    }
  });
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{1000}, kMaxNumSteps}) {
    EXPECT_TRUE(HonakerFullStrategy(n).has_nonnegative_gram());
    EXPECT_TRUE(HaarStrategy(n).has_nonnegative_gram());
  }
}

TEST(StrategyTrees, no_measurement_is_made_that_no_row_uses_but_totals) {
  for (const Recipe& recipe : recipes()) {
    const bool is_made_of_blocks =
        std::holds_alternative<BlockDecoder>(recipe.make(1)->decoder_form());
    if (is_made_of_blocks) continue;
    for (const std::int64_t n : awkward_horizons()) {
      const auto s = recipe.make(n);
      const Matrix encoder = s->encoder(), decoder = s->decoder();
      for (Eigen::Index m = 0; m < encoder.rows(); ++m)
        if (decoder.col(m).isZero(0)) {
          EXPECT_TRUE(encoder.row(m).isZero(0)) << recipe.name << n;
        }
      EXPECT_FALSE(decoder.rightCols(1).isZero(0)) << recipe.name << n;
    }
  }
}

// Trees of any arity.

TEST(StrategyTrees, kary_defaults_are_subtractive_seven_and_an_arity_alone_is_plain) {
  const auto form = [](const StrategyParameters& parameters) {
    const auto s = make_strategy({.name = "tree-k", .steps = 100, .parameters = parameters});
    return std::get<KaryDecoder>(s->decoder_form());
  };
  EXPECT_EQ(form({}).arity, 7);
  EXPECT_TRUE(form({}).subtractive);
  EXPECT_EQ(form({}).num_levels, 3);
  EXPECT_EQ(form({.arity = 4}).arity, 4);
  EXPECT_FALSE(form({.arity = 4}).subtractive);
  EXPECT_EQ(form({.arity = 4}).num_levels, 4);
  EXPECT_EQ(form({.subtractive = false}).arity, 7);
  EXPECT_FALSE(form({.subtractive = false}).subtractive);
  EXPECT_TRUE(form({.arity = 9, .subtractive = true}).subtractive);
}

TEST(StrategyTrees, full_subtractive_trees_have_the_closed_errors_and_seven_the_least_far_out) {
  // For h levels and n = (k^h - 1) / 2, the digits of -n .. n are all strings of h digits.
  std::map<std::int64_t, double> far_out;
  for (const std::int64_t k : {3, 5, 7, 9, 11, 13, 19})
    for (std::int64_t h = 1, power = k; (power - 1) / 2 <= kMaxNumSteps; ++h, power *= k) {
      const std::int64_t n = (power - 1) / 2;
      const UnitError error =
          unit_error(KaryStrategy({.steps = n, .arity = k}), Participation::single());
      const double levels = static_cast<double>(h), base = static_cast<double>(k);
      const double mean_squared = levels * levels * (base * base - 1) / (4 * base) *
                                  (static_cast<double>(power) / static_cast<double>(power - 1));
      EXPECT_TRUE(relatively_close(error.mean_error, std::sqrt(mean_squared), 1e-13));
      EXPECT_TRUE(relatively_close(error.max_error, levels * std::sqrt((base - 1) / 2), 1e-14));
      far_out[k] = error.mean_error / std::log(static_cast<double>(power));
    }
  for (const auto& [k, error] : far_out) {
    if (k != 7) {
      EXPECT_LT(far_out[7], error) << k;
    }
  }
}

TEST(StrategyTrees, plain_binary_has_the_errors_of_the_dyadic_tree) {
  for (std::int64_t n = 1; n <= 200; ++n) {
    const auto dyadic = plain<TreeStrategy>(n), binary = kary_tree<2, false>(n);
    ASSERT_EQ(dyadic->max_column_norm_squared(), binary->max_column_norm_squared());
    ASSERT_EQ(dyadic->row_norms().max_squared, binary->row_norms().max_squared);
    ASSERT_EQ(dyadic->row_norms().mean_squared, binary->row_norms().mean_squared);
  }
}

// Haar bases.

TEST(StrategyTrees, honaker_full_is_least_squares_on_the_complete_tree) {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 8, 16, 50, 64}) {
    const auto horizon = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
    const Matrix tree = TreeStrategy(horizon).encoder();
    // B = A C^+; B B^T = A (C^T C)^-1 A^T.
    const Matrix workload = Workload::prefix_sums(horizon).matrix();
    const Matrix gram = tree.transpose() * tree;
    const Matrix covariance = workload * testing::inverse(gram) * workload.transpose();
    const HonakerFullStrategy s(n);
    const Matrix encoder = s.encoder(), decoder = s.decoder();
    const Eigen::Index size = index_of(n);
    EXPECT_LT((decoder * decoder.transpose() - covariance.topLeftCorner(size, size))
                  .cwiseAbs()
                  .maxCoeff(),
              1e-12);
    EXPECT_LT(
        (encoder.transpose() * encoder - gram.topLeftCorner(size, size)).cwiseAbs().maxCoeff(),
        1e-12);
    EXPECT_TRUE(relatively_close(
        s.max_column_norm_squared(),
        static_cast<double>(std::bit_width(static_cast<std::uint64_t>(horizon))), 1e-14));
  }
}

TEST(StrategyTrees, haar_has_columns_of_norm_1_and_the_closed_mean_error_at_powers_of_two) {
  for (int k = 0; k <= 40; ++k) {
    const double n = std::ldexp(1.0, k);
    double expected = std::sqrt((n + 1) * (2 * n + 1) / 6) / n;
    for (int l = 1; l <= k; ++l)
      expected += std::sqrt((std::ldexp(1.0, 2 * l) + 2) / 12) / std::ldexp(1.0, l);
    const HaarStrategy s(std::int64_t{1} << k);
    EXPECT_TRUE(relatively_close(s.max_column_norm_squared(), 1, 1e-14));
    EXPECT_TRUE(
        relatively_close(unit_error(s, Participation::single()).mean_error, expected, 1e-13));
  }
  EXPECT_NEAR(unit_error(HaarStrategy(1024), Participation::single()).mean_error, 3.553, 5e-4);
}

TEST(StrategyTrees, no_other_weights_of_the_levels_have_less_mean_error_than_haar) {
  // Mean squared error as a function of the weights, from the dense matrices.
  for (const std::int64_t n : {2, 3, 5, 13, 64, 100}) {
    const HaarStrategy s(n);
    const Matrix encoder = s.encoder(), decoder = s.decoder();
    const double best = decoder.squaredNorm();
    const auto level_of = [&](Eigen::Index m) {
      return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(m)));
    };
    for (std::int64_t level = 0; level <= level_of(encoder.rows() - 1); ++level)
      for (const double factor : {0.9, 0.99, 1.01, 1.1}) {
        Matrix other = decoder, columns = encoder;
        for (Eigen::Index m = 0; m < encoder.rows(); ++m)
          if (level_of(m) == level) other.col(m) /= factor, columns.row(m) *= factor;
        EXPECT_GT(other.squaredNorm() * columns.colwise().squaredNorm().maxCoeff(), best)
            << n << " " << level << " " << factor;
      }
  }
}

TEST(StrategyTrees, haar_extremes_are_found_for_every_horizon_to_2048) {
  for (std::int64_t n = 1; n <= 2048; ++n)
    for (const Pointer& s : {plain<HaarStrategy>(n), plain<HonakerFullStrategy>(n)}) {
      const RowNorms norms = s->row_norms(), each = testing::norms_of_the_rows(*s);
      ASSERT_EQ(norms.min_squared, each.min_squared) << n;
      ASSERT_EQ(norms.max_squared, each.max_squared) << n;
      ASSERT_TRUE(relatively_close(norms.mean_squared, each.mean_squared, 1e-12)) << n;
    }
}

TEST(StrategyTrees, haar_extremes_are_right_where_no_one_can_look_at_all_rows) {
  // None of a million random rows exceeds the reported extremes.
  for (const std::int64_t n :
       {(std::int64_t{1} << 30) - 7, std::int64_t{1000000000}, kMaxNumSteps}) {
    const HaarStrategy s(n);
    const RowNorms norms = s.row_norms();
    std::uint64_t state = 88172645463325252u;
    double largest = 0;
    for (int i = 0; i < 1000000; ++i) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      const double row = s.row_norm_squared(static_cast<std::int64_t>(state >> 2) % n);
      largest = std::max(largest, row);
      ASSERT_LE(row, norms.max_squared);
      ASSERT_GE(row, norms.min_squared);
    }
    EXPECT_GT(largest, 0.9 * norms.max_squared) << "the maximum is one of a row";
  }
}

// Restarts.

TEST(StrategyTrees, restarts_add_one_closing_row_for_every_finished_epoch) {
  const auto plain_tree = restarted<TreeStrategy, 6, false>(100);
  const auto completed = restarted<TreeStrategy, 6, true>(100);
  // 6 = 4 + 2 takes two nodes; completed to 8, it takes one.
  EXPECT_EQ(plain_tree->row_norm_squared(6), 2 + 1);
  EXPECT_EQ(completed->row_norm_squared(6), 1 + 1);
  EXPECT_EQ(plain_tree->row_norm_squared(95), 15 * 2 + 2);
  EXPECT_EQ(completed->row_norm_squared(95), 15 * 1 + 2);
  EXPECT_EQ(plain_tree->max_column_norm_squared(), 3);
  EXPECT_EQ(completed->max_column_norm_squared(), 4);
  EXPECT_EQ(plain_tree->name(), "tree, restarted every 6 steps");
  EXPECT_EQ(completed->name(), "tree, restarted every 6 steps, completed");
  const auto& restart = dynamic_cast<const RestartStrategy&>(*completed);
  EXPECT_EQ(restart.epoch_length(), 6);
  EXPECT_EQ(restart.epochs(), 17);
  EXPECT_EQ(restart.epoch_strategy().steps(), 8);
}

TEST(StrategyTrees, restarts_have_a_block_diagonal_encoder) {
  const auto s = restarted<HonakerStrategy, 6, false>(50);
  const Matrix encoder = s->encoder();
  const Matrix gram = encoder.transpose() * encoder;
  for (Eigen::Index i = 0; i < gram.rows(); ++i)
    for (Eigen::Index j = 0; j < gram.cols(); ++j)
      if (i / 6 != j / 6) {
        EXPECT_EQ(gram(i, j), 0);
      }
}

// Known values.

TEST(StrategyTrees, golden_values) {
  int checked = 0;
  for (const golden::trees::Nodes& golden : golden::trees::nodes) {
    const std::int64_t n = golden.num_steps;
    const std::string name = golden.name;
    SCOPED_TRACE(name + ", n = " + std::to_string(n));
    Pointer s;
    if (name == "honaker-full") {
      // The reference omits nodes that n steps do not complete.
      if (!std::has_single_bit(static_cast<std::uint64_t>(n))) continue;
      s = plain<HonakerFullStrategy>(n);
    } else {
      s = std::make_shared<KaryStrategy>(KaryStrategy::Options{
          .steps = n, .arity = golden.arity, .subtractive = golden.subtractive});
    }
    ++checked;
    const UnitError error = unit_error(*s, Participation::single());
    EXPECT_TRUE(relatively_close(error.sensitivity.value, golden.sensitivity, 1e-12));
    EXPECT_TRUE(relatively_close(error.max_error, golden.max_error, 1e-12));
    EXPECT_TRUE(relatively_close(error.mean_error, golden.mean_error, 1e-12));
  }
  EXPECT_GE(checked, 80);
}

TEST(StrategyTrees, known_errors_at_1024) {
  const auto error = [](const Strategy& s) { return unit_error(s, Participation::single()); };
  EXPECT_NEAR(error(HonakerFullStrategy(1024)).max_error, 4.438311700480207, 1e-12);
  EXPECT_NEAR(error(HonakerFullStrategy(1024)).mean_error, 3.68615865529439, 1e-12);
  EXPECT_NEAR(error(HaarStrategy(1024)).max_error, 4.2007, 5e-5);
  EXPECT_NEAR(error(*kary_tree<7, true>(1024)).max_error, 6.928203230275509, 1e-12);
  EXPECT_NEAR(error(*kary_tree<7, true>(1024)).mean_error, 5.158427570490837, 1e-12);
}

TEST(StrategyTrees, a_thousand_million_steps_take_no_time) {
  const auto start = std::chrono::steady_clock::now();
  for (const Recipe& recipe : recipes()) {
    if (recipe.name.find("every") != std::string::npos) continue;
    for (const std::int64_t n : {std::int64_t{1000000000}, kMaxNumSteps}) {
      const auto s = recipe.make(n);
      const RowNorms rows = s->row_norms();
      EXPECT_GT(rows.min_squared, 0) << recipe.name;
      EXPECT_LE(rows.min_squared, rows.mean_squared) << recipe.name;
      EXPECT_LE(rows.mean_squared, rows.max_squared) << recipe.name;
      EXPECT_LE(s->row_norm_squared(n - 1), rows.max_squared) << recipe.name;
      EXPECT_LE(s->column_norm_squared(n / 3), s->max_column_norm_squared()) << recipe.name;
      EXPECT_LT(s->num_measurements(), std::int64_t{1} << 43) << recipe.name;
      (void)s->decoder_form();
    }
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  EXPECT_LT(elapsed.count(), 5) << "seconds, against 1e9 rows each";
}

// Misuse.

TEST(StrategyTrees, parameters_are_checked) {
  EXPECT_ERROR(KaryStrategy({.steps = 8, .arity = 1, .subtractive = false}), "invalid_argument",
               "tree-k: arity must be between 2 and 1023, got 1");
  EXPECT_ERROR(KaryStrategy({.steps = 8, .arity = 4, .subtractive = true}), "invalid_argument",
               "tree-k: arity must be odd for a subtractive tree, got 4");
  EXPECT_ERROR(KaryStrategy({.steps = 0}), "invalid_argument", "steps must be between");
  EXPECT_ERROR(HaarStrategy(0), "invalid_argument", "steps must be between");
  EXPECT_ERROR(HonakerFullStrategy(kMaxNumSteps + 1), "invalid_argument", "steps must be");
  EXPECT_ERROR((void)HaarStrategy(4097).decoder(), "unsupported", "steps must be at most 4096");
  EXPECT_ERROR((void)HaarStrategy(8).row_norm_squared(8), "invalid_argument",
               "haar: step must be between 0 and 7, got 8");
}

TEST(StrategyTrees, restarts_are_checked) {
  const auto restart = [](std::int64_t steps, const StrategyParameters& parameters,
                          Pointer (*epoch)(const StrategyOptions&)) {
    return RestartStrategy::make({.name = "x", .steps = steps, .parameters = parameters}, epoch);
  };
  EXPECT_ERROR(restart(8, {.epoch_length = 9}, make_epoch<TreeStrategy>), "invalid_argument",
               "restart: epoch_length must be between 1 and 8, got 9");
  EXPECT_ERROR(restart(8, {}, make_epoch<TreeStrategy>), "invalid_argument", "got 0");
  EXPECT_ERROR(restart(0, {.epoch_length = 1}, make_epoch<TreeStrategy>), "invalid_argument",
               "restart: steps must be between 1 and");
  EXPECT_ERROR(
      restart(8, {.epoch_length = 4, .complete_epochs = true}, make_epoch<SquareRootStrategy>),
      "invalid_argument",
      "restart: complete_epochs must be false for all but tree and honaker, got");
  EXPECT_ERROR(restart(std::int64_t{1} << 30, {.epoch_length = 16}, make_epoch<TreeStrategy>),
               "unsupported", "there are at most 1048576 epochs, got 67108864");
  EXPECT_ERROR(
      RestartStrategy(
          {.steps = 8, .epoch_length = 4, .epoch_strategy = std::make_shared<TreeStrategy>(8)}),
      "invalid_argument", "restart: epoch_strategy must be for 4 steps, got 8");
}

}  // namespace
}  // namespace dpftrl
