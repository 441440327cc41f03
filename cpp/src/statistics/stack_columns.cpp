// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include "dpftrl/base/error.hpp"
#include "dpftrl/statistics/statistics.hpp"
#include "random/integer_variance.hpp"
#include "release/release_engine.hpp"
#include "statistics/intervals.hpp"

namespace dpftrl {
namespace {

constexpr std::string_view kFunction = "sums";

/// Half-width of the interval of a standard normal with this confidence.
double normal_of(double confidence) {
  return detail::normal_half_width(1 - require_inside(kFunction, "confidence", confidence, 0, 1));
}

}  // namespace

StackColumns::StackColumns(std::shared_ptr<const Mechanism> mechanism, const Options& options)
    : mechanism_(std::move(mechanism)), options_(options), normal_(normal_of(options.confidence)) {
  const std::int64_t count = mechanism_->num_readers();
  require_between(kFunction, "dimension", options.record_size, 1, kMaxDimension / count);
  for (std::int64_t i = 0; i < count; ++i) readers_.push_back(mechanism_->reader(i));
  if (!options_.grid) options_.grid = detail::default_stack_grid(*mechanism_, record_size());
}

double StackColumns::stddev(std::int64_t step, std::int64_t workload) const {
  require_between(kFunction, "workload", workload, 0, num_workloads() - 1);
  const double noise = readers_[static_cast<std::size_t>(workload)]->release_stddev(step);
  return grid() * std::sqrt(detail::rounded_gaussian_variance(noise / grid()));
}

void StackColumns::write(std::span<const double> record, std::span<double> columns) const {
  require_length(kFunction, "record", std::ssize(record), record_size());
  require_length(kFunction, "columns", std::ssize(columns), dimension());
  const auto rest = std::ranges::copy(record, columns.begin()).out;
  std::fill(rest, columns.end(), 0.0);
}

std::vector<Estimate> StackColumns::read(std::int64_t step, std::span<const double> sums) const {
  require_length(kFunction, "sums", std::ssize(sums), dimension());
  std::vector<Estimate> estimates;
  const auto size = static_cast<std::size_t>(record_size());
  for (std::int64_t i = 0; i < num_workloads(); ++i) {
    const detail::SumNoise noise{.stddev = stddev(step, i), .grid = grid()};
    const double half = noise.half_width({1.0}, normal_);
    for (const double value : sums.subspan(static_cast<std::size_t>(i) * size, size))
      estimates.push_back({value, value - half, value + half, noise.stddev});
  }
  return estimates;
}

}  // namespace dpftrl
