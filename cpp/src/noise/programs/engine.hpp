// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Runs the operations of many steps on blocks of coordinates that stay in the level-1 cache.

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "base/double_double.hpp"
#include "noise/programs/narrow.hpp"
#include "noise/programs/program.hpp"
#include "noise/programs/window.hpp"
#include "simd/simd.hpp"

namespace dpftrl::noise {

/// Prefetches into the level-2 cache, while normals are made, memory that will soon be written.
inline void fetch(const void* begin, std::size_t num_bytes) {
  constexpr std::size_t kLine = 64;
  for (std::size_t i = 0; i < num_bytes; i += kLine)
    __builtin_prefetch(static_cast<const char*>(begin) + i, 0, 2);
}

/// Receives the rows of a window block by block: coordinates from `first` on of row `i` of the
/// window, or whole rows from row `i` on.
template <class Value>
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void take(std::int64_t i, std::size_t first, std::span<const Value> values) = 0;
  /// Hints that these entries will be taken soon, so that their destination can be prefetched.
  virtual void expect(std::int64_t, std::size_t, std::size_t) {}
  /// Contiguous destination of the rows if they may be written there directly, else null.
  virtual Value* rows() { return nullptr; }
};

/// Memory and arithmetic for rows of float, double or DoubleDouble.
template <class Number>
class Machine {
 public:
  using Value = std::conditional_t<std::is_same_v<Number, float>, float, double>;

  explicit Machine(const ProgramOptions& options) : options_(options) {}

  /// Runs the window, which must follow the previous one.
  void run(const Window& window, Sink<Value>& sink);
  /// Resets every state slot to 0.
  void clear() { state_.clear(); }
  /// Appends the first `num_slots` state slots, little-endian.
  void write_state(std::size_t num_slots, std::vector<std::byte>& out) const;
  /// Reads what write_state appended for a stream with the same options.
  void read_state(std::span<const std::byte> bytes);

 private:
  static constexpr std::size_t kParts = std::is_same_v<Number, DoubleDouble> ? 2 : 1;
  static constexpr std::size_t kPadding = simd::kPaddedBytes / sizeof(Value);
  using Factor = std::conditional_t<kParts == 2, simd::PairFactor, simd::Factor<Value>>;

  struct Block {
    std::size_t first;
    std::size_t width;
    std::size_t padded;
  };

  void allocate(const Window& window);
  Stream stream() const { return sizeof(Value) == 4 ? options_.float_stream : Stream::noise; }
  /// Runs steps that have a Window::shape, tile by tile.
  void run_tiles(const Window& window, Sink<Value>& sink)
    requires(!std::is_same_v<Number, DoubleDouble>);
  void run_step(const Window& window, std::int64_t i, const Block& block, Sink<Value>& sink);
  /// Draws normals into row `out`, and their low parts into `low` unless it is null.
  void draw(std::int64_t measurement, const Block& block, Value* out, Value* low);
  void combine(std::span<const Term> terms, Slot target, const Block& block);
  /// Part 0 or 1 (the low parts) of a slot's coordinates in the block.
  Value* part(Slot slot, const Block& block, std::size_t number) {
    const std::size_t index = static_cast<std::size_t>(slot.index) * kParts + number;
    return slot.is_scratch ? scratch_[index].data() : state_[index].data() + block.first;
  }

  ProgramOptions options_;
  std::size_t block_width_ = 0;
  std::vector<std::vector<Value>> state_;
  std::vector<std::vector<Value>> scratch_;
  std::vector<Factor> factors_;
  std::vector<DoubleDouble> refined_;
  Narrow<Number> narrow_;
  std::vector<Value> tile_;
};

extern template class Machine<float>;
extern template class Machine<double>;
extern template class Machine<DoubleDouble>;

}  // namespace dpftrl::noise
