// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What losses are called on the other side.

#include <emscripten/val.h>

#include "convert.hpp"
#include "dpftrl/learn/loss.hpp"

namespace dpftrl::wasm {

inline LossParameters loss_parameters(const emscripten::val& options) {
  return {.quantile = number(options, "quantile"),
          .huber_threshold = number(options, "huberThreshold")};
}

}  // namespace dpftrl::wasm
