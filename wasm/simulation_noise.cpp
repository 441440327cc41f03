// SPDX-License-Identifier: Apache-2.0

/// Rows of noise in floating point, for simulations.

#include <emscripten/val.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "convert.hpp"
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

/// A stream, and a buffer for rows on their way to JavaScript.
template <typename Stream, typename Value>
struct Rows {
  Stream stream;
  std::vector<Value> piece;
};
using SimulationRows = std::variant<Rows<FloatNoiseStream, float>, Rows<NoiseStream, double>>;

double simulation_noise_create(const val& options) {
  Problem given = problem_of(options);
  const auto strategy = make_strategy(strategy_options(options, std::move(given.workload)));
  const NoiseStreamOptions how{.key = key_of(options),
                               .dimension = count(options, "dimension"),
                               .first_coordinate = count(options, "firstCoordinate")};
  if (text(options, "precision") == "float64")
    return handles().add(std::make_unique<SimulationRows>(
        Rows<NoiseStream, double>{NoiseStream(*strategy, how), {}}));
  return handles().add(std::make_unique<SimulationRows>(
      Rows<FloatNoiseStream, float>{FloatNoiseStream(*strategy, how), {}}));
}

template <typename Use>
decltype(auto) with_rows(double handle, Use&& use) {
  return std::visit(std::forward<Use>(use), handles().get<SimulationRows>(handle));
}

double simulation_noise_step(double handle) {
  return with_rows(handle, [](auto& rows) { return static_cast<double>(rows.stream.step()); });
}

void simulation_noise_seek(double handle, double step) {
  with_rows(handle, [&](auto& rows) { rows.stream.seek(count_of(step)); });
}

/// Fills `out`, a typed array of the stream's precision.
void simulation_noise_next(double handle, const val& out, double num_rows) {
  with_rows(handle, [&]<typename Stream, typename Value>(Rows<Stream, Value>& rows) {
    write_rows<Value>(
        out, count_of(num_rows), rows.stream.dimension(), rows.piece,
        [&](std::span<Value> piece, std::int64_t num) { rows.stream.next_rows(piece, num); });
  });
}

}  // namespace

EMSCRIPTEN_BINDINGS(dpftrl_simulation_noise) {
  bind<&simulation_noise_create>("simulationNoiseCreate");
  bind<&simulation_noise_step>("simulationNoiseStep");
  bind<&simulation_noise_seek>("simulationNoiseSeek");
  bind<&simulation_noise_next>("simulationNoiseNext");
}

}  // namespace dpftrl::wasm
