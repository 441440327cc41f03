// SPDX-License-Identifier: Apache-2.0
// Strategies given by the entries of their encoder: the dense optimum and general bands. The laws
// of catalogue_test run over both.
#include "strategy/dense.hpp"
#include "catalogue.hpp"
#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/analysis/planner.hpp"
#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "long_doubles.hpp"
#include "strategy/toeplitz/filtered.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::index_of;
using testing::relatively_close;
using testing::square_root;
using ExtendedMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;

Participation dense_epochs(std::int64_t n, std::int64_t k) {
  return Participation::fixed_epoch({.epochs = k, .epoch_length = n / k});
}

std::shared_ptr<const Strategy> dense_strategy(const char* name, const Workload& workload,
                                               const Participation& participation,
                                               const StrategyParameters& parameters = {}) {
  return make_strategy({.name = name,
                        .steps = workload.steps(),
                        .workload = workload,
                        .parameters = parameters,
                        .participation = participation});
}

TEST(DenseStrategy, the_slack_covers_the_encoder_of_the_stored_decoder) {
  for (const std::int64_t n : {1, 2, 7, 40})
    for (const Workload& workload : testing::other_workloads(n)) {
      const std::shared_ptr<const Strategy> s =
          dense_strategy("optimal", workload, Participation::single());
      if (dynamic_cast<const DenseStrategy*>(s.get()) == nullptr) continue;  // has a recursion
      const ExtendedMatrix b = s->decoder().cast<long double>();
      const ExtendedMatrix a = workload.matrix().cast<long double>();
      const Matrix stated = s->encoder();
      ASSERT_TRUE(s->decoder().isLowerTriangular(0));
      double excess = 0;
      for (Eigen::Index j = 0; j < a.cols(); ++j) {
        ExtendedMatrix exact = a.col(j);
        for (Eigen::Index i = 0; i < exact.rows(); ++i)
          exact(i) = (exact(i) - b.row(i).head(i).dot(exact.col(0).head(i))) / b(i, i);
        const ExtendedMatrix rest = exact - stated.col(j).cast<long double>();
        excess = std::max(
            excess, static_cast<double>(square_root(rest.squaredNorm())) / stated.col(j).norm());
      }
      EXPECT_LE(excess, s->encoder_slack()) << workload.name() << ", n = " << n;
      EXPECT_LE(s->encoder_slack(), 1e-9);
      if (n == 40) {
        EXPECT_GT(excess, 0) << "the check sees something";
      }
    }
}

/// Privacy depends on column norms, so the Gram matrix must be that of the columns, not of the
/// rows.
TEST(DenseStrategy, the_triangular_encoder_has_the_gram_matrix_it_was_made_from) {
  Matrix encoder = testing::rough_matrix(9);
  encoder.col(3) *= 2;
  encoder.row(2).swap(encoder.row(5));
  const Matrix lower = lower_triangular_encoder(encoder);
  EXPECT_TRUE(lower.isLowerTriangular(0));
  EXPECT_GT(lower.diagonal().minCoeff(), 0);
  EXPECT_LE((lower.transpose() * lower - encoder.transpose() * encoder).cwiseAbs().maxCoeff(),
            1e-12);
  EXPECT_GT((lower * lower.transpose() - encoder.transpose() * encoder).cwiseAbs().maxCoeff(), 0.1)
      << "not its transpose";
  EXPECT_ERROR((void)lower_triangular_encoder(Matrix::Zero(2, 2)), "unsupported",
               "encoder must have a positive definite Gram matrix");
}

TEST(DenseStrategy, is_as_good_as_the_optimum_for_momentum_windows_and_matrices) {
  const std::int64_t n = 64;
  for (const Workload& workload : testing::other_workloads(n))
    for (const Objective objective : {Objective::mean, Objective::max}) {
      const auto s =
          dense_strategy("optimal", workload, Participation::single(), {.objective = objective});
      const UnitError error = unit_error(*s, Participation::single());
      const double own = objective == Objective::mean ? error.mean_error : error.max_error;
      const double bound = certified_lower_bound(*s, Participation::single(), objective)->value;
      EXPECT_GE(own, bound * (1 - 1e-12)) << workload.name();
      EXPECT_LE(own, bound * (objective == Objective::mean ? 1 + 1e-6 : 1 + 5e-4))
          << workload.name();
      EXPECT_TRUE(relatively_close(error.sensitivity.value, 1, 1e-12));
    }
  // Independently known value.
  const Workload momentum = Workload::momentum({.steps = n, .momentum = 0.9});
  const auto s =
      dense_strategy("optimal", momentum, Participation::single(), {.objective = Objective::mean});
  EXPECT_TRUE(
      relatively_close(unit_error(*s, Participation::single()).mean_error, 11.437990371, 1e-5));
}

/// Follows the advice in the error message for a zero on the diagonal.
TEST(DenseStrategy, a_small_entry_stands_for_a_zero_on_the_diagonal) {
  Matrix matrix = Workload::prefix_sums(12).matrix();
  matrix(5, 5) = 0;
  for (const char* name : {"optimal", "banded", "square-root", "tree"}) {
    double last = 0;
    for (const double entry : {1e-9, 1e-8}) {
      Matrix close = matrix;
      close(5, 5) = entry;
      const auto strategy =
          dense_strategy(name, Workload::lower_triangular(close), Participation::single());
      const Matrix made = strategy->decoder() * strategy->encoder();
      EXPECT_LE((made - matrix).cwiseAbs().maxCoeff(), 1e-7) << name;
      const double error = unit_error(*strategy, Participation::single()).max_error;
      EXPECT_TRUE(last == 0 || relatively_close(error, last, 1e-7)) << name;
      last = error;
    }
  }
}

TEST(DenseStrategy, fixed_epochs_get_the_optimum_for_them) {
  constexpr double kKnown[][2] = {{2, 2.973025}, {4, 4.407853}, {8, 7.008548}};
  const Workload prefix = Workload::prefix_sums(64);
  for (const auto& [k, least] : kKnown) {
    const Participation participation = dense_epochs(64, static_cast<std::int64_t>(k));
    const auto s = dense_strategy("optimal", prefix, participation, {.objective = Objective::mean});
    const UnitError error = unit_error(*s, participation);
    EXPECT_GE(error.mean_error, least * (1 - 2e-7));
    EXPECT_LE(error.mean_error, least * (1 + 1e-4));
    EXPECT_TRUE(relatively_close(brute_force_sensitivity(s->encoder(), participation).value,
                                 error.sensitivity.value, 1e-12));
    // The bound holds only for this participation, not for single participation.
    EXPECT_GT(s->certified_lower_bound(Objective::mean, participation).value, least * (1 - 1e-5));
    EXPECT_EQ(s->certified_lower_bound(Objective::mean, Participation::single()).value, 0);
    EXPECT_LT(certified_lower_bound(*s, Participation::single(), Objective::mean)->value, 2.1);
  }
}

TEST(DenseStrategy, buffers_ask_for_the_recursion) {
  const Workload momentum = Workload::momentum({.steps = 32, .momentum = 0.9});
  const auto recursion =
      dense_strategy("optimal", momentum, Participation::single(), {.buffers = 4});
  EXPECT_EQ(dynamic_cast<const DenseStrategy*>(recursion.get()), nullptr);
  const auto epochs_too =
      dense_strategy("optimal", Workload::prefix_sums(32), dense_epochs(32, 2), {.buffers = 4});
  EXPECT_NE(dynamic_cast<const OptimalStrategy*>(epochs_too.get()), nullptr);
}

TEST(DenseStrategy, bands_have_unit_columns_and_the_exact_sensitivity_of_repeated_participation) {
  const Participation apart = Participation::min_separation({.times = 3, .apart = 5});
  const auto s = dense_strategy("banded", Workload::prefix_sums(24), apart);
  EXPECT_EQ(s->bands(), 5) << "no more than the separation";
  EXPECT_LE((s->encoder().colwise().norm().array() - 1).abs().maxCoeff(), 1e-14);
  const Sensitivity repeated = sensitivity(*s, apart);
  EXPECT_EQ(repeated.exactness, Exactness::exact);
  EXPECT_TRUE(relatively_close(repeated.value, std::sqrt(3.0), 1e-14));
  EXPECT_TRUE(
      relatively_close(brute_force_sensitivity(s->encoder(), apart).value, std::sqrt(3.0), 1e-14));
  EXPECT_EQ(dense_strategy("banded", Workload::prefix_sums(24), Participation::single())->bands(),
            16);
  // Explicitly requesting more bands than the separation gives a dense bound.
  const auto wide = dense_strategy("banded", Workload::prefix_sums(24), apart, {.bands = 7});
  EXPECT_GE(sensitivity(*wide, apart).value,
            brute_force_sensitivity(wide->encoder(), apart).value * (1 - 1e-12));
}

double error_under(const char* name, std::int64_t n, const Participation& optimised_for,
                   const Participation& used_with) {
  const auto s =
      dense_strategy(name, Workload::prefix_sums(n), optimised_for, {.objective = Objective::mean});
  return unit_error(*s, used_with).mean_error;
}

TEST(SearchedFamilies, are_better_for_the_participation_that_they_are_made_for) {
  const std::int64_t n = 96;
  const Participation single = Participation::single(), four = dense_epochs(n, 4),
                      apart = Participation::min_separation({.times = 6, .apart = 4});
  for (const char* name : {"blt", "banded-toeplitz"}) {
    EXPECT_LT(error_under(name, n, apart, apart), error_under(name, n, single, apart) * 0.99)
        << name;
    EXPECT_GT(error_under(name, n, apart, single), error_under(name, n, single, single)) << name;
  }
  for (const char* name : {"blt", "optimal"})
    EXPECT_LT(error_under(name, n, four, four), 0.99 * error_under(name, n, single, four)) << name;
}

TEST(SearchedFamilies, mechanisms_are_made_for_their_participation) {
  const std::int64_t n = 64;
  const auto made = Mechanism::make({.strategy = "optimal",
                                     .steps = n,
                                     .target = {.epsilon = 1, .delta = 1e-6},
                                     .participation = dense_epochs(n, 4),
                                     .parameters = {.objective = Objective::mean}});
  EXPECT_TRUE(relatively_close(made->certificate().mean_error, 4.407853, 1e-4));
  EXPECT_LE(made->proof().residual.value, 1e-12);
  // The horizon exceeds the one for which the residual is computed, where these epochs do not fit.
  EXPECT_NO_THROW((void)Mechanism::make({.strategy = "banded-toeplitz",
                                         .steps = 600,
                                         .target = {.epsilon = 1, .delta = 1e-6},
                                         .participation = dense_epochs(600, 3)})
                      ->proof());
}

TEST(CertifiedLowerBound, no_strategy_is_below_it_and_the_optimum_is_close) {
  for (const std::int64_t n : {2, 24, 200})
    for (const Objective objective : {Objective::mean, Objective::max}) {
      std::vector<Workload> workloads = testing::other_workloads(n);
      workloads.push_back(Workload::prefix_sums(n));
      for (const Workload& workload : workloads)
        for (const Participation& participation : {Participation::single(), dense_epochs(n, 2)}) {
          if (n > 128 && !workload.is_prefix()) continue;
          for (const char* name : {"square-root", "tree", "optimal"}) {
            const auto s = dense_strategy(name, workload, participation, {.objective = {}});
            const UnitError error = unit_error(*s, participation);
            const double own = objective == Objective::mean ? error.mean_error : error.max_error;
            const auto bound = certified_lower_bound(*s, participation, objective);
            ASSERT_TRUE(bound.has_value());
            EXPECT_LE(bound->value, own * (1 + 1e-9)) << name << workload.name() << n;
            EXPECT_GE(bound->value, error_lower_bound(workload));
          }
        }
    }
  const auto s = make_strategy({.name = "square-root", .steps = 10000});
  const double mean = certified_lower_bound(*s, Participation::single(), Objective::mean)->value;
  EXPECT_LE(mean, 3.670451040961);
  EXPECT_GE(mean, 3.670451040961 * (1 - 3e-5));
  EXPECT_GE(certified_lower_bound(*s, Participation::single(), Objective::max)->value,
            3.674193675 * (1 - 3e-5));
}

TEST(CertifiedLowerBound, is_that_of_the_dense_optimum_or_hardly_below) {
  for (const std::int64_t n : {5, 64}) {
    std::vector<Workload> workloads = testing::other_workloads(n);
    workloads.push_back(Workload::prefix_sums(n));
    for (const Workload& workload : workloads)
      for (const Objective objective : {Objective::mean, Objective::max}) {
        const DenseOptimum least = find_dense_optimum(
            {.queries = workload.matrix(), .objective = objective}, {.gap = 1e-5});
        const auto bound = certified_lower_bound(workload, Participation::single(), objective);
        ASSERT_TRUE(bound.has_value());
        EXPECT_LE(bound->value, least.upper_bound) << workload.name();
        EXPECT_GE(bound->value,
                  least.lower_bound * (objective == Objective::mean ? 1 - 1e-3 : 0.95))
            << workload.name();
        // The singular values of this matrix are nearly equal, so the Schatten bound is as good as
        // any.
        if (workload.has_toeplitz_matrix()) continue;
        EXPECT_NE(bound->method, LowerBoundMethod::schatten) << workload.name();
      }
  }
}

TEST(CertifiedLowerBound, a_least_separation_allows_the_fixed_epochs_within_the_horizon) {
  const Participation apart = Participation::min_separation({.times = 4, .apart = 16});
  const Participation four = dense_epochs(64, 4);
  for (const Objective objective : {Objective::mean, Objective::max}) {
    const auto of_epochs = certified_lower_bound(Workload::prefix_sums(64), four, objective);
    EXPECT_EQ(certified_lower_bound(Workload::prefix_sums(64), apart, objective)->value,
              of_epochs->value);
    const Participation closer = Participation::min_separation({.times = 4, .apart = 5});
    EXPECT_GE(certified_lower_bound(Workload::prefix_sums(64), closer, objective)->value,
              of_epochs->value);
  }
  // At 70 steps the epochs fit into the first 64 steps, whose largest error is no larger.
  const Workload longer = Workload::prefix_sums(70);
  EXPECT_GE(certified_lower_bound(longer, apart, Objective::max)->value,
            certified_lower_bound(Workload::prefix_sums(64), four, Objective::max)->value);
  const auto tree = make_strategy({.name = "tree", .steps = 70});
  const UnitError error = unit_error(*tree, apart);
  EXPECT_LE(certified_lower_bound(longer, apart, Objective::mean)->value, error.mean_error);
}

TEST(CertifiedLowerBound, more_participations_never_prove_less) {
  const auto apart = [](std::int64_t k, std::int64_t b) {
    return Participation::min_separation({.times = k, .apart = b});
  };
  for (const std::int64_t n : testing::sizes({.full = {30, 100, 1000}, .elsewhere = {30, 140}}))
    for (const Objective objective : {Objective::mean, Objective::max}) {
      const Workload workload = Workload::prefix_sums(n);
      const double once =
          certified_lower_bound(workload, Participation::single(), objective)->value;
      for (const Participation& often : {apart(2, 1), apart(2, 10), apart(3, 7), apart(2, 2 * n)})
        EXPECT_GE(certified_lower_bound(workload, often, objective)->value, once)
            << n << " " << often.description();
    }
}

TEST(CertifiedLowerBound, falls_back_and_says_which_it_is) {
  const auto bound = [](const Workload& workload, Objective objective) {
    return certified_lower_bound(workload, Participation::single(), objective);
  };
  // Three evaluations of the dual suffice; the optima at 10^5 steps are 4.396799974774 and
  // 4.399305909.
  const Workload long_sums = Workload::prefix_sums(100000);
  for (const auto& [objective, best] :
       {std::pair{Objective::mean, 4.396799974774}, std::pair{Objective::max, 4.399305909357}}) {
    const LowerBound found = bound(long_sums, objective).value();
    EXPECT_EQ(found.method, LowerBoundMethod::dual);
    EXPECT_LE(found.value, best);
    EXPECT_GE(found.value, best * (1 - 1e-5));
  }
  const Workload longer = Workload::prefix_sums((std::int64_t{1} << 18) + 1);
  EXPECT_EQ(bound(longer, Objective::max)->method, LowerBoundMethod::schatten);
  EXPECT_EQ(bound(longer, Objective::max)->value, error_lower_bound(longer));
  // With momentum and negative rates, only blocks of single steps remain.
  std::vector<double> rates(5000, -0.5);
  rates[70] = 3;
  const Workload diagonal = Workload::learning_rates({.rates = rates, .momentum = 0.5});
  EXPECT_EQ(bound(diagonal, Objective::max)->value, 3);
  EXPECT_EQ(bound(diagonal, Objective::max)->method, LowerBoundMethod::schatten);
  rates.assign(200, 1);
  rates[3] = 1e-150;
  const Workload wild = Workload::learning_rates({.rates = rates});
  EXPECT_EQ(bound(wild, Objective::mean)->method, LowerBoundMethod::schatten);
  EXPECT_GT(bound(wild, Objective::mean)->value, 1);
  EXPECT_EQ(to_string(LowerBoundMethod::dual), "dual");
  EXPECT_EQ(to_string(LowerBoundMethod::dense_dual), "dense dual");
  EXPECT_EQ(to_string(LowerBoundMethod::schatten), "schatten");
}

TEST(CertifiedLowerBound, blocks_bound_the_whole_for_every_workload) {
  std::vector<double> positive, mixed;
  for (int i = 0; i < 140; ++i) {
    positive.push_back(1 / (1 + 0.05 * i));
    mixed.push_back(i % 3 == 1 ? -positive.back() : positive.back());
  }
  const Workload window = Workload::sliding_window({.steps = 140, .window = 30});
  testing::Thinned thinned(2);
  for (const Objective objective : {Objective::mean, Objective::max})
    for (const Workload& workload : {window, Workload::momentum({.steps = 140, .momentum = 0.9}),
                                     Workload::learning_rates({.rates = mixed}),
                                     Workload::learning_rates({.rates = positive, .momentum = 0.9}),
                                     Workload::learning_rates({.rates = mixed, .momentum = 0.9})}) {
      if (!thinned.takes_next()) continue;
      const DenseOptimum least =
          find_dense_optimum({.queries = workload.matrix(), .objective = objective},
                             {.gap = 2e-2, .max_iterations = 12});
      const auto bound = certified_lower_bound(workload, Participation::single(), objective);
      ASSERT_TRUE(bound.has_value());
      EXPECT_LE(bound->value, least.upper_bound) << workload.name();
      EXPECT_GE(bound->value, least.lower_bound * 0.8) << workload.name();
    }
  // Longer than any dense matrix.
  const auto mean = certified_lower_bound(Workload::momentum({.steps = 512, .momentum = 0.9}),
                                          Participation::single(), Objective::mean);
  EXPECT_GE(mean->value, 18.18);
  EXPECT_LE(mean->value, 18.20);
}

TEST(CertifiedLowerBound, a_saved_optimum_proves_as_much_as_the_search_did) {
  const StrategyOptions options{.name = "optimal", .steps = 300};
  const PlannerResult found = find_plan({.strategy = options});
  const auto planned =
      planned_strategy("optimal", found.plan, Workload::prefix_sums(options.steps));
  const double own = planned->certified_lower_bound(Objective::max, Participation::single()).value;
  EXPECT_TRUE(relatively_close(own, found.lower_bound->value, 1e-8));
  StrategyPlan damaged = found.plan;
  damaged.numbers[0].values[5] *= 3;
  const double other = planned_strategy("optimal", damaged, Workload::prefix_sums(options.steps))
                           ->certified_lower_bound(Objective::max, Participation::single())
                           .value;
  EXPECT_LT(other, own) << "and a damaged one less";
  EXPECT_GT(other, 0);
}

TEST(CertifiedLowerBound, a_saved_dense_optimum_proves_as_much_as_the_search_did) {
  const Workload momentum = Workload::momentum({.steps = 140, .momentum = 0.9});
  for (const auto& [workload, participation] :
       {std::pair{momentum, Participation::single()},
        std::pair{Workload::prefix_sums(60), dense_epochs(60, 3)}})
    for (const Objective objective : {Objective::mean, Objective::max}) {
      const StrategyOptions options{.name = "optimal",
                                    .steps = workload.steps(),
                                    .workload = workload,
                                    .parameters = {.objective = objective},
                                    .participation = participation};
      const PlannerResult found = find_plan({.strategy = options});
      const auto bound_of = [&](const StrategyPlan& plan) {
        return planned_strategy("optimal", plan, workload)
            ->certified_lower_bound(objective, participation)
            .value;
      };
      EXPECT_EQ(bound_of(found.plan), found.lower_bound->value);
      StrategyPlan damaged = found.plan;
      damaged.numbers[1].values[7] *= 3;
      EXPECT_LT(bound_of(damaged), found.lower_bound->value) << "and a damaged one less";
      EXPECT_GT(bound_of(damaged), 0);
      damaged.numbers[1].values.pop_back();
      EXPECT_ERROR((void)bound_of(damaged), "invalid_argument", "column_duals must be one number");
      damaged = found.plan;
      damaged.objective = objective == Objective::max ? Objective::mean : Objective::max;
      EXPECT_ERROR((void)bound_of(damaged), "wrong_length", "row_duals");
      damaged = found.plan;
      damaged.numbers.erase(damaged.numbers.begin() + 1, damaged.numbers.end());
      EXPECT_EQ(bound_of(damaged), 0) << "without duals there is none of its own";
      damaged.numbers.push_back({"decay", {1}});
      EXPECT_ERROR((void)bound_of(damaged), "invalid_argument",
                   "decay cannot be given with columns");
    }
}

TEST(DensePlan, is_found_once_and_gives_the_same_bits_again) {
  const Participation twice = dense_epochs(24, 2);
  for (const auto& [workload, participation] :
       {std::pair{Workload::momentum({.steps = 24, .momentum = 0.9}), Participation::single()},
        std::pair{Workload::sliding_window({.steps = 24, .window = 5}), Participation::single()},
        std::pair{Workload::prefix_sums(24), twice}})
    for (const Objective objective : {Objective::mean, Objective::max}) {
      const StrategyOptions options{.name = "optimal",
                                    .steps = 24,
                                    .workload = workload,
                                    .parameters = {.objective = objective},
                                    .participation = participation};
      Planner planner({.strategy = options});
      // With momentum, the search starts from the linear-time solver and ends quickly.
      const bool goes_on = planner.advance();
      EXPECT_EQ(goes_on, workload.momentum() == 0);
      EXPECT_EQ(planner.result().status, goes_on ? SolverStatus::stopped : SolverStatus::converged);
      while (planner.advance()) EXPECT_LE(planner.progress().fraction, 1);
      EXPECT_EQ(planner.progress().fraction, 1);
      const PlannerResult found = planner.result();
      ASSERT_EQ(found.plan.numbers.size(), objective == Objective::max ? 3U : 2U);
      EXPECT_EQ(std::ssize(found.plan.list("columns")), 24 * 24);
      const auto named = make_strategy(options);
      const auto planned = planned_strategy("optimal", found.plan, workload);
      EXPECT_EQ(planned->encoder(), named->encoder()) << workload.name();
      EXPECT_EQ(planned->decoder(), named->decoder());
      EXPECT_EQ(planned->encoder_slack(), named->encoder_slack());
      EXPECT_EQ(found.lower_bound->method, LowerBoundMethod::dense_dual);
      EXPECT_GE(found.objective_error, found.lower_bound->value);
      EXPECT_LE(found.objective_error, found.lower_bound->value * 1.05);
    }
  StrategyPlan plan =
      find_plan({.strategy = {.name = "optimal",
                              .steps = 4,
                              .workload = Workload::sliding_window({.steps = 4, .window = 2})}})
          .plan;
  plan.numbers.push_back({"decay", {1}});
  EXPECT_ERROR(planned_strategy("optimal", plan, Workload::prefix_sums(4)), "invalid_argument",
               "cannot be given with columns");
}

TEST(DensePlan, full_accuracy_is_that_of_the_workload_and_of_the_epochs) {
  // With momentum 0.9 the least mean error over 64 steps is 11.437990371; decoding for prefix sums
  // gives more than 12. Over 4 epochs it is 4.407853.
  const Workload momentum = Workload::momentum({.steps = 64, .momentum = 0.9});
  const StrategyParameters exact{.buffers = 0, .objective = Objective::mean};
  const auto single = dense_strategy("optimal", momentum, Participation::single(), exact);
  EXPECT_NEAR(unit_error(*single, Participation::single()).mean_error, 11.437990371, 1e-5);
  const auto repeated =
      dense_strategy("optimal", Workload::prefix_sums(64), dense_epochs(64, 4), exact);
  EXPECT_NEAR(unit_error(*repeated, dense_epochs(64, 4)).mean_error, 4.407853, 1e-3);
  const Workload window = Workload::sliding_window({.steps = 2049, .window = 5});
  EXPECT_ERROR((void)dense_strategy("optimal", window, Participation::single(), exact),
               "unsupported",
               "steps must be at most 2048, as full accuracy for window=5 takes dense matrices");
  EXPECT_ERROR(
      Planner({.strategy =
                   {.name = "optimal", .steps = 2049, .workload = window, .parameters = exact}}),
      "unsupported", "got 2049");
}

TEST(DensePlan, the_mean_over_epochs_is_found_to_a_gap_of_1e_6) {
  // The last one needs more iterations than single participation is allowed.
  for (const std::int64_t k : {2, 8, 32}) {
    const PlannerResult found =
        find_plan({.strategy = {.name = "optimal",
                                .steps = 128,
                                .parameters = {.objective = Objective::mean},
                                .participation = dense_epochs(128, k)}});
    EXPECT_LE(found.objective_error / found.lower_bound->value - 1, 1e-6) << k;
    EXPECT_EQ(found.status, SolverStatus::converged) << k;
  }
}

TEST(DensePlan, epochs_beyond_dense_searches_are_found_for_sums) {
  // Both horizons exceed that of the dense search.
  for (const auto& [n, k, decay] : {std::tuple{1040, 8, 1.0}, {1028, 2, 0.99}}) {
    if (k > 2 && !testing::is_full_size()) continue;
    const Workload workload = Workload::momentum({.steps = n, .decay = decay});
    const PlannerResult found =
        find_plan({.strategy = {.name = "optimal",
                                .steps = n,
                                .workload = workload,
                                .parameters = {.objective = Objective::mean},
                                .participation = dense_epochs(n, k)}});
    EXPECT_LE(found.objective_error, found.lower_bound->value * (1 + 1e-6));
    EXPECT_GE(found.objective_error, found.lower_bound->value);
    EXPECT_EQ(found.status, SolverStatus::converged);
    EXPECT_NEAR(found.error.sensitivity.value, 1, 1e-9);
    EXPECT_EQ(found.lower_bound->method, LowerBoundMethod::dual);
    EXPECT_EQ(found.lower_bound->min_dimension, least_dimension_of_duals(k));
    // The restored strategy is the same, and its bound is proved again.
    const auto saved = planned_strategy("optimal", found.plan, workload);
    const UnitError error = unit_error(*saved, dense_epochs(n, k));
    EXPECT_EQ(error.mean_error, found.error.mean_error);
    const LowerBound bound = *certified_lower_bound(*saved, dense_epochs(n, k), Objective::mean);
    EXPECT_TRUE(testing::relatively_close(bound.value, found.lower_bound->value, 1e-7));
    // The sensitivity is that of the matrix, including its rounding.
    const Matrix encoder = saved->encoder();
    const Sensitivity oracle = gram_sensitivity(encoder.transpose() * encoder, dense_epochs(n, k));
    EXPECT_GE(error.sensitivity.value, oracle.value * (1 - 0x1p-50));
    EXPECT_LE(error.sensitivity.value, oracle.value * (1 + 1e-9));
    // It was not made for these epochs, so a bound by norms is used.
    EXPECT_GE(sensitivity(*saved, dense_epochs(n, 2 * k)).value,
              gram_sensitivity(encoder.transpose() * encoder, dense_epochs(n, 2 * k)).value);
  }
}

TEST(DensePlan, long_epochs_are_those_of_sums_up_to_their_limit) {
  const auto sums = [](std::int64_t n, std::int64_t k) {
    const Participation wanted = dense_epochs(n, k);
    return densely_optimised_for(Workload::prefix_sums(n), Objective::mean, wanted) == wanted;
  };
  EXPECT_TRUE(sums(1024, 4));
  EXPECT_TRUE(sums(1028, 4));
  EXPECT_TRUE(sums(kMaxEpochSteps, 64));
  EXPECT_FALSE(sums(kMaxEpochSteps + 4, 4));
  // More epochs than the search allows.
  EXPECT_FALSE(sums(1040, 65));
  const Workload momentum = Workload::momentum({.steps = 1028, .momentum = 0.5});
  const Participation single = Participation::single(), four = dense_epochs(1028, 4);
  EXPECT_EQ(densely_optimised_for(momentum, Objective::mean, four), single);
  EXPECT_EQ(densely_optimised_for(Workload::prefix_sums(1028), Objective::max, four), single);
}

TEST(DensePlan, epochs_beyond_those_of_their_optimum_get_that_of_the_workload) {
  // At 1030 steps, only single participation is possible, and the window uses dense matrices.
  const Workload window = Workload::sliding_window({.steps = 1030, .window = 5});
  EXPECT_EQ(densely_optimised_for(window, Objective::max, dense_epochs(1030, 5)),
            Participation::single());
  EXPECT_NO_THROW(Planner({.strategy = {.name = "optimal",
                                        .steps = 1030,
                                        .workload = window,
                                        .participation = dense_epochs(1030, 5)}}));
}

TEST(DensePlan, normalising_would_be_that_of_prefix_sums_and_is_refused) {
  const Workload window = Workload::sliding_window({.steps = 8, .window = 3});
  const StrategyParameters normalised{.normalize_columns = true};
  EXPECT_ERROR((void)dense_strategy("optimal", window, Participation::single(), normalised),
               "invalid_argument", "normalize_columns cannot be given for optimal and window=3");
  EXPECT_NO_THROW((void)dense_strategy("optimal", Workload::prefix_sums(8), Participation::single(),
                                       normalised));
}

TEST(DenseStrategy, a_bound_on_the_largest_error_says_nothing_about_the_mean) {
  const auto with = [](Objective objective) {
    return DenseStrategy(Workload::prefix_sums(2), {.name = "dense",
                                                    .encoder = Matrix::Identity(2, 2),
                                                    .lower_bound = DenseStrategy::Bound{
                                                        .objective = objective,
                                                        .participation = Participation::single(),
                                                        .value = {1.25, 1.25}}});
  };
  const Participation single = Participation::single();
  EXPECT_EQ(with(Objective::max).certified_lower_bound(Objective::max, single).value, 1.25);
  EXPECT_EQ(with(Objective::max).certified_lower_bound(Objective::mean, single).value, 0);
  EXPECT_EQ(with(Objective::mean).certified_lower_bound(Objective::max, single).value, 1.25);
  EXPECT_EQ(with(Objective::mean).certified_lower_bound(Objective::mean, single).value, 1.25);
}

TEST(DenseStrategy, every_phase_of_the_mean_optimum_has_sensitivity_one) {
  const auto strategy = dense_optimal_strategy(
      Workload::prefix_sums(8),
      {.objective = Objective::mean,
       .participation = Participation::fixed_epoch({.epochs = 2, .epoch_length = 4})});
  const Matrix encoder = strategy->encoder();
  for (Eigen::Index s = 0; s < 4; ++s) {
    const double both = encoder.col(s).dot(encoder.col(s + 4));
    EXPECT_NEAR(
        encoder.col(s).squaredNorm() + encoder.col(s + 4).squaredNorm() + 2 * std::abs(both), 1,
        1e-12)
        << s;
  }
}

TEST(DenseStrategy, bad_parts_are_refused_by_name) {
  const Workload workload = Workload::prefix_sums(2);
  const auto with = [&](const Matrix& encoder) {
    DenseStrategy(workload, {.name = "dense", .encoder = encoder});
  };
  EXPECT_ERROR(with(Matrix::Identity(3, 3)), "wrong_length", "encoder must have 2 entries, got 3");
  EXPECT_ERROR(with(Matrix{{1, 1}, {0, 1}}), "invalid_argument", "must be lower triangular");
  EXPECT_ERROR(with(Matrix{{1, 0}, {0, 0}}), "invalid_argument",
               "encoder(1, 1) must be positive and finite, got 0");
  EXPECT_ERROR(with(Matrix{{1, 0}, {NAN, 1}}), "invalid_argument", "encoder");
  EXPECT_ERROR(with(Matrix{{1e-200, 0}, {1, 1e200}}), "unsupported", "far enough from singular");
  // The optimum exists nevertheless.
  Matrix ones = Matrix::Ones(20, 20).triangularView<Eigen::Lower>();
  ones.diagonal().setConstant(0.1);
  ones(6, 6) = 0.05;
  const StrategyOptions options{
      .name = "optimal", .steps = 20, .workload = Workload::lower_triangular(ones)};
  EXPECT_ERROR((void)find_plan({.strategy = options}), "unsupported", "entry (6, 6) = 0.05) (the");
  EXPECT_ERROR((void)find_plan({.strategy = options}), "unsupported",
               " (the least error of any factorization is at least 1.");
  EXPECT_ERROR(DenseStrategy(Workload::prefix_sums(2049), {.name = "dense", .encoder = {}}),
               "invalid_argument", "steps must be between 1 and 2048, got 2049");
  EXPECT_ERROR((void)dense_strategy("blt", Workload::prefix_sums(12), dense_epochs(16, 4)),
               "invalid_argument", "got 12");
}

}  // namespace
}  // namespace dpftrl
