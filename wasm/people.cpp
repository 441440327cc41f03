// SPDX-License-Identifier: Apache-2.0

/// Sums of people: steps of many contributions.

#include <emscripten/val.h>

#include <span>
#include <vector>

#include "convert.hpp"
#include "dpftrl/release/prefix_sum.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "rows.hpp"
#include "totals.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;

/// Takes one person a row.
val people_sum_contribute(double handle, const val& persons, const val& records) {
  std::vector<double> ids;
  return over_rows<PeopleSum>(handle, records,
                              [&](PeopleSum& sums, std::span<double> row, std::size_t i) {
                                if (i == 0) ids = numbers_of(persons);
                                sums.contribute(count_of(ids.at(i)), row);
                              });
}

/// Makes each row a step of its own.
val people_sum_release_each(double handle, const val& persons, const val& records) {
  std::vector<double> ids;
  return over_rows<PeopleSum>(handle, records,
                              [&](PeopleSum& sums, std::span<double> row, std::size_t i) {
                                if (i == 0) ids = numbers_of(persons);
                                sums.contribute(count_of(ids.at(i)), row);
                                sums.release(row);
                              });
}

double people_sum_num_dropped(double handle) {
  return static_cast<double>(handles().get<PeopleSum>(handle).num_dropped());
}

}  // namespace

EMSCRIPTEN_BINDINGS(dpftrl_people) {
  bind<&create_totals<PeopleSum>>("peopleSumCreate");
  emscripten::function("peopleSumContribute", &people_sum_contribute);
  emscripten::function("peopleSumReleaseEach", &people_sum_release_each);
  emscripten::function("peopleSumEndSteps", &end_steps<PeopleSum>);
  bind<&step_of<PeopleSum>>("peopleSumStep");
  bind<&release_stddev<PeopleSum>>("peopleSumStddev");
  bind<&people_sum_num_dropped>("peopleSumNumDropped");
}

}  // namespace dpftrl::wasm
