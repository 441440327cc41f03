// SPDX-License-Identifier: Apache-2.0

/// Sums of people's contributions.

#include <emscripten/val.h>

#include "dpftrl/release/prefix_sum.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "people_rows.hpp"
#include "totals.hpp"

namespace dpftrl::wasm {
namespace {

double people_sum_num_dropped(double handle) {
  return static_cast<double>(handles().get<PeopleSum>(handle).num_dropped());
}

}  // namespace

EMSCRIPTEN_BINDINGS(dpftrl_people) {
  bind<&create_totals<PeopleSum>>("peopleSumCreate");
  emscripten::function("peopleSumContribute", &take_people<&PeopleSum::contribute, false>);
  emscripten::function("peopleSumReleaseEach", &take_people<&PeopleSum::contribute, true>);
  emscripten::function("peopleSumEndSteps", &end_steps<PeopleSum>);
  bind<&step_of<PeopleSum>>("peopleSumStep");
  bind<&release_stddev<PeopleSum>>("peopleSumStddev");
  bind<&people_sum_num_dropped>("peopleSumNumDropped");
}

}  // namespace dpftrl::wasm
