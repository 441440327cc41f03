// SPDX-License-Identifier: Apache-2.0
/// Releases of several workloads of one stream with common noise.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "dense_algebra.hpp"
#include "dense_decoder.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "dpftrl/release/prefix_sum.hpp"
#include "dpftrl/release/stream.hpp"
#include "dpftrl/statistics/statistics.hpp"
#include "golden/stacks_golden.hpp"
#include "integers_of.hpp"
#include "noise/checkpoint.hpp"
#include "random/gaussian.hpp"
#include "support.hpp"
#include "ways_to_release.hpp"

namespace dpftrl {
namespace {

struct StackProblem {
  std::int64_t steps;
  std::string strategy = "normalized-square-root";
  Participation participation = Participation::single();
  Neighbours neighbours = Neighbours::zero_out;
  StrategyParameters parameters = {};
};

using Stacked = std::shared_ptr<const Mechanism>;

Stacked stack_mechanism(const StackProblem& problem, const StackOptions& stack) {
  return Mechanism::make_stack({.strategy = problem.strategy,
                                .steps = problem.steps,
                                .target = {.epsilon = 1, .delta = 1e-6},
                                .neighbours = problem.neighbours,
                                .participation = problem.participation,
                                .parameters = problem.parameters},
                               stack);
}

/// Total, two windows and a decaying sum.
StackOptions mixed(std::int64_t n) {
  return {.workloads = {Workload::prefix_sums(n), Workload::sliding_window({n, 2}),
                        Workload::sliding_window({n, 5}),
                        Workload::momentum({.steps = n, .momentum = 0, .decay = 0.75})}};
}

StackOptions windows(std::int64_t n) {
  return {.workloads = {Workload::prefix_sums(n), Workload::sliding_window({n, 3}),
                        Workload::sliding_window({n, 7})}};
}

PrefixSumOptions stack_options(std::int64_t dimension, std::uint64_t seed = 5) {
  return {.key = Key::insecure_from_seed(seed), .dimension = dimension};
}

/// Pseudorandom record.
std::vector<double> stack_record(std::int64_t step, std::int64_t size) {
  std::vector<double> values(static_cast<std::size_t>(size));
  fill_normals(Key::insecure_from_seed(6), Stream::test, static_cast<std::uint64_t>(step), 0,
               values);
  for (double& x : values) x *= 0.7;
  return values;
}

/// X with A X = B.
testing::LongMatrix solved(const Workload& workload, const testing::LongMatrix& right) {
  return workload.matrix().cast<long double>().triangularView<Eigen::Lower>().solve(right);
}

TEST(Stack, decoders_are_the_workloads_times_one_matrix) {
  constexpr std::int64_t kSteps = 12;
  const StackOptions stack = mixed(kSteps);
  for (const StrategyInfo& info : strategy_catalogue()) {
    const auto how = stack_mechanism({kSteps, std::string(info.name)}, stack);
    ASSERT_EQ(how->num_readers(), 4);
    testing::LongMatrix first;
    for (std::int64_t i = 0; i < how->num_readers(); ++i) {
      const auto reader = how->reader(i);
      const Workload& workload = stack.workloads[static_cast<std::size_t>(i)];
      EXPECT_EQ(reader->certificate().workload, workload.name());
      EXPECT_EQ(reader->noise_stddev(), how->noise_stddev());
      EXPECT_EQ(reader->certificate().sensitivity, how->certificate().sensitivity);
      // Decodes with B as its form defines it; the factor is the same up to rounding.
      const testing::LongMatrix decoder =
          testing::dense_decoder(reader->strategy().decoder_form(), kSteps);
      const testing::LongMatrix factor = solved(workload, decoder);
      if (i == 0) first = factor;
      ASSERT_EQ(first.cols(), factor.cols());
      EXPECT_LT((factor - first).cwiseAbs().maxCoeff(), 1e-16L) << info.name << " " << i;
      // The decoder also matches the encoder whose sensitivity is claimed.
      const Matrix product = reader->strategy().decoder() * reader->strategy().encoder();
      EXPECT_LT((product - workload.matrix()).cwiseAbs().maxCoeff(), 1e-12) << info.name;
      EXPECT_EQ(reader->strategy().encoder(), how->strategy().encoder()) << info.name;
    }
  }
}

TEST(Stack, encoders_made_for_each_workload_by_itself_are_not_one) {
  // Falsifies the check above.
  constexpr std::int64_t kSteps = 12;
  const StackOptions stack = windows(kSteps);
  std::vector<testing::LongMatrix> factors;
  for (const Workload& workload : stack.workloads)
    factors.push_back(solved(
        workload, testing::dense_decoder(
                      make_strategy({.name = "square-root", .steps = kSteps, .workload = workload})
                          ->decoder_form(),
                      kSteps)));
  EXPECT_GT((factors[1] - factors[0]).cwiseAbs().maxCoeff(), 1e-3L);
}

TEST(Stack, each_release_is_the_rounded_sum_of_a_workload_and_its_row_of_one_noise) {
  constexpr std::int64_t kSteps = 16, kSize = 3;
  for (const char* strategy :
       {"optimal", "normalized-square-root", "square-root", "honaker", "blt", "banded", "output"}) {
    const StackOptions stack = mixed(kSteps);
    const auto how = stack_mechanism({kSteps, strategy}, stack);
    const std::int64_t dimension = kSize * how->num_readers();
    PrefixSum sums(how, stack_options(dimension));
    std::vector<testing::LongMatrix> decoders;
    for (std::int64_t i = 0; i < how->num_readers(); ++i)
      decoders.push_back(testing::dense_decoder(how->reader(i)->strategy().decoder_form(), kSteps));
    const Matrix z =
        noise_matrix({.key = stack_options(1).key, .dimension = kSize}, decoders[0].cols());
    testing::LongMatrix records(kSteps, kSize);
    const long double scale = how->noise_stddev() / sums.grid();
    std::vector<double> noisy(static_cast<std::size_t>(dimension));
    for (std::int64_t t = 0; t < kSteps; ++t) {
      const std::vector<std::int64_t> integers =
          testing::integers_of(stack_record(t, kSize), sums.grid());
      for (Eigen::Index j = 0; j < kSize; ++j)
        records(testing::index_of(t), j) =
            static_cast<long double>(integers[static_cast<std::size_t>(j)]);
      sums.release(stack_record(t, kSize), noisy);
      for (std::size_t i = 0; i < decoders.size(); ++i)
        for (Eigen::Index j = 0; j < kSize; ++j) {
          const testing::LongMatrix a =
              stack.workloads[i].matrix().row(testing::index_of(t)).cast<long double>();
          const long double sum = a.leftCols(testing::index_of(t + 1))
                                      .row(0)
                                      .dot(records.topRows(testing::index_of(t + 1)).col(j));
          const long double noise =
              decoders[i].row(testing::index_of(t)).dot(z.col(j).cast<long double>());
          const double release = noisy[i * kSize + static_cast<std::size_t>(j)];
          // The oracle uses normals in double; no value here is close enough to a half for this to
          // matter.
          ASSERT_EQ(release,
                    static_cast<double>(std::floor(sum + scale * noise + 0.5L)) * sums.grid())
              << strategy << ", workload " << i << ", step " << t;
        }
    }
  }
}

/// Releases of all workloads at all steps without records, in grids.
Matrix noise_of(const Stacked& how, const PrefixSumOptions& options) {
  PrefixSum sums(how, options);
  Matrix rows(testing::index_of(how->steps()), testing::index_of(how->num_readers()));
  std::vector<double> noisy(static_cast<std::size_t>(how->num_readers()));
  for (Eigen::Index t = 0; t < rows.rows(); ++t) {
    sums.release(noisy);
    for (Eigen::Index i = 0; i < rows.cols(); ++i)
      rows(t, i) = noisy[static_cast<std::size_t>(i)] / sums.grid();
  }
  return rows;
}

/// Largest distance, in grids, between the noise of a window and the difference of the noise of two
/// totals.
double distance_from_differences(const Matrix& totals, const Matrix& window, Eigen::Index width) {
  double largest = 0;
  for (Eigen::Index t = 0; t < totals.rows(); ++t) {
    const double difference = totals(t, 0) - (t < width ? 0.0 : totals(t - width, 0));
    largest = std::max(largest, std::abs(window(t, 1) - difference));
  }
  return largest;
}

TEST(Stack, the_noise_of_a_window_is_the_difference_of_that_of_the_totals) {
  constexpr std::int64_t kSteps = 50;
  for (const char* strategy : {"optimal", "normalized-square-root", "honaker", "blt"}) {
    const auto how = stack_mechanism({kSteps, strategy}, windows(kSteps));
    const Matrix noise = noise_of(how, stack_options(3));
    // Three roundings of half a grid each, of noise of hundreds of grids.
    EXPECT_LE(distance_from_differences(noise, noise, 3), 1.5) << strategy;
    // Independent noise under another key is far away, so the check can fail.
    const Matrix other = noise_of(how, stack_options(3, /*seed=*/8));
    EXPECT_GT(distance_from_differences(noise, other, 3), 100) << strategy;
  }
}

/// Decoders of all workloads, stacked vertically.
Matrix stacked_decoder(const Stacked& how) {
  const Eigen::Index steps = testing::index_of(how->steps());
  Matrix stacked(steps * testing::index_of(how->num_readers()), steps);
  for (std::int64_t i = 0; i < how->num_readers(); ++i)
    stacked.middleRows(testing::index_of(i) * steps, steps) = how->reader(i)->strategy().decoder();
  return stacked;
}

TEST(Stack, releases_have_the_covariance_of_one_noise) {
  // With 60,000 draws, entries of the empirical covariance have a standard deviation of at most 0.6
  // % of the product of the stds. 5 % is eight of them, for 136 entries. Seeds are fixed.
  constexpr std::int64_t kSteps = 4, kDraws = 60000;
  const auto how = stack_mechanism({kSteps, "optimal"}, mixed(kSteps));
  const std::int64_t k = how->num_readers();
  const Eigen::Index size = testing::index_of(kSteps * k);
  const Matrix stacked = stacked_decoder(how);
  const Matrix expected = stacked * stacked.transpose() * std::pow(how->noise_stddev(), 2);
  const auto covariance_of = [&](bool is_one_noise) {
    Matrix draws(size, testing::index_of(kDraws));
    for (std::int64_t part = 0; part < (is_one_noise ? 1 : k); ++part) {
      PrefixSum sums(how, stack_options(k * kDraws, static_cast<std::uint64_t>(20 + part)));
      std::vector<double> noisy(static_cast<std::size_t>(k * kDraws));
      for (std::int64_t t = 0; t < kSteps; ++t) {
        sums.release(noisy);
        for (std::int64_t i = 0; i < k; ++i)
          if (is_one_noise || i == part)
            for (std::int64_t j = 0; j < kDraws; ++j)
              draws(testing::index_of(i * kSteps + t), testing::index_of(j)) =
                  noisy[static_cast<std::size_t>(i * kDraws + j)];
      }
    }
    return Matrix(draws * draws.transpose() / static_cast<double>(kDraws));
  };
  const auto largest_deviation = [&](const Matrix& found) {
    double largest = 0;
    for (Eigen::Index a = 0; a < size; ++a)
      for (Eigen::Index b = 0; b < size; ++b)
        largest = std::max(largest, std::abs(found(a, b) - expected(a, b)) /
                                        std::sqrt(expected(a, a) * expected(b, b)));
    return largest;
  };
  EXPECT_LT(largest_deviation(covariance_of(true)), 0.05);
  // Independent noise for each workload has no covariance between workloads.
  EXPECT_GT(largest_deviation(covariance_of(false)), 0.3);
}

/// SumColumns for a mechanism that was made before.
class GivenSums : public SumColumns {
 public:
  static constexpr bool kClips = true;
  explicit GivenSums(const Stacked& how) : SumColumns({.workloads = workloads_of(how)}) {}

 private:
  static std::vector<Workload> workloads_of(const Stacked& how) {
    std::vector<Workload> workloads;
    for (std::int64_t i = 0; i < how->num_readers(); ++i)
      workloads.push_back(how->reader(i)->strategy().workload());
    return workloads;
  }
};

/// Change of all releases, in input units, due to a person who contributes 0, 1 or -1 at each of
/// five steps, as the base-3 digits of `digits` say, while another person contributes as well.
Vector moved_releases(const Stacked& how, int digits) {
  using StackOfPeople = RecordStream<GivenSums, People>;
  PrefixSumOptions options = stack_options(how->num_readers());
  options.grid = 0x1p-12;
  StackOfPeople sums(GivenSums(how), how, options), silent(GivenSums(how), how, options);
  Vector moves(testing::index_of(how->steps() * how->num_readers()));
  for (std::int64_t t = 0; t < how->steps(); ++t, digits /= 3) {
    if (t % 2 == 0)
      for (StackOfPeople* const each : {&sums, &silent}) each->add("bob", std::array{0.75});
    if (digits % 3 != 0) sums.add("ann", std::array{digits % 3 == 1 ? 1.0 : -1.0});
    const std::vector<Estimates> with = sums.end(), without = silent.end();
    for (std::size_t i = 0; i < with.size(); ++i)
      moves(testing::index_of(static_cast<std::int64_t>(i) * how->steps() + t)) =
          with[i].values[0] - without[i].values[0];
  }
  return moves;
}

bool are_neighbouring_choices(int a, int b, Neighbours neighbours) {
  if (neighbours == Neighbours::zero_out) return b == 0;
  for (; a > 0 || b > 0; a /= 3, b /= 3)
    if ((a % 3 == 0) != (b % 3 == 0)) return false;
  return true;
}

/// Largest distance of two neighbours in all releases together, over all streams of five steps. The
/// distance is the least norm of noise that turns the releases of one into those of the other,
/// computed with the pseudo-inverse of the stacked decoder.
double farthest_releases(const Stacked& how, Neighbours neighbours) {
  constexpr int kStreams = 243;
  const Matrix stacked = stacked_decoder(how);
  const Matrix inverse = testing::pseudo_inverse(stacked);
  std::vector<Vector> noises;
  for (int code = 0; code < kStreams; ++code) {
    const Vector moves = moved_releases(how, code);
    noises.push_back(inverse * moves);
    // The noise covers the whole change; any part outside its range would be visible with
    // certainty.
    EXPECT_LT((stacked * noises.back() - moves).norm(), 1e-9);
  }
  double found = 0;
  for (int a = 0; a < kStreams; ++a)
    for (int b = 0; b < kStreams; ++b)
      if (are_neighbouring_choices(a, b, neighbours))
        found = std::max(
            found,
            (noises[static_cast<std::size_t>(a)] - noises[static_cast<std::size_t>(b)]).norm());
  return found;
}

/// Stacks of five steps whose sums are multiples of 2^-12 for the records below, so that releases
/// on this grid change exactly as the sums do.
std::vector<std::vector<Workload>> dyadic_stacks() {
  constexpr std::int64_t kSteps = 5;
  const auto filter = [](double momentum, double decay) {
    return Workload::momentum({.steps = kSteps, .momentum = momentum, .decay = decay});
  };
  Matrix entries = Matrix::Identity(kSteps, kSteps);
  for (Eigen::Index t = 1; t < kSteps; ++t) {
    entries(t, t - 1) = -0.5;
    entries(t, 0) += 0.25;
  }
  const Workload total = Workload::prefix_sums(kSteps);
  const Workload pair = Workload::sliding_window({kSteps, 2});
  const Workload rates =
      Workload::learning_rates({.rates = {1, -0.5, 2, 0.25, 1}, .momentum = 0.5});
  return {{total, pair, Workload::sliding_window({kSteps, 4})},
          {total, filter(0, 0.5), filter(0, 0.75)},
          {pair, filter(0.5, 1), filter(0.5, 0.75)},
          {filter(0, 0.5), rates, Workload::lower_triangular(entries)}};
}

TEST(Stack, no_pair_of_neighbours_is_further_apart_in_all_releases_than_the_sensitivity) {
  for (const std::vector<Workload>& workloads : dyadic_stacks())
    for (const Neighbours neighbours : {Neighbours::zero_out, Neighbours::replace_one})
      for (const Participation& pattern :
           {Participation::single(), Participation::min_separation({2, 2}),
            Participation::min_separation({3, 1})})
        for (const char* strategy : {"optimal", "normalized-square-root", "square-root", "output",
                                     "independent", "banded-square-root"}) {
          SCOPED_TRACE(std::string(strategy) + ", last " + workloads.back().name());
          const auto how =
              stack_mechanism({5, strategy, pattern, neighbours}, {.workloads = workloads});
          const double found = farthest_releases(how, neighbours);
          const double claimed =
              how->certificate().sensitivity * neighbour_distance(neighbours) * (1 + 1e-9);
          EXPECT_LE(found, claimed);
          EXPECT_GT(found, 0.3 * claimed);
          if (how->certificate().exactness == Exactness::exact) {
            EXPECT_GT(found, claimed * (1 - 1e-8));
          }
        }
}

TEST(Stack, errors_are_within_two_percent_of_the_formula_for_each_workload_and_all) {
  // With 24,000 coordinates, the standard deviation of a step's mean square is below 1 %; the seed
  // is fixed.
  constexpr std::int64_t kSteps = 40, kCoordinates = 24000;
  for (const char* strategy : {"optimal", "normalized-square-root"}) {
    StackOptions stack = mixed(kSteps);
    stack.weights = {1, 2, 3, 4};
    const auto how = stack_mechanism({kSteps, strategy}, stack);
    const std::int64_t k = how->num_readers();
    PrefixSum sums(how, stack_options(k * kCoordinates));
    std::vector<double> noisy(static_cast<std::size_t>(k * kCoordinates));
    std::vector<double> totals(static_cast<std::size_t>(k));
    for (std::int64_t t = 0; t < kSteps; ++t) {
      sums.release(noisy);
      for (std::int64_t i = 0; i < k; ++i) {
        double square = 0;
        for (std::int64_t j = 0; j < kCoordinates; ++j)
          square += std::pow(noisy[static_cast<std::size_t>(i * kCoordinates + j)], 2);
        square /= static_cast<double>(kCoordinates);
        const double stddev = sums.release_stddev_of({.step = t, .coordinate = i * kCoordinates});
        EXPECT_TRUE(testing::relatively_close(square, stddev * stddev, 0.04)) << t;
        totals[static_cast<std::size_t>(i)] += square;
      }
    }
    double all = 0;
    const double multiplier = how->certificate().noise_multiplier;
    for (std::int64_t i = 0; i < k; ++i) {
      const double square = totals[static_cast<std::size_t>(i)] / static_cast<double>(kSteps);
      EXPECT_TRUE(testing::relatively_close(
          std::sqrt(square), how->reader(i)->certificate().mean_error * multiplier, 0.01))
          << strategy << " " << i;
      all += stack.weights[static_cast<std::size_t>(i)] / 10 * square;
    }
    EXPECT_TRUE(testing::relatively_close(std::sqrt(all),
                                          how->certificate().mean_error * multiplier, 0.01));
  }
}

TEST(Stack, the_optimum_is_certified_and_no_other_encoder_is_better) {
  constexpr std::int64_t kSteps = 48;
  for (const StackOptions& stack : {mixed(kSteps), windows(kSteps)}) {
    const auto best = stack_mechanism({kSteps, "optimal"}, stack);
    const double least = best->certificate().mean_error;
    EXPECT_LE(best->stack_lower_bound(), least);
    EXPECT_GE(best->stack_lower_bound(), least * (1 - 1e-5));
    for (const StrategyInfo& info : strategy_catalogue()) {
      const auto other = stack_mechanism({kSteps, std::string(info.name)}, stack);
      EXPECT_GE(other->certificate().mean_error, least * (1 - 1e-6)) << info.name;
      EXPECT_LE(other->stack_lower_bound(), least) << info.name;
    }
  }
}

/// Stack for a row of the independent computation, with one workload per weight.
template <class Row>
StackOptions stack_of(const Row& row) {
  StackOptions stack;
  const std::array<std::pair<double, std::int64_t>, 3> all = {
      {{row.weight_a, row.width_a}, {row.weight_b, row.width_b}, {row.weight_c, row.width_c}}};
  for (const auto& [weight, width] : all) {
    if (weight == 0) continue;
    stack.workloads.push_back(Workload::sliding_window({.steps = row.num_steps, .window = width}));
    stack.weights.push_back(weight);
  }
  return stack;
}

TEST(Stack, errors_are_those_of_an_independent_computation) {
  for (const auto& row : golden::stacks::optima) {
    const auto how = stack_mechanism({row.num_steps, "optimal"}, stack_of(row));
    EXPECT_NEAR(how->certificate().mean_error, row.error, 2e-6) << row.width_b;
    EXPECT_NEAR(how->stack_lower_bound(), row.error, 2e-6) << row.width_b;
  }
  for (const auto& row : golden::stacks::choices) {
    const auto how = stack_mechanism({row.num_steps, "normalized-square-root"}, stack_of(row));
    EXPECT_NEAR(how->certificate().mean_error, row.error, 1e-9) << row.width_b;
  }
}

TEST(Stack, families_take_the_best_of_the_encoders_that_they_have) {
  constexpr std::int64_t kSteps = 256;
  const StackOptions two = {
      .workloads = {Workload::sliding_window({kSteps, 8}), Workload::sliding_window({kSteps, 64})}};
  const auto stacked = stack_mechanism({kSteps, "normalized-square-root"}, two);
  for (const Workload& own : {two.workloads[0], two.workloads[1], Workload::prefix_sums(kSteps)}) {
    const auto base = make_strategy({.name = "normalized-square-root",
                                     .steps = kSteps,
                                     .workload = Workload::prefix_sums(kSteps),
                                     .encoder_workload = own});
    // Error for the stack of the encoder that is optimal for one of them.
    double mean = 0;
    for (const Workload& workload : two.workloads) {
      const Matrix rows =
          workload.matrix() *
          base->workload().matrix().triangularView<Eigen::Lower>().solve(base->decoder());
      mean += rows.squaredNorm() / static_cast<double>(2 * kSteps);
    }
    EXPECT_LE(stacked->certificate().mean_error,
              std::sqrt(mean * base->max_column_norm_squared()) * (1 + 1e-9));
  }
}

TEST(Stack, weights_move_the_error_to_where_they_are_less) {
  constexpr std::int64_t kSteps = 32;
  StackOptions stack = windows(kSteps);
  const auto even = stack_mechanism({kSteps, "optimal"}, stack);
  stack.weights = {100, 1, 1};
  const auto total = stack_mechanism({kSteps, "optimal"}, stack);
  EXPECT_LT(total->reader(0)->certificate().mean_error, even->reader(0)->certificate().mean_error);
  EXPECT_GT(total->reader(1)->certificate().mean_error, even->reader(1)->certificate().mean_error);
  // Only the ratios of the weights matter.
  stack.weights = {1, 0.01, 0.01};
  EXPECT_NEAR(stack_mechanism({kSteps, "optimal"}, stack)->certificate().mean_error,
              total->certificate().mean_error, 1e-9);
}

TEST(Stack, all_workloads_keep_to_their_levels_together) {
  // More than 530 of 4000 draws exceed true levels with probability below 5e-10 (Chernoff), so the
  // six comparisons give a false alarm with probability below 1e-8, and the seed is fixed.
  constexpr std::int64_t kSteps = 24, kDimension = 2;
  constexpr int kDraws = 4000, kMost = 530;
  const SimultaneousOptions wanted{.beta = 0.1, .dimension = kDimension};
  for (const char* strategy : {"optimal", "normalized-square-root", "tree"}) {
    const auto how = stack_mechanism({kSteps, strategy}, mixed(kSteps));
    const std::int64_t k = how->num_readers();
    const std::vector<SimultaneousError> levels = simultaneous_errors(*how, wanted);
    ASSERT_EQ(std::ssize(levels), k);
    std::vector<Matrix> decoders;
    std::vector<SimultaneousError> alone;
    for (std::int64_t i = 0; i < k; ++i) {
      const Strategy& own = how->reader(i)->strategy();
      decoders.push_back(own.decoder() * how->certificate().sensitivity);
      alone.push_back(simultaneous_error(own, how->participation(), wanted));
    }
    std::mt19937_64 bits(31);
    std::normal_distribution<double> normal;
    int beyond = 0, beyond_norm = 0, beyond_alone = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      const Matrix noise = Matrix::NullaryExpr(
          decoders.front().cols(), testing::index_of(kDimension), [&] { return normal(bits); });
      bool is_beyond = false, is_norm = false, is_alone = false;
      for (std::size_t i = 0; i < decoders.size(); ++i) {
        const Matrix errors = decoders[i] * noise;
        const double largest = errors.cwiseAbs().maxCoeff();
        is_beyond |= largest > levels[i].value;
        is_alone |= largest > alone[i].value;
        is_norm |= errors.rowwise().norm().maxCoeff() > levels[i].norm;
      }
      beyond += is_beyond ? 1 : 0;
      beyond_norm += is_norm ? 1 : 0;
      beyond_alone += is_alone ? 1 : 0;
    }
    EXPECT_LE(beyond, kMost) << strategy;
    EXPECT_LE(beyond_norm, kMost) << strategy;
    EXPECT_GE(beyond, 80) << strategy << ": so loose a level would pass unseen";
    EXPECT_GT(beyond_alone, kMost) << strategy << ": levels of each by itself would pass unseen";
  }
}

TEST(Stack, levels_of_one_workload_are_those_of_its_strategy) {
  const auto how = stack_mechanism({9}, {.workloads = {Workload::sliding_window({9, 3})}});
  const SimultaneousOptions wanted{.beta = 0.05, .dimension = 3};
  const SimultaneousError own = simultaneous_error(how->strategy(), how->participation(), wanted);
  const std::vector<SimultaneousError> found = simultaneous_errors(*how, wanted);
  ASSERT_EQ(std::ssize(found), 1);
  EXPECT_EQ(found.front().value, own.value);
  EXPECT_EQ(found.front().norm, own.norm);
  for (const double beta : {0.0, 1.0, -0.1, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_ERROR(simultaneous_errors(*how, {.beta = beta}), "invalid_argument", "beta must be");
  EXPECT_ERROR(simultaneous_errors(*how, {.beta = 0.1, .dimension = 0}), "invalid_argument",
               "dimension must be");
  const auto pure = Mechanism::make_pure({.steps = 9, .epsilon = 1});
  EXPECT_ERROR(simultaneous_errors(*pure, wanted), "unsupported", "mechanism must be");
}

TEST(Stack, one_budget_for_all_is_better_than_one_for_each) {
  constexpr std::int64_t kSteps = 64;
  const StackOptions stack = windows(kSteps);
  const auto joint = stack_mechanism({kSteps, "optimal"}, stack);
  // k mechanisms that share mu^2 equally each have sqrt(k) times the noise.
  for (std::size_t i = 0; i < stack.workloads.size(); ++i) {
    MechanismOptions own{.strategy = "optimal",
                         .steps = kSteps,
                         .target = {.epsilon = 1, .delta = 1e-6},
                         .workload = stack.workloads[i]};
    own.parameters.objective = Objective::mean;
    const double split = Mechanism::make(own)->certificate().mean_error * std::sqrt(3.0);
    EXPECT_LT(joint->reader(static_cast<std::int64_t>(i))->certificate().mean_error, 0.9 * split);
  }
}

TEST(Stack, every_way_to_give_a_record_releases_the_same) {
  constexpr std::int64_t kSteps = 30, kSize = 2;
  const auto how = stack_mechanism({kSteps}, mixed(kSteps));
  const std::int64_t k = how->num_readers();
  testing::expect_one_release_in_every_way(how, stack_options(k * kSize), kSteps,
                                           [](std::int64_t t) { return stack_record(t, kSize); });
}

TEST(Stack, one_workload_is_released_as_by_itself) {
  constexpr std::int64_t kSteps = 20;
  for (const char* strategy : {"independent", "honaker", "blt-rational"}) {
    const StackOptions alone = {.workloads = {Workload::prefix_sums(kSteps)}};
    const auto how = stack_mechanism({kSteps, strategy}, alone);
    const auto own = Mechanism::make(
        {.strategy = strategy, .steps = kSteps, .target = {.epsilon = 1, .delta = 1e-6}});
    EXPECT_EQ(how->certificate().workload, "prefix");
    PrefixSum stacked(how, stack_options(2)), sums(own, stack_options(2));
    std::vector<double> a(2), b(2);
    for (std::int64_t t = 0; t < kSteps; ++t) {
      stacked.release(stack_record(t, 2), a);
      sums.release(stack_record(t, 2), b);
      EXPECT_EQ(a, b) << strategy;
    }
  }
}

TEST(Stack, goes_on_from_a_checkpoint_at_any_step_and_between_contributions) {
  constexpr std::int64_t kSteps = 11, kSize = 2;
  for (const char* strategy : {"normalized-square-root", "optimal", "honaker"}) {
    const auto how = stack_mechanism({kSteps, strategy}, mixed(kSteps));
    const std::int64_t k = how->num_readers();
    const PrefixSumOptions options = stack_options(k * kSize);
    for (std::int64_t stop = 0; stop < kSteps; ++stop) {
      PrefixSum first(how, options), second(how, options);
      std::vector<double> a(static_cast<std::size_t>(k * kSize)), b(a);
      // Restoring must discard these.
      second.contribute(stack_record(99, kSize));
      second.release(b);
      for (std::int64_t t = 0; t < stop; ++t) first.release(stack_record(t, kSize), a);
      first.contribute(stack_record(50, kSize));
      second.restore_without_journal(first.checkpoint());
      for (std::int64_t t = stop; t < kSteps; ++t) {
        first.release(stack_record(t, kSize), a);
        second.release(stack_record(t, kSize), b);
        ASSERT_EQ(a, b) << strategy << ", stopped at " << stop << ", step " << t;
      }
    }
  }
}

TEST(Stack, states_of_other_stacks_are_refused) {
  constexpr std::int64_t kSteps = 9;
  const auto with = [&](std::int64_t width, std::int64_t other) {
    return stack_mechanism({kSteps, "independent"},
                           {.workloads = {Workload::sliding_window({kSteps, width}),
                                          Workload::sliding_window({kSteps, other})}});
  };
  PrefixSum one(with(2, 3), stack_options(2));
  const std::vector<std::byte> bytes = one.checkpoint();
  for (const auto& how :
       {with(3, 2), with(2, 4), stack_mechanism({kSteps, "independent"}, mixed(kSteps))}) {
    PrefixSum other(how, stack_options(2 * how->num_readers() / 2));
    EXPECT_THROW(other.restore_without_journal(bytes), Error);
  }
  PrefixSum same(with(2, 3), stack_options(2));
  same.restore_without_journal(bytes);
}

TEST(Stack, bad_options_are_refused_by_name) {
  const auto refused = [](const StackOptions& stack, const StackProblem& problem) {
    try {
      (void)stack_mechanism(problem, stack);
    } catch (const Error& error) {
      return error.parameter();
    }
    return std::string("none");
  };
  const StackProblem problem{.steps = 8};
  EXPECT_EQ(refused({}, problem), "workloads");
  EXPECT_EQ(refused(windows(9), problem), "workloads");
  for (const double weight : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::infinity()}) {
    StackOptions stack = windows(8);
    stack.weights = {1, weight, 1};
    EXPECT_EQ(refused(stack, problem), "weights[1]");
  }
  StackOptions stack = windows(8);
  stack.weights = {1, 1};
  EXPECT_EQ(refused(stack, problem), "weights");
  EXPECT_EQ(
      refused(windows(8),
              {.steps = 8, .strategy = "optimal", .parameters = {.objective = Objective::max}}),
      "objective");
  const auto how = stack_mechanism(problem, windows(8));
  EXPECT_THROW(PrefixSum(how, stack_options(4)), Error);
  // Mode lattice would make noise only for the first workload, a running total.
  PrefixSumOptions lattice = stack_options(3);
  lattice.mode = ReleaseMode::lattice;
  EXPECT_THROW(PrefixSum(stack_mechanism({8, "honaker"}, windows(8)), lattice), Error);
}

}  // namespace
}  // namespace dpftrl
