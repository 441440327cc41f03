// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/release/columns.hpp"

#include "dpftrl/base/error.hpp"

namespace dpftrl {
namespace {

double probability_beyond(double confidence) {
  return 1 - require_inside("stream", "confidence", confidence, 0, 1);
}

}  // namespace

Number::Number(double confidence) : beyond_(probability_beyond(confidence)) {}

Estimate Number::read(const NoisySums& sums) const {
  const double value = sums.values[0];
  const double half = sums.noise.release_half_width({.step = sums.step, .probability = beyond_});
  return {.value = value,
          .low = value - half,
          .high = value + half,
          .stddev = sums.noise.release_stddev(sums.step)};
}

PrefixSumOptions Number::release_options(PrefixSumOptions options) const {
  options.dimension = 1;
  return options;
}

Numbers::Numbers(std::int64_t size, double confidence)
    : size_(require_between("stream", "dimension", size, 1, kMaxDimension)),
      beyond_(probability_beyond(confidence)) {}

void Numbers::check(std::span<const double> record) const {
  require_length("stream", "record", std::ssize(record), size_);
  require_all_finite("stream", "record", record);
}

Estimates Numbers::read(const NoisySums& sums) const {
  return {.values = {sums.values.begin(), sums.values.end()},
          .stddev = sums.noise.release_stddev(sums.step),
          .half_width = sums.noise.release_half_width({.step = sums.step, .probability = beyond_})};
}

PrefixSumOptions Numbers::release_options(PrefixSumOptions options) const {
  options.dimension = size_;
  return options;
}

}  // namespace dpftrl
