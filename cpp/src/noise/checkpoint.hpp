// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Header of checkpoints of every kind, 64 bytes, numbers little-endian (docs/math/checkpoints.md):
///
///     0   "dpfc", version (2 bytes), kind, precision
///     8   step, then the step of the state that follows the header (at most `step`)
///     24  fingerprint (16 bytes) of what is continued
///     40  commitment to the key (16 bytes)
///     56  checksum (8 bytes) of everything else

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/sha256.hpp"
#include "dpftrl/random/random.hpp"
#include "dpftrl/strategy/decoder_form.hpp"

namespace dpftrl::detail {

using ShortDigest = std::array<std::byte, 16>;

enum class CheckpointKind : std::uint8_t {
  noise_stream = 1,
  prefix_sum = 2,
  lattice_sum = 4,
  noise_increments = 6,
  laplace_sum = 7,
  window_sum = 8,
  weighted_sum = 10,
  stacked_sum = 11,
  stream = 12
};

inline constexpr std::size_t kCheckpointHeaderSize = 64;

struct CheckpointHeader {
  CheckpointKind kind;
  std::uint8_t precision = 0;
  std::int64_t step = 0;
  std::int64_t state_step = 0;
  ShortDigest fingerprint{};
  ShortDigest commitment{};
};

inline void append_word(std::vector<std::byte>& out, std::uint64_t word) {
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<std::byte>(word >> (8 * i)));
}
inline std::uint64_t word_at(std::span<const std::byte> bytes, std::size_t begin) {
  std::uint64_t word = 0;
  for (std::size_t i = 8; i-- > 0;)
    word = word << 8 | std::to_integer<std::uint64_t>(bytes[begin + i]);
  return word;
}

/// Fills `integers` from the front of the bytes.
inline void read_integers(std::span<const std::byte> bytes, std::span<std::int64_t> integers) {
  for (std::size_t i = 0; i < integers.size(); ++i)
    integers[i] = static_cast<std::int64_t>(word_at(bytes, 8 * i));
}

/// Reserves the header, which seal_checkpoint fills in after the rest has been appended.
std::vector<std::byte> begin_checkpoint();
void seal_checkpoint(const CheckpointHeader& header, std::vector<std::byte>& bytes);

/// Reads the header of sealed bytes; the state begins at kCheckpointHeaderSize.
/// @param expected  kind, precision, fingerprint and commitment of the reader.
/// @param steps  the largest step.
/// @throws Error{bad_state} truncated, damaged, another version, kind, mechanism or key.
/// @checked-by checkpoint_test "every damaged byte is found and nothing changes",
///             "what belongs elsewhere is refused"
CheckpointHeader open_checkpoint(std::string_view function, const CheckpointHeader& expected,
                                 std::int64_t steps, std::span<const std::byte> bytes);

ShortDigest shortened(const Digest& digest);

/// Bits from a stream of the key that nothing else uses; they distinguish keys and reveal nothing
/// about them.
ShortDigest key_commitment(const Key& key);

/// Appends every number that defines B.
void append_form(Sha256& hash, const DecoderForm& form);

}  // namespace dpftrl::detail
