// SPDX-License-Identifier: Apache-2.0

/// Private selection among learners.

#include <emscripten/val.h>

#include <cstdint>
#include <vector>

#include "convert.hpp"
#include "dpftrl/queries/exponential_mechanism.hpp"
#include "guard.hpp"
#include "key.hpp"
#include "rows.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;

val tuning_plan(const val& options) {
  const TuningPlan plan = plan_tuning(
      {.target = {.epsilon = number(options, "epsilon"), .delta = number(options, "delta")},
       .num_candidates = count(options, "numCandidates"),
       .composes = options["composes"].as<bool>()});
  val object = val::object();
  object.set("learnerEpsilon", plan.learner_epsilon);
  object.set("selectionEpsilon", plan.selection_epsilon);
  object.set("mu", plan.mu);
  object.set("rho", plan.rho);
  return object;
}

/// Draws the rows that no candidate learns from.
val tuning_held_out(const val& options) {
  const std::vector<std::int64_t> rows = draw_held_out(count(options, "numRows"), key_of(options));
  return owned_array(std::vector<double>(rows.begin(), rows.end()));
}

double tuning_choose(const val& options) {
  std::vector<std::int64_t> num_right;
  for (const double value : numbers(options, "numRight")) num_right.push_back(count_of(value));
  return static_cast<double>(
      choose_tuned(num_right,
                   {.selection_epsilon = number(options, "selectionEpsilon"),
                    .neighbours = neighbours_from_string(text(options, "neighbours"))},
                   key_of(options)));
}

}  // namespace

EMSCRIPTEN_BINDINGS(dpftrl_tuning) {
  bind<&tuning_plan>("tuningPlan");
  bind<&tuning_held_out>("tuningHeldOut");
  bind<&tuning_choose>("tuningChoose");
}

}  // namespace dpftrl::wasm
