// SPDX-License-Identifier: Apache-2.0
#include "analysis/sensitivity/active_sensitivity.hpp"

#include <bit>
#include <cmath>

#include "dpftrl/analysis/mechanism.hpp"
#include "strategy/offset_ar.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::index_of;

/// Patterns by their definition: bit t of a set is step t.
bool is_active_pattern(unsigned set, std::int64_t n, const ActivePattern& pattern) {
  std::int64_t runs = 0;
  for (std::int64_t t = 0; t < n;) {
    if ((set >> t & 1U) == 0) {
      ++t;
      continue;
    }
    const std::int64_t length = std::countr_one(set >> t);
    const bool may_be_cut = t + length == n || (t == 0 && pattern.has_open_start);
    if (length < pattern.window && !may_be_cut) return false;
    ++runs;
    t += length;
  }
  return !pattern.runs || runs <= *pattern.runs;
}

Vector vector_of_set(unsigned set, std::int64_t n) {
  return Vector::NullaryExpr(index_of(n),
                             [&](Eigen::Index t) { return set >> t & 1U ? 1.0 : 0.0; });
}

double largest_energy_of_all(const Matrix& gram, const ActivePattern& pattern) {
  double largest = 0;
  for (unsigned set = 0; set < 1U << gram.rows(); ++set) {
    if (!is_active_pattern(set, gram.rows(), pattern)) continue;
    const Vector u = vector_of_set(set, gram.rows());
    largest = std::max(largest, u.dot(gram * u));
  }
  return largest;
}

std::vector<ActivePattern> some_patterns(std::int64_t n) {
  std::vector<ActivePattern> patterns;
  for (const std::int64_t window : {std::int64_t{1}, std::int64_t{2}, std::int64_t{4}, n})
    for (const bool is_open : {false, true})
      for (const std::int64_t runs : {0, 1, 2, 3}) {
        patterns.push_back({.window = window, .has_open_start = is_open});
        if (runs > 0) patterns.back().runs = runs;
      }
  return patterns;
}

/// Gram matrix of the encoder of counts of people.
Matrix gram_of_counts(const Strategy& strategy) {
  Matrix columns = strategy.encoder();
  for (Eigen::Index j = 0; j + 1 < columns.cols(); ++j) columns.col(j) -= columns.col(j + 1);
  return columns.transpose() * columns;
}

TEST(ActiveSensitivity, is_never_below_any_pattern) {
  const std::int64_t n = 11;
  for (const StrategyInfo& info : strategy_catalogue()) {
    const auto strategy = testing::make_known(std::string(info.name), n);
    const Matrix gram = gram_of_counts(*strategy);
    for (const ActivePattern& pattern : some_patterns(n)) {
      const double exact = std::sqrt(largest_energy_of_all(gram, pattern));
      const Sensitivity found = sensitivity(*strategy, Participation::active(pattern));
      EXPECT_GE(found.value, exact) << info.name << ", window " << pattern.window;
      if (found.exactness == Exactness::exact) {
        EXPECT_LE(found.value, exact * (1 + 1e-10)) << info.name << ", window " << pattern.window;
      }
      if (pattern.runs.value_or(3) <= 2) {
        EXPECT_EQ(found.exactness, Exactness::exact);
      }
      ActivePattern replaced = pattern;
      replaced.neighbours = Neighbours::replace_one;
      const Sensitivity both = sensitivity(*strategy, Participation::active(replaced));
      EXPECT_EQ(both.value, found.value);
      EXPECT_EQ(both.exactness, Exactness::upper_bound);
    }
  }
}

TEST(ActiveSensitivity, loses_little_where_columns_are_convex) {
  // Brute force, and the dynamic program with consecutive runs, at 16 steps with a closed start.
  struct Known {
    std::int64_t window;
    double exact;
    double bound;
  };
  const auto strategy = testing::make_known("square-root", 16);
  const Matrix gram = gram_of_counts(*strategy);
  for (const Known& known : {Known{1, 2.912809887, 2.994674630}, Known{2, 2.662694941, 2.761998320},
                             Known{3, 2.414147262, 2.473574457}, Known{5, 2.183408604, 2.201573010},
                             Known{7, 1.945291636, 1.945291636}}) {
    const ActivePattern pattern{.window = known.window, .has_open_start = false};
    EXPECT_NEAR(std::sqrt(largest_energy_of_all(gram, pattern)), known.exact, 1e-9);
    EXPECT_NEAR(sensitivity(*strategy, Participation::active(pattern)).value, known.bound, 1e-9);
  }
}

TEST(ActiveSensitivity, a_year_of_square_roots_is_that_of_other_computations) {
  const auto strategy = testing::make_known("square-root", 365);
  const auto value = [&](std::int64_t window) {
    return sensitivity(*strategy,
                       Participation::active({.window = window, .has_open_start = false}))
        .value;
  };
  EXPECT_NEAR(value(90), 3.546281, 1e-6);
  if (!testing::is_full_size()) return;
  EXPECT_NEAR(value(30), 5.315580, 1e-6);
}

TEST(ActiveSensitivity, positive_products_and_products_left_out_are_paid_for) {
  // Three runs of one step, at 0, 2 and 4: the product is p for neighbours, and q for 0 and 4.
  const auto bound = [](double p, double q) {
    Matrix gram = Matrix::Zero(5, 5);
    for (const Eigen::Index i : {0, 2, 4}) gram(i, i) = 1;
    gram(0, 2) = gram(2, 0) = gram(2, 4) = gram(4, 2) = p;
    gram(0, 4) = gram(4, 0) = q;
    return active_energy_bound(gram, {.window = 1}).squared;
  };
  EXPECT_NEAR(bound(0, 0), 3, 1e-12);
  EXPECT_NEAR(bound(-0.25, 0), 2, 1e-12);
  EXPECT_NEAR(bound(0, -0.25), 3, 1e-12);
  EXPECT_NEAR(bound(0, 0.25), 3.5, 1e-12);
  EXPECT_NEAR(bound(0.25, 0), 4, 1e-12);
}

TEST(ActiveSensitivity, is_exact_for_offset_ar) {
  for (const std::int64_t n : {1, 2, 5, 12})
    for (const ActivePattern& pattern : some_patterns(n)) {
      const auto strategy = make_strategy(
          {.name = "offset-ar", .steps = n, .participation = Participation::active(pattern)});
      const Sensitivity found = sensitivity(*strategy, Participation::active(pattern));
      const double exact = std::sqrt(largest_energy_of_all(gram_of_counts(*strategy), pattern));
      EXPECT_EQ(found.exactness, Exactness::exact);
      EXPECT_NEAR(found.value, exact, 1e-10 * exact) << n << ", window " << pattern.window;
    }
}

TEST(ActiveSensitivity, refuses_what_it_cannot_bound) {
  const Participation monthly = Participation::active({.window = 30});
  EXPECT_ERROR(sensitivity(*make_strategy({.name = "square-root",
                                           .steps = 10,
                                           .workload = Workload::sliding_window({10, 1})}),
                           monthly),
               "unsupported", "workload must be prefix sums of changes for active people");
  EXPECT_ERROR(sensitivity(*testing::make_known("square-root", 1025), monthly), "unsupported",
               "steps must be at most 1024 for active people and square-root, got 1025");
}

MechanismOptions monthly_users(Neighbours neighbours) {
  return {.strategy = "offset-ar",
          .steps = 365,
          .target = {.epsilon = 1, .delta = 1e-6},
          .neighbours = neighbours,
          .participation = Participation::active({.window = 30, .neighbours = neighbours})};
}

TEST(ActiveSensitivity, a_mechanism_has_its_noise_and_says_for_which_pattern) {
  for (const Neighbours neighbours : {Neighbours::zero_out, Neighbours::replace_one}) {
    const auto mechanism = Mechanism::make(monthly_users(neighbours));
    const Certificate& certificate = mechanism->certificate();
    EXPECT_EQ(certificate.exactness, Exactness::exact);
    EXPECT_EQ(certificate.participation, "active");
    EXPECT_EQ(certificate.active->window, 30);
    const double limit = neighbours == Neighbours::zero_out ? 28.48 : 49.52;
    for (std::int64_t day = 0; day < 365; ++day) {
      EXPECT_LE(mechanism->release_stddev(day), limit);
      EXPECT_EQ(mechanism->release_stddev(day), mechanism->release_stddev(0));
    }
    const auto proof = mechanism->proof();
    EXPECT_LT(proof.residual.value, 1e-9);
    ASSERT_EQ(proof.lower_bound.has_value(), neighbours == Neighbours::zero_out);
    if (proof.lower_bound) {
      EXPECT_LE(proof.lower_bound->value, certificate.max_error);
    }
  }
  MechanismOptions other = monthly_users(Neighbours::zero_out);
  other.neighbours = Neighbours::replace_one;
  EXPECT_ERROR(Mechanism::make(other), "invalid_argument",
               "neighbours must be those of the pattern, zero-out, got replace-one");
}

TEST(ActiveSensitivity, the_better_encoder_is_chosen) {
  const auto chosen = [](const ActivePattern& pattern) {
    return Mechanism::make_active({.steps = 365,
                                   .target = {.epsilon = 1, .delta = 1e-6},
                                   .participation = Participation::active(pattern)});
  };
  EXPECT_EQ(chosen({.window = 30})->certificate().strategy, "offset-ar");
  EXPECT_EQ(chosen({.window = 180})->certificate().strategy, "offset-ar");
  for (const ActivePattern& pattern : {ActivePattern{.window = 180, .has_open_start = false},
                                       ActivePattern{.window = 30, .runs = 1}}) {
    const auto best = chosen(pattern);
    EXPECT_NE(best->certificate().strategy, "offset-ar") << pattern.window;
    MechanismOptions same{.strategy = "offset-ar",
                          .steps = 365,
                          .target = {.epsilon = 1, .delta = 1e-6},
                          .participation = Participation::active(pattern)};
    EXPECT_LT(best->certificate().max_error, Mechanism::make(same)->certificate().max_error);
  }
  // Families that are optimised for a participation are optimised for a single one here.
  const auto made = [](const Participation& participation) {
    return make_strategy({.name = "blt", .steps = 20, .participation = participation})
        ->parameters()[0]
        .values;
  };
  EXPECT_EQ(made(Participation::active({.window = 3})), made(Participation::single()));
  EXPECT_ERROR(Mechanism::make_active({.steps = 10, .target = {.epsilon = 1, .delta = 1e-6}}),
               "invalid_argument", "participation must be active, got single");
}

}  // namespace
}  // namespace dpftrl
