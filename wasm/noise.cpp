// SPDX-License-Identifier: Apache-2.0

/// Rows of noise, for sums that callers keep.

#include <emscripten/val.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "convert.hpp"
#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "dpftrl/strategy/catalogue.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "key.hpp"
#include "rows.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;

NoiseStreamOptions stream_options(const val& options) {
  return {.key = key_of(options),
          .dimension = count(options, "dimension"),
          .first_coordinate = count(options, "firstCoordinate")};
}

/// Noise of totals or of increments, and a buffer for rows on their way to JavaScript.
struct NoiseRows {
  std::variant<NoiseStream, NoiseIncrements> noise;
  std::vector<std::int64_t> piece{};
};

NoiseRows rows_of(const val& options) {
  Problem given = problem_of(options);
  const auto strategy = make_strategy(strategy_options(options, std::move(given.workload)));
  if (optional_flag(options, "increments").value_or(false))
    return {NoiseIncrements(*strategy, stream_options(options))};
  return {NoiseStream(*strategy, stream_options(options))};
}

/// Calls `use` with the stream behind a handle.
template <typename Use>
decltype(auto) with_stream(double handle, Use&& use) {
  return std::visit(use, handles().get<NoiseRows>(handle).noise);
}

double noise_create(const val& options) {
  return handles().add(std::make_unique<NoiseRows>(rows_of(options)));
}

double noise_step(double handle) {
  return with_stream(handle, [](auto& stream) { return static_cast<double>(stream.step()); });
}

void noise_seek(double handle, double step) {
  with_stream(handle, [&](auto& stream) { stream.seek(count_of(step)); });
}

void fill_rounded(NoiseStream& stream, std::span<std::int64_t> rows, std::int64_t num_rows,
                  double scale) {
  const std::int64_t first = stream.step(), width = stream.dimension();
  if (stream.next_rounded(rows, num_rows, scale)) return;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i);
    if (rows[i] == kUndecided)
      rows[i] = stream.rounded_entry({first + place / width, place % width}, scale);
  }
}

void fill_rounded(NoiseIncrements& stream, std::span<std::int64_t> rows, std::int64_t num_rows,
                  double scale) {
  stream.next_rounded(rows, num_rows, scale);
}

/// Converts integers to doubles in place; refuses integers beyond 2^53.
void as_doubles(std::span<std::int64_t> rows) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 53;
  for (std::int64_t& entry : rows) {
    // One comparison, because the call would cost as much as the rest of the loop.
    if (static_cast<std::uint64_t>(entry) + kLargest > 2 * kLargest)
      require_between("noise", "scale", entry, -(std::int64_t{1} << 53), std::int64_t{1} << 53);
    entry = std::bit_cast<std::int64_t>(static_cast<double>(entry));
  }
}

/// Fills `out`, a Float64Array, with rounded rows.
void noise_rounded(double handle, const val& out, double num_rows, double scale) {
  std::vector<std::int64_t>& piece = handles().get<NoiseRows>(handle).piece;
  with_stream(handle, [&](auto& stream) {
    write_rows<double>(out, count_of(num_rows), stream.dimension(), piece,
                       [&](std::span<std::int64_t> rows, std::int64_t num) {
                         fill_rounded(stream, rows, num, scale);
                         as_doubles(rows);
                       });
  });
}

val noise_checkpoint(double handle) {
  return with_stream(handle, [](auto& stream) { return owned_bytes(stream.checkpoint()); });
}

void noise_restore(double handle, const val& bytes) {
  with_stream(handle, [&](auto& stream) { stream.restore(bytes_of(bytes)); });
}

/// Variances of the increments of the noise, one per step, for Z of variance 1.
val gradient_variances(const val& options) {
  Problem given = problem_of(options);
  return owned_array(
      increment_variances(*make_strategy(strategy_options(options, std::move(given.workload)))));
}

}  // namespace

EMSCRIPTEN_BINDINGS(dpftrl_noise) {
  bind<&gradient_variances>("gradientVariances");
  bind<&noise_create>("noiseCreate");
  bind<&noise_step>("noiseStep");
  bind<&noise_seek>("noiseSeek");
  bind<&noise_rounded>("noiseRounded");
  bind<&noise_checkpoint>("noiseCheckpoint");
  bind<&noise_restore>("noiseRestore");
}

}  // namespace dpftrl::wasm
