// SPDX-License-Identifier: Apache-2.0

/// Running totals that survive their process.

#include <emscripten/bind.h>
#include <emscripten/val.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "convert.hpp"
#include "dpftrl/release/release_ledger.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "rows.hpp"
#include "totals.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;

val ledger_create(const val& options) {
  return guarded([&] {
    std::unique_ptr<ReleaseLedger> ledger = make_totals<ReleaseLedger>(options);
    if (!options["state"].isUndefined()) ledger->restore(bytes_of(options["state"]));
    return to_handle(std::move(ledger));
  });
}

/// Returns how many steps are decided, and how many of those are stored.
val ledger_steps(double handle) {
  return guarded([&] {
    const ReleaseLedger& ledger = handles().get<ReleaseLedger>(handle);
    val object = val::object();
    object.set("decided", static_cast<double>(ledger.num_decided()));
    object.set("acknowledged", static_cast<double>(ledger.num_acknowledged()));
    return object;
  });
}

val ledger_decide(double handle, double first_step, const val& records) {
  return guarded([&] {
    ReleaseLedger& ledger = handles().get<ReleaseLedger>(handle);
    const std::vector<double> rows = numbers_of(records);
    const auto width = static_cast<std::size_t>(ledger.dimension());
    std::int64_t step = count_of(first_step);
    for (std::size_t done = 0; done + width <= rows.size(); done += width)
      ledger.decide(step++, std::span(rows).subspan(done, width));
    return val::null();
  });
}

val ledger_decide_step(double handle, double step, const val& contributions) {
  return guarded([&] {
    const std::vector<double> rows = numbers_of(contributions);
    handles().get<ReleaseLedger>(handle).decide_step(count_of(step), rows);
    return val::null();
  });
}

val ledger_commitment(double handle) {
  return guarded([&] {
    const auto bytes = handles().get<ReleaseLedger>(handle).key_commitment();
    return owned_bytes(bytes);
  });
}

val ledger_state(double handle) {
  return guarded([&] { return owned_bytes(handles().get<ReleaseLedger>(handle).state()); });
}

val ledger_acknowledge(double handle, double num_steps) {
  return guarded([&] {
    handles().get<ReleaseLedger>(handle).acknowledge(count_of(num_steps));
    return val::null();
  });
}

/// Returns the releases of steps first_step .. first_step + num_steps - 1, one after the other.
val ledger_released(double handle, double first_step, double num_steps) {
  return guarded([&] {
    const ReleaseLedger& ledger = handles().get<ReleaseLedger>(handle);
    std::vector<double> all;
    for (std::int64_t i = 0; i < count_of(num_steps); ++i) {
      const std::span<const double> release = ledger.released(count_of(first_step) + i);
      all.insert(all.end(), release.begin(), release.end());
    }
    return owned_array(all);
  });
}

}  // namespace

EMSCRIPTEN_BINDINGS(dpftrl_ledger) {
  emscripten::function("ledgerCreate", &ledger_create);
  emscripten::function("ledgerSteps", &ledger_steps);
  emscripten::function("ledgerStddev", &release_stddev<ReleaseLedger>);
  emscripten::function("ledgerDecide", &ledger_decide);
  emscripten::function("ledgerDecideStep", &ledger_decide_step);
  emscripten::function("ledgerCommitment", &ledger_commitment);
  emscripten::function("ledgerState", &ledger_state);
  emscripten::function("ledgerAcknowledge", &ledger_acknowledge);
  emscripten::function("ledgerReleased", &ledger_released);
}

}  // namespace dpftrl::wasm
