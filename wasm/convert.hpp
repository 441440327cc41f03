// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Plain objects and owned typed arrays on one side, the core's types on the other. Everything is
/// copied: a view of the WebAssembly memory would go stale when it grows.

#include <emscripten/val.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dpftrl/mechanism.hpp"

namespace dpftrl::wasm {

/// A new Float64Array or Uint8Array with a copy of the values.
template <typename Number>
emscripten::val owned_array(const Number* values, std::size_t size) {
  return emscripten::val(emscripten::typed_memory_view(size, values))
      .call<emscripten::val>("slice");
}

inline emscripten::val owned_array(std::span<const double> values) {
  return owned_array(values.data(), values.size());
}

/// Counts cross as doubles; the facade has checked that they are safe integers.
inline std::int64_t count_of(double value) {
  return static_cast<std::int64_t>(value);
}

inline std::int64_t count(const emscripten::val& options, const char* name) {
  return count_of(options[name].as<double>());
}

inline double number(const emscripten::val& options, const char* name) {
  return options[name].as<double>();
}

inline std::string text(const emscripten::val& options, const char* name) {
  return options[name].as<std::string>();
}

inline std::optional<double> optional_number(const emscripten::val& options, const char* name) {
  const emscripten::val value = options[name];
  if (value.isUndefined()) return std::nullopt;
  return value.as<double>();
}

inline std::optional<std::uint64_t> optional_seed(const emscripten::val& options,
                                                  const char* name) {
  const emscripten::val value = options[name];
  if (value.isUndefined()) return std::nullopt;
  return value.as<std::uint64_t>();
}

inline MechanismOptions mechanism_options(const emscripten::val& options) {
  return {.strategy = text(options, "mechanism"),
          .num_steps = count(options, "numSteps"),
          .target = {.epsilon = number(options, "epsilon"), .delta = number(options, "delta")},
          .clip_norm = number(options, "clipNorm"),
          .neighbours = neighbours_from_string(text(options, "neighbours"))};
}

inline emscripten::val to_object(const Certificate& certificate) {
  emscripten::val object = emscripten::val::object();
  object.set("mechanism", certificate.strategy);
  object.set("workload", certificate.workload);
  object.set("participation", certificate.participation);
  object.set("numSteps", static_cast<double>(certificate.num_steps));
  object.set("neighbours", std::string(to_string(certificate.neighbours)));
  object.set("epsilon", certificate.epsilon);
  object.set("delta", certificate.delta);
  object.set("mu", certificate.mu);
  object.set("rho", certificate.rho);
  object.set("clipNorm", certificate.clip_norm);
  object.set("sensitivity", certificate.sensitivity);
  object.set("sensitivityExactness", std::string(to_string(certificate.exactness)));
  object.set("noiseMultiplier", certificate.noise_multiplier);
  object.set("noiseStddev", certificate.noise_stddev);
  object.set("maxError", certificate.max_error);
  object.set("meanError", certificate.mean_error);
  object.set("decoderResidual", certificate.decoder_residual);
  object.set("residualSteps", static_cast<double>(certificate.residual_steps));
  return object;
}

}  // namespace dpftrl::wasm
