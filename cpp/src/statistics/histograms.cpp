// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "dpftrl/base/error.hpp"
#include "statistics/intervals.hpp"

namespace dpftrl {
namespace {

using detail::Factor;
using detail::Interval;
using detail::normal_half_width;
using detail::quotients;
using detail::require_times;
using detail::SumNoise;

constexpr std::string_view kHistogramsName = HistogramColumns::kName;
constexpr Interval kShares = {0, 1};

/// Rounds a weight down to a multiple of the grid, so that no column gets longer.
double rounded_down(double weight, double grid) {
  return std::floor(weight / grid) * grid;
}

/// A linear combination of the sums, as the factors of their noise.
struct Combination {
  double own = 0;     ///< factor of the sum of one category
  double others = 0;  ///< factor of each other category
  double total = 0;   ///< factor of the sum that counts all records

  Combination minus(double times, const Combination& other) const {
    return {.own = own - times * other.own,
            .others = others - times * other.others,
            .total = total - times * other.total};
  }
};

/// Std of combinations of the sums of all categories, and bounds on their noise.
struct CombinedNoise {
  SumNoise noise;
  double num_others;

  double stddev_of(const Combination& it) const {
    return noise.stddev_of({it.own, Factor(it.others, num_others), it.total});
  }
  double half_width(const Combination& it, double normal) const {
    return noise.half_width({it.own, Factor(it.others, num_others), it.total}, normal);
  }
  Estimate around(double value, const Combination& it, double normal) const {
    const double half = half_width(it, normal);
    return {.value = value, .low = value - half, .high = value + half, .stddev = stddev_of(it)};
  }
};

}  // namespace

HistogramColumns::HistogramColumns(const HistogramOptions& options) : options_(options) {
  require_count(kHistogramsName, "categories", "entries", num_categories(), 1, kMaxCategories);
  require_inside(kHistogramsName, "confidence", options_.confidence, 0, 1);
  require_times(kHistogramsName, neighbours(), fixed_times());
  if (fixed_times()) {
    total_weight_ = 1;
  } else if (options_.total) {
    const auto num = static_cast<double>(num_categories());
    const double root = std::sqrt(num + 1);
    const double squared = num / (num - 1 + root);
    category_weight_ = rounded_down(std::sqrt(squared), grid());
    total_weight_ = rounded_down(std::sqrt(squared * (root - 1) / num), grid());
  }
}

double HistogramColumns::distance() const {
  return neighbours() == Neighbours::replace_one ? std::numbers::sqrt2 : 1;
}

std::shared_ptr<const Mechanism> HistogramColumns::mechanism(
    const MechanismOptions& options) const {
  return detail::statistic_mechanism(
      options, {.distance = distance(), .grid = grid(), .moves = moves()}, kName);
}

Certificate HistogramColumns::certificate(const Mechanism& mechanism) const {
  return detail::statistic_certificate(mechanism,
                                       {.distance = distance(), .grid = grid(), .moves = moves()},
                                       neighbours(), fixed_times());
}

PrefixSumOptions HistogramColumns::release_options(PrefixSumOptions options) const {
  return detail::statistic_options(std::move(options), dimension(), grid(), kName);
}

void HistogramColumns::check(std::int64_t category) const {
  require_between(kHistogramsName, "category", category, 0, num_categories() - 1);
}

std::span<const double> HistogramColumns::write(std::int64_t category,
                                                std::span<double> columns) const {
  check(category);
  require_length(kHistogramsName, "columns", std::ssize(columns), dimension());
  std::ranges::fill(columns, 0);
  columns[static_cast<std::size_t>(category)] = category_weight_;
  if (total_weight_ > 0) columns.back() = total_weight_;
  return columns;
}

Histogram HistogramColumns::read(const NoisyColumns& columns) const {
  require_length(kHistogramsName, "sums", std::ssize(columns.sums), dimension());
  // May be 0, because noise far below the grid is rounded to 0.
  require_non_negative(kHistogramsName, "stddev", columns.stddev);
  const auto num = static_cast<double>(num_categories());
  const double a = category_weight_, b = total_weight_;
  // Normal equations of least squares: a^2 count + b^2 total = a y + b y_total, for each category.
  const double weight = a * a + num * b * b;
  const Combination of_total = {.own = a / weight, .others = a / weight, .total = num * b / weight};
  const Combination of_count =
      Combination{.own = a, .others = 0, .total = b}.minus(b * b, of_total);
  const Combination of_one = {.own = of_count.own / (a * a),
                              .others = of_count.others / (a * a),
                              .total = of_count.total / (a * a)};
  const CombinedNoise noise{.noise = {.stddev = columns.stddev, .grid = grid()},
                            .num_others = num - 1};
  const double normal = normal_half_width(1 - options_.confidence);

  const std::span<const double> sums =
      columns.sums.first(static_cast<std::size_t>(num_categories()));
  const double all = std::accumulate(sums.begin(), sums.end(), 0.0);
  const double measured = b > 0 ? columns.sums.back() : 0;
  const double total = (a * all + num * b * measured) / weight;
  Histogram histogram{.count = {}, .total = noise.around(total, of_total, normal), .share = {}};
  const double divisor = std::max(total, 1.0);  // noise may leave less than one record
  const auto bound = [&](const Interval& range) {
    // The half-width is convex in the share, so it is largest at an end.
    return std::max(noise.half_width(of_one.minus(range.low, of_total), normal),
                    noise.half_width(of_one.minus(range.high, of_total), normal));
  };
  for (const double sum : sums) {
    const double count = (a * sum + b * measured - b * b * total) / (a * a);
    histogram.count.push_back(noise.around(count, of_one, normal));
    const Interval range = quotients({count, count}, total, kShares, bound);
    const double share = std::clamp(count / divisor, range.low, range.high);
    histogram.share.push_back({.value = share,
                               .low = range.low,
                               .high = range.high,
                               .stddev = noise.stddev_of(of_one.minus(share, of_total)) / divisor});
  }
  return histogram;
}

std::vector<double> monotone_counts(std::span<const double> counts) {
  require_all_finite(kHistogramsName, "counts", counts);
  /// Steps that share one value, their mean.
  struct Pool {
    double mean;
    std::int64_t steps;
  };
  std::vector<Pool> pools;
  for (const double count : counts) {
    Pool last{.mean = count, .steps = 1};
    while (!pools.empty() && pools.back().mean >= last.mean) {
      const Pool& earlier = pools.back();
      const std::int64_t steps = earlier.steps + last.steps;
      const double share = static_cast<double>(last.steps) / static_cast<double>(steps);
      last = {.mean = earlier.mean + share * (last.mean - earlier.mean), .steps = steps};
      pools.pop_back();
    }
    pools.push_back(last);
  }
  std::vector<double> monotone;
  for (const Pool& pool : pools)
    monotone.insert(monotone.end(), static_cast<std::size_t>(pool.steps), std::max(pool.mean, 0.0));
  return monotone;
}

}  // namespace dpftrl
