// SPDX-License-Identifier: Apache-2.0

/// Running totals that survive restarts.

#include <emscripten/val.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "convert.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/release/release_ledger.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "rows.hpp"
#include "totals.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;

val ledger_create(const val& options) {
  return open_ledger(make_totals<ReleaseLedger>(options), options);
}

val people_ledger_create(const val& options) {
  return open_ledger(make_totals<PeopleLedger>(options), options);
}

/// Returns the ledger of a handle, whose kind the facade knows.
template <typename Kind>
Kind& ledger_of(double handle) {
  return static_cast<Kind&>(handles().get<Ledger>(handle));
}

/// Returns the number of steps that are decided, and of those that are stored.
val ledger_steps(double handle) {
  const Ledger& ledger = handles().get<Ledger>(handle);
  val object = val::object();
  object.set("decided", static_cast<double>(ledger.num_decided()));
  object.set("acknowledged", static_cast<double>(ledger.num_acknowledged()));
  return object;
}

void ledger_decide(double handle, double first_step, const val& records) {
  ReleaseLedger& ledger = ledger_of<ReleaseLedger>(handle);
  const std::vector<double> rows = numbers_of(records);
  const auto width = static_cast<std::size_t>(ledger.dimension());
  std::int64_t step = count_of(first_step);
  for (std::size_t done = 0; done + width <= rows.size(); done += width)
    ledger.decide(step++, std::span(rows).subspan(done, width));
}

void ledger_decide_step(double handle, double step, const val& contributions) {
  const std::vector<double> rows = numbers_of(contributions);
  ledger_of<ReleaseLedger>(handle).decide_step(count_of(step), rows);
}

/// Takes one person per row; takes all rows, or none.
void people_ledger_contribute(double handle, const val& people, const val& records) {
  PeopleLedger& ledger = ledger_of<PeopleLedger>(handle);
  const std::vector<double> rows = numbers_of(records);
  require_all_finite("people_ledger", "records", rows);
  const auto width = static_cast<std::size_t>(ledger.dimension());
  for (std::size_t i = 0; i * width < rows.size(); ++i)
    ledger.contribute(people[static_cast<unsigned>(i)].as<std::string>(),
                      std::span(rows).subspan(i * width, width));
}

void people_ledger_decide(double handle, double first_step, double steps) {
  PeopleLedger& ledger = ledger_of<PeopleLedger>(handle);
  for (std::int64_t i = 0; i < count_of(steps); ++i) ledger.decide(count_of(first_step) + i);
}

val people_ledger_counts(double handle) {
  const PeopleLedger& ledger = ledger_of<PeopleLedger>(handle);
  val object = val::object();
  object.set("contributions", static_cast<double>(ledger.num_contributions()));
  object.set("dropped", static_cast<double>(ledger.num_dropped()));
  return object;
}

val ledger_commitment(double handle) {
  const auto bytes = handles().get<Ledger>(handle).key_commitment();
  return owned_bytes(bytes);
}

val ledger_state(double handle) {
  return owned_bytes(handles().get<Ledger>(handle).state());
}

Ledger::LogTag tag_of(const val& bytes) {
  const std::vector<std::byte> given = bytes_of(bytes);
  Ledger::LogTag tag{};
  std::copy_n(given.begin(), std::min(given.size(), tag.size()), tag.begin());
  return tag;
}

val ledger_log_tag(double handle, const val& base) {
  return owned_bytes(handles().get<Ledger>(handle).log_tag(bytes_of(base)));
}

/// @param memo  may be undefined.
val ledger_log_frame(double handle, const val& before, const val& memo, double max_steps) {
  const bool has_memo = !memo.isUndefined();
  const std::vector<std::byte> bytes = has_memo ? bytes_of(memo) : std::vector<std::byte>();
  const auto part = handles().get<Ledger>(handle).log_frame(
      tag_of(before), {.memo = has_memo ? std::optional(std::span(bytes)) : std::nullopt,
                       .max_steps = count_of(max_steps)});
  val object = val::object();
  object.set("bytes", owned_bytes(part.bytes));
  object.set("tag", owned_bytes(part.tag));
  object.set("numSteps", static_cast<double>(part.steps));
  return object;
}

val ledger_replay(double handle, const val& log, const val& before, double position) {
  const Ledger::LogEnd end = handles().get<Ledger>(handle).replay(
      bytes_of(log), {.before = tag_of(before), .position = count_of(position)});
  val object = val::object();
  object.set("tag", owned_bytes(end.tag));
  object.set("size", static_cast<double>(end.size));
  object.set("memo", end.memo ? owned_bytes(*end.memo) : val::undefined());
  return object;
}

void ledger_acknowledge(double handle, double steps) {
  handles().get<Ledger>(handle).acknowledge(count_of(steps));
}

/// Returns the releases of steps first_step .. first_step + steps - 1, concatenated.
val ledger_released(double handle, double first_step, double steps) {
  const Ledger& ledger = handles().get<Ledger>(handle);
  std::vector<double> all;
  for (std::int64_t i = 0; i < count_of(steps); ++i) {
    const std::span<const double> release = ledger.released(count_of(first_step) + i);
    all.insert(all.end(), release.begin(), release.end());
  }
  return owned_array(all);
}

}  // namespace

EMSCRIPTEN_BINDINGS(dpftrl_ledger) {
  bind<&ledger_create>("ledgerCreate");
  bind<&ledger_steps>("ledgerSteps");
  bind<&release_stddev<Ledger>>("ledgerStddev");
  bind<&ledger_decide>("ledgerDecide");
  bind<&ledger_decide_step>("ledgerDecideStep");
  bind<&people_ledger_create>("peopleLedgerCreate");
  bind<&people_ledger_contribute>("peopleLedgerContribute");
  bind<&people_ledger_decide>("peopleLedgerDecide");
  bind<&people_ledger_counts>("peopleLedgerCounts");
  bind<&ledger_commitment>("ledgerCommitment");
  bind<&ledger_state>("ledgerState");
  bind<&ledger_log_tag>("ledgerLogTag");
  bind<&ledger_log_frame>("ledgerLogFrame");
  bind<&ledger_replay>("ledgerReplay");
  bind<&ledger_acknowledge>("ledgerAcknowledge");
  bind<&ledger_released>("ledgerReleased");
}

}  // namespace dpftrl::wasm
