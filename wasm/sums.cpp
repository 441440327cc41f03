// SPDX-License-Identifier: Apache-2.0

/// Running totals of one record per step, or of contributions that the caller bounds.

#include <emscripten/val.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "dpftrl/release/prefix_sum.hpp"
#include "rows.hpp"
#include "totals.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;

/// Releases row by row, and overwrites the rows with the totals.
val prefix_sum_release(double handle, const val& records) {
  std::vector<double> total;
  return over_rows<PrefixSum>(handle, records,
                              [&](PrefixSum& sums, std::span<double> row, std::size_t) {
                                total.resize(row.size());
                                sums.release(row, total);
                                std::ranges::copy(total, row.begin());
                              });
}

/// Adds rows to the open step; the caller bounds their sum.
val prefix_sum_contribute(double handle, const val& records) {
  return over_rows<PrefixSum>(
      handle, records,
      [](PrefixSum& sums, std::span<double> row, std::size_t) { sums.contribute(row); });
}

}  // namespace

EMSCRIPTEN_BINDINGS(dpftrl_sums) {
  bind<&create_totals<PrefixSum>>("prefixSumCreate");
  bind<&step_of<PrefixSum>>("prefixSumStep");
  bind<&release_stddev<PrefixSum>>("prefixSumStddev");
  emscripten::function("prefixSumRelease", &prefix_sum_release);
  emscripten::function("prefixSumContribute", &prefix_sum_contribute);
  emscripten::function("prefixSumEndSteps", &end_steps<PrefixSum>);
}

}  // namespace dpftrl::wasm
