// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/examples.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>

#include "dpftrl/learn/dp_ftrl.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

constexpr std::int64_t kWorldSteps = 12;
constexpr std::int64_t kWorldFeatures = 3;

/// Loss, domain and update rule of a learner.
struct LearnerWorld {
  std::string name;
  ExampleOptions options;
  std::string strategy = "tree";
  ReleaseMode mode = ReleaseMode::grid;
};

std::vector<LearnerWorld> learner_worlds() {
  const auto make = [](const char* loss, const char* domain) {
    ExampleOptions options;
    options.dimension = kWorldFeatures;
    options.loss = make_loss(loss);
    options.domain = make_domain(domain, 2);
    options.radius = 2;
    options.batch_size = 2;
    return options;
  };
  std::vector<LearnerWorld> all{{"logistic", make("logistic", "ball")},
                                {"squared", make("squared", "whole-space"), "square-root"},
                                {"box", make("absolute", "box"), "honaker"},
                                {"lattice", make("hinge", "ball"), "honaker", ReleaseMode::lattice},
                                {"descent", make("logistic", "whole-space")},
                                {"penalty", make("logistic", "ball")},
                                {"doubling", make("logistic", "simplex-entropic")},
                                {"softmax", make("logistic", "whole-space"), "independent"}};
  all[4].options.descent = DescentSchedule{.rates = {1, 0.5}, .momentum = 0.5};
  all[5].options.penalty.strength = 0.01;
  all[6].options.doubling = true;
  all[7].options.loss = std::make_shared<const SoftmaxLoss>(3);
  return all;
}

std::shared_ptr<const Mechanism> mechanism_of(const LearnerWorld& world,
                                              const Participation& participation) {
  return Mechanism::make({.strategy = world.strategy,
                          .steps = kWorldSteps,
                          .target = {.epsilon = 4, .delta = 1e-6},
                          .clip = 0.5,
                          .participation = participation});
}

PrefixSumOptions sums_of(const LearnerWorld& world) {
  return {.key = Key::insecure_from_seed(7), .mode = world.mode};
}

DpFtrl direct(const LearnerWorld& world, const Participation& participation) {
  const ExampleOptions& own = world.options;
  return DpFtrl({.mechanism = mechanism_of(world, participation),
                 .key = Key::insecure_from_seed(7),
                 .dimension = own.dimension,
                 .loss = own.loss,
                 .domain = own.domain,
                 .radius = own.radius,
                 .descent = own.descent,
                 .doubling = own.doubling,
                 .penalty = own.penalty,
                 .batch_size = own.batch_size,
                 .mode = world.mode});
}

struct PersonExample {
  std::string person;
  std::vector<double> record;
};

/// Two examples a step, of three people.
std::vector<std::vector<PersonExample>> random_examples(const LearnerWorld& world) {
  std::mt19937 bits(5);
  std::normal_distribution<double> normal;
  std::vector<std::vector<PersonExample>> steps(kWorldSteps);
  for (auto& step : steps)
    for (int i = 0; i < 2; ++i) {
      PersonExample example{std::string(1, static_cast<char>('a' + bits() % 3)), {}};
      for (std::int64_t j = 0; j < kWorldFeatures; ++j) example.record.push_back(normal(bits));
      const auto num_classes = world.options.loss->num_scores() == 3 ? 3U : 2U;
      example.record.push_back(static_cast<double>(bits() % num_classes));
      step.push_back(std::move(example));
    }
  return steps;
}

std::span<const double> features_of(const std::vector<double>& record) {
  return std::span(record).first(kWorldFeatures);
}

TEST(Examples, a_stream_in_memory_learns_as_the_learner) {
  for (const LearnerWorld& world : learner_worlds()) {
    const Participation once = Participation::single();
    DpFtrl learner = direct(world, once);
    RecordStream<Examples> stream(Examples(world.options), mechanism_of(world, once),
                                  sums_of(world));
    std::vector<double> scores(static_cast<std::size_t>(learner.num_scores()));
    for (const auto& step : random_examples(world)) {
      for (const PersonExample& example : step) {
        learner.step(features_of(example.record), example.record.back(), scores);
        stream.add(example.record);
      }
      const Vector weights = stream.end();
      EXPECT_EQ(weights, learner.iterate()) << world.name;
      EXPECT_EQ(stream.columns().average(), learner.average()) << world.name;
      EXPECT_EQ(stream.columns().lambda(), learner.lambda()) << world.name;
    }
    EXPECT_EQ(stream.counts().records, learner.num_examples());
  }
}

TEST(Examples, every_state_continues_with_the_weights_of_memory_and_reads_them_in_any_order) {
  using Kept = RecordStream<Examples, Records, Journal>;
  for (const LearnerWorld& world : learner_worlds()) {
    const auto mechanism = mechanism_of(world, Participation::single());
    const auto open = [&] { return Kept(Examples(world.options), mechanism, sums_of(world)); };
    RecordStream<Examples> memory(Examples(world.options), mechanism, sums_of(world));
    std::vector<Vector> weights;
    Kept stream = open();
    std::vector<std::byte> base = stream.state(), log;
    LogTag tag = stream.log_tag(base);
    for (const auto& step : random_examples(world)) {
      for (const PersonExample& example : step) {
        memory.add(example.record);
        stream.add(example.record);
        const LogPart part = stream.frame(tag);
        log.insert(log.end(), part.bytes.begin(), part.bytes.end());
        tag = part.tag;
        stream.acknowledge(stream.step());
        Kept again = open();
        again.restore(base);
        again.replay(log, {.before = again.log_tag(base)});
        EXPECT_EQ(again.columns().iterate(), memory.columns().iterate()) << world.name;
        EXPECT_EQ(again.counts().waiting(), stream.counts().waiting());
      }
      weights.push_back(memory.end());
      stream.end();
      const LogPart part = stream.frame(tag);
      log.insert(log.end(), part.bytes.begin(), part.bytes.end());
      tag = part.tag;
      stream.acknowledge(stream.step());
    }
    Kept again = open();
    again.restore(stream.state());
    for (const std::int64_t step : {11, 0, 1, 7, 3, 11, 10, 10})
      EXPECT_EQ(again.at(step), weights[static_cast<std::size_t>(step)]) << world.name;
    EXPECT_EQ(again.columns().average(), memory.columns().average());
  }
}

TEST(Examples, a_step_belongs_to_its_examples_not_to_their_gradients) {
  const LearnerWorld world = learner_worlds()[2];
  RecordStream<Examples, Records, Journal> stream(
      Examples(world.options), mechanism_of(world, Participation::single()), sums_of(world));
  // The gradient of the absolute loss does not tell these labels apart.
  const std::vector<double> example{0.1, 0.2, 0, 5}, other{0.1, 0.2, 0, 6};
  using Batch = std::vector<std::span<const double>>;
  stream.release_at(0, {}, Batch{example});
  stream.acknowledge(1);
  stream.release_at(1, {}, Batch{other});
  stream.acknowledge(2);
  EXPECT_TRUE(stream.is_repeat(0, {}, Batch{example}));
  EXPECT_TRUE(stream.is_repeat(1, {}, Batch{other}));
  EXPECT_ERROR(stream.is_repeat(0, {}, Batch{other}), "already_released", "other records");
}

TEST(Examples, the_first_example_of_a_person_in_the_steps_that_count_teaches) {
  const Participation bound = Participation::min_separation({.times = 2, .apart = 3});
  for (const LearnerWorld& world : learner_worlds()) {
    const auto mechanism = mechanism_of(world, bound);
    DpFtrl learner = direct(world, bound);
    RecordStream<Examples, People> stream(Examples(world.options), mechanism, sums_of(world));
    RecordStream<Examples, People, Journal> kept(Examples(world.options), mechanism,
                                                 sums_of(world));
    std::map<std::string, std::vector<std::int64_t>> counted;
    std::vector<double> scores(static_cast<std::size_t>(learner.num_scores()));
    std::int64_t t = 0, dropped = 0;
    for (const auto& step : random_examples(world)) {
      std::set<std::string> seen;
      for (const PersonExample& example : step) {
        std::vector<std::int64_t>& own = counted[example.person];
        const bool may = own.empty() || (std::ssize(own) < 2 && t - own.back() >= 3);
        const bool counts = may && seen.insert(example.person).second;
        // An example that does not count keeps its place in the batch: its gradient is zero.
        std::vector<double> record = example.record;
        if (!counts) std::fill(record.begin(), record.begin() + kWorldFeatures, 0);
        dropped += counts ? 0 : 1;
        learner.step(features_of(record), record.back(), scores);
        stream.add(example.person, example.record);
        kept.add(example.person, example.record);
      }
      for (const std::string& person : seen) counted[person].push_back(t);
      EXPECT_EQ(stream.end(), learner.iterate()) << world.name << ", step " << t;
      EXPECT_EQ(stream.counts().dropped, dropped);
      const std::int64_t ended = kept.end();
      kept.state();
      kept.acknowledge(kept.step());
      EXPECT_EQ(kept.at(ended), learner.iterate()) << world.name;
      ++t;
    }
    EXPECT_GT(dropped, 4);
  }
}

TEST(Examples, given_slopes_teach_what_the_loss_teaches) {
  LearnerWorld world = learner_worlds()[0];
  const auto mechanism = mechanism_of(world, Participation::single());
  RecordStream<Examples> own(Examples(world.options), mechanism, sums_of(world));
  world.options.has_slopes = true;
  RecordStream<Examples> given(Examples(world.options), mechanism, sums_of(world));
  for (const auto& step : random_examples(world)) {
    for (const PersonExample& example : step) {
      std::vector<double> record = example.record;
      double score = 0, slope = 0;
      given.columns().predict(features_of(record), {&score, 1});
      const VectorLoss& loss = *world.options.loss;
      loss.evaluate({&score, 1}, loss.label(record.back()), {&slope, 1});
      own.add(record);
      record.push_back(slope);
      given.add(record);
    }
    EXPECT_EQ(own.end(), given.end());
  }
}

TEST(Examples, a_refused_example_changes_nothing) {
  const LearnerWorld world = learner_worlds()[0];
  RecordStream<Examples> stream(Examples(world.options),
                                mechanism_of(world, Participation::single()), sums_of(world));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> good{1, 2, 3, 1}, endless{1, nan, 3, 1}, other{1, 2, 3, 0.5},
      longer{1, 2, 3, 4, 1};
  using Batch = std::vector<std::span<const double>>;
  EXPECT_ERROR(stream.add(endless), "invalid_argument", "features");
  EXPECT_ERROR(stream.add(other), "invalid_argument", "label");
  EXPECT_ERROR(stream.add(longer), "wrong_length", "record");
  const Batch both{good, endless};
  EXPECT_ERROR(stream.add_many(both), "invalid_argument", "features");
  EXPECT_EQ(stream.counts().records, 0);
}

TEST(Examples, weights_that_overflow_end_the_stream_after_their_step) {
  // Releases of this mechanism grow without bound: see dp_ftrl_test.
  StrategyPlan plan{.numbers = {{"coefficients", {1, 10}}}};
  StrategyParameters parameters;
  parameters.plan = std::make_shared<const StrategyPlan>(std::move(plan));
  const auto mechanism = Mechanism::make({.strategy = "banded-toeplitz",
                                          .steps = 150,
                                          .target = {.epsilon = 1, .delta = 1e-6},
                                          .clip = 0.8,
                                          .parameters = parameters});
  LearnerWorld world = learner_worlds()[1];
  world.options.lambda = 1e-190;
  PrefixSumOptions sums = sums_of(world);
  sums.mode = ReleaseMode::lattice;
  sums.grid = 0x1p-10;
  const auto open = [&] {
    return RecordStream<Examples, Records, Journal>(Examples(world.options), mechanism, sums);
  };
  auto stream = open();
  const std::vector<double> example{1, 1, 1, 1};
  const auto learn = [&] {
    for (std::int64_t t = 0; t < 150; ++t) stream.release(example);
  };
  EXPECT_ERROR(learn(), "bad_state", "left the doubles");
  const std::int64_t steps = stream.step();
  ASSERT_GT(steps, 0);
  EXPECT_ERROR(stream.add(example), "bad_state", "left the doubles");
  EXPECT_ERROR(stream.end(), "bad_state", "left the doubles");
  EXPECT_EQ(stream.step(), steps);
  auto again = open();
  again.restore(stream.state());
  EXPECT_ERROR(again.add(example), "bad_state", "left the doubles");
  for (std::int64_t t = 0; t < steps; ++t) EXPECT_TRUE(again.at(t).allFinite());
}

TEST(Examples, options_and_mechanisms_that_do_not_fit_are_refused) {
  const auto make = [](void (*change)(ExampleOptions&)) {
    ExampleOptions options = learner_worlds()[0].options;
    change(options);
    return Examples(options);
  };
  EXPECT_ERROR(make([](ExampleOptions& options) { options.dimension = 0; }), "invalid_argument",
               "dimension");
  EXPECT_ERROR(make([](ExampleOptions& options) { options.loss = nullptr; }), "invalid_argument",
               "loss");
  EXPECT_ERROR(make([](ExampleOptions& options) { options.batch_size = 0; }), "invalid_argument",
               "batch_size");
  const LearnerWorld world = learner_worlds()[0];
  const auto window =
      Mechanism::make({.strategy = "normalized-square-root",
                       .steps = 8,
                       .target = {.epsilon = 1, .delta = 1e-6},
                       .workload = Workload::sliding_window({.steps = 8, .window = 3})});
  EXPECT_ERROR(RecordStream<Examples>(Examples(world.options), window, sums_of(world)),
               "invalid_argument", "workload");
}

}  // namespace
}  // namespace dpftrl
