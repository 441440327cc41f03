// SPDX-License-Identifier: Apache-2.0

/// Streams of moments, histograms and sums of several workloads.

#include <emscripten/val.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "convert.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/statistics/statistics.hpp"
#include "guard.hpp"
#include "rows.hpp"
#include "stack.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;
using wasm::append;

void append_all(std::vector<double>& numbers, const std::vector<Estimate>& estimates) {
  for (const Estimate& estimate : estimates) append(numbers, estimate);
}

void append(std::vector<double>& numbers, const Moments& moments) {
  append(numbers, moments.count);
  for (const auto* const some :
       {&moments.mean, &moments.variance, &moments.standard_deviation, &moments.covariance})
    append_all(numbers, *some);
}

void append(std::vector<double>& numbers, const Histogram& histogram) {
  append(numbers, histogram.total);
  append_all(numbers, histogram.count);
  append_all(numbers, histogram.share);
}

std::int64_t size_of_record(const MomentColumns& columns) {
  return columns.num_columns();
}
std::int64_t size_of_record(const HistogramColumns&) {
  return 1;
}
std::span<const double> record_of(const MomentColumns&, std::span<const double> row) {
  return row;
}
/// Index of a category; -1, which is refused as out of range, if the number cannot be an index.
std::int64_t record_of(const HistogramColumns&, std::span<const double> row) {
  require_length("histogram", "record", std::ssize(row), 1);
  const bool is_index =
      row[0] >= 0 && row[0] <= HistogramColumns::kMaxCategories && row[0] == std::floor(row[0]);
  return is_index ? static_cast<std::int64_t>(row[0]) : -1;
}

/// Moments or histograms.
template <typename C>
class Statistic final : public ColumnsKind {
 public:
  explicit Statistic(C columns) : columns_(std::move(columns)) {}

  std::int64_t dimension() const override { return columns_.dimension(); }
  std::int64_t record_size() const override { return size_of_record(columns_); }
  bool adds() const override { return columns_.adds(); }
  void check(std::span<const double> record) override {
    columns_.check(record_of(columns_, record));
  }
  ProductRecord write(std::span<const double> record, std::span<double> row) override {
    return plain_row(columns_.write(record_of(columns_, record), row));
  }
  void append_reading(const NoisySums& sums, std::vector<double>& numbers) const override {
    append(numbers, columns_.read(sums));
  }
  PrefixSumOptions release_options(PrefixSumOptions options) const override {
    return columns_.release_options(options);
  }
  std::size_t stddev_index() const override { return 3; }
  double half_width(const PrefixSum&, std::optional<std::int64_t>, double) const override {
    fail(ErrorCode::unsupported, "half_width", {},
         "a half-width is for sums; the readings of this stream have intervals");
  }
  void describe(const Mechanism& mechanism, val& stream) const override {
    val certificate = stream["certificate"];
    const Certificate claim = columns_.certificate(mechanism);
    certificate.set("neighbours", std::string(to_string(claim.neighbours)));
    certificate.set("clipNorm", claim.clip);
    if (claim.neighbours == Neighbours::replace_one)
      certificate.set("fixedTimes", claim.fixed_times);
  }

 private:
  C columns_;
};

template <typename C>
MadeColumns made(C columns, const val& options) {
  auto mechanism = columns.mechanism(mechanism_options(options));
  return {.kind = std::make_shared<Statistic<C>>(std::move(columns)),
          .mechanism = std::move(mechanism)};
}

MomentColumns moments_of(const val& options) {
  MomentsOptions moments{.ranges = {},
                         .covariance = optional_flag(options, "covariance").value_or(false),
                         .confidence = confidence_of(options),
                         .neighbours = neighbours_from_string(text(options, "neighbours")),
                         .fixed_times = optional_flag(options, "fixedTimes").value_or(false)};
  const std::vector<double> ends = numbers(options, "ranges");
  for (std::size_t i = 0; i + 1 < ends.size(); i += 2)
    moments.ranges.push_back({.low = ends[i], .high = ends[i + 1]});
  return MomentColumns(std::move(moments));
}

HistogramColumns histogram_of(const val& options) {
  return HistogramColumns({.num_categories = count(options, "numCategories"),
                           .total = optional_flag(options, "total").value_or(false),
                           .confidence = confidence_of(options),
                           .neighbours = neighbours_from_string(text(options, "neighbours")),
                           .fixed_times = optional_flag(options, "fixedTimes").value_or(false)});
}

class Sums final : public ColumnsKind {
 public:
  Sums(SumColumns columns, bool is_single) : columns_(std::move(columns)), is_single_(is_single) {}

  std::int64_t dimension() const override { return columns_.dimension(); }
  std::int64_t record_size() const override { return columns_.dimension(); }
  bool adds() const override { return true; }
  void check(std::span<const double> record) override { columns_.check(record); }
  ProductRecord write(std::span<const double> record, std::span<double> row) override {
    return plain_row(columns_.write(record, row));
  }
  void append_reading(const NoisySums& sums, std::vector<double>& numbers) const override {
    for (const Estimates& own : columns_.read(sums)) {
      if (!is_single_) {
        append(numbers, own);
        continue;
      }
      const double value = own.values[0];
      append(numbers, Estimate{.value = value,
                               .low = value - own.half_width,
                               .high = value + own.half_width,
                               .stddev = own.stddev});
    }
  }
  PrefixSumOptions release_options(PrefixSumOptions options) const override {
    return columns_.release_options(options);
  }
  std::size_t stddev_index() const override {
    return is_single_ ? 3 : static_cast<std::size_t>(columns_.dimension());
  }
  void describe(const Mechanism& mechanism, val& stream) const override {
    val workloads = val::array();
    for (std::int64_t i = 0; i < mechanism.num_readers(); ++i)
      workloads.call<double>("push", workload_error(*mechanism.reader(i)));
    stream.set("workloads", workloads);
  }

 private:
  SumColumns columns_;
  bool is_single_;
};

MadeColumns sums_of(const val& options) {
  const std::optional<std::int64_t> dimension = optional_count(options, "dimension");
  const bool is_single = optional_flag(options, "single").value_or(!dimension.has_value());
  const std::int64_t size = is_single ? 1 : dimension.value_or(1);
  const MechanismOptions mechanism = mechanism_options(options);
  const SumColumns columns(stack_options(options, mechanism.steps), size, confidence_of(options));
  return {.kind = std::make_shared<Sums>(columns, is_single),
          .mechanism = columns.mechanism(mechanism)};
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

MadeColumns make_statistic(const std::string& kind, const val& options) {
  if (optional_flag(options, "pure").value_or(false))
    fail(ErrorCode::unsupported, kind, "delta", "must be positive", "0");
  if (kind == "moments") return made(moments_of(options), options);
  if (kind == "histogram") return made(histogram_of(options), options);
  if (kind == "sums") return sums_of(options);
  if (kind == "increments") return make_increments(options);
  if (kind == "learner") return make_learner(options);
  if (kind == "active") return make_active(options);
  fail_argument("stream", "kind", "one of the kinds of columns", kind);
}

EMSCRIPTEN_BINDINGS(dpftrl_statistics) {
  bind<&histogram_monotone>("statisticHistogramMonotone");
}

}  // namespace dpftrl::wasm
