// SPDX-License-Identifier: Apache-2.0
#include "learn/rules/ftrl.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/largest_magnitude.hpp"
#include "base/sum_of_squares.hpp"
#include "dpftrl/base/error.hpp"
#include "learn/rules/penalty.hpp"

namespace dpftrl {

double lambda_at(double first, bool doubling, std::int64_t step) {
  if (!doubling) return first;
  return first *
         std::sqrt(static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(step) + 1)));
}

double first_lambda(double last, std::int64_t steps) {
  return last / std::sqrt(static_cast<double>(steps));
}

Ftrl::Ftrl(const FtrlOptions& options)
    : UpdateRule(
          "ftrl",
          {.dimension = options.dimension, .domain = options.domain, .start = options.start}),
      lambda_(require_positive("ftrl", "lambda", options.lambda)),
      doubling_(options.doubling),
      start_(options.start),
      start_value_(iterate()(0)),
      start_extent_(iterate().lpNorm<Eigen::Infinity>()),
      penalty_(options.penalty),
      shape_{.num_features = options.dimension / options.num_scores,
             .num_scores = options.num_scores} {
  require_penalty("ftrl", penalty_, shape_);
  require_domain_for("ftrl", penalty_, domain());
}

bool Ftrl::is_finite_for(double largest_entry) const {
  // lambda never decreases.
  return std::isfinite(largest_entry / lambda_ + start_extent_);
}

void Ftrl::require_finite_step(std::span<const double> prefix_sum) const {
  const double extent = detail::largest_magnitude(prefix_sum) / next_lambda() + start_extent_;
  if (std::isfinite(extent)) return;
  require_all_finite("ftrl", "prefix_sum", prefix_sum);
  require_finite("ftrl", "prefix_sum", extent);
}

void Ftrl::next(std::size_t first, std::span<const double> sums, std::span<double> iterate) {
  if (start_.size() == 0) {
    std::ranges::fill(iterate, start_value_);
  } else {
    std::copy_n(start_.data() + first, iterate.size(), iterate.begin());
  }
  domain().lead(sums, next_lambda(), iterate);
}

std::optional<UpdateRule::Line> Ftrl::next_line() const {
  const double rate = 1 / next_lambda();
  // As in Domain::lead, which divides by lambda if the rate is not a normal number.
  if (start_.size() > 0 || penalty_.strength > 0 || !domain().projects_by_factor() ||
      !std::isnormal(rate))
    return std::nullopt;
  return Line{start_value_, rate};
}

double Ftrl::finish_next(std::span<const double> prefix_sum, std::span<double> iterate,
                         double sum_of_squares) {
  if (penalty_.strength > 0) {
    shrink(penalty_, static_cast<double>(num_updates() + 1) / next_lambda(), shape_, iterate);
    sum_of_squares = detail::sum_of_squares(iterate);
  }
  return domain().finish_leader(prefix_sum, next_lambda(), iterate, sum_of_squares);
}

}  // namespace dpftrl
