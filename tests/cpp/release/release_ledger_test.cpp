// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/release/release_ledger.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <new>

#include "noise/checkpoint.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::hex;
using Bytes = std::vector<std::byte>;

constexpr std::int64_t kReleaseLedgerSteps = 30, kReleaseLedgerDimension = 2;

ReleaseLedger make_release_ledger(std::uint64_t seed = 4, const char* strategy = "blt-rational") {
  const auto how = Mechanism::make({.strategy = strategy,
                                    .steps = kReleaseLedgerSteps,
                                    .target = {.epsilon = 1, .delta = 1e-6}});
  return {how, {.key = Key::insecure_from_seed(seed), .dimension = kReleaseLedgerDimension}};
}

std::vector<double> release_record(std::int64_t step) {
  return {0.1 * static_cast<double>(step % 7), -0.3};
}

std::vector<double> copy(std::span<const double> release) {
  return {release.begin(), release.end()};
}

/// Releases a step and stores the state correctly.
std::vector<double> release(ReleaseLedger& ledger, std::int64_t step,
                            const std::vector<double>& record, Bytes& store) {
  ledger.decide(step, record);
  store = ledger.state();
  ledger.acknowledge(ledger.num_decided());
  return copy(ledger.released(step));
}

TEST(ReleaseLedger, gives_the_releases_of_the_running_total) {
  ReleaseLedger ledger = make_release_ledger();
  const auto how = Mechanism::make({.strategy = "blt-rational",
                                    .steps = kReleaseLedgerSteps,
                                    .target = {.epsilon = 1, .delta = 1e-6}});
  PrefixSum sums(how, {.key = Key::insecure_from_seed(4), .dimension = kReleaseLedgerDimension});
  Bytes store;
  for (std::int64_t t = 0; t < kReleaseLedgerSteps; ++t) {
    std::vector<double> expected(kReleaseLedgerDimension);
    sums.release(release_record(t), expected);
    EXPECT_EQ(release(ledger, t, release_record(t), store), expected);
  }
}

TEST(ReleaseLedger, a_released_step_is_given_again_for_the_same_record_and_refused_for_another) {
  for (const bool restarted : {false, true}) {
    ReleaseLedger ledger = make_release_ledger();
    Bytes store;
    std::vector<std::vector<double>> releases;
    for (std::int64_t t = 0; t < 12; ++t)
      releases.push_back(release(ledger, t, release_record(t), store));
    if (restarted) {
      ledger = make_release_ledger();
      ledger.restore(store);
      EXPECT_EQ(ledger.num_decided(), 12);
    }
    for (std::int64_t t = 0; t < 12; ++t) {
      EXPECT_EQ(release(ledger, t, release_record(t), store),
                releases[static_cast<std::size_t>(t)]);
      std::vector<double> other = release_record(t);
      other[1] = std::nextafter(other[1], 1.0);
      EXPECT_ERROR(ledger.decide(t, other), "already_released",
                   "released for another record, got " + std::to_string(t));
    }
    EXPECT_EQ(ledger.num_decided(), 12);
  }
}

TEST(ReleaseLedger, nothing_leaves_before_it_is_acknowledged) {
  ReleaseLedger ledger = make_release_ledger();
  ledger.decide(0, release_record(0));
  EXPECT_ERROR(ledger.released(0), "invalid_argument", "step must be between 0 and -1, got 0");
  // A store that reported failure may still have stored the state, so the step stays decided.
  std::vector<double> other = release_record(0);
  other[0] += 1;
  EXPECT_ERROR(ledger.decide(0, other), "already_released", "another record");
  EXPECT_ERROR(ledger.acknowledge(2), "invalid_argument", "steps must be between 0 and 1");
  ledger.acknowledge(1);
  EXPECT_EQ(ledger.released(0).size(), 2u);
}

TEST(ReleaseLedger, what_was_acknowledged_stays_so) {
  ReleaseLedger ledger = make_release_ledger();
  for (std::int64_t t = 0; t < 3; ++t) ledger.decide(t, release_record(t));
  ledger.acknowledge(3);
  ledger.acknowledge(1);  // acknowledgement of a slower store
  EXPECT_EQ(ledger.num_acknowledged(), 3);
  EXPECT_EQ(ledger.released(2).size(), 2u);
}

TEST(ReleaseLedger, leaves_no_secret_in_memory) {
  const auto words =
      random_block(Key::insecure_from_seed(4), {.stream = Stream::ledger, .row = 0, .block = 0});
  const auto secret = std::as_bytes(std::span(words));
  alignas(ReleaseLedger) std::array<std::byte, sizeof(ReleaseLedger)> place{};
  const auto has_secret = [&] {
    return !std::ranges::search(place, secret.first(8)).empty() ||
           !std::ranges::search(place, secret.last(8)).empty();
  };
  auto* const ledger = new (place.data()) ReleaseLedger(make_release_ledger());
  EXPECT_TRUE(has_secret());
  std::destroy_at(ledger);
  EXPECT_FALSE(has_secret());
}

TEST(ReleaseLedger, a_step_that_was_not_stored_is_free_again) {
  ReleaseLedger ledger = make_release_ledger();
  Bytes store;
  release(ledger, 0, release_record(0), store);
  ledger.decide(1, release_record(1));  // the process dies here, before anyone saw the release
  ReleaseLedger next = make_release_ledger();
  next.restore(store);
  EXPECT_EQ(next.num_decided(), 1);
  release(next, 1, release_record(5), store);
  EXPECT_EQ(next.num_acknowledged(), 2);
}

TEST(ReleaseLedger, bad_records_and_steps_are_refused_and_nothing_changes) {
  ReleaseLedger ledger = make_release_ledger();
  const std::vector<double> bad = {1, std::nan("")};
  EXPECT_ERROR(ledger.decide(0, bad), "invalid_argument", "record");
  EXPECT_ERROR(ledger.decide(0, std::vector<double>(3)), "wrong_length", "record must have 2");
  EXPECT_ERROR(ledger.decide(1, release_record(0)), "invalid_argument",
               "step must be between 0 and 0");
  EXPECT_EQ(ledger.num_decided(), 0);
  Bytes store;
  for (std::int64_t t = 0; t < kReleaseLedgerSteps; ++t)
    release(ledger, t, release_record(t), store);
  EXPECT_ERROR(ledger.decide(kReleaseLedgerSteps, release_record(0)), "past_horizon",
               "below the horizon 30, got 30");
  EXPECT_EQ(ledger.num_decided(), kReleaseLedgerSteps);
}

TEST(ReleaseLedger, bytes_of_another_ledger_are_refused) {
  ReleaseLedger ledger = make_release_ledger();
  Bytes store;
  release(ledger, 0, release_record(0), store);
  EXPECT_ERROR(make_release_ledger(5).restore(store), "bad_state", "must be of this key");
  EXPECT_ERROR(make_release_ledger(4, "tree").restore(store), "bad_state",
               "must be of this mechanism");
  for (std::size_t i = 0; i < store.size(); i += 3) {
    Bytes bad = store;
    bad[i] ^= std::byte{4};
    EXPECT_EQ(testing::error_text([&] { make_release_ledger().restore(bad); }).substr(0, 9),
              "bad_state");
  }
  EXPECT_ERROR(make_release_ledger().restore(std::span(store).first(store.size() - 1)), "bad_state",
               "truncated");
}

TEST(ReleaseLedger, a_step_of_many_contributions_is_that_of_the_sum) {
  ReleaseLedger ledger = make_release_ledger();
  const auto how = Mechanism::make({.strategy = "blt-rational",
                                    .steps = kReleaseLedgerSteps,
                                    .target = {.epsilon = 1, .delta = 1e-6}});
  PrefixSum sums(how, {.key = Key::insecure_from_seed(4), .dimension = kReleaseLedgerDimension});
  std::vector<double> noisy(2);
  Bytes store;
  for (std::int64_t t = 0; t < 6; ++t) {
    std::vector<double> all;
    for (std::int64_t i = 0; i < t % 3; ++i) {
      const std::vector<double> one = release_record(10 * t + i);
      sums.contribute(one);
      all.insert(all.end(), one.begin(), one.end());
    }
    sums.release(noisy);
    ledger.decide_step(t, all);
    ledger.acknowledge(t + 1);
    EXPECT_EQ(std::vector(ledger.released(t).begin(), ledger.released(t).end()), noisy) << t;
    store = ledger.state();
    ledger = make_release_ledger();
    ledger.restore(store);
  }
  // Repeating the same contributions is accepted; fewer, more or different ones are refused.
  const std::vector<double> five = {release_record(50)[0], release_record(50)[1],
                                    release_record(51)[0], release_record(51)[1]};
  EXPECT_NO_THROW(ledger.decide_step(5, five));
  EXPECT_ERROR(ledger.decide_step(5, std::span(five).first(2)), "already_released",
               "another record");
  EXPECT_ERROR(ledger.decide_step(5, {}), "already_released", "another record");
  EXPECT_ERROR(ledger.decide_step(3, five), "already_released", "another record");
  EXPECT_ERROR(ledger.decide_step(6, std::span(five).first(3)), "wrong_length", "contributions");
  EXPECT_EQ(ledger.key_commitment(), make_release_ledger().key_commitment());
  EXPECT_NE(ledger.key_commitment(), make_release_ledger(5).key_commitment());
}

TEST(ReleaseLedger, bytes_are_those_of_the_frozen_format) {
  // Codes and commitment were computed from the definition (docs/math/checkpoints.md) by another
  // program: ChaCha20 of seed 4 at streams 6 and 5, HMAC-SHA256 over step and entries. If the
  // secret came from the stream of the commitment, anyone could test guesses of records.
  const char* const codes[] = {
      "4f69f690ed4f55ace67070c6df412eb0", "1e5d0555aec8aba6477d69d143672f6a",
      "dc5f6ce5c628c1e833a886b0b9d6ed77", "3841aa76fa8202666c04233f83785f26"};
  ReleaseLedger ledger = make_release_ledger();
  const std::vector<double> steps[] = {{0.5, 0}, {0.5, -0.0}, {}, {0.25, -1, 0, 3}};
  for (std::int64_t t = 0; t < 4; ++t) ledger.decide_step(t, steps[t]);
  const Bytes bytes = ledger.state();
  ledger.acknowledge(4);
  EXPECT_EQ(hex(std::span(bytes).first(7)), "64706663010003");  // "dpfc", version 1, kind 3
  EXPECT_EQ(detail::word_at(bytes, 8), 4u);
  EXPECT_EQ(hex(std::span(bytes).subspan(40, 16)), "50ec4ff0a7bb0f8a7c617f3d3753b5b9");
  const auto sums_size = static_cast<std::size_t>(detail::word_at(bytes, 64));
  EXPECT_EQ(hex(std::span(bytes).subspan(72, 7)), "64706663010002");  // the sums
  EXPECT_EQ(detail::word_at(bytes, 72 + 8), 4u);
  constexpr std::size_t kEntry = 16 + 8 * kReleaseLedgerDimension;
  ASSERT_EQ(bytes.size(), 72 + sums_size + 4 * kEntry);
  for (std::int64_t t = 0; t < 4; ++t) {
    const auto entry = std::span(bytes).last(static_cast<std::size_t>(4 - t) * kEntry);
    EXPECT_EQ(hex(entry.first(16)), codes[t]) << t;
    for (std::size_t i = 0; i < kReleaseLedgerDimension; ++i)
      EXPECT_EQ(std::bit_cast<double>(detail::word_at(entry, 16 + 8 * i)), ledger.released(t)[i]);
  }
}

/// A ledger in mode lattice that is long, fine and precise, so that its steps have room for few
/// contributions.
ReleaseLedger make_narrow_ledger() {
  const auto how = Mechanism::make({.strategy = "blt",
                                    .steps = 1 << 14,
                                    .target = {.epsilon = 1, .delta = 1e-6},
                                    .clip = 1.5,
                                    .parameters = {.decays = {0.9999}, .weights = {0.01}}});
  return {how,
          {.key = Key::insecure_from_seed(4),
           .mode = ReleaseMode::lattice,
           .grid = 0x1p-12,
           .precision_bits = 30}};
}

TEST(ReleaseLedger, a_step_that_is_too_crowded_changes_nothing) {
  ReleaseLedger ledger = make_narrow_ledger();
  ledger.decide(0, std::vector<double>{0.5});
  const Bytes store = ledger.state();
  ledger.acknowledge(1);
  const std::vector<double> crowd(1000, 0.25);
  EXPECT_ERROR(ledger.decide_step(1, crowd), "resource_exhausted", "contributions to a step");
  EXPECT_EQ(ledger.num_decided(), 1);
  EXPECT_EQ(ledger.state(), store);
  ReleaseLedger untouched = make_narrow_ledger();
  untouched.restore(store);
  for (ReleaseLedger* const each : {&ledger, &untouched}) {
    each->decide(1, std::vector<double>{0.5});
    each->acknowledge(2);
  }
  EXPECT_EQ(copy(ledger.released(1)), copy(untouched.released(1)));
  EXPECT_EQ(ledger.state(), untouched.state());
}

TEST(ReleaseLedger, sums_and_entries_of_different_steps_are_refused) {
  // Sealed again, so that only the mismatch is wrong: older sums would give a step new noise.
  ReleaseLedger ledger = make_release_ledger();
  Bytes store;
  std::vector<Bytes> states;
  for (std::int64_t t = 0; t < 5; ++t) {
    release(ledger, t, release_record(t), store);
    states.push_back(store);
  }
  constexpr std::size_t kEntry = 16 + 8 * kReleaseLedgerDimension;
  const auto mixture = [&](std::size_t sums_of, std::size_t entries_of) {
    const Bytes &older = states[sums_of], &newer = states[entries_of];
    detail::CheckpointHeader header{.kind = detail::CheckpointKind::ledger,
                                    .step = static_cast<std::int64_t>(entries_of) + 1};
    std::copy_n(newer.begin() + 24, 16, header.fingerprint.begin());
    std::copy_n(newer.begin() + 40, 16, header.commitment.begin());
    Bytes bytes(older.begin(), older.end() - static_cast<std::ptrdiff_t>((sums_of + 1) * kEntry));
    const auto entries = std::span(newer).last((entries_of + 1) * kEntry);
    bytes.insert(bytes.end(), entries.begin(), entries.end());
    detail::seal_checkpoint(header, bytes);
    return bytes;
  };
  EXPECT_EQ(mixture(3, 3), states[3]);  // the mixture of a state with itself is that state
  for (const std::size_t sums_of : {std::size_t{0}, std::size_t{2}, std::size_t{4}}) {
    ReleaseLedger next = make_release_ledger();
    EXPECT_ERROR(next.restore(mixture(sums_of, 3)), "bad_state", "the sums and 4 releases");
    EXPECT_EQ(next.num_decided(), 0);
  }
}

TEST(ReleaseLedger, minus_zero_is_zero) {
  ReleaseLedger ledger = make_release_ledger();
  ledger.decide(0, std::vector<double>{0.0, 1});
  EXPECT_NO_THROW(ledger.decide(0, std::vector<double>{-0.0, 1}));
}

}  // namespace
}  // namespace dpftrl
