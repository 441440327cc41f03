// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Several workloads of one stream.

#include <emscripten/val.h>

#include <cstdint>
#include <vector>

#include "convert.hpp"
#include "dpftrl/analysis/mechanism.hpp"

namespace dpftrl::wasm {

/// Converts a list of workloads, each given like the workload of a problem.
inline StackOptions stack_options(const emscripten::val& options, std::int64_t steps) {
  StackOptions stack{.workloads = {}, .weights = numbers(options, "importance")};
  const emscripten::val given = options["workloads"];
  const auto size = given["length"].as<unsigned>();
  for (unsigned i = 0; i < size; ++i) stack.workloads.push_back(workload_of(given[i], steps));
  return stack;
}

/// Errors of a reader's workload, taken from its certificate.
inline emscripten::val workload_error(const Mechanism& reader) {
  const Certificate& claim = reader.certificate();
  emscripten::val own = emscripten::val::object();
  own.set("workload", claim.workload);
  own.set("maxError", claim.max_error);
  own.set("meanError", claim.mean_error);
  return own;
}

}  // namespace dpftrl::wasm
