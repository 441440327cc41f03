// SPDX-License-Identifier: Apache-2.0

/// Statistics as columns: records on their way to sums, and sums on their way to numbers.

#include <emscripten/val.h>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "convert.hpp"
#include "dpftrl/statistics/moments.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "rows.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;

val moments_create(const val& options) {
  MomentsOptions moments{.ranges = {},
                         .covariance = optional_flag(options, "covariance").value_or(false),
                         .confidence = number(options, "confidence"),
                         .neighbours = neighbours_from_string(text(options, "neighbours"))};
  const std::vector<double> ends = numbers(options, "ranges");
  for (std::size_t i = 0; i + 1 < ends.size(); i += 2)
    moments.ranges.push_back({.low = ends[i], .high = ends[i + 1]});
  auto columns = std::make_unique<MomentColumns>(std::move(moments));
  val object = val::object();
  object.set("dimension", static_cast<double>(columns->dimension()));
  object.set("distance", columns->distance());
  object.set("grid", columns->grid());
  object.set("countWeight", columns->count_weight());
  object.set("id", handles().add(std::move(columns)));
  return object;
}

/// Returns the columns of whole records. A refusal has `released`, the entries before the record.
val moments_columns(double handle, const val& records) {
  std::size_t done = 0;
  bool complete = false;
  val reply = guarded([&] {
    const MomentColumns& columns = handles().get<MomentColumns>(handle);
    const std::vector<double> rows = numbers_of(records);
    const auto width = static_cast<std::size_t>(columns.num_columns());
    const auto dimension = static_cast<std::size_t>(columns.dimension());
    std::vector<double> all(rows.size() / width * dimension);
    for (; done < rows.size(); done += width)
      columns.write(std::span(rows).subspan(done, width),
                    std::span(all).subspan(done / width * dimension, dimension));
    complete = true;
    return owned_array(all);
  });
  if (!complete) reply.set("released", static_cast<double>(done));
  return reply;
}

void append(std::vector<double>& numbers, const Estimate& estimate) {
  for (const double number : {estimate.value, estimate.low, estimate.high, estimate.stddev})
    numbers.push_back(number);
}

/// Returns four numbers an estimate: count, means, variances, covariances; row after row.
val moments_read(double handle, const val& sums, const val& stddevs) {
  const MomentColumns& columns = handles().get<MomentColumns>(handle);
  const std::vector<double> rows = numbers_of(sums);
  const auto width = static_cast<std::size_t>(columns.dimension());
  std::vector<double> numbers;
  std::size_t begin = 0;
  for (const double stddev : numbers_of(stddevs)) {
    const Moments moments =
        columns.read({.sums = std::span(rows).subspan(begin, width), .stddev = stddev});
    append(numbers, moments.count);
    for (const auto* const some : {&moments.mean, &moments.variance, &moments.covariance})
      for (const Estimate& estimate : *some) append(numbers, estimate);
    begin += width;
  }
  return owned_array(numbers);
}

}  // namespace

EMSCRIPTEN_BINDINGS(dpftrl_statistics) {
  bind<&moments_create>("momentsCreate");
  emscripten::function("momentsColumns", &moments_columns);
  bind<&moments_read>("momentsRead");
}

}  // namespace dpftrl::wasm
