// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/ftrl.hpp"

#include <bit>
#include <cmath>

#include "dpftrl/error.hpp"

namespace dpftrl {
namespace {

std::span<double> span_of(Vector& v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}

}  // namespace

double lambda_at(double first, bool doubling, std::int64_t step) {
  if (!doubling) return first;
  return first *
         std::sqrt(static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(step) + 1)));
}

Ftrl::Ftrl(const FtrlOptions& options)
    : lambda_(require_positive("ftrl", "lambda", options.lambda)),
      doubling_(options.doubling),
      domain_(options.domain) {
  require_between("ftrl", "dimension", options.dimension, 1, kMaxModelDimension);
  if (!domain_) fail(ErrorCode::invalid_argument, "ftrl: domain must be given");
  const Eigen::Index dimension = static_cast<Eigen::Index>(options.dimension);
  start_ = options.start.size() == 0 ? domain_->start(options.dimension) : options.start;
  require_length("ftrl", "start", start_.size(), options.dimension);
  require_all_finite("ftrl", "start", span_of(start_));
  iterate_ = start_;
  domain_->project(span_of(iterate_));
  if (iterate_ != start_)
    fail_argument("ftrl", "start", "a point of the domain",
                  "one of norm " + to_text(start_.stableNorm()));
  next_ = iterate_;
  played_sum_ = Vector::Zero(dimension);
}

void Ftrl::update(std::span<const double> prefix_sum) {
  require_length("ftrl", "prefix_sum", static_cast<std::int64_t>(prefix_sum.size()), dimension());
  require_all_finite("ftrl", "prefix_sum", prefix_sum);
  domain_->leader(span_of(start_), prefix_sum, lambda_at(lambda_, doubling_, num_updates_ + 1),
                  span_of(next_));
  played_sum_ += iterate_;
  iterate_.swap(next_);
  ++num_updates_;
}

Vector Ftrl::average() const {
  if (num_updates_ == 0) return start_;
  return played_sum_ / static_cast<double>(num_updates_);
}

}  // namespace dpftrl
