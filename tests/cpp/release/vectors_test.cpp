// SPDX-License-Identifier: Apache-2.0
// Compares the library with tests/vectors/*.json, written by a program that shares no code with it.
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

#include "dpftrl/noise/noise_stream.hpp"
#include "dpftrl/release/prefix_sum.hpp"
#include "dpftrl/release/stream.hpp"
#include "form_strategy.hpp"
#include "golden/vectors_decoders_golden.hpp"
#include "golden/vectors_noise_golden.hpp"
#include "golden/vectors_records_golden.hpp"
#include "golden/vectors_releases_golden.hpp"
#include "golden/vectors_states_golden.hpp"
#include "noise/exact/exact_entry.hpp"
#include "noise/rounded_rows.hpp"
#include "release/grid/quantiser.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

namespace vectors_decoders = golden::vectors_decoders;
namespace vectors_noise = golden::vectors_noise;
namespace vectors_records = golden::vectors_records;
namespace vectors_releases = golden::vectors_releases;
namespace vectors_states = golden::vectors_states;

std::int64_t integer(const char* text) {
  const std::string_view digits(text);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
  EXPECT_TRUE(error == std::errc() && end == digits.end()) << text;
  return value;
}

double parsed_number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  EXPECT_TRUE(!text.empty() && *end == '\0') << text;
  return value;
}

/// Parses rows separated by semicolons, of numbers separated by blanks.
std::vector<std::vector<double>> rows(const char* text) {
  std::vector<std::vector<double>> result(1);
  std::istringstream words(text);
  for (std::string word; words >> word;)
    if (word == ";")
      result.emplace_back();
    else
      result.back().push_back(parsed_number(word));
  return result;
}

std::vector<double> parsed_numbers(const char* text) {
  std::vector<double> result;
  for (const std::vector<double>& row : rows(text))
    result.insert(result.end(), row.begin(), row.end());
  return result;
}

std::vector<std::byte> bytes_of_hex(std::string_view hex) {
  std::vector<std::byte> bytes(hex.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(std::stoi(std::string(hex.substr(2 * i, 2)), nullptr, 16));
  return bytes;
}

Key recorded_key(const char* hex) {
  const std::vector<std::byte> bytes = bytes_of_hex(hex);
  return Key::from_bytes(std::span(bytes).first<32>());
}

/// Form of `optimal`: column scales around a recursion of buffers.
DecoderForm recorded_varying_form(const vectors_decoders::Decoders& decoder) {
  const std::vector<std::vector<double>> gains = rows(decoder.gains);
  VaryingBuffers buffers{.buffers = std::ssize(gains[0]),
                         .inverse_scales = parsed_numbers(decoder.inverse_scales),
                         .gains = parsed_numbers(decoder.gains),
                         .factors = parsed_numbers(decoder.factors),
                         .max_row_stddev = 4,
                         .max_state_stddev = 4};
  const std::int64_t steps = std::ssize(buffers.inverse_scales);
  const DecoderForm base =
      VaryingBufferedDecoder{std::make_shared<const VaryingBuffers>(std::move(buffers))};
  return FilteredDecoder{std::make_shared<const DecoderForm>(base),
                         parsed_numbers(decoder.column_scales), Workload::prefix_sums(steps)};
}

DecoderForm recorded_form(const vectors_decoders::Decoders& decoder) {
  const std::string_view form = decoder.form;
  if (form == "identity") return IdentityDecoder{};
  if (form == "running-sum") return RunningSumDecoder{};
  if (form == "dyadic") return DyadicDecoder{parsed_numbers(decoder.node_weights)};
  if (form == "toeplitz") return ToeplitzDecoder{parsed_numbers(decoder.coefficients)};
  if (form == "banded") return BandedDecoder{parsed_numbers(decoder.coefficients)};
  if (form == "banded-inverse") return BandedInverseDecoder{parsed_numbers(decoder.coefficients)};
  if (form == "buffered")
    return BufferedDecoder{parsed_numbers(decoder.decays), parsed_numbers(decoder.weights)};
  EXPECT_EQ(form, "varying-buffered");
  return recorded_varying_form(decoder);
}

/// Strategy of a decoder, for as many steps as its numbers define.
testing::FormStrategy strategy_of(std::string_view name) {
  constexpr std::int64_t kAnySteps = 4096;
  for (const vectors_decoders::Decoders& decoder : vectors_decoders::decoders) {
    if (decoder.name != name) continue;
    const std::string_view form = decoder.form;
    const std::int64_t num_coefficients = std::ssize(parsed_numbers(decoder.coefficients));
    const std::int64_t num_levels = std::ssize(parsed_numbers(decoder.node_weights));
    const std::int64_t num_scales = std::ssize(parsed_numbers(decoder.inverse_scales));
    return {recorded_form(decoder),
            form == "identity"   ? kMaxNumSteps
            : form == "dyadic"   ? std::min((std::int64_t{1} << num_levels) - 1, kMaxNumSteps)
            : form == "toeplitz" ? num_coefficients
            : form == "varying-buffered" ? num_scales
                                         : kAnySteps};
  }
  ADD_FAILURE() << "no decoder is called " << name;
  return {IdentityDecoder{}, 1};
}

struct NoiseCase {
  explicit NoiseCase(const vectors_noise::Vectors& vector)
      : strategy(strategy_of(vector.decoder)),
        key(recorded_key(vector.key)),
        step(integer(vector.step)),
        coordinate(integer(vector.coordinate)),
        scale(parsed_number(vector.scale)) {}

  testing::FormStrategy strategy;
  Key key;
  std::int64_t step;
  std::int64_t coordinate;
  double scale;
};

/// Integer from a stream of this coordinate alone, and whether doubles left it undecided.
std::pair<std::int64_t, bool> by_stream(const NoiseCase& given) {
  NoiseStream stream(given.strategy,
                     {.key = given.key, .dimension = 1, .first_coordinate = given.coordinate});
  stream.seek(given.step);
  std::int64_t entry = 0;
  const bool is_decided = stream.next_rounded({&entry, 1}, 1, given.scale);
  return {is_decided ? entry : stream.rounded(0, given.scale), !is_decided};
}

TEST(Vectors, noise_is_that_of_every_vector) {
  std::int64_t num_open = 0, num_wide = 0;
  for (const vectors_noise::Vectors& vector : vectors_noise::vectors) {
    const NoiseCase given(vector);
    const std::int64_t expected = integer(vector.noise);
    const std::string title = std::string(vector.decoder) + ", step " + vector.step +
                              ", coordinate " + vector.coordinate + ", scale " + vector.scale;
    const auto [entry, was_open] = by_stream(given);
    EXPECT_EQ(entry, expected) << title;
    num_open += was_open;
    const NoiseStreamOptions options{.key = given.key, .dimension = given.coordinate + 1};
    EXPECT_EQ(exact_rounded_entry(given.strategy.decoder_form(), options, given.step,
                                  given.coordinate, given.scale),
              expected)
        << title;
    // As part of a wide row, in which undecided entries are recomputed in place.
    if (given.coordinate >= 2000) continue;
    detail::RoundedRows whole_rows(given.strategy, options, given.scale);
    EXPECT_EQ(whole_rows(given.step)[static_cast<std::size_t>(given.coordinate)], expected)
        << title;
    num_wide += given.coordinate >= 1024 && whole_rows.num_recomputed() > 0;
  }
  EXPECT_GE(num_open, 33) << "vectors a hair from a rounding boundary";
  EXPECT_GE(num_wide, 15);
}

TEST(Vectors, records_become_the_integers_of_every_vector) {
  std::int64_t num_refused = 0;
  for (const vectors_records::Vectors& vector : vectors_records::vectors) {
    const std::vector<double> scales = parsed_numbers(vector.scales);
    const std::vector<double> features = parsed_numbers(vector.features);
    const double clip = parsed_number(vector.clip_norm), grid = parsed_number(vector.grid);
    std::vector<std::int64_t> integers(scales.size() * features.size());
    const auto add = [&] { detail::GridRecord({scales, features}, clip, grid).add_to(integers); };
    const std::string error = testing::error_text(add);
    EXPECT_EQ(error.empty() ? "ok" : error.substr(0, error.find(" | ")), vector.outcome) << error;
    num_refused += !error.empty();
    std::vector<std::int64_t> expected(error.empty() ? 0 : integers.size());
    std::istringstream words(vector.integers);
    for (std::string word; words >> word;) expected.push_back(integer(word.c_str()));
    EXPECT_EQ(integers, expected) << vector.features << " " << vector.clip_norm;
  }
  EXPECT_GE(num_refused, 8);
}

TEST(Vectors, releases_are_those_of_every_vector) {
  constexpr std::array<double, 1> kOne = {1};
  for (const vectors_releases::Vectors& vector : vectors_releases::vectors) {
    const std::vector<std::vector<double>> records = rows(vector.records);
    const std::vector<std::vector<double>> releases = rows(vector.releases);
    ASSERT_EQ(records.size(), releases.size());
    const double grid = parsed_number(vector.grid), clip = parsed_number(vector.clip_norm);
    const testing::FormStrategy strategy = strategy_of(vector.decoder);
    detail::RoundedRows noise(
        strategy, {.key = recorded_key(vector.key), .dimension = std::ssize(records[0])},
        parsed_number(vector.noise_stddev) / grid);
    std::vector<std::int64_t> sums(records[0].size());
    for (std::size_t t = 0; t < records.size(); ++t) {
      detail::GridRecord({kOne, records[t]}, clip, grid).add_to(sums);
      const std::span<const std::int64_t> row = noise(static_cast<std::int64_t>(t));
      for (std::size_t i = 0; i < sums.size(); ++i)
        EXPECT_EQ(static_cast<double>(sums[i] + row[i]) * grid, releases[t][i]) << vector.decoder;
    }
  }
}

const vectors_states::Whole& whole(std::string_view name) {
  for (const vectors_states::Whole& state : vectors_states::whole)
    if (state.name == name) return state;
  ADD_FAILURE() << "no state is called " << name;
  return vectors_states::whole[0];
}

std::shared_ptr<const Mechanism> recorded_mechanism(const vectors_states::Whole& state) {
  const auto how = Mechanism::make(
      {.strategy = state.mechanism,
       .steps = integer(state.num_steps),
       .target = {.epsilon = parsed_number(state.epsilon), .delta = parsed_number(state.delta)},
       .clip = parsed_number(state.clip_norm)});
  EXPECT_EQ(how->noise_stddev(), parsed_number(state.noise_stddev));
  return how;
}

PrefixSumOptions recorded_options(const vectors_states::Whole& state) {
  return {.key = recorded_key(state.key),
          .dimension = integer(state.dimension),
          .grid = parsed_number(state.grid)};
}

/// Each function returns the next output of an object restored from the bytes.
std::vector<double> next_of_noise(const vectors_states::Whole& state,
                                  std::span<const std::byte> bytes) {
  StrategyParameters parameters;
  parameters.decays = parsed_numbers(state.decays);
  parameters.weights = parsed_numbers(state.weights);
  const auto strategy = make_strategy({.name = state.mechanism,
                                       .steps = integer(state.num_steps),
                                       .workload = {},
                                       .parameters = parameters});
  NoiseStream stream(*strategy, {.key = recorded_key(state.key),
                                 .dimension = integer(state.dimension),
                                 .first_coordinate = integer(state.first_coordinate)});
  stream.restore(bytes);
  std::vector<std::int64_t> row(static_cast<std::size_t>(stream.dimension()));
  EXPECT_TRUE(stream.next_rounded(row, 1, parsed_number(state.scale)));
  return {row.begin(), row.end()};
}

std::vector<double> next_of_sums(const vectors_states::Whole& state,
                                 std::span<const std::byte> bytes) {
  PrefixSum sums(recorded_mechanism(state), recorded_options(state));
  sums.restore_without_journal(bytes);
  std::vector<double> noisy(static_cast<std::size_t>(sums.dimension()));
  sums.release(noisy);
  return noisy;
}

std::vector<double> next_of_journal(const vectors_states::Whole& state,
                                    std::span<const std::byte> bytes) {
  const std::vector<double> record = parsed_numbers(state.record);
  RecordStream<Numbers, Records, Journal> stream(
      Numbers(std::ssize(record)), recorded_mechanism(state), recorded_options(state));
  stream.restore(bytes);
  EXPECT_EQ(stream.counts().waiting(), 1);
  // The steps are recognised by their codes.
  using Step = std::vector<std::span<const double>>;
  EXPECT_TRUE(stream.is_repeat(1, {}, Step{record}));
  const std::vector<double> other(record.size(), 0.125);
  EXPECT_ERROR(stream.is_repeat(0, {}, Step{other}), "already_released", "got 0");
  const std::int64_t step = stream.end();
  stream.acknowledge(stream.step());
  EXPECT_TRUE(stream.is_repeat(step, {}, Step{record}));
  return stream.at(step).values;
}

TEST(Vectors, states_are_restored_or_refused_as_every_vector_says) {
  std::int64_t num_whole = 0;
  for (const vectors_states::Vectors& vector : vectors_states::vectors) {
    const vectors_states::Whole& state = whole(vector.state);
    const std::string_view name = vector.state;
    const std::vector<std::byte> bytes = bytes_of_hex(vector.bytes);
    std::vector<double> next;
    const std::string error = testing::error_text([&] {
      next = name == "noise"  ? next_of_noise(state, bytes)
             : name == "sums" ? next_of_sums(state, bytes)
                              : next_of_journal(state, bytes);
    });
    EXPECT_EQ(error.empty() ? "ok" : error.substr(0, error.find(" | ")), vector.outcome)
        << name << " " << vector.bytes << " " << error;
    if (!error.empty()) continue;
    EXPECT_EQ(next, parsed_numbers(state.next)) << name;
    ++num_whole;
  }
  EXPECT_EQ(num_whole, std::ssize(vectors_states::whole));
}

}  // namespace
}  // namespace dpftrl
