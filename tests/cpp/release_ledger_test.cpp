// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/release_ledger.hpp"

#include "support.hpp"

namespace dpftrl {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::int64_t kSteps = 30, kDimension = 2;

ReleaseLedger make_ledger(std::uint64_t seed = 4, const char* strategy = "blt-rational") {
  const auto how = Mechanism::make(
      {.strategy = strategy, .num_steps = kSteps, .target = {.epsilon = 1, .delta = 1e-6}});
  return {how, {.key = Key::insecure_from_seed(seed), .dimension = kDimension}};
}

std::vector<double> record_at(std::int64_t step) {
  return {0.1 * static_cast<double>(step % 7), -0.3};
}

std::vector<double> copy(std::span<const double> release) {
  return {release.begin(), release.end()};
}

/// The release of a step, stored as it should be.
std::vector<double> release(ReleaseLedger& ledger, std::int64_t step,
                            const std::vector<double>& record, Bytes& store) {
  ledger.decide(step, record);
  store = ledger.state();
  ledger.acknowledge(ledger.num_decided());
  return copy(ledger.released(step));
}

TEST(ReleaseLedger, gives_the_releases_of_the_running_total) {
  ReleaseLedger ledger = make_ledger();
  const auto how = Mechanism::make(
      {.strategy = "blt-rational", .num_steps = kSteps, .target = {.epsilon = 1, .delta = 1e-6}});
  PrefixSum sums(how, {.key = Key::insecure_from_seed(4), .dimension = kDimension});
  Bytes store;
  for (std::int64_t t = 0; t < kSteps; ++t) {
    std::vector<double> expected(kDimension);
    sums.release(record_at(t), expected);
    EXPECT_EQ(release(ledger, t, record_at(t), store), expected);
  }
}

TEST(ReleaseLedger, a_released_step_is_given_again_for_the_same_record_and_refused_for_another) {
  for (const bool restarted : {false, true}) {
    ReleaseLedger ledger = make_ledger();
    Bytes store;
    std::vector<std::vector<double>> releases;
    for (std::int64_t t = 0; t < 12; ++t)
      releases.push_back(release(ledger, t, record_at(t), store));
    if (restarted) {
      ledger = make_ledger();
      ledger.restore(store);
      EXPECT_EQ(ledger.num_decided(), 12);
    }
    for (std::int64_t t = 0; t < 12; ++t) {
      EXPECT_EQ(release(ledger, t, record_at(t), store), releases[static_cast<std::size_t>(t)]);
      std::vector<double> other = record_at(t);
      other[1] = std::nextafter(other[1], 1.0);
      EXPECT_ERROR(ledger.decide(t, other), "already_released",
                   "record must be the one that step " + std::to_string(t) + " was released for");
    }
    EXPECT_EQ(ledger.num_decided(), 12);
  }
}

TEST(ReleaseLedger, nothing_leaves_before_it_is_acknowledged) {
  ReleaseLedger ledger = make_ledger();
  ledger.decide(0, record_at(0));
  EXPECT_ERROR(ledger.released(0), "invalid_argument", "step must be between 0 and -1, got 0");
  // A store that failed may have stored all the same: the step stays decided.
  std::vector<double> other = record_at(0);
  other[0] += 1;
  EXPECT_ERROR(ledger.decide(0, other), "already_released", "got another");
  EXPECT_ERROR(ledger.acknowledge(2), "invalid_argument", "num_steps must be between 0 and 1");
  ledger.acknowledge(1);
  EXPECT_EQ(ledger.released(0).size(), 2u);
}

TEST(ReleaseLedger, a_step_that_was_not_stored_is_free_again) {
  ReleaseLedger ledger = make_ledger();
  Bytes store;
  release(ledger, 0, record_at(0), store);
  ledger.decide(1, record_at(1));  // the process dies here: nobody saw the release
  ReleaseLedger next = make_ledger();
  next.restore(store);
  EXPECT_EQ(next.num_decided(), 1);
  release(next, 1, record_at(5), store);
  EXPECT_EQ(next.num_acknowledged(), 2);
}

TEST(ReleaseLedger, bad_records_and_steps_are_refused_and_nothing_changes) {
  ReleaseLedger ledger = make_ledger();
  const std::vector<double> bad = {1, std::nan("")};
  EXPECT_ERROR(ledger.decide(0, bad), "invalid_argument", "record");
  EXPECT_ERROR(ledger.decide(0, std::vector<double>(3)), "wrong_length", "record must have 2");
  EXPECT_ERROR(ledger.decide(1, record_at(0)), "invalid_argument", "step must be between 0 and 0");
  EXPECT_EQ(ledger.num_decided(), 0);
  Bytes store;
  for (std::int64_t t = 0; t < kSteps; ++t) release(ledger, t, record_at(t), store);
  EXPECT_ERROR(ledger.decide(kSteps, record_at(0)), "past_horizon", "below the horizon 30, got 30");
  EXPECT_EQ(ledger.num_decided(), kSteps);
}

TEST(ReleaseLedger, bytes_of_another_ledger_are_refused) {
  ReleaseLedger ledger = make_ledger();
  Bytes store;
  release(ledger, 0, record_at(0), store);
  EXPECT_ERROR(make_ledger(5).restore(store), "bad_state", "must be of this key");
  EXPECT_ERROR(make_ledger(4, "tree").restore(store), "bad_state", "must be of this mechanism");
  for (std::size_t i = 0; i < store.size(); i += 3) {
    Bytes bad = store;
    bad[i] ^= std::byte{4};
    EXPECT_EQ(testing::error_text([&] { make_ledger().restore(bad); }).substr(0, 9), "bad_state");
  }
  EXPECT_ERROR(make_ledger().restore(std::span(store).first(store.size() - 1)), "bad_state",
               "truncated");
}

TEST(ReleaseLedger, a_step_of_many_contributions_is_that_of_the_sum) {
  ReleaseLedger ledger = make_ledger();
  const auto how = Mechanism::make(
      {.strategy = "blt-rational", .num_steps = kSteps, .target = {.epsilon = 1, .delta = 1e-6}});
  PrefixSum sums(how, {.key = Key::insecure_from_seed(4), .dimension = kDimension});
  std::vector<double> noisy(2);
  Bytes store;
  for (std::int64_t t = 0; t < 6; ++t) {
    std::vector<double> all;
    for (std::int64_t i = 0; i < t % 3; ++i) {
      const std::vector<double> one = record_at(10 * t + i);
      sums.contribute(one);
      all.insert(all.end(), one.begin(), one.end());
    }
    sums.release(noisy);
    ledger.decide_step(t, all);
    ledger.acknowledge(t + 1);
    EXPECT_EQ(std::vector(ledger.released(t).begin(), ledger.released(t).end()), noisy) << t;
    store = ledger.state();
    ledger = make_ledger();
    ledger.restore(store);
  }
  // Asked again with the same contributions it is done, with fewer, more or others it is not.
  const std::vector<double> five = {record_at(50)[0], record_at(50)[1], record_at(51)[0],
                                    record_at(51)[1]};
  EXPECT_NO_THROW(ledger.decide_step(5, five));
  EXPECT_ERROR(ledger.decide_step(5, std::span(five).first(2)), "already_released", "got another");
  EXPECT_ERROR(ledger.decide_step(5, {}), "already_released", "got another");
  EXPECT_ERROR(ledger.decide_step(3, five), "already_released", "got another");
  EXPECT_ERROR(ledger.decide_step(6, std::span(five).first(3)), "wrong_length", "contributions");
  EXPECT_EQ(ledger.key_commitment(), make_ledger().key_commitment());
  EXPECT_NE(ledger.key_commitment(), make_ledger(5).key_commitment());
}

TEST(ReleaseLedger, minus_zero_is_zero) {
  ReleaseLedger ledger = make_ledger();
  ledger.decide(0, std::vector<double>{0.0, 1});
  EXPECT_NO_THROW(ledger.decide(0, std::vector<double>{-0.0, 1}));
}

}  // namespace
}  // namespace dpftrl
