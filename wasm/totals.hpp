// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What running totals of every kind have in common.

#include <emscripten/val.h>

#include <memory>

#include "convert.hpp"
#include "dpftrl/mechanism.hpp"
#include "dpftrl/prefix_sum.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "key.hpp"

namespace dpftrl::wasm {

template <typename Totals>
std::unique_ptr<Totals> make_totals(const emscripten::val& options) {
  return std::make_unique<Totals>(Mechanism::make(mechanism_options(options)),
                                  PrefixSumOptions{.key = key_of(options),
                                                   .dimension = count(options, "dimension"),
                                                   .grid = optional_number(options, "grid")});
}

/// A handle of theirs, and what the facade keeps.
template <typename Totals>
emscripten::val to_handle(std::unique_ptr<Totals> totals) {
  emscripten::val object = emscripten::val::object();
  object.set("certificate", to_object(totals->mechanism().certificate()));
  object.set("grid", totals->grid());
  object.set("id", handles().add(std::move(totals)));
  return object;
}

template <typename Totals>
emscripten::val create_totals(const emscripten::val& options) {
  return guarded([&] { return to_handle(make_totals<Totals>(options)); });
}

template <typename Totals>
emscripten::val step_of(double handle) {
  return guarded([&] { return static_cast<double>(handles().get<Totals>(handle).step()); });
}

template <typename Totals>
emscripten::val release_stddev(double handle, double step) {
  return guarded(
      [&] { return handles().get<Totals>(handle).mechanism().release_stddev(count_of(step)); });
}

}  // namespace dpftrl::wasm
