// SPDX-License-Identifier: Apache-2.0
// Checkpoints of noise streams and running totals: what they store, and what can be restored.
#include "noise/checkpoint.hpp"

#include "base/sha256.hpp"
#include "catalogue.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "dpftrl/release/prefix_sum.hpp"
#include "exact_forms.hpp"
#include "form_strategy.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::hex;
using Bytes = std::vector<std::byte>;

NoiseStreamOptions checkpoint_options(std::int64_t dimension = 3, std::uint64_t seed = 5) {
  return {.key = Key::insecure_from_seed(seed), .dimension = dimension, .first_coordinate = 2};
}

Bytes bytes_of_text(std::string_view text) {
  Bytes bytes;
  for (const char letter : text) bytes.push_back(static_cast<std::byte>(letter));
  return bytes;
}

detail::Digest sha256(std::string_view text) {
  detail::Sha256 hash;
  hash.append(std::span<const std::byte>(bytes_of_text(text)));
  return hash.finish();
}

detail::ShortDigest short_digest(std::span<const std::byte> bytes, std::size_t begin) {
  detail::ShortDigest digest;
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin), digest.size(), digest.begin());
  return digest;
}

TEST(Sha256, gives_the_digests_of_its_standard) {
  // Examples of FIPS 180-4; the others were computed by coreutils.
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  // Lengths at which the padding fills one block, begins the next, or is a block of its own.
  EXPECT_EQ(hex(sha256(std::string(55, 'a'))),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(hex(sha256(std::string(63, 'a'))),
            "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34");
  EXPECT_EQ(hex(sha256(std::string(64, 'a'))),
            "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
  EXPECT_EQ(hex(sha256(std::string(1000, 'a'))),
            "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
}

TEST(Sha256, hmac_gives_the_codes_of_rfc_4231) {
  const auto code = [](std::string_view secret, std::string_view message) {
    detail::HmacSha256 hmac(detail::HmacSecret(bytes_of_text(secret)));
    hmac.message().append(std::span<const std::byte>(bytes_of_text(message)));
    return hex(hmac.finish());
  };
  EXPECT_EQ(code(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(code("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

/// Expects the right rows after `step`, restored from a checkpoint that was taken there by a stream
/// read in single rows or in batches.
void expect_continuation(const Strategy& strategy, std::int64_t dimension, std::int64_t step,
                         bool one_by_one, const std::string& title) {
  const std::size_t width = static_cast<std::size_t>(dimension);
  const std::int64_t n = strategy.steps();
  NoiseStream first(strategy, checkpoint_options(dimension));
  Bytes earlier = first.checkpoint();
  Bytes bytes;
  std::vector<double> rows(static_cast<std::size_t>(n) * width);
  for (std::int64_t t = 0; t < n;) {
    if (t == step) bytes = first.checkpoint();
    const std::int64_t count = one_by_one ? 1 : t < step ? step - t : n - t;
    const auto out = std::span(rows).subspan(static_cast<std::size_t>(t) * width,
                                             static_cast<std::size_t>(count) * width);
    if (one_by_one)
      first.next(out);
    else
      first.next_rows(out, count);
    t += count;
    if (one_by_one && t % 5 == 1) earlier = first.checkpoint();
  }
  NoiseStream second(strategy, checkpoint_options(dimension));
  second.restore(bytes);
  ASSERT_EQ(second.step(), step) << title;
  std::vector<double> rest(static_cast<std::size_t>(n - step) * width);
  second.next_rows(rest, n - step);
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), rows.end() - std::ssize(rest))) << title;
}

TEST(Checkpoint, the_stream_goes_on_with_the_same_bits_for_every_strategy) {
  for (const testing::Variant& variant : testing::prefix_variants(23)) {
    const auto strategy = testing::strategy_of(variant);
    for (const bool one_by_one : {false, true})
      expect_continuation(*strategy, 2, strategy->steps() / 2 + 1, one_by_one, variant.title);
  }
  for (const testing::NamedForm& named : testing::named_forms()) {
    const testing::FormStrategy strategy(named.form, named.steps);
    for (const std::int64_t step : {std::int64_t{1}, named.steps / 3, named.steps - 1})
      expect_continuation(strategy, 7, step, step % 2 == 0, named.name);
  }
}

/// The bytes with another state and a matching checksum.
Bytes with_state(std::span<const std::byte> bytes, std::span<const std::byte> state) {
  const detail::CheckpointHeader header{
      .kind = static_cast<detail::CheckpointKind>(bytes[6]),
      .precision = std::to_integer<std::uint8_t>(bytes[7]),
      .step = static_cast<std::int64_t>(detail::word_at(bytes, 8)),
      .state_step = static_cast<std::int64_t>(detail::word_at(bytes, 16)),
      .fingerprint = short_digest(bytes, 24),
      .commitment = short_digest(bytes, 40)};
  Bytes changed = detail::begin_checkpoint();
  changed.insert(changed.end(), state.begin(), state.end());
  detail::seal_checkpoint(header, changed);
  return changed;
}

/// True if the step needs any state; expects other sizes of state to be refused.
bool refuses_other_sizes(const Strategy& strategy, std::int64_t step, const std::string& title) {
  constexpr std::size_t kWidth = 2;
  const auto first_rows = static_cast<std::size_t>(step) * kWidth;
  NoiseStream first(strategy, checkpoint_options(kWidth));
  std::vector<double> rows(static_cast<std::size_t>(strategy.steps()) * kWidth);
  first.next_rows(std::span(rows).first(first_rows), step);
  const Bytes good = first.checkpoint();
  first.next_rows(std::span(rows).subspan(first_rows), strategy.steps() - step);
  // Seeking to the step gives the same bytes.
  first.seek(step);
  EXPECT_EQ(first.checkpoint(), good) << title;
  const std::span<const std::byte> state = std::span(good).subspan(detail::kCheckpointHeaderSize);
  EXPECT_EQ(with_state(good, state), good) << title;
  if (state.empty()) return false;
  NoiseStream second(strategy, checkpoint_options(kWidth));
  const std::string wanted = "noise_stream: checkpoint must contain " +
                             std::to_string(state.size()) + " bytes of state, got ";
  for (const std::size_t size :
       {std::size_t{0}, 8 * kWidth, state.size() - 8 * kWidth, state.size() - 1}) {
    if (size == state.size()) continue;
    EXPECT_ERROR(second.restore(with_state(good, state.first(size))), "bad_state",
                 wanted + std::to_string(size));
  }
  Bytes longer(1000 * kWidth * 8);
  std::copy(state.begin(), state.end(), longer.begin());
  EXPECT_ERROR(second.restore(with_state(good, longer)), "bad_state", wanted);
  // Refused bytes left the stream unchanged.
  std::vector<double> again(rows.size());
  second.next_rows(again, strategy.steps());
  EXPECT_EQ(again, rows) << title;
  return true;
}

TEST(Checkpoint, forged_with_another_number_of_rows_is_refused) {
  std::int64_t num_with_state = 0;
  testing::Thinned thinned(7);
  for (const testing::Variant& variant : testing::prefix_variants(23)) {
    const auto strategy = testing::strategy_of(variant);
    num_with_state += refuses_other_sizes(*strategy, strategy->steps() / 2 + 1, variant.title);
  }
  for (const testing::NamedForm& named : testing::named_forms())
    for (std::int64_t step = 1; step < named.steps; ++step)
      if (thinned.takes_next())
        num_with_state +=
            refuses_other_sizes(testing::FormStrategy(named.form, named.steps), step, named.name);
  EXPECT_GE(num_with_state, 100);
}

TEST(Checkpoint, is_at_most_64_bytes_more_than_the_state) {
  // Rows of state: the running total in two parts, for lambda-cgd also the last normals; none where
  // seeking needs no state.
  const struct {
    const char* name;
    std::size_t num_rows;
  } expected[] = {{"independent", 2}, {"output", 0},      {"tree", 0},          {"haar", 0},
                  {"tree-k", 0},      {"square-root", 0}, {"lambda-cgd", 2 + 1}};
  constexpr std::size_t kWidth = 6;
  for (const auto& [name, num_rows] : expected) {
    const auto strategy = testing::make_known(name, 200);
    NoiseStream stream(*strategy, checkpoint_options(kWidth));
    std::vector<double> row(kWidth);
    for (int t = 0; t < 150; ++t) {
      stream.next(row);
      EXPECT_LE(stream.checkpoint().size(), 64 + num_rows * kWidth * 8) << name << " " << t;
    }
  }
}

/// A BLT with fixed parameters, whose rows are the same on every platform.
std::shared_ptr<const Strategy> fixed_blt() {
  StrategyParameters parameters;
  parameters.decays = {0.875, 0.5};
  parameters.weights = {0.25, 0.375};
  return make_strategy({.name = "blt", .steps = 40, .workload = {}, .parameters = parameters});
}

Bytes from_hex(std::string_view text) {
  Bytes bytes;
  for (std::size_t i = 0; i < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  return bytes;
}

// Recorded with GCC on x86-64. These tests run natively and in WebAssembly, so a checkpoint taken
// in one can be restored in the other.
constexpr std::string_view kBltAt17 =
    "647066630100010011000000000000001100000000000000ef0618c62ab35ec0b3fda07c1c26526c4380cef2"
    "2fddf051751f59b11014e8ad69041a23300912ea46c22d30f86be93f60e83547cc00acbf1a1a8cad2f55f63f"
    "2a133f295346c13f08241ab33c14dbbf98b2c50965f2e53f";
constexpr std::string_view kTreeAt17 =
    "647066630100010011000000000000001100000000000000821cfd18c541fa0da6cd37089a7102754380cef2"
    "2fddf051751f59b11014e8ad0d6495a284331e3b";

TEST(Checkpoint, has_the_same_bytes_on_every_platform) {
  const std::pair<std::shared_ptr<const Strategy>, std::string_view> recorded[] = {
      {fixed_blt(), kBltAt17}, {testing::make_known("tree", 40), kTreeAt17}};
  for (const auto& [strategy, bytes] : recorded) {
    NoiseStream stream(*strategy, checkpoint_options(2));
    std::vector<double> row(2), resumed(2);
    for (int t = 0; t < 17; ++t) stream.next(row);
    EXPECT_EQ(hex(stream.checkpoint()), bytes);
    stream.next(row);
    NoiseStream other(*strategy, checkpoint_options(2));
    other.restore(from_hex(bytes));
    other.next(resumed);
    EXPECT_EQ(resumed, row);
  }
}

TEST(Checkpoint, every_damaged_byte_is_found_and_nothing_changes) {
  const auto strategy = fixed_blt();
  NoiseStream stream(*strategy, checkpoint_options());
  std::vector<double> rows(20 * 3), before(3), after(3);
  stream.next_rows(rows, 20);
  const Bytes good = stream.checkpoint();
  stream.next(before);
  stream.seek(20);
  for (std::size_t i = 0; i < good.size(); ++i)
    for (const std::byte flip : {std::byte{1}, std::byte{0x80}}) {
      Bytes bad = good;
      bad[i] ^= flip;
      EXPECT_EQ(testing::error_text([&] { stream.restore(bad); }).substr(0, 9), "bad_state") << i;
    }
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_ERROR(stream.restore(std::span(good).first(length)), "bad_state", "truncated");
  Bytes longer = good;
  longer.push_back(std::byte{0});
  EXPECT_ERROR(stream.restore(longer), "bad_state", "must have its own checksum");
  stream.next(after);
  EXPECT_EQ(before, after);
}

TEST(Checkpoint, what_belongs_elsewhere_is_refused) {
  const auto strategy = fixed_blt();
  NoiseStream stream(*strategy, checkpoint_options());
  const Bytes good = stream.checkpoint();
  const auto refused_by = [&](const Strategy& other, const NoiseStreamOptions& how) {
    return testing::error_text([&] { NoiseStream(other, how).restore(good); });
  };
  const auto expect = [](const std::string& text, std::string_view part) {
    EXPECT_TRUE(text.starts_with("bad_state") && text.find(part) != std::string::npos) << text;
  };
  expect(refused_by(*strategy, checkpoint_options(3, 6)), "must be of this key, got another key's");
  expect(refused_by(*strategy, checkpoint_options(4)),
         "dimension and coordinates, got that of another");
  NoiseStreamOptions shifted = checkpoint_options();
  shifted.first_coordinate = 1;
  expect(refused_by(*strategy, shifted), "dimension and coordinates, got that of another");
  expect(refused_by(*testing::make_known("tree", 40), checkpoint_options()),
         "must be of this mechanism");
  EXPECT_EQ(refused_by(*strategy, checkpoint_options()), "");
  const auto how =
      Mechanism::make({.strategy = "tree", .steps = 40, .target = {.epsilon = 1, .delta = 1e-6}});
  PrefixSum sums(how, {.key = Key::insecure_from_seed(5), .dimension = 3});
  EXPECT_ERROR(sums.restore_without_journal(good), "bad_state", "must be of kind 2, got kind 1");
  // Valid bytes of another version.
  Bytes newer = good;
  newer[4] = std::byte{9};
  EXPECT_ERROR(stream.restore(newer), "bad_state", "must be of version 1, got version 9");
}

TEST(Checkpoint, does_not_contain_the_key) {
  const auto strategy = fixed_blt();
  NoiseStream stream(*strategy, checkpoint_options());
  std::vector<double> rows(20 * 3);
  stream.next_rows(rows, 20);
  const std::string bytes = hex(stream.checkpoint());
  const Key key = Key::insecure_from_seed(5);
  for (const std::uint32_t word : key.words()) {
    if (word < 0x10000) continue;  // the seed's zeros
    Bytes little;
    for (int i = 0; i < 4; ++i) little.push_back(static_cast<std::byte>(word >> (8 * i)));
    EXPECT_EQ(bytes.find(hex(little)), std::string::npos);
  }
}

TEST(Checkpoint, running_totals_go_on_with_the_same_releases) {
  for (const char* name : {"independent", "tree", "honaker", "blt", "optimal",
                           "normalized-square-root", "banded-square-root"}) {
    const auto how =
        Mechanism::make({.strategy = name, .steps = 60, .target = {.epsilon = 1, .delta = 1e-6}});
    const PrefixSumOptions seeded{.key = Key::insecure_from_seed(9), .dimension = 2};
    PrefixSum whole(how, seeded);
    PrefixSum parts(how, seeded);
    std::vector<double> expected(2), actual(2);
    for (std::int64_t t = 0; t < 60; ++t) {
      const std::vector<double> record = {0.01 * static_cast<double>(t), -0.5};
      whole.release(record, expected);
      if (t % 7 == 3) {
        const Bytes bytes = parts.checkpoint();
        parts = PrefixSum(how, seeded);
        parts.restore_without_journal(bytes);
        ASSERT_EQ(parts.step(), t);
      } else if (t % 7 == 5) {
        parts.checkpoint();  // changes nothing
      }
      parts.release(record, actual);
      ASSERT_EQ(actual, expected) << name << " step " << t;
    }
    const PrefixSumOptions coarser{.key = seeded.key, .dimension = 2, .grid = 1.0};
    EXPECT_ERROR(PrefixSum(how, coarser).restore_without_journal(whole.checkpoint()), "bad_state",
                 "must be of this mechanism");
  }
}

TEST(Checkpoint, keeps_what_was_contributed_to_the_open_step) {
  const auto how =
      Mechanism::make({.strategy = "tree", .steps = 8, .target = {.epsilon = 1, .delta = 1e-6}});
  const PrefixSumOptions seeded{.key = Key::insecure_from_seed(9)};
  PrefixSum whole(how, seeded);
  PrefixSum parts(how, seeded);
  std::vector<double> expected(1), actual(1);
  for (int t = 0; t < 8; ++t) {
    for (PrefixSum* const sums : {&whole, &parts}) sums->contribute(std::vector{0.75});
    const Bytes bytes = parts.checkpoint();
    parts.contribute(std::vector{1.0});  // discarded by going back
    parts.restore_without_journal(bytes);
    for (PrefixSum* const sums : {&whole, &parts}) sums->contribute(std::vector{-0.25});
    whole.release(expected);
    parts.release(actual);
    ASSERT_EQ(actual, expected) << t;
  }
}

TEST(Checkpoint, counts_contributions_so_that_the_sums_stay_full) {
  // There is room for 2^31 contributions, so their number is written into the bytes instead.
  const auto how =
      Mechanism::make({.strategy = "tree", .steps = 8, .target = {.epsilon = 1, .delta = 1e-6}});
  PrefixSum sums(how, {.key = Key::insecure_from_seed(9), .grid = 0x1p-31});
  ASSERT_EQ(sums.max_contributions(), std::int64_t{1} << 31);
  sums.contribute(std::vector{0.5});
  Bytes bytes = sums.checkpoint();
  ASSERT_EQ(detail::word_at(bytes, detail::kCheckpointHeaderSize), 1U);
  const auto with_count = [&](std::int64_t count) {
    const detail::CheckpointHeader header{.kind = detail::CheckpointKind::prefix_sum,
                                          .fingerprint = short_digest(bytes, 24),
                                          .commitment = short_digest(bytes, 40)};
    Bytes changed = detail::begin_checkpoint();
    detail::append_word(changed, static_cast<std::uint64_t>(count));
    changed.insert(changed.end(), bytes.begin() + std::ssize(changed), bytes.end());
    detail::seal_checkpoint(header, changed);
    return changed;
  };
  EXPECT_EQ(with_count(1), bytes);
  sums.restore_without_journal(with_count(sums.max_contributions() - 1));
  sums.contribute(std::vector{0.5});
  EXPECT_ERROR(sums.contribute(std::vector{0.5}), "resource_exhausted", "the sums are full");
  for (const std::int64_t wrong : {sums.max_contributions() + 1, std::int64_t{-1}})
    EXPECT_ERROR(sums.restore_without_journal(with_count(wrong)), "bad_state",
                 "at most 2147483648 contributions");
}

}  // namespace
}  // namespace dpftrl
