// SPDX-License-Identifier: Apache-2.0

/// Running totals that survive their process.

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
  std::unique_ptr<ReleaseLedger> ledger = make_totals<ReleaseLedger>(options);
  if (!options["state"].isUndefined()) ledger->restore(bytes_of(options["state"]));
  return to_handle(std::move(ledger));
}

/// Returns how many steps are decided, and how many of those are stored.
val ledger_steps(double handle) {
  const ReleaseLedger& ledger = handles().get<ReleaseLedger>(handle);
  val object = val::object();
  object.set("decided", static_cast<double>(ledger.num_decided()));
  object.set("acknowledged", static_cast<double>(ledger.num_acknowledged()));
  return object;
}

void ledger_decide(double handle, double first_step, const val& records) {
  ReleaseLedger& ledger = handles().get<ReleaseLedger>(handle);
  const std::vector<double> rows = numbers_of(records);
  const auto width = static_cast<std::size_t>(ledger.dimension());
  std::int64_t step = count_of(first_step);
  for (std::size_t done = 0; done + width <= rows.size(); done += width)
    ledger.decide(step++, std::span(rows).subspan(done, width));
}

void ledger_decide_step(double handle, double step, const val& contributions) {
  const std::vector<double> rows = numbers_of(contributions);
  handles().get<ReleaseLedger>(handle).decide_step(count_of(step), rows);
}

val ledger_commitment(double handle) {
  const auto bytes = handles().get<ReleaseLedger>(handle).key_commitment();
  return owned_bytes(bytes);
}

val ledger_state(double handle) {
  return owned_bytes(handles().get<ReleaseLedger>(handle).state());
}

void ledger_acknowledge(double handle, double num_steps) {
  handles().get<ReleaseLedger>(handle).acknowledge(count_of(num_steps));
}

/// Returns the releases of steps first_step .. first_step + num_steps - 1, one after the other.
val ledger_released(double handle, double first_step, double num_steps) {
  const ReleaseLedger& ledger = handles().get<ReleaseLedger>(handle);
  std::vector<double> all;
  for (std::int64_t i = 0; i < count_of(num_steps); ++i) {
    const std::span<const double> release = ledger.released(count_of(first_step) + i);
    all.insert(all.end(), release.begin(), release.end());
  }
  return owned_array(all);
}

}  // namespace

EMSCRIPTEN_BINDINGS(dpftrl_ledger) {
  bind<&ledger_create>("ledgerCreate");
  bind<&ledger_steps>("ledgerSteps");
  bind<&release_stddev<ReleaseLedger>>("ledgerStddev");
  bind<&ledger_decide>("ledgerDecide");
  bind<&ledger_decide_step>("ledgerDecideStep");
  bind<&ledger_commitment>("ledgerCommitment");
  bind<&ledger_state>("ledgerState");
  bind<&ledger_acknowledge>("ledgerAcknowledge");
  bind<&ledger_released>("ledgerReleased");
}

}  // namespace dpftrl::wasm
