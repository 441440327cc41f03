// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Functions shared by running totals of every kind.

#include <emscripten/val.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "convert.hpp"
#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/release/prefix_sum.hpp"
#include "dpftrl/release/release_ledger.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "key.hpp"
#include "rows.hpp"

namespace dpftrl::wasm {

/// Returns the options of the releases; the facade has checked the names.
inline PrefixSumOptions totals_options(const emscripten::val& options) {
  const std::optional<std::int64_t> bits = optional_count(options, "precisionBits");
  return {.key = key_of(options),
          .dimension = optional_count(options, "dimension").value_or(1),
          .mode = text(options, "mode") == "lattice" ? ReleaseMode::lattice : ReleaseMode::grid,
          .grid = optional_number(options, "grid"),
          .lattice_noise = text(options, "latticeNoise") == "rounded-gaussian"
                               ? LatticeNoise::rounded_gaussian
                               : LatticeNoise::discrete_gaussian,
          .precision_bits =
              bits ? std::optional<int>(static_cast<int>(std::min<std::int64_t>(*bits, 1000)))
                   : std::nullopt};
}

/// Makes the mechanism of pure-DP totals; not in the module of counters (pure.cpp).
std::shared_ptr<const Mechanism> make_pure_mechanism(const emscripten::val& options);
/// Adds the claims of pure-DP totals to their certificate, and sets its noise to that of the
/// integers.
void set_laplace(emscripten::val& certificate, const LaplaceNoise& law, double grid);

inline std::shared_ptr<const Mechanism> make_mechanism(const emscripten::val& options) {
  const bool is_pure = optional_flag(options, "pure").value_or(false);
  return is_pure ? make_pure_mechanism(options) : Mechanism::make(mechanism_options(options));
}

template <typename Totals>
std::unique_ptr<Totals> make_totals(const emscripten::val& options) {
  return std::make_unique<Totals>(make_mechanism(options), totals_options(options));
}

/// Converts the certificate of sums, with what their noise adds to the mechanism's claims.
template <typename Totals>
emscripten::val certificate_of(const Totals& totals) {
  emscripten::val certificate = to_object(totals.mechanism().certificate(), totals.lattice());
  if (const std::optional<LaplaceNoise> law = totals.laplace())
    set_laplace(certificate, *law, totals.grid());
  return certificate;
}

/// Makes a handle of the totals, with the properties that the facade keeps.
template <typename Totals>
emscripten::val to_handle(std::unique_ptr<Totals> totals) {
  emscripten::val object = emscripten::val::object();
  object.set("certificate", certificate_of(*totals));
  object.set("grid", totals->grid());
  object.set("id", handles().add(std::move(totals)));
  return object;
}

/// Makes a handle of a ledger, which continues from a state if there is one.
inline emscripten::val open_ledger(std::unique_ptr<Ledger> ledger, const emscripten::val& options) {
  if (!options["state"].isUndefined()) ledger->restore(bytes_of(options["state"]));
  return to_handle(std::move(ledger));
}

template <typename Totals>
emscripten::val create_totals(const emscripten::val& options) {
  return to_handle(make_totals<Totals>(options));
}

template <typename Totals>
double step_of(double handle) {
  return static_cast<double>(handles().get<Totals>(handle).step());
}

template <typename Totals>
double release_stddev(double handle, double step) {
  return handles().get<Totals>(handle).release_stddev(count_of(step));
}

/// Ends one step per row of `totals`, and overwrites the rows with the totals.
template <typename Sums>
emscripten::val end_steps(double handle, const emscripten::val& totals) {
  return over_rows<Sums>(handle, totals,
                         [](Sums& sums, std::span<double> row, std::size_t) { sums.release(row); });
}

}  // namespace dpftrl::wasm
