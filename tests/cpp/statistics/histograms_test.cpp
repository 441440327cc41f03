// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/statistics/statistics.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include "dense_algebra.hpp"
#include "special_values.hpp"
#include "statistics/columns.hpp"

namespace dpftrl {
namespace {

using testing::expect_refused;
using testing::kNan;
using testing::tolerance;

struct HistogramKind {
  Neighbours neighbours;
  bool total;
  bool fixed_times = false;
};

/// Without a total, with one, and for records replaced in their own steps, where a total changes
/// nothing. Records that move to other steps, whose columns are those of removed records, are in
/// moving_records_test.
constexpr std::array kHistogramKinds = {HistogramKind{Neighbours::zero_out, false},
                                        HistogramKind{Neighbours::zero_out, true},
                                        HistogramKind{Neighbours::replace_one, false, true}};

HistogramOptions histogram_options(std::int64_t num, const HistogramKind& kind) {
  return {.num_categories = num,
          .total = kind.total,
          .confidence = 0.9,
          .neighbours = kind.neighbours,
          .fixed_times = kind.fixed_times};
}

TEST(HistogramsTest, all_streams_of_up_to_eight_steps_are_within_the_noise_of_their_neighbours) {
  for (const HistogramKind& kind : kHistogramKinds)
    for (const std::int64_t num : {1, 2, 4})
      for (const std::int64_t steps : {1, 2, 3, 5, 8})
        for (const Participation& participation : testing::patterns_of(steps))
          for (const char* strategy : {"square-root", "optimal"}) {
            const testing::HistogramStream sum({.strategy = strategy,
                                                .steps = steps,
                                                .target = {.epsilon = 1, .delta = 1e-6},
                                                .participation = participation},
                                               histogram_options(num, kind),
                                               Key::insecure_from_seed(1));
            std::vector<std::int64_t> all(static_cast<std::size_t>(num));
            std::iota(all.begin(), all.end(), 0);
            testing::expect_farthest(sum, all, 0x1p-14);
            testing::expect_certified(sum, kind.neighbours);
          }
}

TEST(HistogramsTest, distances_of_integers_are_no_less_than_they_are) {
  // The squares of these doubles, for which the noise is made, are not less than 1 and 2.
  for (const HistogramKind& kind : kHistogramKinds) {
    const HistogramColumns columns(histogram_options(5, kind));
    const bool replaces = kind.neighbours == Neighbours::replace_one;
    const long double distance = columns.distance();
    EXPECT_GE(distance * distance, replaces ? 2 : 1);
    EXPECT_EQ(columns.dimension(), kind.total || replaces ? 6 : 5);
    std::vector<double> row(static_cast<std::size_t>(columns.dimension()));
    columns.write(4, row);
    for (const double entry : row)
      EXPECT_EQ(std::nearbyint(entry / columns.grid()), entry / columns.grid());
    EXPECT_EQ(std::accumulate(row.begin(), row.begin() + 4, 0.0), 0);
  }
}

/// Matrix of a record's columns, one per category.
Matrix encoder_of_columns(const HistogramColumns& columns) {
  Matrix encoder(columns.dimension(), columns.num_categories());
  std::vector<double> row(static_cast<std::size_t>(columns.dimension()));
  for (std::int64_t j = 0; j < columns.num_categories(); ++j) {
    columns.write(j, row);
    encoder.col(testing::index_of(j)) = Eigen::Map<const Vector>(row.data(), encoder.rows());
  }
  return encoder;
}

TEST(HistogramsTest, readings_are_least_squares) {
  for (const HistogramKind& kind : kHistogramKinds)
    for (const Eigen::Index num : {1, 2, 3, 7, 20}) {
      const HistogramColumns columns(histogram_options(num, kind));
      const Matrix encoder = encoder_of_columns(columns);
      Vector sums(encoder.rows());
      for (Eigen::Index i = 0; i < sums.size(); ++i)
        sums[i] = 10 * std::sin(static_cast<double>(3 * i + 1)) + 5;
      const Matrix gram = testing::inverse(encoder.transpose() * encoder);
      const Vector counts = gram * (encoder.transpose() * sums);
      const Histogram found = columns.read(
          {.sums = std::span(sums.data(), static_cast<std::size_t>(sums.size())), .stddev = 2});
      for (Eigen::Index j = 0; j < num; ++j) {
        const Estimate& count = found.count[static_cast<std::size_t>(j)];
        EXPECT_NEAR(count.value, counts[j], 1e-11);
        EXPECT_NEAR(count.stddev, 2 * std::sqrt(gram(j, j)), 1e-11);
        // The variance of a share is that of count - share * total.
        const Estimate& share = found.share[static_cast<std::size_t>(j)];
        Vector factors = Vector::Constant(num, -share.value);
        factors[j] += 1;
        EXPECT_NEAR(share.stddev * std::max(counts.sum(), 1.0),
                    2 * std::sqrt(factors.dot(gram * factors)), 1e-11);
      }
      EXPECT_NEAR(found.total.value, counts.sum(), 1e-10);
      EXPECT_NEAR(found.total.stddev, 2 * std::sqrt(gram.sum()), 1e-11);
    }
}

TEST(HistogramsTest, stds_are_those_of_the_note) {
  const auto stddevs = [](double num, const HistogramKind& kind) {
    const HistogramColumns columns(histogram_options(static_cast<std::int64_t>(num), kind));
    const std::vector<double> sums(static_cast<std::size_t>(columns.dimension()));
    const Histogram found = columns.read({.sums = sums, .stddev = columns.distance()});
    return std::array{found.count[0].stddev, found.total.stddev};
  };
  for (const double num : {2.0, 10.0, 100.0}) {
    const auto plain = stddevs(num, kHistogramKinds[0]);
    EXPECT_NEAR(plain[0], 1, 1e-12);
    EXPECT_NEAR(plain[1], std::sqrt(num), 1e-12);
    // The mean squared error of all m + 1 numbers attains the nuclear norm bound.
    const auto with_total = stddevs(num, kHistogramKinds[1]);
    const double bound = std::pow(num - 1 + std::sqrt(num + 1), 2) / num;
    const double squared = num * with_total[0] * with_total[0] + with_total[1] * with_total[1];
    EXPECT_NEAR(squared / bound, 1, 0x1p-13);
    EXPECT_GE(squared, bound * (1 - 1e-12));
    const auto replaced = stddevs(num, kHistogramKinds[2]);
    EXPECT_NEAR(replaced[0], std::sqrt(2 * num / (num + 1)), 1e-12);
    EXPECT_NEAR(replaced[1], std::sqrt(2 * num / (num + 1)), 1e-12);
  }
  for (const bool total : {false, true}) {
    const auto moving = stddevs(10, {Neighbours::replace_one, total});
    const auto removed = stddevs(10, {Neighbours::zero_out, total});
    EXPECT_NEAR(moving[0], std::numbers::sqrt2 * removed[0], 1e-12);
    EXPECT_NEAR(moving[1], std::numbers::sqrt2 * removed[1], 1e-12);
  }
  EXPECT_NEAR(stddevs(10, kHistogramKinds[1])[0], 1.070, 5e-4);
  EXPECT_NEAR(stddevs(10, kHistogramKinds[1])[1], 1.927, 5e-4);
}

/// Error of the counts of `num` categories and, if requested, of the total: the sum of their mean
/// squared errors after the step at which it is largest, with noise for the distance of neighbours.
double histogram_error(const Matrix& encoder, Eigen::Index num, const HistogramKind& kind) {
  const Eigen::Index steps = encoder.cols() / num;
  const Matrix gram = encoder.transpose() * encoder;
  const Matrix covariance = testing::inverse(gram);
  double distance = 0, largest = 0;
  for (Eigen::Index t = 0; t < steps; ++t) {
    const Matrix own = gram.block(t * num, t * num, num, num);
    distance = std::max(distance, own.diagonal().maxCoeff());
    for (Eigen::Index i = 0; kind.neighbours == Neighbours::replace_one && i < num; ++i)
      for (Eigen::Index j = 0; j < i; ++j)
        distance = std::max(distance, own(i, i) + own(j, j) - 2 * own(i, j));
    Matrix so_far = Matrix::Zero(num, num);
    for (Eigen::Index s = 0; s <= t; ++s)
      for (Eigen::Index r = 0; r <= t; ++r) so_far += covariance.block(s * num, r * num, num, num);
    largest = std::max(largest, so_far.trace() + (kind.total ? so_far.sum() : 0));
  }
  return distance * largest;
}

/// Kronecker product of an encoder of steps with an encoder of columns.
Matrix kronecker(const Matrix& steps, const Matrix& columns) {
  Matrix product(steps.rows() * columns.rows(), steps.cols() * columns.cols());
  for (Eigen::Index i = 0; i < steps.rows(); ++i)
    for (Eigen::Index j = 0; j < steps.cols(); ++j)
      product.block(i * columns.rows(), j * columns.cols(), columns.rows(), columns.cols()) =
          steps(i, j) * columns;
  return product;
}

TEST(HistogramsTest, no_encoder_of_categories_and_steps_has_less_error_than_the_product) {
  const auto optimal =
      Mechanism::make({.strategy = "optimal", .steps = 3, .target = {.epsilon = 1, .delta = 1e-6}});
  const Matrix steps = optimal->strategy().encoder();
  std::uint64_t state = 1;
  const auto uniform = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-53 - 0.5;
  };
  for (const HistogramKind& kind : kHistogramKinds)
    for (const Eigen::Index num : {2, 3}) {
      const Matrix product =
          kronecker(steps, encoder_of_columns(HistogramColumns(histogram_options(num, kind))));
      const double least = histogram_error(product, num, kind);
      double best = std::numeric_limits<double>::infinity();
      for (const double size : {1e-3, 0.03, 1.0})
        for (int trial = 0; trial < 200; ++trial) {
          Matrix other = product;
          for (double& entry : other.reshaped()) entry += size * uniform();
          best = std::min(best, histogram_error(other, num, kind));
        }
      // The optimum over steps is certified to within 1e-4.
      EXPECT_GE(best, least * (1 - 1e-5));
      EXPECT_LE(best, least * 1.01);
      // If a total is requested or free, not measuring it is worse.
      const Matrix plain = kronecker(steps, Matrix::Identity(num, num));
      const bool is_plain = kind.neighbours == Neighbours::zero_out && !kind.total;
      EXPECT_GE(histogram_error(plain, num, kind), least * (is_plain ? 1 : 1.02));
    }
}

/// Records of four categories, one of which has most records and one none.
constexpr std::array<double, 4> kTrueCounts = {30, 5, 0, 1};
constexpr double kNum = 36;

std::vector<std::int64_t> histogram_records() {
  std::vector<std::int64_t> records;
  for (std::size_t j = 0; j < kTrueCounts.size(); ++j)
    records.insert(records.end(), static_cast<std::size_t>(kTrueCounts[j]),
                   static_cast<std::int64_t>(j));
  return records;
}

/// Pairs of estimates and true values (total, counts and shares) for `times` repetitions of the
/// stream.
std::vector<std::pair<Estimate, double>> against_truth(const Histogram& found, double times = 1) {
  std::vector<std::pair<Estimate, double>> all = {{found.total, times * kNum}};
  for (std::size_t j = 0; j < kTrueCounts.size(); ++j) {
    all.emplace_back(found.count[j], times * kTrueCounts[j]);
    all.emplace_back(found.share[j], kTrueCounts[j] / kNum);
  }
  return all;
}

/// For each estimate, the number of intervals at confidence 0.9 that miss their value, when they
/// are made for `scale` times the actual noise.
std::array<int, 9> missed_counts(const HistogramKind& kind, double epsilon, int num_trials,
                                 double scale = 1) {
  std::array<int, 9> missed{};
  for (int trial = 0; trial < num_trials; ++trial) {
    testing::HistogramStream sum(
        {.strategy = "independent", .steps = 1, .target = {.epsilon = epsilon, .delta = 1e-6}},
        histogram_options(4, kind),
        Key::insecure_from_seed(static_cast<std::uint64_t>(2000 + trial)));
    for (const std::int64_t record : histogram_records()) sum.contribute(record);
    sum.release();
    const auto all = against_truth(sum.columns().read(
        {.sums = sum.noisy_sums(), .stddev = scale * sum.sums().release_stddev(0)}));
    testing::add_misses(all, missed);
  }
  return missed;
}

TEST(HistogramsTest, intervals_cover_what_they_are_for) {
  const int num_trials = testing::is_full_size() ? 1000 : 100;
  // The std of the total, if it is not measured, is a quarter of the number of records, all of it,
  // and four times as much.
  for (const double epsilon : {1.0, 0.2, 0.05})
    for (const HistogramKind& kind : kHistogramKinds) {
      const std::array<int, 9> missed = missed_counts(kind, epsilon, num_trials);
      for (std::size_t i = 0; i < missed.size(); ++i)
        EXPECT_LE(missed[i], 0.1 * num_trials + tolerance(num_trials)) << i << " at " << epsilon;
      // Intervals of total and counts are no wider than necessary.
      for (const std::size_t i : {0u, 1u, 3u, 5u, 7u})
        EXPECT_GE(missed[i], 0.1 * num_trials - tolerance(num_trials)) << i << " at " << epsilon;
    }
}

TEST(HistogramsTest, intervals_for_less_noise_fail) {
  constexpr int kTrials = 1000;  // Fewer trials could not distinguish these confidences.
  for (const HistogramKind& kind : kHistogramKinds) {
    const std::array<int, 9> missed = missed_counts(kind, 1, kTrials, 0.7);
    for (const std::size_t i : {0u, 1u, 2u, 3u, 4u, 5u, 7u})
      EXPECT_GT(missed[i], 0.1 * kTrials + tolerance(kTrials)) << i;
  }
}

TEST(HistogramsTest, measured_errors_are_those_of_the_formula) {
  // Every step has independent noise; a standard deviation estimated from 20,000 of them is off by
  // 2 % with probability 6e-5.
  constexpr std::int64_t kSteps = 20000;
  for (const HistogramKind& kind : kHistogramKinds) {
    testing::HistogramStream sum(
        {.strategy = "output", .steps = kSteps, .target = {.epsilon = 4000, .delta = 1e-6}},
        histogram_options(4, kind), Key::insecure_from_seed(7));
    for (int i = 0; i < 50; ++i)
      for (const std::int64_t record : histogram_records()) sum.contribute(record);
    std::array<double, 9> squares{}, variances{};
    for (std::int64_t t = 0; t < kSteps; ++t) {
      const auto all = against_truth(sum.release(), 50);
      for (std::size_t i = 0; i < all.size(); ++i) {
        squares[i] += std::pow(all[i].first.value - all[i].second, 2);
        variances[i] += std::pow(all[i].first.stddev, 2);
      }
    }
    // Shares of 0 are clipped to [0, 1].
    for (const std::size_t i : {0u, 1u, 2u, 3u, 4u, 5u, 7u})
      EXPECT_NEAR(std::sqrt(squares[i] / variances[i]), 1, 0.02) << i;
  }
}

TEST(HistogramsTest, without_noise_readings_are_the_counts_themselves) {
  for (const HistogramKind& kind : kHistogramKinds) {
    testing::HistogramStream sum(
        {.strategy = "tree", .steps = 2, .target = {.epsilon = 1e18, .delta = 1e-6}},
        histogram_options(4, kind), Key::insecure_from_seed(7));
    for (const std::int64_t record : histogram_records()) sum.contribute(record);
    for (const auto& [estimate, value] : against_truth(sum.release()))
      EXPECT_NEAR(estimate.value, value, 1e-12);
    EXPECT_EQ(sum.sums().release_stddev(0), 0);
    EXPECT_NEAR(sum.release(2).count[2].value, 1, 1e-12);
    EXPECT_EQ(sum.step(), 2);
  }
}

TEST(HistogramsTest, a_window_counts_its_records) {
  testing::HistogramStream sum({.strategy = "normalized-square-root",
                                .steps = 30,
                                .target = {.epsilon = 5000, .delta = 1e-6},
                                .workload = Workload::sliding_window({.steps = 30, .window = 10})},
                               {.num_categories = 3}, Key::insecure_from_seed(7));
  Histogram found;
  for (std::int64_t t = 0; t < 30; ++t) found = sum.release(t < 25 ? 0 : 2);
  EXPECT_NEAR(found.count[0].value, 5, 0.3);
  EXPECT_NEAR(found.count[1].value, 0, 0.3);
  EXPECT_NEAR(found.count[2].value, 5, 0.3);
}

/// Closest to `counts` among the non-decreasing sequences of multiples of 1/2 from 0 to `most`.
std::vector<double> closest_listed(const std::vector<double>& counts, double most) {
  std::vector<double> best;
  double least = std::numeric_limits<double>::infinity();
  for (double a = 0; a <= most; a += 0.5)
    for (double b = a; b <= most; b += 0.5)
      for (double c = b; c <= most; c += 0.5) {
        const double distance =
            std::pow(counts[0] - a, 2) + std::pow(counts[1] - b, 2) + std::pow(counts[2] - c, 2);
        if (distance >= least) continue;
        least = distance;
        best = {a, b, c};
      }
  return best;
}

TEST(HistogramsTest, monotone_counts_are_the_closest_and_never_farther_from_the_truth) {
  // Means of three of these are multiples of 1/2.
  for (int a = -1; a <= 3; ++a)
    for (int b = -1; b <= 3; ++b)
      for (int c = -1; c <= 3; ++c) {
        const std::vector<double> counts = {1.5 * a, 1.5 * b, 1.5 * c};
        const std::vector<double> found = monotone_counts(counts);
        const std::vector<double> listed = closest_listed(counts, 5);
        const double slack = 0.25;  // for means of two, which a finer list would contain
        double distance = 0, least = 0;
        for (std::size_t t = 0; t < 3; ++t) {
          distance += std::pow(found[t] - counts[t], 2);
          least += std::pow(listed[t] - counts[t], 2);
          EXPECT_GE(found[t], t == 0 ? 0 : found[t - 1]);
        }
        EXPECT_LE(distance, least + 1e-12);
        EXPECT_GE(distance, least - slack);
        for (double x = 0; x <= 4; ++x)
          for (double y = x; y <= 4; ++y)
            for (double z = y; z <= 4; ++z) {
              const std::array truth = {x, y, z};
              double before = 0, after = 0, most_before = 0, most_after = 0;
              for (std::size_t t = 0; t < 3; ++t) {
                const double was = std::abs(counts[t] - truth[t]);
                const double is = std::abs(found[t] - truth[t]);
                before += was * was;
                after += is * is;
                most_before = std::max(most_before, was);
                most_after = std::max(most_after, is);
              }
              EXPECT_LE(after, before + 1e-12);
              EXPECT_LE(most_after, most_before + 1e-12);
            }
      }
  EXPECT_TRUE(monotone_counts({}).empty());
}

TEST(HistogramsTest, monotone_counts_are_biased) {
  // Pure noise without any records. The estimates have mean 0, but monotone ones do not.
  testing::HistogramStream sum(
      {.strategy = "output", .steps = 400, .target = {.epsilon = 1, .delta = 1e-6}},
      {.num_categories = 1}, Key::insecure_from_seed(7));
  std::vector<double> counts;
  for (int t = 0; t < 400; ++t) counts.push_back(sum.release().count[0].value);
  EXPECT_GT(monotone_counts(counts).back(), 0);
}

TEST(HistogramsTest, refuses_bad_input_and_changes_nothing) {
  for (const std::int64_t num : {-1, 0, (1 << 16) + 1})
    expect_refused([&] { HistogramColumns({.num_categories = num}); }, ErrorCode::invalid_argument,
                   "categories");
  for (const double confidence : {0.0, 1.0, kNan})
    expect_refused([&] { HistogramColumns({.num_categories = 1, .confidence = confidence}); },
                   ErrorCode::invalid_argument, "confidence");

  MechanismOptions mechanism{
      .strategy = "tree", .steps = 2, .target = {.epsilon = 1, .delta = 1e-6}};
  testing::HistogramStream sum(mechanism, {.num_categories = 3}, Key::insecure_from_seed(1));
  mechanism.workload = Workload::momentum({.steps = 2, .momentum = 0.5, .decay = 1});
  expect_refused(
      [&] {
        testing::HistogramStream(mechanism, {.num_categories = 3}, Key::insecure_from_seed(1));
      },
      ErrorCode::invalid_argument, "workload");
  for (const std::int64_t category : {-1, 3}) {
    expect_refused([&] { sum.release(category); }, ErrorCode::invalid_argument, "category");
    expect_refused([&] { sum.contribute(category); }, ErrorCode::invalid_argument, "category");
  }
  EXPECT_EQ(sum.step(), 0);
  const std::array<double, 2> few{};
  expect_refused([&] { sum.columns().read({.sums = few, .stddev = 1}); }, ErrorCode::wrong_length,
                 "sums");
  const std::array<double, 3> sums{};
  for (const double stddev : {-1.0, kNan})
    expect_refused([&] { sum.columns().read({.sums = sums, .stddev = stddev}); },
                   ErrorCode::invalid_argument, "stddev");
  expect_refused([&] { monotone_counts(std::array{1.0, kNan}); }, ErrorCode::invalid_argument,
                 "counts[1]");
  sum.release();
  sum.release();
  expect_refused([&] { sum.release(); }, ErrorCode::past_horizon, "step");
}

}  // namespace
}  // namespace dpftrl
