// SPDX-License-Identifier: Apache-2.0

/// Running totals that survive their process.

#include <emscripten/val.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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

ReleaseLedger::LogTag tag_of(const val& bytes) {
  const std::vector<std::byte> given = bytes_of(bytes);
  ReleaseLedger::LogTag tag{};
  std::copy_n(given.begin(), std::min(given.size(), tag.size()), tag.begin());
  return tag;
}

val ledger_log_tag(double handle, const val& base) {
  return owned_bytes(handles().get<ReleaseLedger>(handle).log_tag(bytes_of(base)));
}

/// `memo` may be undefined.
val ledger_log_frame(double handle, const val& before, const val& memo) {
  const bool has_memo = !memo.isUndefined();
  const std::vector<std::byte> bytes = has_memo ? bytes_of(memo) : std::vector<std::byte>();
  const auto part = handles().get<ReleaseLedger>(handle).log_frame(
      tag_of(before), has_memo ? std::optional(std::span(bytes)) : std::nullopt);
  val object = val::object();
  object.set("bytes", owned_bytes(part.bytes));
  object.set("tag", owned_bytes(part.tag));
  return object;
}

val ledger_replay(double handle, const val& log, const val& before, double position) {
  const ReleaseLedger::LogEnd end = handles().get<ReleaseLedger>(handle).replay(
      bytes_of(log), {.before = tag_of(before), .position = count_of(position)});
  val object = val::object();
  object.set("tag", owned_bytes(end.tag));
  object.set("size", static_cast<double>(end.size));
  object.set("memo", end.memo ? owned_bytes(*end.memo) : val::undefined());
  return object;
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
  bind<&ledger_log_tag>("ledgerLogTag");
  bind<&ledger_log_frame>("ledgerLogFrame");
  bind<&ledger_replay>("ledgerReplay");
  bind<&ledger_acknowledge>("ledgerAcknowledge");
  bind<&ledger_released>("ledgerReleased");
}

}  // namespace dpftrl::wasm
