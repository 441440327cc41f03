// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/queries/query_mechanism.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "dpftrl/base/error.hpp"
#include "dpftrl/problem/privacy.hpp"
#include "noise/exact/exact_entry.hpp"
#include "random/derived_key.hpp"
#include "random/discrete_gaussian.hpp"
#include "random/integer_variance.hpp"
#include "random/laplace_sum.hpp"

namespace dpftrl {
namespace {

constexpr const char* kMechanismFunction = "query_mechanism";
/// 2^61 / 64: noise of a larger std could reach 2^61, which exact_rounded_entry refuses.
constexpr double kMaxScale = 0x1p55;
constexpr std::int64_t kMaxContributions = std::int64_t{1} << 20;

double for_neighbours(const QuerySensitivity& sensitivity, Neighbours neighbours) {
  return neighbours == Neighbours::replace_one ? sensitivity.replace_one : sensitivity.add_remove;
}

/// value * times, rounded up; the value itself if times is 1.
double times_up(double value, std::int64_t times) {
  if (times == 1) return value;
  return std::nextafter(value * static_cast<double>(times),
                        std::numeric_limits<double>::infinity());
}

void require_scale(double scale, double largest) {
  if (!(scale <= largest))
    fail(ErrorCode::unsupported, "query_mechanism", "epsilon",
         "must be larger, or {delta}: noise stays within 2^61, and its scale would be " +
             to_text(scale));
}

}  // namespace

void QueryPrivacy::require_sound() const {
  require_positive(kMechanismFunction, "epsilon", epsilon);
  if (noise() == QueryNoise::gaussian) require_inside(kMechanismFunction, "delta", delta, 0, 1);
  require_between(kMechanismFunction, "max_contributions", max_contributions, 1, kMaxContributions);
  // With replace-one the total is public and gets no noise, so each person must have exactly one
  // record.
  if (neighbours == Neighbours::replace_one && max_contributions > 1)
    fail_argument(kMechanismFunction, "max_contributions",
                  "1 where the number of records is public: {neighbours} that replace a record",
                  to_text(max_contributions));
}

QueryMechanism::QueryMechanism(QueryFactorization factorization, const QueryPrivacy& privacy)
    : factorization_(std::move(factorization)), privacy_(privacy), noise_(privacy.noise()) {
  factorization_.require_sound();
  privacy.require_sound();
  const QuerySensitivity sensitivity = noise_ == QueryNoise::gaussian
                                           ? factorization_.l2_sensitivity()
                                           : factorization_.l1_sensitivity();
  const double of_record = for_neighbours(sensitivity, privacy.neighbours);
  row_norms_ = factorization_.row_norms(privacy.neighbours);
  unit_error_ =
      of_record * (factorization_.objective == Objective::max
                       ? row_norms_.maxCoeff()
                       : row_norms_.norm() / std::sqrt(static_cast<double>(row_norms_.size())));
  sensitivity_ = times_up(of_record, privacy.max_contributions);
  const bool replaces = privacy.neighbours == Neighbours::replace_one;
  textbook_ =
      times_up(replaces ? sensitivity.textbook : sensitivity.add_remove, privacy.max_contributions);
  is_public_.assign(static_cast<std::size_t>(factorization_.num_measurements()), false);
  if (replaces) is_public_ = factorization_.public_measurements();
  const bool is_all_public =
      std::find(is_public_.begin(), is_public_.end(), false) == is_public_.end();
  if (is_all_public || !(sensitivity_ > 0))
    fail(ErrorCode::invalid_argument, "query_mechanism", "workload",
         "must have queries that differ between values: between these {neighbours} the number of "
         "records is public");
  if (noise_ == QueryNoise::gaussian) {
    const double multiplier =
        noise_multiplier({.epsilon = privacy.epsilon, .delta = privacy.delta});
    noise_scale_ = sensitivity_ * multiplier * (1 + 0x1p-50);
    // Rounded up, and still below mu of the target, because the scale has 2^-50 to spare.
    mu_ = std::nextafter(sensitivity_ / noise_scale_, std::numeric_limits<double>::infinity());
    require_scale(noise_scale_, kMaxScale);
  } else {
    noise_scale_ = std::ceil(sensitivity_ / privacy.epsilon * (1 + 0x1p-50));
    mu_ = mu_from_pure_dp(privacy.epsilon);
    require_scale(noise_scale_, static_cast<double>(kMaxLaplaceScale));
  }
}

QueryRelease QueryMechanism::release(std::span<const std::int64_t> histogram,
                                     const Key& key) const {
  QueryRelease release{.measurements = factorization_.measure(histogram), .answers = {}};
  std::vector<double> numbers;
  if (noise_ == QueryNoise::gaussian) {
    const detail::NoiseShard shard{.key = detail::key_for(detail::KeyUse::gaussian, key)};
    const DecoderForm form = IdentityDecoder{};
    for (std::size_t i = 0; i < release.measurements.size(); ++i)
      if (!is_public_[i])
        release.measurements[i] +=
            exact_rounded_entry(form, shard, static_cast<std::int64_t>(i), 0, noise_scale_);
  } else {
    const DiscreteLaplace laplace(static_cast<std::int64_t>(noise_scale_));
    const Key own = detail::key_for(detail::KeyUse::laplace, key);
    for (std::size_t i = 0; i < release.measurements.size(); ++i)
      if (!is_public_[i])
        release.measurements[i] += laplace.sample(own, {.row = 0, .coordinate = i});
  }
  for (const std::int64_t y : release.measurements) numbers.push_back(static_cast<double>(y));
  release.answers = factorization_.decode(numbers);
  return release;
}

double QueryMechanism::lower_bound() const {
  return privacy_.neighbours == Neighbours::replace_one ? factorization_.replace_one_lower_bound
                                                        : factorization_.lower_bound;
}

double QueryMechanism::noise_stddev() const {
  if (noise_ == QueryNoise::gaussian)
    return std::sqrt(detail::rounded_gaussian_variance(noise_scale_));
  return std::sqrt(detail::discrete_laplace_variance(noise_scale_));
}

Vector QueryMechanism::standard_errors() const {
  return noise_stddev() * row_norms_;
}

}  // namespace dpftrl
