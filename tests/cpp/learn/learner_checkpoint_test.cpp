// SPDX-License-Identifier: Apache-2.0
// Learners restored from a checkpoint continue with the same bits, or the restore is refused and
// changes nothing.
#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <string>

#include "dpftrl/learn/dp_ftrl.hpp"
#include "dpftrl/learn/losses/loss.hpp"
#include "dpftrl/learn/simulation.hpp"
#include "noise/checkpoint.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::int64_t kLearnerSteps = 24;
constexpr std::int64_t kLearnerDimension = 3;

std::shared_ptr<const Mechanism> learner_mechanism(const char* strategy) {
  StrategyParameters parameters;
  if (std::string_view(strategy) == "blt") {
    parameters.decays = {0.875, 0.5};
    parameters.weights = {0.25, 0.375};
  }
  return Mechanism::make({.strategy = strategy,
                          .steps = kLearnerSteps,
                          .target = {.epsilon = 1, .delta = 1e-6},
                          .clip = 0.75,
                          .parameters = parameters});
}

DpFtrlOptions learner_options(const char* strategy = "blt") {
  return {.mechanism = learner_mechanism(strategy),
          .key = Key::insecure_from_seed(7),
          .dimension = kLearnerDimension,
          .loss = make_loss("logistic"),
          .domain = make_domain("ball", 2),
          .radius = 2,
          .lambda = 30};
}

struct LearnerCase {
  std::string name;
  DpFtrlOptions options;
};

/// Learners with every rule, domain and mode, and with losses of one and of several scores.
std::vector<LearnerCase> learner_cases() {
  std::vector<LearnerCase> all;
  const auto add = [&](const std::string& name, const auto& change) {
    DpFtrlOptions made = learner_options();
    change(made);
    all.push_back({name, made});
  };
  using O = DpFtrlOptions;
  for (const char* strategy :
       {"independent", "output", "tree", "honaker", "blt", "square-root", "optimal"})
    add(strategy, [&](O& o) { o.mechanism = learner_mechanism(strategy); });
  for (const char* domain : {"whole-space", "box", "simplex", "simplex-entropic"})
    add(domain, [&](O& o) { o.domain = make_domain(domain, 2); });
  add("doubling", [](O& o) { o.doubling = true; });
  add("descent", [](O& o) { o.descent = DescentSchedule{}; });
  add("descent with rates and momentum", [](O& o) {
    o.descent = DescentSchedule{.rates = {1, 0.5, 0.25}, .momentum = 0.9};
    o.lambda = std::nullopt;
  });
  add("an l1 penalty", [](O& o) { o.penalty.strength = 0.05; });
  add("a penalty of groups",
      [](O& o) { o.penalty = {.strength = 0.05, .groups = {2}, .num_unpenalised = 1}; });
  add("batches", [](O& o) { o.batch_size = 3; });
  add("softmax", [](O& o) { o.loss = std::make_shared<const SoftmaxLoss>(3); });
  add("lattice", [](O& o) {
    o.mechanism = learner_mechanism("honaker");
    o.mode = ReleaseMode::lattice;
  });
  return all;
}

/// Everything about a learner's state that callers can observe.
struct Shown {
  Vector iterate, average;
  std::vector<double> release;
  std::array<std::int64_t, 3> counts{};
  double lambda = 0;
  friend bool operator==(const Shown&, const Shown&) = default;
};

Shown shown(const DpFtrl& learner) {
  return {.iterate = learner.iterate(),
          .average = learner.average(),
          .release = {learner.release().begin(), learner.release().end()},
          .counts = {learner.steps_done(), learner.num_examples(), learner.num_waiting()},
          .lambda = learner.lambda()};
}

void learn_step(DpFtrl& learner, std::int64_t i) {
  static const SyntheticStream stream({.dimension = kLearnerDimension, .seed = 3});
  std::vector<double> x(kLearnerDimension), scores(static_cast<std::size_t>(learner.num_scores()));
  const double y = stream.example(i, x);
  learner.step(x, y > 0 ? 1 : 0, scores);
}

TEST(LearnerCheckpoint, goes_on_with_the_same_bits_whatever_the_learner) {
  for (const auto& [name, how] : learner_cases()) {
    DpFtrl whole(how);
    auto parts = std::make_unique<DpFtrl>(how);
    for (std::int64_t i = 0; i < kLearnerSteps * how.batch_size; ++i) {
      const Bytes bytes = parts->checkpoint();
      parts = std::make_unique<DpFtrl>(how);
      parts->restore_without_ledger(bytes);
      ASSERT_TRUE(shown(*parts) == shown(whole)) << name << " before example " << i;
      learn_step(*parts, i);
      learn_step(whole, i);
    }
    EXPECT_TRUE(shown(*parts) == shown(whole)) << name << " at the end";
    EXPECT_EQ(whole.steps_done(), kLearnerSteps) << name;
    EXPECT_ERROR(learn_step(*parts, 0), "past_horizon", "horizon");
  }
}

TEST(LearnerCheckpoint, goes_back_within_a_batch_and_forgets_what_came_after) {
  DpFtrlOptions how = learner_options();
  how.batch_size = 4;
  DpFtrl whole(how), parts(how);
  for (std::int64_t i = 0; i < 10; ++i) {
    const Bytes bytes = parts.checkpoint();
    for (std::int64_t later = 100; later < 103; ++later) learn_step(parts, later);
    parts.end_batch();
    parts.restore_without_ledger(bytes);
    learn_step(parts, i);
    learn_step(whole, i);
    if (i == 6)
      for (DpFtrl* const learner : {&parts, &whole}) learner->end_batch();
    ASSERT_TRUE(shown(parts) == shown(whole)) << i;
  }
  EXPECT_EQ(parts.num_waiting(), 3) << "two batches, one that ended early, and three examples";
}

TEST(LearnerCheckpoint, holds_neither_a_gradient_on_its_own_nor_the_key) {
  DpFtrlOptions how = learner_options("tree");
  how.batch_size = 2;
  DpFtrl learner(how);
  learner.step(std::vector{0.5, -0.25, 0.125}, 1);
  const Bytes bytes = learner.checkpoint();
  // The size is accounted for by counts, bytes of the totals, iterate, sum of played iterates and
  // release.
  const std::uint64_t sums_size = detail::word_at(bytes, 64 + 24);
  EXPECT_EQ(bytes.size(), 64 + 32 + sums_size + 3 * 8 * kLearnerDimension);
  for (const std::uint32_t word : how.key.words()) {
    if (word < 0x10000) continue;  // the seed's zeros
    std::array<std::byte, 4> little{};
    for (std::size_t i = 0; i < 4; ++i) little[i] = static_cast<std::byte>(word >> (8 * i));
    EXPECT_TRUE(std::ranges::search(bytes, little).empty());
  }
}

TEST(LearnerCheckpoint, every_damaged_byte_is_found_and_nothing_changes) {
  DpFtrlOptions how = learner_options();
  how.batch_size = 2;
  DpFtrl learner(how), untouched(how);
  for (std::int64_t i = 0; i < 7; ++i)
    for (DpFtrl* const each : {&learner, &untouched}) learn_step(*each, i);
  const Bytes good = learner.checkpoint();
  for (DpFtrl* const each : {&learner, &untouched}) learn_step(*each, 7);
  for (std::size_t i = 0; i < good.size(); ++i) {
    Bytes bad = good;
    bad[i] ^= std::byte{1};
    EXPECT_EQ(testing::error_text([&] { learner.restore_without_ledger(bad); }).substr(0, 9),
              "bad_state")
        << i;
  }
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_ERROR(learner.restore_without_ledger(std::span(good).first(length)), "bad_state",
                 "truncated");
  EXPECT_TRUE(shown(learner) == shown(untouched));
  for (std::int64_t i = 8; i < 20; ++i)
    for (DpFtrl* const each : {&learner, &untouched}) learn_step(*each, i);
  EXPECT_TRUE(shown(learner) == shown(untouched));
}

/// Applies `change` to a copy of the bytes and recomputes the checksum.
Bytes resealed_learner(const Bytes& bytes, const std::function<void(Bytes&)>& change,
                       std::int64_t step_change = 0) {
  Bytes changed = bytes;
  change(changed);
  detail::CheckpointHeader header{.kind = detail::CheckpointKind::learner};
  header.step = static_cast<std::int64_t>(detail::word_at(bytes, 8)) + step_change;
  std::copy_n(bytes.begin() + 24, 16, header.fingerprint.begin());
  std::copy_n(bytes.begin() + 40, 16, header.commitment.begin());
  detail::seal_checkpoint(header, changed);
  return changed;
}

void set_word(Bytes& bytes, std::size_t begin, std::uint64_t word) {
  for (std::size_t i = 0; i < 8; ++i) bytes[begin + i] = static_cast<std::byte>(word >> (8 * i));
}

TEST(LearnerCheckpoint, bytes_that_contradict_themselves_are_refused_and_nothing_changes) {
  DpFtrlOptions how = learner_options();
  how.batch_size = 2;
  DpFtrl learner(how);
  for (std::int64_t i = 0; i < 6; ++i) learn_step(learner, i);
  const Bytes good = learner.checkpoint();
  const Shown before = shown(learner);
  ASSERT_EQ(resealed_learner(good, [](Bytes&) {}), good);
  constexpr std::size_t kCounts = 64;
  const std::uint64_t sums_size = detail::word_at(good, kCounts + 24);
  const std::uint64_t infinite = std::bit_cast<std::uint64_t>(1.0 / 0.0);
  const std::pair<const char*, std::function<void(Bytes&)>> changes[] = {
      {"more examples in the batch than it has", [](Bytes& b) { set_word(b, kCounts + 8, 2); }},
      {"more waiting than there were",
       [](Bytes& b) {
         set_word(b, kCounts, 0);
         set_word(b, kCounts + 8, 1);
       }},
      {"-1 examples", [](Bytes& b) { set_word(b, kCounts, ~std::uint64_t{0}); }},
      {"neither left the doubles nor did not", [](Bytes& b) { set_word(b, kCounts + 16, 2); }},
      {"sums beyond the bytes", [](Bytes& b) { set_word(b, kCounts + 24, ~std::uint64_t{0}); }},
      {"shorter sums", [=](Bytes& b) { set_word(b, kCounts + 24, sums_size - 8); }},
      {"sums without a header", [](Bytes& b) { set_word(b, kCounts + 24, 8); }},
      {"a weight that is not finite",
       [=](Bytes& b) {
         set_word(b, kCounts + 32 + static_cast<std::size_t>(sums_size), infinite);
       }},
      {"a number less", [](Bytes& b) { b.resize(b.size() - 8); }},
      {"a number more", [](Bytes& b) { b.resize(b.size() + 8); }},
      {"half a number more", [](Bytes& b) { b.resize(b.size() + 4); }},
      {"no numbers", [](Bytes& b) { b.resize(kCounts); }},
      {"damaged sums", [](Bytes& b) { b[kCounts + 32 + 70] ^= std::byte{1}; }},
  };
  for (const auto& [name, change] : changes) {
    const Bytes bad = resealed_learner(good, change);
    EXPECT_EQ(testing::error_text([&] { learner.restore_without_ledger(bad); }).substr(0, 9),
              "bad_state")
        << name;
    EXPECT_TRUE(shown(learner) == before) << name;
  }
  const Bytes later = resealed_learner(good, [](Bytes&) {}, 1);
  EXPECT_ERROR(learner.restore_without_ledger(later), "bad_state", "model of 4 steps");
  EXPECT_EQ(learner.checkpoint(), good);
}

TEST(LearnerCheckpoint, what_belongs_to_another_learner_is_refused) {
  const DpFtrlOptions how = learner_options();
  DpFtrl learner(how);
  learn_step(learner, 0);
  const Bytes good = learner.checkpoint();
  const auto refusal = [&](const std::function<void(DpFtrlOptions&)>& change) {
    DpFtrlOptions other = learner_options();
    change(other);
    return testing::error_text([&] { DpFtrl(other).restore_without_ledger(good); });
  };
  EXPECT_EQ(refusal([](DpFtrlOptions&) {}), "");
  using O = DpFtrlOptions;
  EXPECT_EQ(refusal([](O& o) { o.key = Key::insecure_from_seed(8); }),
            "bad_state | dp_ftrl: checkpoint.key must be of this key, got another key's");
  const std::pair<const char*, std::function<void(O&)>> others[] = {
      {"mechanism", [](O& o) { o.mechanism = learner_mechanism("tree"); }},
      {"dimension", [](O& o) { o.dimension = 4; }},
      {"loss", [](O& o) { o.loss = make_loss("squared"); }},
      {"several scores",
       [](O& o) {
         o.dimension = 1;
         o.loss = std::make_shared<const SoftmaxLoss>(3);
       }},
      {"domain", [](O& o) { o.domain = make_domain("box", 2); }},
      {"radius", [](O& o) { o.domain = make_domain("ball", 3); }},
      {"lambda", [](O& o) { o.lambda = 31; }},
      {"doubling", [](O& o) { o.doubling = true; }},
      {"descent", [](O& o) { o.descent = DescentSchedule{}; }},
      {"penalty", [](O& o) { o.penalty.strength = 0.5; }},
      {"batch size", [](O& o) { o.batch_size = 2; }},
      {"grid", [](O& o) { o.grid = 0.25; }},
  };
  for (const auto& [name, change] : others) {
    const std::string text = refusal(change);
    EXPECT_TRUE(text.starts_with("bad_state | ") &&
                text.find(" must be of this") != std::string::npos)
        << name << ": " << text;
  }
  EXPECT_ERROR(PrefixSum(how.mechanism, {.key = how.key, .dimension = kLearnerDimension})
                   .restore_without_ledger(good),
               "bad_state", "must be of kind 2, got kind 5");
}

TEST(LearnerCheckpoint, what_belongs_to_other_parameters_is_refused) {
  // Two losses with the same name but different parameters.
  for (const double threshold : {1.0, 2.0}) {
    DpFtrlOptions huber = learner_options();
    huber.loss = make_loss("huber");
    const Bytes bytes = DpFtrl(huber).checkpoint();
    huber.loss = make_loss("huber", {.huber_threshold = threshold});
    EXPECT_EQ(testing::error_text([&] { DpFtrl(huber).restore_without_ledger(bytes); }).empty(),
              threshold == 1.0);
  }
  DpFtrlOptions descent = learner_options();
  descent.descent = DescentSchedule{.momentum = 0.5};
  const Bytes bytes = DpFtrl(descent).checkpoint();
  descent.descent->momentum = 0.25;
  EXPECT_ERROR(DpFtrl(descent).restore_without_ledger(bytes), "bad_state", "must be of this");
  DpFtrlOptions penalised = learner_options();
  penalised.penalty = {.strength = 0.5, .groups = {1, 1}, .num_unpenalised = 1};
  const Bytes of_groups = DpFtrl(penalised).checkpoint();
  for (const Penalty& other : {Penalty{.strength = 0.25, .groups = {1, 1}, .num_unpenalised = 1},
                               {.strength = 0.5, .groups = {2}, .num_unpenalised = 1},
                               {.strength = 0.5, .num_unpenalised = 1},
                               {}}) {
    penalised.penalty = other;
    EXPECT_ERROR(DpFtrl(penalised).restore_without_ledger(of_groups), "bad_state",
                 "must be of this");
  }
  penalised.penalty = {.strength = 0.5, .groups = {1, 2}};
  const Bytes of_one_and_two = DpFtrl(penalised).checkpoint();
  penalised.penalty.groups = {2, 1};
  EXPECT_ERROR(DpFtrl(penalised).restore_without_ledger(of_one_and_two), "bad_state",
               "must be of this");
}

TEST(LearnerCheckpoint, a_learner_that_ended_stays_ended) {
  // The rate makes the second step overflow; restoring a checkpoint must not undo that.
  DpFtrlOptions how = learner_options();
  how.domain = make_domain("whole-space", 2);
  how.descent = DescentSchedule{.rates = {1, 1e300}};
  how.lambda = 1e-10;
  how.grid = 0.25;
  DpFtrl learner(how);
  for (std::int64_t i = 0; i < 2; ++i) learn_step(learner, i);
  EXPECT_ERROR(learn_step(learner, 2), "bad_state", "there are no more steps");
  DpFtrl other(how);
  other.restore_without_ledger(learner.checkpoint());
  EXPECT_EQ(other.steps_done(), 2);
  EXPECT_EQ(other.iterate(), learner.iterate());
  EXPECT_EQ(other.average(), learner.average());
  EXPECT_ERROR(learn_step(other, 2), "bad_state", "there are no more steps");
}

TEST(LearnerCheckpoint, has_the_same_bytes_on_every_platform) {
  // Neither the loss nor the domain calls libm. tests/js/learner-ledger.test.mjs computes the same
  // bytes in WebAssembly.
  DpFtrlOptions how = learner_options();
  how.loss = make_loss("hinge");
  how.domain = make_domain("ball", 2);
  how.batch_size = 2;
  DpFtrl learner(how);
  for (int i = 0; i < 9; ++i)
    learner.step(std::vector{0.5, 0.25 * (i % 3), -1.125 * (i % 5)}, i % 2);
  detail::Sha256 hash;
  hash.append(std::span<const std::byte>(learner.checkpoint()));
  EXPECT_EQ(detail::word_at(hash.finish(), 0), 4427572584715619259U);
}

}  // namespace
}  // namespace dpftrl
