// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/statistics/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "dpftrl/base/error.hpp"
#include "statistics/intervals.hpp"

namespace dpftrl {
namespace {

using detail::Interval;
using detail::normal_half_width;
using detail::quotients;
using detail::require_times;
using detail::SumNoise;

constexpr std::string_view kMomentsName = MomentColumns::kName;

/// Room for truncation to the grid and for rounding of doubles: docs/math/moments.md.
constexpr double kSlack = 1 + 0x1p-14;
/// Largest grid, in units of distance / sqrt(dimension); takes at most a quarter of the slack.
constexpr double kGrid = 0x1p-16;

void require_ranges(const std::vector<ColumnRange>& ranges) {
  require_count(kMomentsName, "ranges", "columns", std::ssize(ranges), 1,
                MomentColumns::kMaxColumns);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto [low, high] = ranges[i];
    // Keeps half of a range and its square normal doubles, and most digits of numbers in the range.
    constexpr double kLeast = 1e-150, kMost = 1e150, kDigits = 1e-6;
    const double largest = std::max(std::abs(low), std::abs(high));
    if (largest <= kMost && high - low >= std::max(kLeast, kDigits * largest)) continue;
    fail_argument(kMomentsName, "ranges[" + to_text(static_cast<std::int64_t>(i)) + "]",
                  "two numbers within 1e150, the second larger by at least 1e-150 and 1e-6 of them",
                  to_text(low) + " and " + to_text(high));
  }
}

double half_of(const ColumnRange& range) {
  return (range.high - range.low) / 2;
}

double middle_of(const ColumnRange& range) {
  return range.low + half_of(range);
}

/// Weights of the columns: the table of docs/math/moments.md.
struct MomentWeights {
  double count_squared;   ///< kappa^2
  double square_squared;  ///< lambda^2
  double centre;          ///< c
  double pair_squared;    ///< nu^2 (d - 1)
};

MomentWeights weights_of(const MomentsOptions& options, double num, bool has_pairs) {
  if (options.neighbours == Neighbours::zero_out) return {1, 4, 5.0 / 8, 2};
  if (options.fixed_times)
    return has_pairs ? MomentWeights{9.0 / 4, 2, 3.0 / 4, 1}
                     : MomentWeights{9.0 / 4, 11.0 / 4, 0.5 + 0.5 / 2.75, 0};
  return has_pairs ? MomentWeights{num / 2, 3.0 / 2, 1, 1}
                   : MomentWeights{7 * num / 8, 2, 3.0 / 4, 0};
}

double power_of_two_below(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, exponent - 2);
}

/// Share of the failure probability of a variance or covariance that is spent on each mean in it,
/// whose error is of second order there.
constexpr double kShareOfMean = 0.1;

/// Largest loss of an entry of a record, in grid units: truncation takes less than one, and scaling
/// to [-1, 1] rounds.
constexpr double kLost = 1 + 0x1p-8;

constexpr Interval kMeans = {-1, 1};
constexpr Interval kVariances = {0, 1};

Estimate in_units(const Estimate& of_u, double scale, double offset) {
  return {.value = offset + scale * of_u.value,
          .low = offset + scale * of_u.low,
          .high = offset + scale * of_u.high,
          .stddev = scale * of_u.stddev};
}

/// Square root of a number that is not negative. Roots of numbers s apart are at most sqrt(s)
/// apart, which bounds the error where the first order exceeds it.
Estimate root_of(const Estimate& squared) {
  const double value = std::sqrt(squared.value);
  const double most = std::sqrt(squared.stddev);
  return {.value = value,
          .low = std::sqrt(squared.low),
          .high = std::sqrt(squared.high),
          .stddev = squared.stddev < 2 * value * most ? squared.stddev / (2 * value) : most};
}

/// Means, variances and covariances of numbers in [-1, 1], from noisy sums.
class Quotients {
 public:
  /// @param num           noisy number of records.
  /// @param count_weight  weight of the column that counts them.
  Quotients(const SumNoise& noise, double num, double count_weight, double failure)
      : noise_(noise),
        num_(num),
        count_weight_(count_weight),
        normal_(normal_half_width(failure)),
        normal_of_mean_(normal_half_width(kShareOfMean * failure)),
        normal_of_variance_(normal_half_width((1 - kShareOfMean) * failure)),
        normal_of_covariance_(normal_half_width((1 - 2 * kShareOfMean) * failure)) {}

  Estimate count() const {
    const double half = noise_.half_width({1 / count_weight_}, normal_);
    return {.value = std::max(num_, 0.0),
            .low = std::max(num_ - half, 0.0),
            .high = std::max(num_ + half, 0.0),
            .stddev = noise_.stddev_of({1 / count_weight_})};
  }

  Estimate mean(double sum) const {
    const Interval range = mean_range(sum, normal_);
    const double value = ratio(sum, range);
    return {.value = value,
            .low = range.low,
            .high = range.high,
            .stddev = noise_.stddev_of({1, value / count_weight_}) / divisor()};
  }

  /// A column of squares or products.
  struct Products {
    double noisy;
    double weight;  ///< weight of the products in the column
    double centre;  ///< subtracted from each product before weighting
  };

  Estimate variance(double sum, const Products& squares) const {
    const double total = total_of(squares);
    const auto about = [&](double mean) { return total + mean * (mean * num_ - 2 * sum); };
    const double mean = ratio(sum, kMeans);
    const Interval means = mean_range(sum, normal_of_mean_);
    // `about` is least at the quotient or, if that is outside the interval, at the nearer end.
    // Without a positive count, every value is possible.
    const double inside = num_ > 0 ? std::clamp(sum / num_, means.low, means.high) : mean;
    const Interval sums = {about(inside), std::max(about(means.low), about(means.high))};
    const double value = ratio(about(mean), kVariances);
    const Interval range = range_of(sums, squares,
                                    {.means = means * means,
                                     .factors = {2 * means.magnitude(), 0},
                                     .possible = kVariances,
                                     .normal = normal_of_variance_});
    return estimate(value, range, squares, {2 * mean, 0}, mean * mean);
  }

  Estimate covariance(double sum_a, double sum_b, const Products& products) const {
    const double total = total_of(products);
    const auto about = [&](double a, double b) {
      return total - a * sum_b - b * sum_a + a * b * num_;
    };
    const double mean_a = ratio(sum_a, kMeans);
    const double mean_b = ratio(sum_b, kMeans);
    const Interval a = mean_range(sum_a, normal_of_mean_);
    const Interval b = mean_range(sum_b, normal_of_mean_);
    const auto [low, high] = std::minmax(
        {about(a.low, b.low), about(a.low, b.high), about(a.high, b.low), about(a.high, b.high)});
    const double value = ratio(about(mean_a, mean_b), kMeans);
    const Interval range = range_of({low, high}, products,
                                    {.means = a * b,
                                     .factors = {a.magnitude(), b.magnitude()},
                                     .possible = kMeans,
                                     .normal = normal_of_covariance_});
    return estimate(value, range, products, {mean_a, mean_b}, mean_a * mean_b);
  }

 private:
  /// At least 1, because noise may leave less than one record.
  double divisor() const { return std::max(num_, 1.0); }

  double ratio(double sum, const Interval& possible) const {
    return std::clamp(sum / divisor(), possible.low, possible.high);
  }

  double total_of(const Products& products) const {
    return products.noisy / products.weight + products.centre * num_;
  }

  /// Interval of a mean, with this normal_half_width.
  Interval mean_range(double sum, double normal) const {
    const double lost = kLost * noise_.grid;
    const auto bound = [&](const Interval& range) {
      return noise_.half_width({1, range.magnitude() / count_weight_}, normal);
    };
    return quotients({sum, sum}, num_, kMeans.widened(lost), bound).widened(lost).within(kMeans);
  }

  struct Known {
    Interval means;                 ///< products of the means
    std::array<double, 2> factors;  ///< largest factors of the noise of the sums
    Interval possible;
    double normal;  ///< normal_half_width of the interval
  };

  Interval range_of(const Interval& sums, const Products& products, const Known& known) const {
    const auto [first, second] = known.factors;
    const double lost = kLost * noise_.grid * (1 / products.weight + first + second);
    const auto bound = [&](const Interval& range) {
      const double gap = std::max(std::abs(products.centre + known.means.high - range.low),
                                  std::abs(products.centre + known.means.low - range.high));
      return noise_.half_width({1 / products.weight, first, second, gap / count_weight_},
                               known.normal);
    };
    return quotients(sums, num_, known.possible.widened(lost), bound)
        .widened(lost)
        .within(known.possible);
  }

  Estimate estimate(double value, const Interval& range, const Products& products,
                    const std::array<double, 2>& factors, double means) const {
    const double gap = products.centre + means - value;
    const double stddev =
        noise_.stddev_of({1 / products.weight, factors[0], factors[1], gap / count_weight_});
    return {.value = std::clamp(value, range.low, range.high),
            .low = range.low,
            .high = range.high,
            .stddev = stddev / divisor()};
  }

  SumNoise noise_;
  double num_;
  double count_weight_;
  // Half-widths are shared by all columns, because each takes a search.
  double normal_;
  double normal_of_mean_;
  double normal_of_variance_;
  double normal_of_covariance_;
};

}  // namespace

MomentColumns::MomentColumns(MomentsOptions options) : options_(std::move(options)) {
  require_ranges(options_.ranges);
  require_inside(kMomentsName, "confidence", options_.confidence, 0, 1);
  require_times(kMomentsName, neighbours(), fixed_times());
  const auto num = static_cast<double>(num_columns());
  const bool has_pairs = options_.covariance && num_columns() > 1;
  const MomentWeights weights = weights_of(options_, num, has_pairs);
  count_weight_ = std::sqrt(weights.count_squared);
  square_weight_ = std::sqrt(weights.square_squared);
  centre_ = weights.centre;
  pair_weight_ = has_pairs ? std::sqrt(weights.pair_squared / (num - 1)) : 0;
  const double num_pairs = num * (num - 1) / 2;
  const double norm_squared = weights.count_squared +
                              num * weights.square_squared * centre_ * centre_ +
                              pair_weight_ * pair_weight_ * num_pairs;
  const bool replaces = neighbours() == Neighbours::replace_one;
  distance_ = kSlack * (replaces ? 2 * std::sqrt(num) : std::sqrt(norm_squared));
  grid_ = power_of_two_below(kGrid * distance_ / std::sqrt(static_cast<double>(dimension())));
}

std::int64_t MomentColumns::dimension() const {
  const std::int64_t num = num_columns();
  return 1 + 2 * num + (options_.covariance ? num * (num - 1) / 2 : 0);
}

std::shared_ptr<const Mechanism> MomentColumns::mechanism(const MechanismOptions& options) const {
  return detail::statistic_mechanism(
      options, {.distance = distance(), .grid = grid(), .moves = moves()}, kName);
}

Certificate MomentColumns::certificate(const Mechanism& mechanism) const {
  return detail::statistic_certificate(mechanism,
                                       {.distance = distance(), .grid = grid(), .moves = moves()},
                                       neighbours(), fixed_times());
}

PrefixSumOptions MomentColumns::release_options(PrefixSumOptions options) const {
  return detail::statistic_options(std::move(options), dimension(), grid(), kName);
}

void MomentColumns::check(std::span<const double> record) const {
  require_length(kMomentsName, "record", std::ssize(record), num_columns());
  require_all_finite(kMomentsName, "record", record);
}

std::span<const double> MomentColumns::write(std::span<const double> record,
                                             std::span<double> columns) const {
  check(record);
  require_length(kMomentsName, "columns", std::ssize(columns), dimension());
  const std::size_t num = record.size();
  const std::span<double> first = columns.subspan(1, num);
  const std::span<double> second = columns.subspan(1 + num, num);
  columns[0] = count_weight_;
  for (std::size_t i = 0; i < num; ++i) {
    const ColumnRange& range = options_.ranges[i];
    first[i] = std::clamp((record[i] - middle_of(range)) / half_of(range), -1.0, 1.0);
    second[i] = square_weight_ * (first[i] * first[i] - centre_);
  }
  if (!options_.covariance) return columns;
  std::size_t next = 1 + 2 * num;
  for (std::size_t i = 0; i < num; ++i)
    for (std::size_t j = i + 1; j < num; ++j) columns[next++] = pair_weight_ * first[i] * first[j];
  return columns;
}

Moments MomentColumns::read(const NoisyColumns& columns) const {
  require_length(kMomentsName, "sums", std::ssize(columns.sums), dimension());
  // May be 0, because noise far below the grid is rounded to 0.
  require_non_negative(kMomentsName, "stddev", columns.stddev);
  const std::span<const double> sums = columns.sums;
  const Quotients quotients_of({.stddev = columns.stddev, .grid = grid_}, sums[0] / count_weight_,
                               count_weight_, 1 - options_.confidence);
  const std::size_t num = options_.ranges.size();
  Moments moments{.count = quotients_of.count(),
                  .mean = {},
                  .variance = {},
                  .covariance = {},
                  .standard_deviation = {}};
  std::size_t next_pair = 1 + 2 * num;
  for (std::size_t i = 0; i < num; ++i) {
    const double half = half_of(options_.ranges[i]);
    const double sum = sums[1 + i];
    moments.mean.push_back(in_units(quotients_of.mean(sum), half, middle_of(options_.ranges[i])));
    moments.variance.push_back(in_units(
        quotients_of.variance(
            sum, {.noisy = sums[1 + num + i], .weight = square_weight_, .centre = centre_}),
        half * half, 0));
    moments.standard_deviation.push_back(root_of(moments.variance.back()));
    for (std::size_t j = i + 1; options_.covariance && j < num; ++j)
      moments.covariance.push_back(in_units(
          quotients_of.covariance(
              sum, sums[1 + j], {.noisy = sums[next_pair++], .weight = pair_weight_, .centre = 0}),
          half * half_of(options_.ranges[j]), 0));
  }
  return moments;
}

}  // namespace dpftrl
