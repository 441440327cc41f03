// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/release/increments.hpp"

#include <algorithm>
#include <cmath>

#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/base/error.hpp"
#include "random/integer_variance.hpp"
#include "random/normal_tail.hpp"
#include "release/release_engine.hpp"

namespace dpftrl {
namespace {

constexpr std::string_view kName = "increments";

}  // namespace

Increments::Increments(std::int64_t size, double confidence)
    : numbers_(size, confidence),
      deviations_(detail::normal_half_width(1 - confidence)),
      current_(static_cast<std::size_t>(size)),
      before_(current_.size()) {}

void Increments::begin(const PrefixSum& sums) {
  const Mechanism& mechanism = sums.mechanism();
  if (mechanism.is_pure() || sums.lattice() != nullptr)
    fail(ErrorCode::unsupported, kName, "mechanism",
         "must have Gaussian noise on a grid, whose increments have a known std");
  grid_ = sums.grid();
  stddevs_ = increment_variances(mechanism.strategy());
  for (double& entry : stddevs_) entry = mechanism.noise_stddev() * std::sqrt(entry);
  std::ranges::fill(current_, 0);
  std::ranges::fill(before_, 0);
}

void Increments::follow(std::span<const double> noisy) {
  before_.swap(current_);
  current_.assign(noisy.begin(), noisy.end());
}

void Increments::seek(std::int64_t step,
                      const std::function<std::span<const double>(std::int64_t)>& released) const {
  if (step == 0) {
    std::ranges::fill(before_, 0);
    return;
  }
  const std::span<const double> noisy = released(step - 1);
  before_.assign(noisy.begin(), noisy.end());
}

Estimates Increments::read(const NoisySums& sums) const {
  Estimates reading{.values = {sums.values.begin(), sums.values.end()},
                    .stddev = stddev(sums.step),
                    .half_width = width_of(sums.step, deviations_)};
  for (std::size_t i = 0; i < before_.size(); ++i) reading.values[i] -= before_[i];
  return reading;
}

double Increments::stddev(std::int64_t step) const {
  const double in_grids = stddev_before_rounding(step) / grid_;
  // Before the first total there is no noise.
  return grid_ * std::sqrt(step == 0 ? detail::rounded_gaussian_variance(in_grids)
                                     : detail::rounded_difference_variance(in_grids));
}

double Increments::half_width(const StepProbability& wanted) const {
  detail::require_probability(wanted.probability);
  return width_of(wanted.step, detail::normal_half_width(wanted.probability));
}

double Increments::simultaneous_half_width(double probability) const {
  detail::require_probability_of_all(probability);
  const double entries = static_cast<double>(stddevs_.size()) * static_cast<double>(before_.size());
  const auto largest = std::ranges::max_element(stddevs_) - stddevs_.begin();
  return width_of(largest, detail::normal_half_width(probability / entries));
}

double Increments::stddev_before_rounding(std::int64_t step) const {
  require_between(kName, "step", step, 0, std::ssize(stddevs_) - 1);
  return stddevs_[static_cast<std::size_t>(step)];
}

double Increments::width_of(std::int64_t step, double deviations) const {
  return (deviations * stddev_before_rounding(step) + grid_) * detail::kWidthRoundUp;
}

}  // namespace dpftrl
