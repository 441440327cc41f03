// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/release/prefix_sum.hpp"

#include <utility>

#include "dpftrl/base/error.hpp"
#include "release/person_part.hpp"

namespace dpftrl {

PeopleSum::PeopleSum(std::shared_ptr<const Mechanism> mechanism, const PrefixSumOptions& options)
    : sums_(std::move(mechanism), options), bound_(sums_.mechanism().participation()) {}

void PeopleSum::require_contribution(std::span<const double> values) const {
  require_length("people_sum", "values", static_cast<std::int64_t>(values.size()), dimension());
  require_all_finite("people_sum", "values", values);
  if (step() == steps())
    fail(ErrorCode::past_horizon, "people_sum", "step",
         "must be below the horizon " + to_text(steps()), to_text(step()));
}

bool PeopleSum::contribute(std::int64_t person, std::span<const double> values) {
  require_contribution(values);
  if (!bound_.admits(person, step())) return false;
  detail::add_to_part(parts_[person], values);
  return true;
}

bool PeopleSum::contribute_first(std::int64_t person, std::span<const double> values) {
  if (!parts_.contains(person)) return contribute(person, values);
  require_contribution(values);
  ++num_repeated_;
  return false;
}

void PeopleSum::release(std::span<double> noisy) {
  require_length("people_sum", "noisy", static_cast<std::int64_t>(noisy.size()), dimension());
  while (!parts_.empty()) {
    sums_.contribute(parts_.begin()->second);
    parts_.erase(parts_.begin());  // at once, so that no part counts twice
  }
  sums_.release(noisy);
}

}  // namespace dpftrl
