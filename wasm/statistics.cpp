// SPDX-License-Identifier: Apache-2.0

/// Statistics: conversion of records to summed columns, and of sums to estimates.

#include <emscripten/val.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "convert.hpp"
#include "dpftrl/release/release_ledger.hpp"
#include "dpftrl/statistics/statistics.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "people_rows.hpp"
#include "rows.hpp"
#include "stack.hpp"
#include "totals.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;

template <typename Columns>
val made(std::unique_ptr<Columns> columns, double count_weight) {
  val object = val::object();
  object.set("dimension", static_cast<double>(columns->dimension()));
  object.set("distance", columns->distance());
  object.set("grid", columns->grid());
  object.set("moves", columns->moves());
  object.set("countWeight", count_weight);
  object.set("id", handles().add(std::move(columns)));
  return object;
}

val moments_create(const val& options) {
  MomentsOptions moments{.ranges = {},
                         .covariance = optional_flag(options, "covariance").value_or(false),
                         .confidence = number(options, "confidence"),
                         .neighbours = neighbours_from_string(text(options, "neighbours")),
                         .fixed_times = optional_flag(options, "fixedTimes").value_or(false)};
  const std::vector<double> ends = numbers(options, "ranges");
  for (std::size_t i = 0; i + 1 < ends.size(); i += 2)
    moments.ranges.push_back({.low = ends[i], .high = ends[i + 1]});
  auto columns = std::make_unique<MomentColumns>(std::move(moments));
  const double count_weight = columns->count_weight();
  return made(std::move(columns), count_weight);
}

val histogram_create(const val& options) {
  auto columns = std::make_unique<HistogramColumns>(
      HistogramOptions{.num_categories = count(options, "numCategories"),
                       .total = optional_flag(options, "total").value_or(false),
                       .confidence = number(options, "confidence"),
                       .neighbours = neighbours_from_string(text(options, "neighbours")),
                       .fixed_times = optional_flag(options, "fixedTimes").value_or(false)});
  const std::vector<double> zeros(static_cast<std::size_t>(columns->dimension()));
  const double stddev = columns->read({.sums = zeros, .stddev = 1}).count[0].stddev;
  return made(std::move(columns), 1 / stddev);
}

/// Number of entries of a record as passed by JavaScript, and the record.
std::int64_t width_of(const MomentColumns& columns) {
  return columns.num_columns();
}
std::int64_t width_of(const HistogramColumns&) {
  return 1;
}
std::span<const double> record_of(const MomentColumns&, std::span<const double> row) {
  return row;
}
std::int64_t record_of(const HistogramColumns&, std::span<const double> row) {
  return count_of(row[0]);
}

/// Returns the columns of whole records. A refusal has `released`, the number of entries before the
/// refused record.
template <typename Columns>
val columns_of(double handle, const val& records) {
  std::size_t done = 0;
  bool complete = false;
  val reply = guarded([&] {
    const Columns& columns = handles().get<Columns>(handle);
    const std::vector<double> rows = numbers_of(records);
    const auto width = static_cast<std::size_t>(width_of(columns));
    const auto dimension = static_cast<std::size_t>(columns.dimension());
    std::vector<double> all(rows.size() / width * dimension);
    for (; done < rows.size(); done += width)
      columns.write(record_of(columns, std::span(rows).subspan(done, width)),
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

void append(std::vector<double>& numbers, const std::vector<Estimate>& estimates) {
  for (const Estimate& estimate : estimates) append(numbers, estimate);
}

void append(std::vector<double>& numbers, const Moments& moments) {
  append(numbers, moments.count);
  for (const auto* const some :
       {&moments.mean, &moments.variance, &moments.standard_deviation, &moments.covariance})
    append(numbers, *some);
}

void append(std::vector<double>& numbers, const Histogram& histogram) {
  append(numbers, histogram.total);
  append(numbers, histogram.count);
  append(numbers, histogram.share);
}

/// Returns four numbers per estimate, for all estimates of a reading in order, row after row.
template <typename Columns>
val read(double handle, const val& sums, const val& stddevs) {
  const Columns& columns = handles().get<Columns>(handle);
  const std::vector<double> rows = numbers_of(sums);
  const auto width = static_cast<std::size_t>(columns.dimension());
  std::vector<double> numbers;
  std::size_t begin = 0;
  for (const double stddev : numbers_of(stddevs)) {
    append(numbers,
           columns.read({.sums = std::span(rows).subspan(begin, width), .stddev = stddev}));
    begin += width;
  }
  return owned_array(numbers);
}

/// Returns the errors of several workloads at noise multiplier 1, which do not depend on a privacy
/// target.
val stack_errors(const val& options) {
  Problem given = problem_of(options);
  const std::int64_t steps = given.workload.steps();
  const StrategyOptions wanted = strategy_options(options, std::move(given.workload));
  const auto mechanism = Mechanism::make_stack({.strategy = wanted.name,
                                                .steps = steps,
                                                .target = {.epsilon = 1, .delta = 0.5},
                                                .participation = wanted.participation,
                                                .parameters = wanted.parameters},
                                               stack_options(options, steps));
  const Certificate& claim = mechanism->certificate();
  val object = val::object();
  object.set("workload", claim.workload);
  object.set("participation", claim.participation);
  object.set("maxParticipations", static_cast<double>(claim.max_participations));
  object.set("separation", static_cast<double>(claim.separation));
  object.set("sensitivity", claim.sensitivity);
  object.set("sensitivityExactness", std::string(to_string(claim.exactness)));
  object.set("sensitivityMethod", std::string(claim.sensitivity_method));
  object.set("maxError", claim.max_error);
  object.set("meanError", claim.mean_error);
  object.set("objective", std::string(name_of(claim.objective)));
  object.set("lowerBound", mechanism->stack_lower_bound());
  object.set("effectiveParameters", to_object(claim.parameters));
  std::vector<SimultaneousError> together;
  if (const std::optional<double> beta = optional_number(options, "beta")) {
    const std::int64_t dimension = optional_count(options, "dimension").value_or(1);
    together = simultaneous_errors(*mechanism, {.beta = *beta, .dimension = dimension});
    object.set("beta", *beta);
    object.set("dimension", static_cast<double>(dimension));
  }
  val workloads = val::array();
  for (std::int64_t i = 0; i < mechanism->num_readers(); ++i) {
    val own = workload_error(*mechanism->reader(i));
    if (!together.empty()) {
      const SimultaneousError& error = together[static_cast<std::size_t>(i)];
      own.set("simultaneousError", error.value);
      own.set("simultaneousMethod", error.uses_correlation ? "neighbours" : "product");
      own.set("simultaneousNorm", error.norm);
    }
    workloads.call<double>("push", own);
  }
  object.set("workloads", workloads);
  return object;
}

/// Makes the mechanism of several workloads, from which sums are then created.
val sums_create(const val& options) {
  MechanismOptions mechanism = mechanism_options(options);
  mechanism.workload.reset();
  const StackOptions stack = stack_options(options, mechanism.steps);
  auto columns = std::make_unique<StackColumns>(
      Mechanism::make_stack(mechanism, stack),
      StackColumns::Options{.record_size = count(options, "recordSize"),
                            .grid = optional_number(options, "grid"),
                            .confidence = number(options, "confidence")});
  val object = val::object();
  val workloads = val::array();
  for (std::int64_t i = 0; i < columns->num_workloads(); ++i) {
    workloads.call<double>("push", workload_error(*columns->mechanism()->reader(i)));
  }
  object.set("workloads", workloads);
  object.set("dimension", static_cast<double>(columns->dimension()));
  object.set("distance", columns->mechanism()->clip());
  object.set("grid", columns->grid());
  object.set("moves", false);
  object.set("countWeight", 1);
  object.set("id", handles().add(std::move(columns)));
  return object;
}

template <typename Totals>
val sums_totals(double handle, const val& options) {
  const auto& columns = handles().get<StackColumns>(handle);
  return to_handle(std::make_unique<Totals>(columns.mechanism(), totals_options(options)));
}

val sums_ledger(double handle, const val& options) {
  const auto& columns = handles().get<StackColumns>(handle);
  return open_ledger(std::make_unique<ReleaseLedger>(columns.mechanism(), totals_options(options)),
                     options);
}

/// Opens a ledger of people's columns, which refuses states of other columns.
val open_people(std::shared_ptr<const Mechanism> mechanism, const val& options, bool first_only) {
  const std::string about = text(options, "about");
  return open_ledger(
      std::make_unique<PeopleLedger>(std::move(mechanism), totals_options(options),
                                     PeopleLedgerOptions{.first_only = first_only, .about = about}),
      options);
}

/// Opens one for columns whose sums are not the columns of any record, so that only first records
/// count.
val firsts_ledger(const val& options) {
  return open_people(Mechanism::make(mechanism_options(options)), options, true);
}

val sums_people_ledger(double handle, const val& options) {
  return open_people(handles().get<StackColumns>(handle).mechanism(), options, false);
}

val sums_columns(double handle, const val& records) {
  const auto& columns = handles().get<StackColumns>(handle);
  const std::vector<double> rows = numbers_of(records);
  const auto width = static_cast<std::size_t>(columns.record_size());
  const auto dimension = static_cast<std::size_t>(columns.dimension());
  std::vector<double> all(rows.size() / width * dimension);
  for (std::size_t i = 0; i * width < rows.size(); ++i)
    columns.write(std::span(rows).subspan(i * width, width),
                  std::span(all).subspan(i * dimension, dimension));
  return owned_array(all);
}

/// Returns four numbers per estimate, for the sums of steps from first_step on.
val sums_read(double handle, const val& sums, double first_step) {
  const auto& columns = handles().get<StackColumns>(handle);
  const std::vector<double> rows = numbers_of(sums);
  const auto dimension = static_cast<std::size_t>(columns.dimension());
  std::vector<double> numbers;
  for (std::size_t i = 0; i * dimension < rows.size(); ++i)
    append(numbers, columns.read(count_of(first_step) + static_cast<std::int64_t>(i),
                                 std::span(rows).subspan(i * dimension, dimension)));
  return owned_array(numbers);
}

double sums_stddev(double handle, double step, double workload) {
  return handles().get<StackColumns>(handle).stddev(count_of(step), count_of(workload));
}

double sums_lower_bound(double handle) {
  return handles().get<StackColumns>(handle).mechanism()->stack_lower_bound();
}

/// Applies monotone_counts to one category after the other.
val histogram_monotone(const val& counts, double steps) {
  const std::vector<double> all = numbers_of(counts);
  const auto length = static_cast<std::size_t>(count_of(steps));
  std::vector<double> monotone;
  for (std::size_t begin = 0; begin < all.size(); begin += length) {
    const std::vector<double> own = monotone_counts(std::span(all).subspan(begin, length));
    monotone.insert(monotone.end(), own.begin(), own.end());
  }
  return owned_array(monotone);
}

}  // namespace

EMSCRIPTEN_BINDINGS(dpftrl_statistics) {
  bind<&moments_create>("statisticMomentsCreate");
  emscripten::function("statisticMomentsColumns", &columns_of<MomentColumns>);
  bind<&read<MomentColumns>>("statisticMomentsRead");
  bind<&histogram_create>("statisticHistogramCreate");
  emscripten::function("statisticHistogramColumns", &columns_of<HistogramColumns>);
  bind<&read<HistogramColumns>>("statisticHistogramRead");
  bind<&histogram_monotone>("statisticHistogramMonotone");
  emscripten::function("peopleSumContributeFirst",
                       &take_people<&PeopleSum::contribute_first, false>);
  emscripten::function("peopleSumReleaseFirsts", &take_people<&PeopleSum::contribute_first, true>);
  bind<&firsts_ledger>("peopleLedgerOfFirsts");
  bind<&stack_errors>("stackErrors");
  bind<&sums_create>("statisticSumsCreate");
  bind<&sums_totals<PrefixSum>>("statisticSumsPrefixSum");
  bind<&sums_totals<PeopleSum>>("statisticSumsPeopleSum");
  bind<&sums_ledger>("ledgerOfSums");
  bind<&sums_people_ledger>("peopleLedgerOfSums");
  bind<&sums_columns>("statisticSumsColumns");
  bind<&sums_read>("statisticSumsRead");
  bind<&sums_stddev>("statisticSumsStddev");
  bind<&sums_lower_bound>("statisticSumsLowerBound");
}

}  // namespace dpftrl::wasm
