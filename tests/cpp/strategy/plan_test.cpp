// SPDX-License-Identifier: Apache-2.0
// Plans: the numbers of an optimised strategy, saved and restored.
#include "dpftrl/strategy/catalogue.hpp"

#include <bit>
#include <limits>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/analysis/planner.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::index_of;

const std::vector<std::string> kPlanned = {
    "optimal", "blt", "blt-normalized", "blt-scaled", "banded-toeplitz", "banded"};

StrategyParameters parameters_for(const std::string& mechanism, Objective objective) {
  StrategyParameters parameters{.objective = objective};
  if (mechanism.starts_with("banded"))
    parameters.bands = 5;
  else
    parameters.buffers = 2;
  return parameters;
}

StrategyOptions with_plan(const StrategyOptions& options, const StrategyPlan& plan) {
  StrategyOptions planned = options;
  planned.parameters = {.plan = std::make_shared<const StrategyPlan>(plan)};
  return planned;
}

std::vector<std::uint64_t> noise_bits(const Strategy& strategy) {
  NoiseStream stream(strategy, {.key = Key::insecure_from_seed(4), .dimension = 3});
  std::vector<std::uint64_t> bits;
  std::vector<double> row(3);
  for (std::int64_t t = 0; t < strategy.steps(); ++t) {
    stream.next(row);
    for (const double x : row) bits.push_back(std::bit_cast<std::uint64_t>(x));
  }
  return bits;
}

TEST(Plan, gives_the_strategy_of_the_same_name_bit_for_bit) {
  for (const std::string& name : kPlanned)
    for (const std::int64_t n : {1, 2, 7, 64, 300})
      for (const Objective objective : {Objective::max, Objective::mean}) {
        if (name == "banded" && n > 64) continue;  // a search among n * 5 numbers
        if (name == "blt-scaled" && n > 64) continue;
        const StrategyOptions options{
            .name = name, .steps = n, .parameters = parameters_for(name, objective)};
        const PlannerResult found = find_plan({.strategy = options});
        const auto named = make_strategy(options);
        const auto planned = make_strategy(with_plan(options, found.plan));
        EXPECT_EQ(planned->name(), name);
        EXPECT_EQ(noise_bits(*planned), noise_bits(*named)) << name << " " << n;
        EXPECT_EQ(planned->max_column_norm_squared(), named->max_column_norm_squared());
        EXPECT_EQ(planned->row_norms().max_squared, named->row_norms().max_squared);
        EXPECT_EQ(found.error.max_error, unit_error(*named, Participation::single()).max_error);
      }
}

TEST(Plan, another_number_gives_other_noise) {
  for (const std::string& name : kPlanned) {
    const StrategyOptions options{
        .name = name, .steps = 20, .parameters = parameters_for(name, Objective::max)};
    const StrategyPlan plan = find_plan({.strategy = options}).plan;
    StrategyPlan other = plan;
    other.numbers[0].values[0] *= 1 - 1e-9;
    EXPECT_NE(noise_bits(*make_strategy(with_plan(options, plan))),
              noise_bits(*make_strategy(with_plan(options, other))))
        << name;
  }
}

TEST(Plan, leading_block_keeps_the_first_steps_of_every_list) {
  const StrategyPlan plan{
      .numbers = {{"columns", {1, 2, 3, 4, 5, 6}}, {"column_weights", {1, 2, 3}}, {"decay", {1}}}};
  const StrategyPlan leading = plan.leading(2, 3);
  EXPECT_EQ(leading.list("columns"), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(leading.list("column_weights"), (std::vector<double>{1, 2}));
  EXPECT_EQ(leading.list("decay"), (std::vector<double>{1}));
  const StrategyPlan dense{.numbers = {{"columns", std::vector<double>(9, 1.0)},
                                       {"column_duals", {1, 1, 1}},
                                       {"row_duals", {1, 1, 1}}}};
  EXPECT_EQ(dense.leading(2, 3).numbers.size(), 1U) << "what is proved is proved of the whole";
}

TEST(Plan, columns_of_another_horizon_are_refused) {
  const auto make = [](std::vector<double> columns) {
    const StrategyPlan plan{.numbers = {{"columns", std::move(columns)}}};
    return planned_strategy("banded", plan, Workload::prefix_sums(2));
  };
  EXPECT_ERROR(make({1, 0.5, 1}), "invalid_argument",
               "columns must be as many numbers for each of 2 steps, got 3");
  EXPECT_ERROR(make({}), "invalid_argument", "got 0");
  EXPECT_ERROR(make({1, 0.5, -1, 0}), "invalid_argument", "");
  EXPECT_ERROR(make({1, std::nan(""), 1, 0}), "invalid_argument", "");
}

TEST(Plan, damaged_numbers_cost_accuracy_and_never_sensitivity) {
  for (const std::string& name : kPlanned) {
    const StrategyOptions options{
        .name = name, .steps = 40, .parameters = parameters_for(name, Objective::max)};
    StrategyPlan plan = find_plan({.strategy = options}).plan;
    for (PlanNumbers& list : plan.numbers)
      for (std::size_t i = 0; i < list.values.size(); ++i)
        list.values[i] *= 1 - 0.05 * static_cast<double>(i % 7 + 1) / 7;
    const auto strategy = make_strategy(with_plan(options, plan));
    const Matrix encoder = strategy->encoder(), decoder = strategy->decoder();
    EXPECT_LE(encoder.colwise().squaredNorm().maxCoeff(),
              strategy->max_column_norm_squared() * (1 + 1e-13))
        << name;
    EXPECT_LE((decoder * encoder - strategy->workload().matrix()).cwiseAbs().maxCoeff(), 1e-12);
    EXPECT_NEAR(decoder.rowwise().squaredNorm().maxCoeff(), strategy->row_norms().max_squared,
                1e-11 * strategy->row_norms().max_squared);
  }
}

TEST(Plan, serves_the_workload_it_was_made_for) {
  std::vector<double> rates;
  for (int t = 0; t < 30; ++t) rates.push_back(1 - 0.02 * t);
  const std::vector<Workload> workloads = {
      Workload::momentum({.steps = 30, .momentum = 0, .decay = 0.9}),
      Workload::momentum({.steps = 30, .momentum = 0.5, .decay = 0.9}),
      Workload::learning_rates({.rates = rates, .momentum = 0}),
      Workload::sliding_window({.steps = 30, .window = 4})};
  for (const std::string& name : kPlanned)
    for (const Workload& workload : workloads)
      for (const Objective objective : {Objective::max, Objective::mean}) {
        const StrategyOptions options{.name = name,
                                      .steps = 30,
                                      .workload = workload,
                                      .parameters = parameters_for(name, objective)};
        const PlannerResult found = find_plan({.strategy = options});
        const auto planned = make_strategy(with_plan(options, found.plan));
        EXPECT_EQ(noise_bits(*planned), noise_bits(*make_strategy(options)))
            << name << " " << workload.name();
        EXPECT_LE((planned->decoder() * planned->encoder() - workload.matrix()).norm(), 1e-10);
        if (found.lower_bound) {
          EXPECT_LE(found.lower_bound->value, found.objective_error) << name << workload.name();
        }
      }
}

TEST(Plan, its_leading_block_is_that_of_its_matrices) {
  for (const std::string name : {"blt", "banded-toeplitz", "banded"}) {
    const StrategyOptions options{
        .name = name, .steps = 50, .parameters = parameters_for(name, Objective::max)};
    const StrategyPlan plan = find_plan({.strategy = options}).plan;
    const Matrix all = make_strategy(with_plan(options, plan))->encoder();
    StrategyOptions leading = options;
    leading.steps = 3;
    EXPECT_EQ(make_strategy(with_plan(leading, plan.leading(3, options.steps)))->encoder(),
              all.topLeftCorner(3, 3));
  }
}

TEST(Plan, a_mechanism_of_many_steps_is_checked_on_the_first_ones) {
  for (const std::string& name : kPlanned) {
    const StrategyOptions options{
        .name = name, .steps = 700, .parameters = parameters_for(name, Objective::max)};
    const DecoderResidual residual =
        decoder_residual(with_plan(options, find_plan({.strategy = options}).plan));
    EXPECT_EQ(residual.steps, 256);
    EXPECT_LE(residual.value, 1e-12) << name;
  }
}

TEST(Plan, bad_plans_are_refused_and_named) {
  const StrategyOptions optimal{.name = "optimal", .steps = 4};
  const StrategyPlan good = find_plan({.strategy = optimal}).plan;
  const auto refuses = [&](const StrategyPlan& plan, const char* code, const char* message) {
    EXPECT_ERROR(make_strategy(with_plan(optimal, plan)), code, message);
  };
  for (std::size_t i = 0; i < good.numbers.size(); ++i) {
    StrategyPlan plan = good;
    plan.numbers.erase(plan.numbers.begin() + static_cast<std::ptrdiff_t>(i));
    refuses(plan, "invalid_argument",
            ("plan: " + good.numbers[i].name + " must be a list of numbers, got nothing").c_str());
    for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
      plan = good;
      plan.numbers[i].values[0] = bad;
      refuses(plan, "invalid_argument", good.numbers[i].name.c_str());
    }
    plan = good;
    plan.numbers[i].values.clear();
    refuses(plan, i == 2 ? "invalid_argument" : "wrong_length",
            i == 2 ? "buffers" : good.numbers[i].name.c_str());
    plan = good;
    plan.numbers.push_back(good.numbers[i]);
    refuses(plan, "invalid_argument", "must be given once, got twice");
  }
  StrategyPlan plan = good;
  plan.numbers.push_back({"colour", {1}});
  refuses(plan, "invalid_argument", "plan: colour is not a list of optimal");
  StrategyOptions other = with_plan(optimal, good);
  other.steps = 5;
  EXPECT_ERROR(make_strategy(other), "wrong_length", "column_weights must have 5 entries, got 4");
  other = with_plan(optimal, good);
  other.parameters.buffers = 3;
  EXPECT_ERROR(make_strategy(other), "invalid_argument",
               "buffers cannot be given together with a plan");
  other = with_plan(optimal, good);
  other.parameters.normalize_columns = true;
  EXPECT_ERROR(make_strategy(other), "invalid_argument",
               "normalize_columns cannot be given together with a plan");
  EXPECT_ERROR(make_strategy(with_plan({.name = "tree", .steps = 4}, good)), "invalid_argument",
               "plan: strategy must be one that a plan can define, got \"tree\"");
  const StrategyOptions banded{.name = "banded-toeplitz", .steps = 4};
  for (const std::vector<double>& values :
       {std::vector<double>{}, {0, 1}, {1, std::nan("")}, {1, 1, 1, 1, 1}})
    EXPECT_ERROR(make_strategy(with_plan(banded, {.numbers = {{"coefficients", values}}})),
                 "invalid_argument", "coefficients");
  const StrategyOptions blt{.name = "blt-normalized", .steps = 4};
  EXPECT_ERROR(make_strategy(with_plan(blt, {.numbers = {{"decays", {1}}, {"weights", {0.1}}}})),
               "invalid_argument", "blt-normalized: decays[0] must be at least 0 and below 1");
}

}  // namespace
}  // namespace dpftrl
