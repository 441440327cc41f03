// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "dpftrl/base/error.hpp"
#include "dpftrl/statistics/statistics.hpp"

namespace dpftrl {
namespace {

constexpr std::string_view kSums = "sums";

}  // namespace

SumColumns::SumColumns(StackOptions stack, std::int64_t record_size, double confidence)
    : stack_(std::move(stack)),
      record_size_(require_between(kSums, "dimension", record_size, 1, kMaxDimension)),
      beyond_(1 - require_inside(kSums, "confidence", confidence, 0, 1)) {}

void SumColumns::check(std::span<const double> record) const {
  require_length(kSums, "record", std::ssize(record), record_size_);
  require_all_finite(kSums, "record", record);
}

std::vector<Estimates> SumColumns::read(const NoisySums& sums) const {
  std::vector<Estimates> all;
  for (std::int64_t begin = 0; begin < std::ssize(sums.values); begin += record_size_) {
    const auto own = sums.values.subspan(static_cast<std::size_t>(begin),
                                         static_cast<std::size_t>(record_size_));
    all.push_back({.values = {own.begin(), own.end()},
                   .stddev = sums.noise.release_stddev_of({.step = sums.step, .coordinate = begin}),
                   .half_width = sums.noise.release_half_width(
                       {.step = sums.step, .probability = beyond_, .coordinate = begin})});
  }
  return all;
}

std::shared_ptr<const Mechanism> SumColumns::mechanism(MechanismOptions options) const {
  options.workload.reset();
  return Mechanism::make_stack(options, stack_);
}

PrefixSumOptions SumColumns::release_options(PrefixSumOptions options) const {
  require_between(kSums, "dimension", record_size_, 1, kMaxDimension / num_workloads());
  options.dimension = record_size_ * num_workloads();
  return options;
}

}  // namespace dpftrl
