// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Rows of records with the person each is from.

#include <emscripten/val.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "convert.hpp"
#include "dpftrl/release/prefix_sum.hpp"
#include "rows.hpp"

namespace dpftrl::wasm {

/// Passes each row and its person to the function `Take` of PeopleSum. With `EndsSteps`, each row
/// is a separate step.
template <bool (PeopleSum::*Take)(std::int64_t, std::span<const double>), bool EndsSteps>
emscripten::val take_people(double handle, const emscripten::val& persons,
                            const emscripten::val& records) {
  std::vector<double> ids;
  return over_rows<PeopleSum>(handle, records,
                              [&](PeopleSum& sums, std::span<double> row, std::size_t i) {
                                if (i == 0) ids = numbers_of(persons);
                                (sums.*Take)(count_of(ids.at(i)), row);
                                if constexpr (EndsSteps) sums.release(row);
                              });
}

}  // namespace dpftrl::wasm
