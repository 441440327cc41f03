// SPDX-License-Identifier: Apache-2.0
#include "learn/rules/update_rule.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/span_of.hpp"
#include "base/sum_of_squares.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/release/record.hpp"

namespace dpftrl {

UpdateRule::UpdateRule(std::string_view where, const Options& options) : domain_(options.domain) {
  require_between(where, "dimension", options.dimension, 1, kMaxModelDimension);
  if (!domain_) fail(ErrorCode::invalid_argument, where, "domain", "must be given");
  iterate_ = options.start.size() == 0 ? domain_->start(options.dimension) : options.start;
  require_length(where, "start", iterate_.size(), options.dimension);
  require_all_finite(where, "start", detail::span_of(iterate_));
  played_sum_ = iterate_;
  domain_->project(detail::span_of(played_sum_));
  if (iterate_ != played_sum_)
    fail_argument(where, "start", "a point of the domain",
                  "one of norm " + to_text(iterate_.stableNorm()));
  played_sum_.setZero();
}

void UpdateRule::update(std::span<const double> prefix_sum) {
  require_length("ftrl", "prefix_sum", static_cast<std::int64_t>(prefix_sum.size()), dimension());
  require_finite_step(prefix_sum);
  static_cast<void>(iterate());  // materialises it
  for (std::size_t first = 0; first < prefix_sum.size(); first += ReleaseSink::kBlock)
    advance_along(
        std::nullopt, first,
        prefix_sum.subspan(first, std::min(ReleaseSink::kBlock, prefix_sum.size() - first)));
  finish_along(std::nullopt, prefix_sum);
}

void UpdateRule::follow(std::span<const double> prefix_sum) {
  latest_sum_ = prefix_sum;
  const std::optional<Line> line = next_line();
  if (!line) return;
  line_ = *line;
  iterate_ = Vector();
  iterate_ = Vector(static_cast<Eigen::Index>(prefix_sum.size()));  // allocated, not written
  is_written_ = false;
}

void UpdateRule::advance(std::size_t first, std::span<const double> block) {
  advance_along(next_line(), first, block);
}

void UpdateRule::finish() {
  finish_along(next_line(), latest_sum_);
}

void UpdateRule::advance_along(const std::optional<Line>& line, std::size_t first,
                               std::span<const double> block) {
  const std::span<double> played = detail::span_of(played_sum_).subspan(first, block.size());
  const std::span<double> iterate = detail::span_of(iterate_).subspan(first, block.size());
  if (is_written_) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      iterate[i] *= factor_;
      played[i] += iterate[i];
    }
  } else {
    const Line current = line_;
    const double factor = factor_;
    const double* const sums = latest_sum_.data() + first;
    for (std::size_t i = 0; i < block.size(); ++i) played[i] += current(sums[i]) * factor;
  }
  if (line) {
    std::array<double, ReleaseSink::kBlock> next_block;
    const Line coming = *line;
    for (std::size_t i = 0; i < block.size(); ++i) next_block[i] = coming(block[i]);
    sum_of_squares_ += detail::sum_of_squares(std::span(next_block).first(block.size()));
  } else {
    next(first, block, iterate);
    sum_of_squares_ += detail::sum_of_squares(iterate);
  }
}

void UpdateRule::finish_along(const std::optional<Line>& line, std::span<const double> prefix_sum) {
  const double sum_of_squares = std::exchange(sum_of_squares_, 0);
  const std::optional<double> factor = line ? domain_->factor_of(sum_of_squares) : std::nullopt;
  is_written_ = !factor;
  if (factor) {
    factor_ = *factor;
    line_ = *line;
  } else {
    if (line) next(0, prefix_sum, detail::span_of(iterate_));
    factor_ = 1;
    factor_ = finish_next(prefix_sum, detail::span_of(iterate_), sum_of_squares);
  }
  ++num_updates_;
}

const Vector& UpdateRule::iterate() const {
  if (!std::exchange(is_written_, true))
    for (std::size_t i = 0; i < latest_sum_.size(); ++i) iterate_.data()[i] = line_(latest_sum_[i]);
  if (factor_ != 1) iterate_ *= std::exchange(factor_, 1);
  return iterate_;
}

double UpdateRule::score(std::size_t first, std::span<const double> features) const {
  const Eigen::Map<const Vector> x(features.data(), static_cast<Eigen::Index>(features.size()));
  if (is_written_)
    return (factor_ * iterate_.segment(static_cast<Eigen::Index>(first), x.size())).dot(x);
  const Eigen::Map<const Vector> sums(latest_sum_.data() + first, x.size());
  return (factor_ * (line_.start - line_.rate * sums.array()).matrix()).dot(x);
}

Vector UpdateRule::average() const {
  if (num_updates_ == 0) return iterate();
  return played_sum_ / static_cast<double>(num_updates_);
}

}  // namespace dpftrl
