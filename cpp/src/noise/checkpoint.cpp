// SPDX-License-Identifier: Apache-2.0
#include "noise/checkpoint.hpp"

#include <algorithm>
#include <string>

#include "dpftrl/base/error.hpp"
#include "optimal/varying_numbers.hpp"

namespace dpftrl::detail {
namespace {

constexpr std::string_view kMagic = "dpfc";
constexpr unsigned kVersion = 1;
constexpr std::size_t kChecksum = 56;

/// @param part  suffix naming the refused part, so that callers can tell a wrong mechanism from a
///              wrong key.
[[noreturn]] void refuse(std::string_view function, std::string_view part,
                         const std::string& constraint, const std::string& got) {
  fail(ErrorCode::bad_state, function, "checkpoint" + std::string(part), "must " + constraint, got);
}

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.append(bytes.first(kChecksum));
  hash.append(bytes.subspan(kCheckpointHeaderSize));
  return word_at(hash.finish(), 0);
}

void copy_digest(std::span<const std::byte> from, std::span<std::byte> to) {
  std::copy_n(from.begin(), ShortDigest().size(), to.begin());
}

// Fields that version 0.3 had for mechanisms that no longer exist. Fingerprints keep the values
// that all other mechanisms had there, so that stored checkpoints stay valid.
constexpr std::int64_t kNoFuture = 0;
constexpr std::int64_t kAllMeasurements = 0;
constexpr double kScaleOfBlocks = 1;
constexpr double kScaleOfTotals = 0;
/// Number of the smooth tree, which no longer exists; later forms have their index plus one.
constexpr std::uint64_t kFormThatIsGone = 4;

class FormAppender {
 public:
  explicit FormAppender(Sha256& hash) : hash_(hash) {}

  void operator()(const IdentityDecoder&) {}
  void operator()(const RunningSumDecoder&) {}
  void operator()(const DyadicDecoder& decoder) { numbers(decoder.node_weights); }
  void operator()(const KaryDecoder& decoder) {
    hash_.append(decoder.arity);
    hash_.append(std::int64_t{decoder.subtractive});
    hash_.append(decoder.num_levels);
  }
  void operator()(const HaarDecoder& decoder) {
    hash_.append(decoder.mean_scale);
    numbers(decoder.scales);
  }
  void operator()(const ToeplitzDecoder& decoder) {
    numbers(decoder.coefficients);
    hash_.append(kNoFuture);
    hash_.append(kAllMeasurements);
  }
  void operator()(const BandedDecoder& decoder) { numbers(decoder.coefficients); }
  void operator()(const BandedInverseDecoder& decoder) { numbers(decoder.coefficients); }
  void operator()(const MovingSumDecoder& decoder) { numbers(decoder.coefficients); }
  void operator()(const AutoregressiveDecoder& decoder) {
    hash_.append(decoder.offset);
    hash_.append(decoder.decay);
    hash_.append(decoder.innovation);
  }
  void operator()(const BufferedDecoder& decoder) {
    numbers(decoder.decays);
    numbers(decoder.weights);
  }
  void operator()(const VaryingBufferedDecoder& decoder) {
    hash_.append(decoder.numbers->buffers);
    numbers(decoder.numbers->inverse_scales);
    if (!decoder.numbers->packed) {
      numbers(decoder.numbers->gains);
      numbers(decoder.numbers->factors);
      return;
    }
    VaryingReader reader(*decoder.numbers);
    append_steps(reader, [&](std::size_t step) { return reader.gains(step); });
    append_steps(reader, [&](std::size_t step) { return reader.factors(step); });
  }
  void operator()(const VaryingBandedDecoder& decoder) {
    hash_.append(decoder.numbers->bands);
    numbers(decoder.numbers->entries);
  }
  void operator()(const BlockDecoder& decoder) {
    hash_.append(std::int64_t{std::ssize(decoder.blocks)});
    for (const BlockDecoder::Block& block : decoder.blocks) {
      hash_.append(block.steps);
      hash_.append(block.num_measurements);
      hash_.append(kScaleOfBlocks);
      hash_.append(block.closing_row);
      hash_.append(kScaleOfTotals);
      append_form(hash_, *block.form);
    }
  }
  void operator()(const FilteredDecoder& decoder) {
    numbers(decoder.column_scales);
    append_workload(decoder.workload);
    append_form(hash_, *decoder.base);
  }

 private:
  void numbers(const std::vector<double>& values) { hash_.append(std::span(values)); }

  /// Appends the numbers of all steps as one list.
  template <class Numbers>
  void append_steps(const VaryingReader& reader, const Numbers& of) {
    const std::size_t q = reader.buffers(), n = reader.steps();
    hash_.append(static_cast<std::int64_t>(n * q));
    for (std::size_t t = 0; t < n; ++t) {
      const double* const numbers_of_step = of(t);
      for (std::size_t k = 0; k < q; ++k) hash_.append(numbers_of_step[k]);
    }
  }

  void append_workload(const Workload& workload) {
    hash_.append(static_cast<std::int64_t>(workload.kind()));
    hash_.append(workload.steps());
    hash_.append(workload.momentum());
    hash_.append(workload.decay());
    hash_.append(workload.window());
    numbers(workload.rates());
    if (workload.kind() != Workload::Kind::matrix) return;
    for (std::int64_t row = 0; row < workload.steps(); ++row)
      for (std::int64_t column = 0; column <= row; ++column)
        hash_.append(workload.entry(row, column));
  }

  Sha256& hash_;
};

}  // namespace

std::vector<std::byte> begin_checkpoint() {
  return std::vector<std::byte>(kCheckpointHeaderSize);
}

void seal_checkpoint(const CheckpointHeader& header, std::vector<std::byte>& bytes) {
  std::vector<std::byte> start;
  for (const char letter : kMagic) start.push_back(static_cast<std::byte>(letter));
  start.push_back(static_cast<std::byte>(kVersion & 0xff));
  start.push_back(static_cast<std::byte>(kVersion >> 8));
  start.push_back(static_cast<std::byte>(header.kind));
  start.push_back(static_cast<std::byte>(header.precision));
  append_word(start, static_cast<std::uint64_t>(header.step));
  append_word(start, static_cast<std::uint64_t>(header.state_step));
  start.insert(start.end(), header.fingerprint.begin(), header.fingerprint.end());
  start.insert(start.end(), header.commitment.begin(), header.commitment.end());
  std::copy(start.begin(), start.end(), bytes.begin());
  const std::uint64_t checksum = checksum_of(bytes);
  for (std::size_t i = 0; i < 8; ++i)
    bytes[kChecksum + i] = static_cast<std::byte>(checksum >> (8 * i));
}

CheckpointHeader open_checkpoint(std::string_view function, const CheckpointHeader& expected,
                                 std::int64_t steps, std::span<const std::byte> bytes) {
  if (bytes.size() < kCheckpointHeaderSize)
    refuse(function, "", "have at least 64 bytes",
           to_text(static_cast<std::int64_t>(bytes.size())) + " (truncated?)");
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
  for (std::size_t i = 0; i < kMagic.size(); ++i)
    if (byte(i) != static_cast<unsigned char>(kMagic[i]))
      refuse(function, ".format", "begin with \"dpfc\"", "something else");
  const unsigned version = byte(4) | byte(5) << 8;
  if (version != kVersion)
    refuse(function, ".format", "be of version " + std::to_string(kVersion),
           "version " + std::to_string(version));
  if (checksum_of(bytes) != word_at(bytes, kChecksum))
    refuse(function, "", "have its own checksum", "another (damaged or truncated)");
  CheckpointHeader header{.kind = static_cast<CheckpointKind>(byte(6)),
                          .precision = static_cast<std::uint8_t>(byte(7)),
                          .step = static_cast<std::int64_t>(word_at(bytes, 8)),
                          .state_step = static_cast<std::int64_t>(word_at(bytes, 16))};
  copy_digest(bytes.subspan(24), header.fingerprint);
  copy_digest(bytes.subspan(40), header.commitment);
  if (header.kind != expected.kind)
    refuse(function, ".format", "be of kind " + std::to_string(static_cast<int>(expected.kind)),
           "kind " + std::to_string(static_cast<int>(header.kind)));
  if (header.fingerprint != expected.fingerprint || header.precision != expected.precision)
    refuse(function, ".mechanism", "be of this mechanism, dimension and coordinates",
           "that of another");
  if (header.commitment != expected.commitment)
    refuse(function, ".key", "be of this key", "another key's");
  if (!(0 <= header.state_step && header.state_step <= header.step && header.step <= steps))
    refuse(function, "", "be at a step up to " + to_text(steps), "step " + to_text(header.step));
  return header;
}

ShortDigest shortened(const Digest& digest) {
  ShortDigest result;
  copy_digest(digest, result);
  return result;
}

ShortDigest key_commitment(const Key& key) {
  const auto words = random_block(key, {.stream = Stream::commitment, .row = 0, .block = 0});
  ShortDigest commitment;
  for (std::size_t i = 0; i < commitment.size(); ++i)
    commitment[i] = static_cast<std::byte>(words[i / 4] >> (8 * (i % 4)));
  return commitment;
}

void append_form(Sha256& hash, const DecoderForm& form) {
  const std::uint64_t index = form.index();
  hash.append(index < kFormThatIsGone ? index : index + 1);
  std::visit(FormAppender(hash), form);
}

}  // namespace dpftrl::detail
