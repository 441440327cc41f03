// SPDX-License-Identifier: Apache-2.0

/// The parts of the core that the module of counters has. Definitions here replace the library's,
/// so code that only the library's definitions reach is not linked.

#include <emscripten/val.h>

#include <cmath>

#include "../any_stream.hpp"
#include "../columns.hpp"
#include "absent.hpp"
#include "analysis/sensitivity/active_sensitivity.hpp"
#include "analysis/sensitivity/level_sensitivity.hpp"
#include "contents.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/problem/workload.hpp"
#include "dpftrl/release/lattice/lattice.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "noise/exact/exact_rows.hpp"
#include "noise/programs/program.hpp"
#include "release/grid/grid_engine.hpp"
#include "release/grid/weighted_sums.hpp"
#include "release/release_engine.hpp"

namespace dpftrl {
namespace {

[[noreturn]] void fail_pure() {
  wasm::fail_absent("delta", "releases without a delta");
}

[[noreturn]] void fail_lattice() {
  wasm::fail_absent("lattice", "releases in mode lattice");
}

}  // namespace

std::span<FamilyRow (*const)()> family_makers() {
  return wasm::kFamilies;
}

StrategyPointer adapted_strategy(const FamilyRow&, const StrategyOptions& options,
                                 const Workload&) {
  if (options.parameters.epoch_length) wasm::fail_absent("epoch_length", "epochs");
  if (options.parameters.normalize_columns)
    wasm::fail_absent("normalize_columns", "columns scaled to norm 1");
  wasm::fail_workload();
}

/// JavaScript's toString already returns the shortest digits that identify a double.
std::string to_text(double value) {
  if (value == 0 && std::signbit(value)) return "-0";
  return emscripten::val(value).call<std::string>("toString");
}

/// The binary tree has a sensitivity of its own, and no other family here has levels.
std::optional<Sensitivity> level_sensitivity(const Strategy&, const Participation&) {
  return std::nullopt;
}

/// Never called, as this module refuses to make streams of active people.
Sensitivity active_sensitivity(const Strategy&, const ActivePattern&) {
  wasm::fail_absent("participation", "counts of active people");
}

void require_known_errors(const StrategyOptions&) {}

/// The closed form that this module has for `optimal` is made for single participation.
std::string_view optimised_for(const StrategyOptions& options) {
  const bool is_searched =
      options.name == OptimalStrategy::kName && options.parameters.plan == nullptr;
  const bool is_repeated = options.participation.times_within(options.steps) > 1;
  return is_searched && is_repeated ? "single participation" : "";
}

/// No certificate of this module has a lower bound.
Strategy::OwnBound OptimalStrategy::certified_lower_bound(Objective, const Participation&) const {
  return {};
}

std::shared_ptr<const LatticeMechanism> LatticeMechanism::make(std::shared_ptr<const Mechanism>,
                                                               const LatticeOptions&) {
  fail_lattice();
}
double LatticeMechanism::ideal_stddev(std::int64_t) const {
  fail_lattice();
}
std::string_view to_string(LatticeNoise) {
  fail_lattice();
}

namespace detail {

std::unique_ptr<ReleaseEngine> make_sums_engine(const Mechanism& mechanism,
                                                const PrefixSumOptions& options) {
  if (!mechanism.strategy().workload().is_prefix()) wasm::fail_workload();
  return make_grid_engine(mechanism, options);
}

/// This module has prefix sums only.
double largest_weight(const Workload&) {
  return 1;
}
double weight_of_row(const Workload& workload) {
  return static_cast<double>(workload.steps());
}

std::unique_ptr<ReleaseEngine> make_laplace_engine(const Mechanism&, const PrefixSumOptions&) {
  fail_pure();
}

std::unique_ptr<ReleaseEngine> make_lattice_engine(std::shared_ptr<const LatticeMechanism>,
                                                   const PrefixSumOptions&) {
  fail_lattice();
}

const ExactRowsMakers& exact_rows_makers() {
  static constexpr ExactRowsMakers kMakers = exact_rows_makers_of(Alternatives<wasm::Forms>{});
  return kMakers;
}

}  // namespace detail

namespace wasm {

std::shared_ptr<const Mechanism> make_pure_mechanism(const emscripten::val&) {
  fail_pure();
}
MadeColumns make_statistic(const std::string& kind, const emscripten::val&) {
  fail_absent("kind", kind);
}
std::unique_ptr<AnyStream> make_nonprivate_stream(const MadeColumns&, const emscripten::val&) {
  fail_absent("show_nonprivate", "readings without noise");
}
std::unique_ptr<AnyStream> make_active_stream(const MadeColumns&, const emscripten::val&) {
  fail_absent("kind", "active");
}
void set_laplace(emscripten::val&, const LaplaceNoise&, double) {
  fail_pure();
}

}  // namespace wasm

namespace noise {

const ProgramMakers& program_makers() {
  static constexpr ProgramMakers kMakers = program_makers_of(Alternatives<wasm::Forms>{});
  return kMakers;
}

}  // namespace noise

/// Only other workloads and the variances of increments, which this module lacks, use matrices.
Workload Workload::lower_triangular(Matrix) {
  wasm::fail_workload();
}
Matrix Workload::matrix() const {
  wasm::fail_workload();
}
std::vector<double> Workload::apply_matrix(std::vector<double>) const {
  wasm::fail_workload();
}

}  // namespace dpftrl
