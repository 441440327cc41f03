// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/simulation.hpp"

#include <limits>
#include <utility>

#include "dpftrl/learn/dp_ftrl.hpp"
#include "dpftrl/learn/regret.hpp"
#include "special_values.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::kNan;

SimulationOptions simulation_options(const char* strategy = "tree", std::int64_t steps = 64) {
  SimulationOptions made;
  made.mechanism = {.strategy = strategy, .steps = steps, .target = {.epsilon = 1, .delta = 1e-6}};
  made.dimension = 2;
  made.insecure_noise_seed = 1;
  return made;
}

/// Table of the numbers 0, 1/2 and 1, which the grid represents exactly.
Table bit_table(Eigen::Index rows, bool labels) {
  Table table{Matrix(rows, 2), {}};
  for (Eigen::Index i = 0; i < rows; ++i) table.features.row(i) << (i % 3 == 0), (i % 2 == 0) * 0.5;
  if (labels) table.labels = Vector::NullaryExpr(rows, [](Eigen::Index i) { return i % 2; });
  return table;
}

/// Runs a simulation in chunks of a given size and concatenates them.
SimulationChunk run(const SimulationOptions& made, std::int64_t chunk_size) {
  Simulation simulation(made);
  SimulationChunk all;
  const Eigen::Index rows = static_cast<Eigen::Index>(simulation.steps());
  const Eigen::Index columns = static_cast<Eigen::Index>(simulation.dimension());
  all.true_sums.resize(rows, columns);
  all.noisy_sums.resize(rows, columns);
  all.stddev.resize(rows);
  if (simulation.learns()) all.private_loss.resize(rows);
  if (simulation.learns()) all.twin_loss.resize(rows);
  while (!simulation.finished()) {
    const SimulationChunk chunk = simulation.advance(chunk_size);
    EXPECT_EQ(chunk.first_step, all.steps);
    EXPECT_GE(chunk.steps, 1);
    const Eigen::Index first = static_cast<Eigen::Index>(chunk.first_step);
    const Eigen::Index count = static_cast<Eigen::Index>(chunk.steps);
    all.true_sums.middleRows(first, count) = chunk.true_sums;
    all.noisy_sums.middleRows(first, count) = chunk.noisy_sums;
    all.stddev.segment(first, count) = chunk.stddev;
    if (simulation.learns()) all.private_loss.segment(first, count) = chunk.private_loss;
    if (simulation.learns()) all.twin_loss.segment(first, count) = chunk.twin_loss;
    all.private_correct.insert(all.private_correct.end(), chunk.private_correct.begin(),
                               chunk.private_correct.end());
    all.twin_correct.insert(all.twin_correct.end(), chunk.twin_correct.begin(),
                            chunk.twin_correct.end());
    all.regret.insert(all.regret.end(), chunk.regret.begin(), chunk.regret.end());
    all.steps += chunk.steps;
  }
  return all;
}

void expect_same(const SimulationChunk& a, const SimulationChunk& b) {
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.true_sums, b.true_sums);
  EXPECT_EQ(a.noisy_sums, b.noisy_sums);
  EXPECT_EQ(a.stddev, b.stddev);
  EXPECT_EQ(a.private_loss, b.private_loss);
  EXPECT_EQ(a.twin_loss, b.twin_loss);
  EXPECT_EQ(a.private_correct, b.private_correct);
  EXPECT_EQ(a.twin_correct, b.twin_correct);
  ASSERT_EQ(a.regret.size(), b.regret.size());
  for (std::size_t i = 0; i < a.regret.size(); ++i) {
    EXPECT_EQ(a.regret[i].steps, b.regret[i].steps);
    EXPECT_EQ(a.regret[i].private_regret, b.regret[i].private_regret);
    EXPECT_EQ(a.regret[i].twin_regret, b.regret[i].twin_regret);
    EXPECT_EQ(a.regret[i].comparator_gap, b.regret[i].comparator_gap);
  }
}

std::vector<SimulationOptions> variants() {
  std::vector<SimulationOptions> all;
  for (const char* strategy : {"independent", "output", "tree", "honaker", "square-root"})
    for (const char* stream : {"stationary", "drifting", "switching"}) {
      all.push_back(simulation_options(strategy));
      all.back().stream = stream;
    }
  for (const char* domain : {"ball", "whole-space"}) {
    all.push_back(simulation_options());
    all.back().loss = "squared";
    all.back().domain = domain;
    all.back().mechanism.clip = 2;
  }
  for (const bool labels : {false, true})
    for (const std::int64_t batch_size : {1, 3}) {
      all.push_back(simulation_options());
      all.back().table = bit_table(40, labels);
      all.back().batch_size = batch_size;
    }
  for (const char* stream : {"drifting", "adversarial"}) {
    all.push_back(simulation_options());
    all.back().stream = stream;
    all.back().batch_size = 4;
  }
  return all;
}

TEST(Simulation, chunking_does_not_change_the_numbers) {
  for (const SimulationOptions& made : variants()) {
    const SimulationChunk whole = run(made, 1000);
    expect_same(run(made, 1), whole);
    expect_same(run(made, 7), whole);
  }
}

TEST(Simulation, same_seed_same_run_another_seed_other_noise_or_data) {
  SimulationOptions made = simulation_options();
  const SimulationChunk first = run(made, 100);
  expect_same(run(made, 100), first);
  made.insecure_noise_seed = 2;
  const SimulationChunk other_noise = run(made, 100);
  EXPECT_NE(other_noise.noisy_sums, first.noisy_sums);
  EXPECT_EQ(other_noise.twin_loss, first.twin_loss);  // the twin uses no noise
  made.insecure_noise_seed = {};
  EXPECT_NE(run(made, 100).noisy_sums, run(made, 100).noisy_sums);  // keys are random
  made = simulation_options();
  made.stream_seed = 2;
  EXPECT_NE(run(made, 100).twin_loss, first.twin_loss);
}

TEST(Simulation, private_run_is_the_learner_run_by_itself_and_true_sums_are_its_gradients) {
  const SimulationOptions made = simulation_options("honaker");
  const SimulationChunk chunk = run(made, 100);
  const SyntheticStream stream({.dimension = 2, .seed = 1, .period = 64});
  DpFtrl learner({.mechanism = Mechanism::make(made.mechanism),
                  .key = Key::insecure_from_seed(1),
                  .dimension = 2,
                  .loss = make_loss("logistic"),
                  .domain = make_domain("ball", 1),
                  .lambda = {},
                  .grid = {}});
  std::vector<double> x(2);
  Vector sum = Vector::Zero(2);
  for (Eigen::Index t = 0; t < 64; ++t) {
    const double y = stream.example(t, x);
    const Vector w = learner.iterate();
    const double p = learner.step(x, y);
    sum -= y / (1 + std::exp(y * p)) * Eigen::Map<const Vector>(x.data(), 2);
    EXPECT_EQ(p, w.dot(Eigen::Map<const Vector>(x.data(), 2)));
    EXPECT_EQ(chunk.private_loss(t), LogisticLoss().value(p, y));
    EXPECT_EQ(chunk.private_correct[static_cast<std::size_t>(t)], (p >= 0) == (y > 0));
    EXPECT_EQ(chunk.noisy_sums(t, 0), learner.release()[0]);
    EXPECT_LE((chunk.true_sums.row(t).transpose() - sum).norm(), 1e-13);
  }
}

TEST(Simulation, a_step_of_a_batch_is_that_of_the_learner_with_batches) {
  constexpr std::int64_t kBatch = 3;
  SimulationOptions made = simulation_options("honaker");
  made.batch_size = kBatch;
  made.stream = "switching";
  const SimulationChunk chunk = run(made, 10);
  const SyntheticStream stream(
      {.kind = StreamKind::switching, .dimension = 2, .seed = 1, .period = 64 * kBatch / 4});
  DpFtrl learner({.mechanism = Mechanism::make(made.mechanism),
                  .key = Key::insecure_from_seed(1),
                  .dimension = 2,
                  .loss = make_loss("logistic"),
                  .domain = make_domain("ball", 1),
                  .batch_size = kBatch});
  TwinLearner twin({.steps = 64,
                    .dimension = 2,
                    .loss = make_loss("logistic"),
                    .domain = make_domain("ball", 1),
                    .batch_size = kBatch});
  EXPECT_EQ(Simulation(made).theory()->private_lambda, learner.lambda());
  ASSERT_EQ(chunk.private_correct.size(), 64U * kBatch);
  std::vector<double> x(2);
  Vector sum = Vector::Zero(2);
  double total = 0;
  for (Eigen::Index t = 0; t < 64; ++t) {
    double loss = 0, twin_loss = 0;
    for (std::int64_t place = 0; place < kBatch; ++place) {
      const double y = stream.example(t * kBatch + place, x);
      const double p = learner.step(x, y);
      double q = 0;
      twin.step(x, y, {&q, 1});
      sum -= y / (1 + std::exp(y * p)) * Eigen::Map<const Vector>(x.data(), 2);
      loss += LogisticLoss().value(p, y);
      twin_loss += LogisticLoss().value(q, y);
      EXPECT_EQ(chunk.private_correct[static_cast<std::size_t>(t * kBatch + place)],
                (p >= 0) == (y > 0));
    }
    EXPECT_DOUBLE_EQ(chunk.private_loss(t), loss / kBatch);
    EXPECT_DOUBLE_EQ(chunk.twin_loss(t), twin_loss / kBatch);
    EXPECT_EQ(chunk.noisy_sums(t, 1), learner.release()[1]);
    EXPECT_LE((chunk.true_sums.row(t).transpose() - sum).norm(), 1e-12);
    total += chunk.private_loss(t);
  }
  // Regret is measured on the average loss over all examples.
  ComparatorSolver comparator({.loss = make_loss("logistic"), .dimension = 2, .radius = 1});
  for (std::int64_t i = 0; i < 64 * kBatch; ++i) {
    const double y = stream.example(i, x);
    comparator.append(x, y);
  }
  EXPECT_NEAR(chunk.regret.back().private_regret, total / 64 - comparator.solve().value, 2e-6);
  EXPECT_EQ(chunk.regret.back().steps, 64);
}

TEST(Simulation, batches_of_a_table_are_whole_and_need_enough_rows) {
  SimulationOptions made = simulation_options();
  made.batch_size = 3;
  for (const bool labels : {false, true}) {
    made.table = bit_table(40, labels);
    const SimulationChunk chunk = run(made, 5);
    EXPECT_EQ(chunk.steps, 13);
    Vector sum = Vector::Zero(2);
    for (Eigen::Index i = 0; i < 39 && !labels; ++i) {
      const Vector record = made.table->features.row(i);
      sum += record / std::max(1.0, record.norm());
    }
    if (!labels) {
      EXPECT_LE((chunk.true_sums.row(12).transpose() - sum).norm(), 1e-13);
    }
  }
  made.batch_size = 41;
  EXPECT_ERROR(Simulation{made}, "invalid_argument",
               "batch_size must be at most the rows of the table, 40, got 41");
  made.batch_size = 0;
  EXPECT_ERROR(Simulation{made}, "invalid_argument", "batch_size must be between 1 and 1048576");
}

TEST(Simulation, twin_is_ftrl_on_exact_sums) {
  for (const char* stream_name : {"stationary", "drifting", "switching"}) {
    SimulationOptions made = simulation_options();
    made.stream = stream_name;
    made.radius = 0.5;
    const SimulationChunk chunk = run(made, 100);
    const StreamKind kind = stream_kind_from_string(stream_name);
    const SyntheticStream stream({.kind = kind,
                                  .dimension = 2,
                                  .seed = 1,
                                  .period = kind == StreamKind::switching ? 16 : 64});
    // Reimplementation of the whole algorithm with lambda = L sqrt(n) / D and a ball of radius D.
    const double lambda = std::sqrt(64.0) / 0.5;
    Vector sum = Vector::Zero(2);
    Vector w = Vector::Zero(2);
    for (Eigen::Index t = 0; t < 64; ++t) {
      Vector x(2);
      const double y = stream.example(t, {x.data(), 2});
      const double margin = y * w.dot(x);
      EXPECT_NEAR(chunk.twin_loss(t), std::log(1 + std::exp(-margin)), 1e-14);
      sum -= y / (1 + std::exp(margin)) * x;
      w = -sum / lambda;
      if (w.norm() > 0.5) w *= 0.5 / w.norm();
    }
  }
}

TEST(Simulation, sums_of_a_table_are_those_of_its_clipped_records) {
  SimulationOptions made = simulation_options("square-root", 100);
  made.table = bit_table(40, false);
  Simulation simulation(made);
  EXPECT_FALSE(simulation.learns());
  EXPECT_FALSE(simulation.theory().has_value());
  EXPECT_EQ(simulation.steps(), 40);  // the table ends before the horizon
  const SimulationChunk chunk = simulation.advance(1000);
  EXPECT_TRUE(simulation.finished());
  EXPECT_EQ(chunk.steps, 40);
  EXPECT_EQ(chunk.private_loss.size(), 0);
  EXPECT_TRUE(chunk.private_correct.empty());
  EXPECT_TRUE(chunk.regret.empty());
  Vector sum = Vector::Zero(2);
  for (Eigen::Index t = 0; t < 40; ++t) {
    const Vector record = made.table->features.row(t);
    sum += record / std::max(1.0, record.norm());
    EXPECT_LE((chunk.true_sums.row(t).transpose() - sum).norm(), 1e-13);
  }
}

// Fixed seeds, 3 * 60 * 2 normals of unit variance if the prediction is right. Their mean square
// has standard deviation sqrt(2/360), at most doubled by correlation along a run, so 0.4 is about
// 2.7 standard deviations.
TEST(Simulation, error_of_a_release_is_explained_by_the_predicted_stddev) {
  for (const char* strategy : {"output", "tree", "square-root"}) {
    double mean_square = 0;
    const int num_seeds = 60;
    for (int seed = 0; seed < num_seeds; ++seed) {
      SimulationOptions made = simulation_options(strategy, 8);
      made.table = bit_table(8, false);
      made.insecure_noise_seed = static_cast<std::uint64_t>(seed);
      const SimulationChunk chunk = run(made, 100);
      for (const Eigen::Index t : {0, 3, 6})
        mean_square +=
            ((chunk.noisy_sums.row(t) - chunk.true_sums.row(t)) / chunk.stddev(t)).squaredNorm() /
            (6.0 * num_seeds);
    }
    EXPECT_NEAR(mean_square, 1, 0.4)
        << strategy;  // a factor 2/3 or 3/2 of the std would be 0.44, 2.25
  }
}

TEST(Simulation, stddev_is_that_of_the_releases) {
  // Uses a coarse grid, with a learner and without.
  for (const bool learns : {true, false}) {
    SimulationOptions made = simulation_options("honaker");
    made.grid = made.mechanism.clip;
    if (!learns) made.table = bit_table(64, false);
    const SimulationChunk chunk = run(made, 5);
    EXPECT_EQ(chunk.private_loss.size() > 0, learns);
    const PrefixSum sums(Mechanism::make(made.mechanism),
                         {.key = Key::insecure_from_seed(1), .grid = made.grid});
    const auto mechanism = Mechanism::make(made.mechanism);
    for (Eigen::Index t = 0; t < 64; ++t) {
      EXPECT_EQ(chunk.stddev(t), sums.release_stddev(t));
      EXPECT_GT(chunk.stddev(t), mechanism->release_stddev(t));
    }
  }
}

TEST(Simulation, regret_is_measured_against_the_certified_best_point) {
  SimulationOptions made = simulation_options("square-root", 100);
  made.num_regret_prefixes = 7;
  made.radius = 0.7;
  made.comparator_gap_tolerance = 1e-7;
  const SimulationChunk chunk = run(made, 9);
  const std::vector<std::int64_t> prefixes = regret_prefixes(100, 7);
  ASSERT_EQ(chunk.regret.size(), 7u);
  const SyntheticStream stream({.dimension = 2, .seed = 1, .period = 100});
  ComparatorSolver solver(
      {.loss = make_loss("logistic"), .dimension = 2, .radius = 0.7, .gap_tolerance = 1e-8});
  std::vector<double> x(2);
  std::size_t next = 0;
  for (std::int64_t t = 1; t <= 100; ++t) {
    const double y = stream.example(t - 1, x);
    solver.append(x, y);
    if (t != prefixes[next]) continue;
    const RegretPoint& point = chunk.regret[next++];
    const double best = solver.solve().value;
    EXPECT_EQ(point.steps, t);
    EXPECT_LE(point.comparator_gap, 1e-7);
    EXPECT_NEAR(point.private_regret, chunk.private_loss.head(t).mean() - best, 2e-7);
    EXPECT_NEAR(point.twin_regret, chunk.twin_loss.head(t).mean() - best, 2e-7);
  }
}

TEST(Simulation, regret_can_be_off_and_does_not_change_the_rest) {
  SimulationOptions made = simulation_options();
  const SimulationChunk with = run(made, 10);
  made.num_regret_prefixes = 0;
  const SimulationChunk without = run(made, 10);
  EXPECT_EQ(with.regret.size(), 64u);
  EXPECT_TRUE(without.regret.empty());
  EXPECT_EQ(with.private_loss, without.private_loss);
}

struct MeanRegret {
  double private_regret = 0;
  double twin_regret = 0;
  double worst_twin = -1;
  SimulationTheory theory{};
};

MeanRegret mean_regret(SimulationOptions made, int num_seeds) {
  MeanRegret mean;
  made.num_regret_prefixes = 1;
  for (int seed = 1; seed <= num_seeds; ++seed) {
    made.insecure_noise_seed = static_cast<std::uint64_t>(seed);
    made.stream_seed = static_cast<std::uint64_t>(seed);
    Simulation simulation(made);
    const RegretPoint last = simulation.advance(1 << 20).regret.back();
    EXPECT_TRUE(simulation.finished());
    mean.private_regret += last.private_regret / num_seeds;
    mean.twin_regret += last.twin_regret / num_seeds;
    mean.worst_twin = std::max(mean.worst_twin, last.twin_regret);
    mean.theory = *simulation.theory();
  }
  return mean;
}

// Seeds are fixed. The bounds exceed these means by tens of standard deviations.
TEST(Simulation, mean_regret_stays_below_the_expected_bound) {
  testing::Thinned thinned(7);
  for (const StrategyInfo& info : strategy_catalogue()) {
    if (testing::is_optimised(info)) continue;
    const std::string strategy(info.name);
    for (const char* stream : {"stationary", "drifting", "switching"})
      for (const char* loss : {"logistic", "squared"})
        for (const char* domain : {"ball", "whole-space"}) {
          if (!thinned.takes_next()) continue;
          SimulationOptions made = simulation_options(strategy.c_str(), 200);
          made.stream = stream;
          made.loss = loss;
          made.domain = domain;
          if (std::string(loss) == "squared") made.mechanism.clip = 2;
          const MeanRegret mean = mean_regret(made, 8);
          const std::string label = strategy + " " + stream + " " + loss + " " + domain;
          const bool unbounded_slope =
              std::string(loss) == "squared" && std::string(domain) == "whole-space";
          EXPECT_EQ(mean.theory.clipping_impossible, !unbounded_slope) << label;
          EXPECT_LE(mean.private_regret, mean.theory.private_bound->total()) << label;
          EXPECT_LE(mean.worst_twin, mean.theory.twin_bound->total() + 1e-6) << label;
        }
  }
}

TEST(Simulation, every_loss_and_domain_stays_below_its_bound) {
  for (const char* loss : {"absolute", "quantile", "huber", "hinge"})
    for (const char* domain : {"ball", "box", "simplex", "simplex-entropic"}) {
      SimulationOptions made = simulation_options("square-root", 60);
      made.loss = loss;
      made.domain = domain;
      const MeanRegret mean = mean_regret(made, 3);
      EXPECT_TRUE(mean.theory.clipping_impossible) << loss << " " << domain;
      EXPECT_LE(mean.private_regret, mean.theory.private_bound->total()) << loss << " " << domain;
      EXPECT_LE(mean.worst_twin, mean.theory.twin_bound->total() + 1e-6) << loss << " " << domain;
    }
}

TEST(Simulation, held_out_risk_is_the_loss_on_the_examples_after_the_horizon) {
  SimulationOptions made = simulation_options("square-root", 50);
  made.loss = "hinge";
  Simulation simulation(made);
  simulation.advance(50);
  const HeldOutRisk risk = simulation.held_out_risk(30);
  const SyntheticStream stream({.dimension = 2, .seed = 1, .period = 50});
  DpFtrl learner({.mechanism = Mechanism::make(made.mechanism),
                  .key = Key::insecure_from_seed(1),
                  .dimension = 2,
                  .loss = make_loss("hinge"),
                  .domain = make_domain("ball", 1)});
  std::vector<double> x(2);
  for (std::int64_t t = 0; t < 50; ++t) {
    const double y = stream.example(t, x);
    learner.step(x, y);
  }
  const HingeLoss loss;
  double average = 0;
  double last = 0;
  double twin = 0;
  for (std::int64_t t = 50; t < 80; ++t) {
    const double y = stream.example(t, x);
    const Eigen::Map<const Vector> features(x.data(), 2);
    average += loss.value(learner.average().dot(features), y) / 30;
    last += loss.value(simulation.private_iterate().dot(features), y) / 30;
    twin += loss.value(simulation.twin_iterate().dot(features), y) / 30;
  }
  EXPECT_NEAR(risk.private_average, average, 1e-13);
  EXPECT_NEAR(risk.private_last, last, 1e-13);
  EXPECT_NEAR(risk.twin_last, twin, 1e-13);
  EXPECT_ERROR((void)simulation.held_out_risk(0), "invalid_argument",
               "num_examples must be between 1");
  made.stream = "adversarial";
  EXPECT_ERROR((void)Simulation(made).held_out_risk(1), "unsupported", "held-out examples");
  made.table = bit_table(5, true);
  EXPECT_ERROR((void)Simulation(made).held_out_risk(1), "unsupported", "held-out examples");
  made.table = bit_table(5, false);
  EXPECT_ERROR((void)Simulation(made).held_out_risk(1), "unsupported", "held-out examples");
}

// Seeds are fixed. Online-to-batch conversion: the excess risk of the average iterate is at most
// the average regret in expectation. Here this is averaged over 8 runs with 2000 held-out examples
// each, whose mean loss has a standard error of about 0.004.
TEST(Simulation, risk_of_the_average_is_at_most_the_progressive_loss_on_average) {
  double risk = 0;
  double progressive = 0;
  const int num_seeds = 8;
  for (int seed = 1; seed <= num_seeds; ++seed) {
    SimulationOptions made = simulation_options("square-root", 200);
    made.loss = "absolute";
    made.num_regret_prefixes = 0;
    made.insecure_noise_seed = made.stream_seed = static_cast<std::uint64_t>(seed);
    Simulation simulation(made);
    progressive += simulation.advance(200).private_loss.mean() / num_seeds;
    risk += simulation.held_out_risk(2000).private_average / num_seeds;
  }
  EXPECT_LE(risk, progressive + 0.02);
}

TEST(Simulation, heavy_tails_are_clipped_and_not_covered_by_the_theorem_sparse_examples_are) {
  SimulationOptions made = simulation_options("square-root", 100);
  made.stream = "heavy-tailed";
  const MeanRegret heavy = mean_regret(made, 2);
  EXPECT_FALSE(heavy.theory.clipping_impossible);
  Simulation simulation(made);
  const SimulationChunk chunk = simulation.advance(100);
  for (Eigen::Index t = 1; t < 100; ++t)
    EXPECT_LE((chunk.true_sums.row(t) - chunk.true_sums.row(t - 1)).norm(), 1 + 1e-12);
  made.stream = "sparse";
  const MeanRegret sparse = mean_regret(made, 2);
  EXPECT_TRUE(sparse.theory.clipping_impossible);
  EXPECT_LE(sparse.private_regret, sparse.theory.private_bound->total());
}

TEST(Simulation, a_bound_without_its_noise_term_would_be_exceeded) {
  SimulationOptions made = simulation_options("independent", 200);
  made.mechanism.target.epsilon = 0.5;
  const MeanRegret mean = mean_regret(made, 8);
  const RegretBound bound = *mean.theory.private_bound;
  EXPECT_GT(mean.private_regret, bound.stability + mean.theory.twin_bound->total());
  EXPECT_LE(mean.private_regret, bound.total());
}

TEST(Simulation, less_privacy_and_better_mechanisms_mean_less_regret) {
  SimulationOptions made = simulation_options("independent", 400);
  const double independent = mean_regret(made, 8).private_regret;
  made.mechanism.strategy = "square-root";
  const MeanRegret square_root = mean_regret(made, 8);
  made.mechanism.target.epsilon = 30;
  const double weak = mean_regret(made, 8).private_regret;
  EXPECT_LT(square_root.private_regret, independent);
  EXPECT_LT(weak, square_root.private_regret);
  EXPECT_LT(square_root.twin_regret, weak);
}

TEST(Simulation, given_lambda_is_used_by_both_learners) {
  SimulationOptions made = simulation_options();
  made.lambda = 17;
  const Simulation simulation(made);
  EXPECT_EQ(simulation.theory()->private_lambda, 17);
  EXPECT_EQ(simulation.theory()->twin_lambda, 17);
  EXPECT_EQ(simulation.theory()->twin_bound->noise, 0);
  EXPECT_GT(simulation.theory()->private_bound->noise, 0);
}

TEST(Simulation, lambda_doubles_for_both_learners_and_their_bounds_know) {
  SimulationOptions made = simulation_options("square-root", 200);
  made.doubling = true;
  const MeanRegret mean = mean_regret(made, 8);
  const Simulation simulation(made);
  const RegretSetting setting =
      regret_setting(simulation.mechanism().certificate(), 2, *make_domain("ball", 1), 1);
  const double first = theorem_lambda(setting) / std::sqrt(200.0);
  EXPECT_NEAR(mean.theory.private_lambda, first, 1e-12);
  EXPECT_NEAR(mean.theory.twin_lambda, 1, 1e-12);
  EXPECT_EQ(mean.theory.private_bound->total(), doubling_regret_bound(setting, first).total());
  EXPECT_LE(mean.private_regret, mean.theory.private_bound->total());
  EXPECT_LE(mean.worst_twin, mean.theory.twin_bound->total() + 1e-6);
  made.doubling = false;
  made.lambda = first;
  const MeanRegret fixed = mean_regret(made, 8);
  EXPECT_NE(fixed.private_regret, mean.private_regret);
  EXPECT_NE(fixed.twin_regret, mean.twin_regret);
}

TEST(Simulation, a_table_shorter_than_the_horizon_ends_the_run_and_the_bound_is_of_its_length) {
  SimulationOptions made = simulation_options("tree", 1000);
  made.table = bit_table(40, true);
  made.domain = "ball";
  Simulation simulation(made);
  EXPECT_TRUE(simulation.learns());
  EXPECT_TRUE(simulation.classifies());
  EXPECT_EQ(simulation.steps(), 40);
  EXPECT_EQ(simulation.theory()->private_lambda,
            theorem_lambda(regret_setting(simulation.mechanism().certificate(), 2, 1)));
  EXPECT_DOUBLE_EQ(simulation.theory()->private_bound->regularisation,
                   simulation.theory()->private_lambda / 80);
  const SimulationChunk chunk = simulation.advance(1000);
  EXPECT_EQ(chunk.steps, 40);
  EXPECT_EQ(chunk.regret.back().steps, 40);
  EXPECT_LE(chunk.regret.back().twin_regret, simulation.theory()->twin_bound->total());
}

TEST(Simulation, finished_gives_empty_chunks) {
  Simulation simulation(simulation_options());
  (void)simulation.advance(60);
  EXPECT_EQ(simulation.advance(10).steps, 4);
  const SimulationChunk empty = simulation.advance(10);
  EXPECT_EQ(empty.first_step, 64);
  EXPECT_EQ(empty.steps, 0);
  EXPECT_EQ(empty.true_sums.rows(), 0);
  EXPECT_EQ(empty.private_loss.size(), 0);
  EXPECT_TRUE(simulation.finished());
  EXPECT_EQ(simulation.step(), 64);
}

TEST(Simulation, a_refused_call_changes_nothing) {
  Simulation simulation(simulation_options());
  Simulation untouched(simulation_options());
  const auto message = [&](std::int64_t max_steps) {
    return testing::error_text([&] { (void)simulation.advance(max_steps); });
  };
  EXPECT_EQ(message(0),
            "invalid_argument | simulation: max_steps must be between 1 and 9223372036854775807, "
            "got 0");
  EXPECT_EQ(message(-5).substr(0, 16), "invalid_argument");
  expect_same(simulation.advance(64), untouched.advance(64));
}

TEST(Simulation, extreme_but_legal_tables_run_to_their_end) {
  SimulationOptions made = simulation_options();
  made.loss = "squared";
  made.table = bit_table(5, true);
  made.table->features *= 1e150;
  made.table->labels->setConstant(-1e150);
  const SimulationChunk chunk = run(made, 2);
  EXPECT_EQ(chunk.steps, 5);
  EXPECT_TRUE(chunk.true_sums.allFinite());
  EXPECT_TRUE(chunk.noisy_sums.allFinite());
}

TEST(Simulation, bad_options_are_refused_by_name) {
  const auto message = [](const auto& change) {
    SimulationOptions made = simulation_options();
    change(made);
    return testing::error_text([&] { Simulation{made}; });
  };
  using O = SimulationOptions;
  EXPECT_EQ(message([](O& o) { o.dimension = 0; }),
            "invalid_argument | simulation: dimension must be between 1 and 1048576, got 0");
  EXPECT_EQ(message([](O& o) { o.radius = 0; }),
            "invalid_argument | simulation: radius must be positive and finite, got 0");
  EXPECT_EQ(message([](O& o) { o.radius = kNan; }),
            "invalid_argument | simulation: radius must be positive and finite, got NaN");
  EXPECT_EQ(message([](O& o) { o.lambda = 0; }),
            "invalid_argument | simulation: lambda must be positive and finite, got 0");
  EXPECT_EQ(message([](O& o) { o.lambda = -2; }),
            "invalid_argument | simulation: lambda must be positive and finite, got -2");
  EXPECT_EQ(message([](O& o) { o.num_regret_prefixes = -1; }),
            "invalid_argument | simulation: num_regret_prefixes must be between 0 and 65536, "
            "got -1");
  EXPECT_EQ(message([](O& o) { o.comparator_gap_tolerance = 0; }),
            "invalid_argument | simulation: comparator_gap_tolerance must be positive and finite, "
            "got 0");
  EXPECT_EQ(message([](O& o) { o.stream = "calm"; }),
            "invalid_argument | stream_kind: stream must be one of stationary, drifting, "
            "switching, heavy-tailed, sparse, got \"calm\"");
  EXPECT_EQ(message([](O& o) { o.loss = "0-1"; }),
            "invalid_argument | make_loss: loss must be one of logistic, squared, hinge, huber, "
            "absolute, quantile, got \"0-1\"");
  EXPECT_EQ(
      message([](O& o) { o.domain = "cube"; }),
      "invalid_argument | make_domain: domain must be one of ball, whole-space, box, simplex, "
      "simplex-entropic, got \"cube\"");
  EXPECT_EQ(message([](O& o) { o.stream_period = 1; }),
            "invalid_argument | synthetic_stream: period must be between 2 and 1099511627776, "
            "got 1");
  EXPECT_EQ(message([](O& o) { o.grid = 0.3; }),
            "invalid_argument | prefix_sum: grid must be a power of two, got 0.3");
  EXPECT_EQ(message([](O& o) { o.mechanism.steps = 0; }),
            "invalid_argument | prefix_sums: steps must be between 1 and 1099511627776, got 0");
  EXPECT_NE(message([](O& o) { o.mechanism.target.epsilon = kNan; }), "");
}

TEST(Simulation, bad_tables_are_refused_and_the_entry_named) {
  const auto message = [](const auto& change) {
    SimulationOptions made = simulation_options();
    made.table = bit_table(6, true);
    change(made);
    return testing::error_text([&] { Simulation{made}; });
  };
  using O = SimulationOptions;
  EXPECT_EQ(message([](O&) {}), "");
  EXPECT_EQ(message([](O& o) { o.table->features(3, 1) = kNan; }),
            "invalid_argument | table: features[3][1] must be finite, got NaN");
  EXPECT_EQ(message([](O& o) { (*o.table->labels)(4) = 2; }),
            "invalid_argument | simulation: labels[4] must be -1, 0 or 1, got 2");
  EXPECT_EQ(message([](O& o) { o.table->labels->resize(5); }),
            "wrong_length | table: labels must have 6 entries, got 5");
  EXPECT_EQ(message([](O& o) { o.table = Table{Matrix(0, 2), {}}; }),
            "invalid_argument | table: features must be of at least 1 row, got 0");
  EXPECT_EQ(message([](O& o) { o.dimension = 3; }),
            "wrong_length | simulation: table must have 3 entries, got 2");
}

}  // namespace
}  // namespace dpftrl
