// SPDX-License-Identifier: Apache-2.0
#include "noise/programs/engine.hpp"

#include <bit>
#include <cstring>

#include "noise/programs/short_steps.hpp"
#include "random/gaussian.hpp"

namespace dpftrl::noise {
namespace {

/// Bytes for the rows of a block; the rest of a level-1 cache holds normals and output.
constexpr std::size_t kBlockBytes = 32 * 1024;
constexpr std::size_t kMinBlockWidth = 128;
constexpr std::size_t kMaxBlockWidth = 2048;
/// Bytes for the normals of all steps of a tile, whose states stay in registers.
constexpr std::size_t kTileBytes = 16 * 1024;

std::size_t padded(std::size_t width, std::size_t padding) {
  return (width + padding - 1) / padding * padding;
}

}  // namespace

template <class Number>
void Machine<Number>::run(const Window& window, Sink<Value>& sink) {
  allocate(window);
  const std::size_t dimension = width_of(options_);
  if (dimension <= kNarrow) {
    sink.take(0, 0, narrow_.run(window, state_));
    return;
  }
  if constexpr (kParts == 1)
    if (window.shape()) return run_tiles(window, sink);
  for (std::size_t first = 0; first < dimension; first += block_width_) {
    const std::size_t width = std::min(block_width_, dimension - first);
    const Block block{first, width, padded(width, kPadding)};
    for (std::int64_t i = 0; i < window.steps(); ++i) {
      sink.expect(i, first, width);
      run_step(window, i, block, sink);
    }
  }
}

template <class Number>
void Machine<Number>::run_tiles(const Window& window, Sink<Value>& sink)
  requires(!std::is_same_v<Number, DoubleDouble>)
{
  const std::size_t dimension = width_of(options_);
  const auto steps = static_cast<std::size_t>(window.steps());
  const std::size_t tile_width = std::bit_floor(kTileBytes / sizeof(Value) / steps);
  tile_.resize(tile_width * steps);
  for (std::size_t first = 0; first < dimension;) {
    // Tiles end where groups of normals end, in shards as well.
    const std::uint64_t coordinate = static_cast<std::uint64_t>(options_.first_coordinate) + first;
    const std::size_t width =
        std::min(tile_width - static_cast<std::size_t>(coordinate % tile_width), dimension - first);
    for (std::size_t i = 0; i < steps; ++i) {
      const auto step = static_cast<std::int64_t>(i);
      sink.expect(step, first, width);
      draw(window.draws(step).front() + window.measurement_shift(step), {first, width, width},
           &tile_[i * tile_width], nullptr);
    }
    Value* const rows = sink.rows();
    simd::Steps<Value> tile_steps{steps, tile_.data(), tile_width, tile_.data(), tile_width};
    if (rows != nullptr) {
      tile_steps.rows = rows + first;
      tile_steps.row_stride = dimension;
    }
    run_steps(*window.shape(), window.first_step(), tile_steps, state_, first, width);
    for (std::size_t i = 0; rows == nullptr && i < steps; ++i)
      sink.take(static_cast<std::int64_t>(i), first, {&tile_[i * tile_width], width});
    first += width;
  }
}

template <class Number>
void Machine<Number>::allocate(const Window& window) {
  const std::size_t num_rows = std::max<std::size_t>(1, window.num_state() + window.num_scratch());
  const std::size_t row_bytes = num_rows * kParts * sizeof(Value);
  block_width_ =
      std::clamp(std::bit_floor(kBlockBytes / row_bytes), kMinBlockWidth, kMaxBlockWidth);
  const std::size_t dimension = padded(width_of(options_), kPadding);
  state_.reserve(window.num_state() * kParts);
  while (state_.size() < window.num_state() * kParts) state_.emplace_back(dimension);
  while (scratch_.size() < window.num_scratch() * kParts)
    scratch_.emplace_back(std::min(kMaxBlockWidth, dimension));
}

template <class Number>
void Machine<Number>::write_state(std::size_t num_slots, std::vector<std::byte>& out) const {
  static_assert(std::endian::native == std::endian::little, "numbers are written as they are");
  const std::size_t dimension = width_of(options_);
  const std::span<const std::vector<Value>> rows = std::span(state_).first(num_slots * kParts);
  out.reserve(out.size() + rows.size() * dimension * sizeof(Value));
  for (const std::vector<Value>& row : rows) {
    const auto bytes = std::as_bytes(std::span(row).first(dimension));
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
}

template <class Number>
void Machine<Number>::read_state(std::span<const std::byte> bytes) {
  const std::size_t dimension = width_of(options_);
  const std::size_t row_bytes = dimension * sizeof(Value);
  clear();
  for (; !bytes.empty(); bytes = bytes.subspan(row_bytes)) {
    std::vector<Value>& row = state_.emplace_back(padded(dimension, kPadding));
    std::memcpy(row.data(), bytes.data(), row_bytes);
  }
}

template <class Number>
void Machine<Number>::draw(std::int64_t measurement, const Block& block, Value* out, Value* low) {
  const auto row = static_cast<std::uint64_t>(measurement);
  const auto first = static_cast<std::uint64_t>(options_.first_coordinate) + block.first;
  if constexpr (kParts == 2) {
    if (options_.precision == Precision::refined) {
      refined_.resize(block.width);
      fill_normals(options_.key, stream(), row, first, std::span(refined_));
      for (std::size_t i = 0; i < block.width; ++i) {
        out[i] = refined_[i].high;
        low[i] = refined_[i].low;
      }
      return;
    }
    std::fill_n(low, block.padded, 0.0);
  }
  fill_normals(options_.key, stream(), row, first, std::span<Value>(out, block.width));
}

template <class Number>
void Machine<Number>::combine(std::span<const Term> terms, Slot target, const Block& block) {
  if (factors_.size() < terms.size()) factors_.resize(terms.size());
  Factor* next = factors_.data();
  for (const Term& term : terms) {
    if constexpr (kParts == 2)
      *next++ = {term.factor.high, term.factor.low, part(term.slot, block, 0),
                 part(term.slot, block, 1)};
    else
      *next++ = {static_cast<Value>(term.factor.high), part(term.slot, block, 0)};
  }
  Value* const out = part(target, block, 0);
  if constexpr (kParts == 2)
    simd::kernels().combine_pair(out, part(target, block, 1), factors_.data(), terms.size(),
                                 block.padded);
  else if constexpr (sizeof(Value) == 8)
    simd::kernels().combine_double(out, factors_.data(), terms.size(), block.padded);
  else
    simd::kernels().combine_float(out, factors_.data(), terms.size(), block.padded);
}

template <class Number>
void Machine<Number>::run_step(const Window& window, std::int64_t i, const Block& block,
                               Sink<Value>& sink) {
  for (const Operation& operation : window.operations(i)) {
    const Slot target = operation.target;
    switch (operation.kind) {
      case Operation::Kind::draw:
        draw(operation.number + window.measurement_shift(i), block, part(target, block, 0),
             kParts == 2 ? part(target, block, 1) : nullptr);
        break;
      case Operation::Kind::load:
        std::transform(operation.source + block.first, operation.source + block.first + block.width,
                       part(target, block, 0), [](double x) { return static_cast<Value>(x); });
        if constexpr (kParts == 2) std::fill_n(part(target, block, 1), block.padded, 0.0);
        break;
      case Operation::Kind::combine:
        combine(window.terms(operation), target, block);
        break;
      case Operation::Kind::finish:
        sink.take(i, block.first, {part(target, block, 0), block.width});
        break;
    }
  }
}

template class Machine<float>;
template class Machine<double>;
template class Machine<DoubleDouble>;

}  // namespace dpftrl::noise
