// SPDX-License-Identifier: Apache-2.0

/// Rows of noise without a sum.

#include <emscripten/bind.h>
#include <emscripten/val.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "convert.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "key.hpp"
#include "totals.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;

val noise_create(const val& options) {
  return guarded([&] {
    Problem given = problem_of(options);
    const auto strategy = make_strategy(strategy_options(options, std::move(given.workload)));
    return handles().add(std::make_unique<NoiseStream>(
        *strategy,
        NoiseStreamOptions{.key = key_of(options),
                           .dimension = count(options, "dimension"),
                           .first_coordinate = count(options, "firstCoordinate"),
                           .increments = optional_flag(options, "increments").value_or(false)}));
  });
}

val noise_seek(double handle, double step) {
  return guarded([&] {
    handles().get<NoiseStream>(handle).seek(count_of(step));
    return val::null();
  });
}

/// Integers as doubles, which hold them.
val noise_rounded(double handle, double num_rows, double scale) {
  return guarded([&] {
    NoiseStream& stream = handles().get<NoiseStream>(handle);
    const std::int64_t first = stream.step(), width = stream.dimension();
    require_between("noise", "num_rows", count_of(num_rows), 0, stream.num_steps());
    std::vector<std::int64_t> rows(static_cast<std::size_t>(count_of(num_rows) * width));
    stream.next_rounded(rows, count_of(num_rows), scale);
    std::vector<double> out;
    out.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto place = static_cast<std::int64_t>(i);
      if (rows[i] == kUndecided)
        rows[i] = stream.rounded_entry({first + place / width, place % width}, scale);
      constexpr std::int64_t kLargest = std::int64_t{1} << 53;
      require_between("noise", "scale", rows[i], -kLargest, kLargest);
      out.push_back(static_cast<double>(rows[i]));
    }
    return owned_array(out);
  });
}

val noise_checkpoint(double handle) {
  return guarded([&] { return owned_bytes(handles().get<NoiseStream>(handle).checkpoint()); });
}

val noise_restore(double handle, const val& bytes) {
  return guarded([&] {
    handles().get<NoiseStream>(handle).restore(bytes_of(bytes));
    return val::null();
  });
}

}  // namespace

EMSCRIPTEN_BINDINGS(dpftrl_noise) {
  emscripten::function("noiseCreate", &noise_create);
  emscripten::function("noiseStep", &step_of<NoiseStream>);
  emscripten::function("noiseSeek", &noise_seek);
  emscripten::function("noiseRounded", &noise_rounded);
  emscripten::function("noiseCheckpoint", &noise_checkpoint);
  emscripten::function("noiseRestore", &noise_restore);
}

}  // namespace dpftrl::wasm
