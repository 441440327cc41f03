// SPDX-License-Identifier: Apache-2.0
/// Releases of workloads with weights: decaying sums, momentum, learning rates and matrices.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "collected.hpp"
#include "dpftrl/learn/dp_ftrl.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "dpftrl/release/prefix_sum.hpp"
#include "dpftrl/release/stream.hpp"
#include "golden/optima_golden.hpp"
#include "golden/weights_golden.hpp"
#include "math/fixed_point.hpp"
#include "noise/checkpoint.hpp"
#include "noise/exact/exact_entry.hpp"
#include "random/gaussian.hpp"
#include "release/grid/weighted_sums.hpp"
#include "special_values.hpp"
#include "support.hpp"
#include "ways_to_release.hpp"

namespace dpftrl {
namespace {

using detail::Enclosure;
using detail::FixedPoint;
using testing::Collected;
using testing::kNan;

constexpr std::uint64_t kWeightedSeed = 9;

struct WeightedProblem {
  Workload workload;
  std::string strategy = "normalized-square-root";
  Participation participation = Participation::single();
  Neighbours neighbours = Neighbours::zero_out;
};

std::shared_ptr<const Mechanism> made(const WeightedProblem& problem) {
  return Mechanism::make({.strategy = problem.strategy,
                          .steps = problem.workload.steps(),
                          .target = {.epsilon = 1, .delta = 1e-6},
                          .neighbours = problem.neighbours,
                          .participation = problem.participation,
                          .workload = problem.workload});
}

Workload decay(std::int64_t steps, double alpha) {
  return Workload::momentum({.steps = steps, .momentum = 0, .decay = alpha});
}

Workload rates(std::int64_t steps, double momentum) {
  std::vector<double> all;
  for (std::int64_t t = 0; t < steps; ++t)
    all.push_back((t % 3 == 1 ? -0.7 : 1.3) / (1 + 0.1 * static_cast<double>(t)));
  return Workload::learning_rates({.rates = std::move(all), .momentum = momentum});
}

Workload matrix(std::int64_t steps) {
  Matrix entries = Matrix::Zero(testing::index_of(steps), testing::index_of(steps));
  for (Eigen::Index i = 0; i < entries.rows(); ++i)
    for (Eigen::Index j = 0; j <= i; ++j)
      entries(i, j) =
          i == j ? 1.5 : std::sin(3.0 * static_cast<double>(i) + static_cast<double>(j));
  return Workload::lower_triangular(std::move(entries));
}

std::vector<Workload> weighted_workloads(std::int64_t steps) {
  return {decay(steps, 0.9),
          decay(steps, 0.5),
          decay(steps, 1 - 0x1p-40),
          decay(steps, 0x1p-60),
          Workload::momentum({.steps = steps, .momentum = 0.9}),
          Workload::momentum({.steps = steps, .momentum = 0.3, .decay = 0.95}),
          rates(steps, 0),
          rates(steps, 0.6),
          matrix(steps)};
}

PrefixSumOptions weighted_options(std::int64_t dimension = 1) {
  return {.key = Key::insecure_from_seed(kWeightedSeed), .dimension = dimension};
}

std::vector<double> record_of(std::int64_t step, std::int64_t dimension) {
  std::vector<double> record(static_cast<std::size_t>(dimension));
  fill_normals(Key::insecure_from_seed(8), Stream::test, static_cast<std::uint64_t>(step), 0,
               record);
  for (double& x : record) x *= 0.4;
  return record;
}

/// Encloses x with 8 digits.
Enclosure enclosed(double x) {
  return FixedPoint(8).multiply({.digits = {1}}, x);
}

/// Entry (row, column) of A, from its definition.
Enclosure weight(const Workload& workload, std::int64_t row, std::int64_t column) {
  const FixedPoint fixed(8);
  if (workload.kind() == Workload::Kind::matrix) return enclosed(workload.entry(row, column));
  Enclosure average, sum;
  for (std::int64_t t = column; t <= row; ++t) {
    average = t == column ? enclosed(1) : fixed.multiply(average, workload.momentum());
    const double rate =
        workload.rates().empty() ? 1 : workload.rates()[static_cast<std::size_t>(t)];
    sum = fixed.add(fixed.multiply(sum, workload.decay()), fixed.multiply(average, rate));
  }
  return sum;
}

/// floor(x + 1/2) of the midpoint; the enclosure must be narrower than 2^-400.
std::int64_t rounded(const Enclosure& x) {
  const FixedPoint fixed(8);
  EXPECT_LT(x.error * fixed.unit(), 0x1p-400);
  const Enclosure moved = fixed.add(x, enclosed(0.5));
  const bool is_whole = std::all_of(moved.digits.begin() + 1, moved.digits.end(),
                                    [](std::uint64_t digit) { return digit == 0; });
  const auto whole = static_cast<std::int64_t>(moved.digits[0]);
  return moved.negative ? -whole - (is_whole ? 0 : 1) : whole;
}

TEST(WeightedSum, a_release_is_the_exact_sum_and_the_ideal_noise_rounded_once) {
  constexpr std::int64_t kSteps = 12, kDimension = 2;
  const FixedPoint fixed(8);
  std::int64_t num_rounded_otherwise = 0;
  for (const Workload& workload : weighted_workloads(kSteps))
    for (const char* strategy :
         {"normalized-square-root", "square-root", "output", "independent", "honaker", "optimal"}) {
      const auto how = made({workload, strategy});
      PrefixSum sums(how, weighted_options(kDimension));
      const double scale = how->noise_stddev() / sums.grid();
      const DecoderForm form = how->strategy().decoder_form();
      std::vector<std::vector<double>> records;
      std::vector<double> noisy(kDimension);
      for (std::int64_t t = 0; t < kSteps; ++t) {
        records.push_back(record_of(t, kDimension));
        sums.release(records.back(), noisy);
        clip_to_norm(records.back(), 1);
        for (std::size_t i = 0; i < noisy.size(); ++i) {
          Enclosure sum;
          for (std::int64_t s = 0; s <= t; ++s) {
            const double integer =
                std::trunc(records[static_cast<std::size_t>(s)][i] / sums.grid());
            sum = fixed.add(sum, fixed.multiply(weight(workload, t, s), integer));
          }
          const Enclosure noise = fixed.multiply(
              enclose_entry(form, {.key = weighted_options().key, .dimension = kDimension}, t,
                            static_cast<std::int64_t>(i), 8),
              scale);
          const std::int64_t expected = rounded(fixed.add(sum, noise));
          ASSERT_EQ(noisy[i], static_cast<double>(expected) * sums.grid())
              << strategy << ", " << workload.name() << ", step " << t;
          num_rounded_otherwise += rounded(sum) + rounded(noise) != expected;
        }
      }
    }
  // Rounding sum and noise separately is another mechanism, and this test distinguishes the two.
  EXPECT_GT(num_rounded_otherwise, 100);
}

TEST(WeightedSum, sums_are_those_of_exact_fractions) {
  for (const auto& known : golden::weights::sums) {
    const Workload workload =
        Workload::momentum({.steps = 151, .momentum = known.momentum, .decay = known.decay});
    const auto sums = detail::make_weighted_sums(workload, 1);
    detail::WideNumber sum;
    for (std::int64_t t = 0; t <= known.step; ++t) {
      sum = sums->after(t, std::array{1000003 * (t + 1) % 2001 - 1000})[0];
      sums->accept();
    }
    EXPECT_EQ(sum.floor(), known.floor);
    EXPECT_EQ(static_cast<double>(sum.digits[1] >> 11) * 0x1p-53, known.rest)
        << workload.name() << " " << known.step;
  }
}

TEST(WeightedSum, sums_are_as_far_off_as_their_bound_allows_and_no_further) {
  constexpr std::int64_t kSteps = 60;
  const FixedPoint fixed(8);
  const double alpha = 1 - 0x1p-53;
  for (const Workload& workload :
       {decay(kSteps, alpha), Workload::momentum({kSteps, alpha, alpha})}) {
    const auto sums = detail::make_weighted_sums(workload, 1);
    Enclosure exact;
    double furthest = 0;
    for (std::int64_t t = 0; t < kSteps; ++t) {
      const detail::WideNumber sum = sums->after(t, std::array<std::int64_t, 1>{1})[0];
      sums->accept();
      // All records are 1, so the sum is the previous one plus one more weight.
      exact = fixed.add(exact, weight(workload, t, 0));
      detail::Digits kept{};
      std::ranges::copy(sum.digits, kept.begin());
      // Sums are truncated, so the loss is never negative.
      const detail::Digits lost = fixed.subtract(exact.digits, kept);
      furthest =
          std::max(furthest, static_cast<double>(lost[detail::kWideDigits]) +
                                 static_cast<double>(lost[detail::kWideDigits + 1]) * 0x1p-64);
      for (std::size_t i = 0; i < detail::kWideDigits; ++i) ASSERT_EQ(lost[i], 0U) << t;
    }
    EXPECT_LE(furthest, detail::error_of_sums(workload));
    // Errors of averages accumulate to more than those of the same number of products.
    if (workload.momentum() > 0) {
      EXPECT_GT(furthest, 2 * kSteps);
    }
  }
}

TEST(WeightedSum, every_way_to_give_a_record_releases_the_same) {
  constexpr std::int64_t kSteps = 20;
  for (const Workload& workload : weighted_workloads(kSteps))
    for (const std::int64_t dimension : {1, 3}) {
      SCOPED_TRACE(workload.name());
      testing::expect_one_release_in_every_way(
          made({workload}), weighted_options(dimension), kSteps,
          [dimension](std::int64_t t) { return record_of(t, dimension); });
    }
}

TEST(WeightedSum, coordinates_beyond_a_block_are_those_of_short_records) {
  constexpr std::int64_t kDimension = 2100;
  const auto how = made({decay(6, 0.8), "output"});
  PrefixSum sums(how, weighted_options(kDimension));
  std::vector<double> noisy(kDimension), record(kDimension);
  std::vector<std::vector<double>> integers;
  for (std::int64_t t = 0; t < 6; ++t) {
    record = record_of(t, kDimension);
    clip_to_norm(record, 1);
    integers.push_back(record);
    Collected sink;
    sums.release(record, noisy, &sink);
    EXPECT_EQ(sink.values, noisy);
    for (const std::size_t i : {0U, 1023U, 1024U, 2047U, 2048U, 2099U}) {
      double sum = 0;
      for (const std::vector<double>& each : integers)
        sum = 0.8 * sum + std::trunc(each[i] / sums.grid());
      std::vector<double> row(1);
      NoiseStream noise(how->strategy(), {.key = weighted_options().key,
                                          .first_coordinate = static_cast<std::int64_t>(i)});
      noise.seek(t);
      noise.next(row);
      EXPECT_NEAR(noisy[i] / sums.grid(), sum + row[0] * how->noise_stddev() / sums.grid(), 0.51);
    }
  }
}

using PeopleCounter = RecordStream<Number, People>;

/// A^-1 times the change in the releases due to one person's contributions.
template <class Contribute>
Vector moved(const std::shared_ptr<const Mechanism>& how, double grid, Contribute&& contribute) {
  PrefixSumOptions options = weighted_options();
  options.grid = grid;
  PeopleCounter sums(Number(), how, options), silent(Number(), how, options);
  Vector difference(testing::index_of(how->steps()));
  for (Eigen::Index t = 0; t < difference.size(); ++t) {
    contribute(sums, t);
    difference(t) = sums.end().value - silent.end().value;
  }
  const Matrix weights = how->strategy().workload().matrix();
  return weights.triangularView<Eigen::Lower>().solve(difference);
}

/// Value at step t of the stream numbered `code` among 3^5: -1, 0 or 1.
int coded_value(int code, Eigen::Index t) {
  for (; t > 0; --t) code /= 3;
  return code % 3 == 2 ? -1 : code % 3;
}

/// True if one person participates in the same steps of two streams.
bool take_the_same_part(int a, int b) {
  for (; a > 0 || b > 0; a /= 3, b /= 3)
    if ((a % 3 == 0) != (b % 3 == 0)) return false;
  return true;
}

/// Largest distance between releases of neighbours, in the norm of C, over all streams of five
/// steps.
double largest_distance(const std::shared_ptr<const Mechanism>& how, Neighbours neighbours,
                        double grid) {
  constexpr int kStreams = 243;
  std::vector<Vector> streams;
  for (int code = 0; code < kStreams; ++code)
    streams.push_back(moved(how, grid, [&](PeopleCounter& sums, Eigen::Index t) {
      const int value = coded_value(code, t);
      if (value != 0) sums.add("ann", value);
    }));
  const Matrix encoder = how->strategy().encoder();
  double largest = 0;
  for (std::size_t a = 0; a < streams.size(); ++a)
    for (std::size_t b = 0; b < (neighbours == Neighbours::zero_out ? 1 : a); ++b)
      if (neighbours == Neighbours::zero_out ||
          take_the_same_part(static_cast<int>(a), static_cast<int>(b)))
        largest = std::max(largest, (encoder * (streams[a] - streams[b])).norm());
  return largest;
}

std::vector<Workload> dyadic_workloads() {
  Matrix entries(5, 5);
  entries << 1, 0, 0, 0, 0, -0.5, 2, 0, 0, 0, 0.25, 0, 1, 0, 0, 3, -1, 0.75, 0.5, 0, 0, 0.5, 1, 1,
      1.25;
  return {decay(5, 0.5),
          decay(5, 0.75),
          Workload::momentum({5, 0.5, 1}),
          Workload::momentum({5, 0.5, 0.75}),
          Workload::learning_rates({.rates = {1, -0.5, 2, 0.25, 1}, .momentum = 0.5}),
          Workload::lower_triangular(entries)};
}

TEST(WeightedSum, no_pair_of_neighbours_is_further_apart_than_the_sensitivity) {
  // With these weights and records, sums are multiples of the grid 2^-12, so differences are exact.
  testing::Thinned thinned(7);
  for (const Workload& workload : dyadic_workloads())
    for (const Neighbours neighbours : {Neighbours::zero_out, Neighbours::replace_one})
      for (const Participation& pattern :
           {Participation::single(), Participation::min_separation({2, 2}),
            Participation::min_separation({3, 1})})
        for (const char* strategy :
             {"optimal", "normalized-square-root", "square-root", "output", "independent"}) {
          if (!thinned.takes_next()) continue;
          const auto how = made({workload, strategy, pattern, neighbours});
          const double claimed =
              how->certificate().sensitivity * neighbour_distance(neighbours) * (1 + 1e-9);
          const double found = largest_distance(how, neighbours, 0x1p-12);
          EXPECT_LE(found, claimed) << strategy << ", " << workload.name();
          EXPECT_GT(found, 0.3 * claimed);
          // The worst streams are among these, so the noise is no larger than necessary.
          if (how->certificate().exactness == Exactness::exact) {
            EXPECT_GT(found, claimed * (1 - 1e-8)) << strategy << ", " << workload.name();
          }
        }
}

TEST(WeightedSum, weights_that_are_no_short_fractions_keep_the_sensitivity) {
  // Each release is off by at most one grid; C A^-1 turns this into the tolerance.
  constexpr double kGrid = 0x1p-24;
  for (const Workload& workload : {decay(5, 0.9), decay(5, 0.3), Workload::momentum({5, 0.7, 0.9})})
    for (const Participation& pattern :
         {Participation::single(), Participation::min_separation({2, 2})}) {
      const auto how = made({workload, "square-root", pattern});
      const double found = largest_distance(how, Neighbours::zero_out, kGrid);
      EXPECT_LE(found, how->certificate().sensitivity * (1 + 1e-5)) << workload.name();
      EXPECT_GT(found, how->certificate().sensitivity * (1 - 1e-5)) << workload.name();
    }
}

TEST(WeightedSum, sums_without_decay_would_exceed_the_sensitivity) {
  // Falsifies the checks above: increments of prefix sums, interpreted as decayed.
  const auto how = made({decay(5, 0.5), "output"});
  const Matrix decoder = how->strategy().decoder();
  const Matrix encoder =
      decoder.triangularView<Eigen::Lower>().solve(Workload::prefix_sums(5).matrix());
  EXPECT_GT(encoder.colwise().norm().maxCoeff(), 1.5 * how->certificate().sensitivity);
}

TEST(WeightedSum, the_error_is_within_two_percent_of_the_formula) {
  // With 24,000 coordinates, the standard deviation of a step's mean square is below 1 %; the seed
  // is fixed.
  constexpr std::int64_t kSteps = 40, kCoordinates = 24000;
  for (const Workload& workload : {decay(kSteps, 0.9), Workload::momentum({kSteps, 0.5, 0.95}),
                                   rates(kSteps, 0.5), matrix(kSteps)})
    for (const char* strategy : {"optimal", "normalized-square-root", "banded-square-root"}) {
      const auto how = made({workload, strategy});
      PrefixSum sums(how, weighted_options(kCoordinates));
      // Sums are not multiples of the grid.
      const std::vector<double> record(kCoordinates, 0.006);
      std::vector<double> noisy(kCoordinates), inputs;
      double total = 0;
      for (std::int64_t t = 0; t < kSteps; ++t) {
        inputs.push_back(std::trunc(record[0] / sums.grid()) * sums.grid());
        const double sum = workload.leading(t + 1).apply(inputs).back();
        sums.release(record, noisy);
        double squares = 0;
        for (const double x : noisy) squares += (x - sum) * (x - sum);
        squares /= static_cast<double>(kCoordinates);
        EXPECT_TRUE(testing::relatively_close(squares, std::pow(sums.release_stddev(t), 2), 0.04));
        total += squares;
      }
      const Certificate& claim = how->certificate();
      const double error = std::sqrt(total / static_cast<double>(kSteps));
      EXPECT_TRUE(testing::relatively_close(error, claim.mean_error * claim.noise_multiplier, 0.01))
          << strategy << " " << workload.name();
    }
}

TEST(WeightedSum, errors_are_those_of_an_independent_computation) {
  for (const auto& known : golden::weights::errors) {
    const Workload workload = Workload::momentum(
        {.steps = known.num_steps, .momentum = known.momentum, .decay = known.decay});
    const auto error_of = [&](const char* strategy) {
      const auto how = made({workload, strategy});
      return how->certificate().mean_error;
    };
    EXPECT_NEAR(error_of("square-root"), known.square_root, 1e-9 * known.square_root);
    EXPECT_NEAR(error_of("normalized-square-root"), known.normalized_square_root,
                1e-9 * known.normalized_square_root);
  }
}

TEST(WeightedSum, the_optimum_of_a_decaying_sum_is_the_known_one) {
  for (const auto& known : golden::optima::decays) {
    const auto how = Mechanism::make({.strategy = "optimal",
                                      .steps = known.num_steps,
                                      .target = {.epsilon = 1, .delta = 1e-6},
                                      .workload = decay(known.num_steps, known.decay),
                                      .parameters = {.objective = Objective::mean}});
    EXPECT_GE(how->certificate().mean_error, known.error * (1 - 1e-6));
    EXPECT_LE(how->certificate().mean_error, known.error * (1 + 1e-4));
  }
}

TEST(WeightedSum, sensitivities_are_those_of_all_patterns_and_signs) {
  for (const auto& known : golden::weights::sensitivities) {
    const std::string kind = known.kind;
    Participation pattern = Participation::single();
    if (kind == "min-separation") pattern = Participation::min_separation({known.k, known.b});
    if (kind == "fixed-epoch") pattern = Participation::fixed_epoch({known.k, known.b});
    const auto how = made(
        {Workload::momentum({.steps = known.n, .momentum = known.momentum, .decay = known.decay}),
         known.strategy, pattern});
    const Certificate& claim = how->certificate();
    EXPECT_GE(claim.sensitivity, known.scalar * (1 - 1e-12)) << known.strategy;
    EXPECT_LE(claim.sensitivity,
              known.absolute * (claim.exactness == Exactness::exact ? 1 + 1e-12 : 1.1))
        << known.strategy;
  }
}

TEST(WeightedSum, goes_on_from_a_checkpoint_at_any_step_and_between_contributions) {
  constexpr std::int64_t kSteps = 9, kDimension = 2;
  for (const Workload& workload : weighted_workloads(kSteps))
    for (std::int64_t stop = 0; stop < kSteps; ++stop) {
      const auto how = made({workload});
      PrefixSum before(how, weighted_options(kDimension)), after(how, weighted_options(kDimension));
      std::vector<double> a(kDimension), b(kDimension);
      // Restoring must discard these.
      after.release(record_of(50, kDimension), b);
      after.contribute(record_of(51, kDimension));
      for (std::int64_t t = 0; t < stop; ++t) before.release(record_of(t, kDimension), a);
      before.contribute(record_of(52, kDimension));
      after.restore_without_journal(before.checkpoint());
      EXPECT_EQ(after.step(), stop);
      EXPECT_EQ(after.checkpoint(), before.checkpoint());
      for (std::int64_t t = stop; t < kSteps; ++t) {
        before.release(record_of(t, kDimension), a);
        after.release(record_of(t, kDimension), b);
        ASSERT_EQ(a, b) << workload.name() << ", from " << stop << ", at " << t;
      }
    }
}

TEST(WeightedSum, a_state_has_the_sums_and_does_not_grow) {
  // Rows of `output` need no additional state.
  constexpr std::size_t kDimension = 3, kNumber = 40;
  const auto size_of = [&](const Workload& workload, std::int64_t num_released) {
    PrefixSum sums(made({workload, "output"}), weighted_options(kDimension));
    std::vector<double> noisy(kDimension);
    for (std::int64_t t = 0; t < num_released; ++t) sums.release(record_of(t, 3), noisy);
    return sums.checkpoint().size() - detail::kCheckpointHeaderSize - 8 - 8 * kDimension;
  };
  for (const std::int64_t num_released : {0, 1, 7, 19}) {
    EXPECT_EQ(size_of(decay(20, 0.9), num_released), kNumber * kDimension);
    EXPECT_EQ(size_of(Workload::momentum({20, 0.5, 0.9}), num_released), 2 * kNumber * kDimension);
  }
}

TEST(WeightedSum, states_of_other_weights_are_refused_and_change_nothing) {
  // Both have B = I and the same noise, but different weights.
  const auto one = made({Workload::learning_rates({.rates = {1, 1, -1, 1}}), "output"});
  const auto two = made({Workload::learning_rates({.rates = {1, -1, 1, 1}}), "output"});
  ASSERT_EQ(one->noise_stddev(), two->noise_stddev());
  const auto prefix =
      Mechanism::make({.strategy = "output", .steps = 4, .target = {.epsilon = 1, .delta = 1e-6}});
  PrefixSumOptions options = weighted_options();
  options.grid = 0x1p-10;
  PrefixSum a(one, options), b(two, options), undisturbed(two, options), totals(prefix, options);
  EXPECT_ERROR(b.restore_without_journal(a.checkpoint()), "bad_state", "must be of this mechanism");
  EXPECT_ERROR(totals.restore_without_journal(a.checkpoint()), "bad_state",
               "must be of kind 2, got kind 10");
  EXPECT_ERROR(b.restore_without_journal(totals.checkpoint()), "bad_state",
               "must be of kind 10, got kind 2");
  std::vector<std::byte> damaged = b.checkpoint();
  damaged.pop_back();
  EXPECT_ERROR(b.restore_without_journal(damaged), "bad_state", "checkpoint");
  std::vector<double> x(1), y(1);
  b.release(std::array{0.5}, x);
  undisturbed.release(std::array{0.5}, y);
  EXPECT_EQ(x, y);
}

TEST(WeightedSum, bad_records_change_nothing_and_the_horizon_ends) {
  const auto how = made({decay(3, 0.9)});
  PrefixSum sums(how, weighted_options()), undisturbed(how, weighted_options());
  std::vector<double> noisy(1), expected(1), two(2);
  for (std::int64_t t = 0; t < 3; ++t) {
    EXPECT_ERROR(sums.release(std::array{kNan}, noisy), "invalid_argument", "must be finite");
    EXPECT_ERROR(sums.contribute(std::array{kNan}), "invalid_argument", "must be finite");
    EXPECT_ERROR(sums.release(two, noisy), "wrong_length", "record must have 1 entry, got 2");
    sums.release(record_of(t, 1), noisy);
    undisturbed.release(record_of(t, 1), expected);
    EXPECT_EQ(noisy, expected);
  }
  EXPECT_ERROR(sums.release(std::array{0.5}, noisy), "past_horizon", "below the horizon 3");
}

TEST(WeightedSum, what_has_no_exact_release_is_refused_by_name) {
  const auto how = made({decay(64, 0.9), "square-root"});
  const auto loose = Mechanism::make({.strategy = "square-root",
                                      .steps = 64,
                                      .target = {.epsilon = 100, .delta = 1e-6},
                                      .workload = decay(64, 0.9)});
  PrefixSumOptions coarse = weighted_options();
  coarse.grid = 0.0625;
  PrefixSum fits(loose, coarse);
  coarse.grid = 1;
  EXPECT_ERROR(PrefixSum(loose, coarse), "invalid_argument",
               "prefix_sum: grid must be at most the least std of a release, 0.");
  const Workload large = Workload::learning_rates({.rates = {1, 0x1p21, 1}});
  EXPECT_ERROR(PrefixSum(made({large, "independent"}), weighted_options()), "invalid_argument",
               "rates[1] must be at most 2^20 in magnitude to be released");
  Matrix entries = Matrix::Identity(3, 3);
  entries(2, 1) = -0x1p22;
  EXPECT_ERROR(
      PrefixSum(made({Workload::lower_triangular(entries), "independent"}), weighted_options()),
      "invalid_argument", "matrix(2, 1) must be at most 2^20 in magnitude");
  const std::int64_t steps = testing::is_full_size() ? 2048 : 256, most = (1 << 27) / steps;
  EXPECT_ERROR(
      PrefixSum(made({matrix(steps), "independent"}), weighted_options(2 * most)),
      "resource_exhausted",
      "prefix_sum: dimension must be at most " + std::to_string(most) + " for this workload");
  // The noise of one step is negligible compared with the errors of sums.
  Matrix faint = Matrix::Identity(3, 3);
  faint(1, 0) = 1;
  faint(1, 1) = 1e-55;
  EXPECT_ERROR(
      PrefixSum(made({Workload::lower_triangular(faint), "independent"}), weighted_options()),
      "invalid_argument", "workload must be such that each record weighs more");
  // The first of these rates is refused likewise.
  EXPECT_ERROR(PrefixSum(made({Workload::learning_rates({.rates = {1e-300, 1, 1}}), "square-root"}),
                         weighted_options()),
               "invalid_argument", "workload must be such that each record weighs more");
  faint(1, 1) = 1e-30;
  EXPECT_NO_THROW(
      PrefixSum(made({Workload::lower_triangular(faint), "independent"}), weighted_options()));
  PrefixSumOptions lattice = weighted_options();
  lattice.mode = ReleaseMode::lattice;
  EXPECT_ERROR(PrefixSum(how, lattice), "unsupported", "workload must be prefix");
  EXPECT_ERROR(DpFtrl({.mechanism = how,
                       .key = weighted_options().key,
                       .dimension = 1,
                       .loss = make_loss("logistic"),
                       .domain = make_domain("ball", 1)}),
               "invalid_argument", "dp_ftrl: workload must be prefix");
}

TEST(WeightedSum, the_least_decays_there_are_have_an_optimum_that_is_released) {
  for (const double alpha : {std::numeric_limits<double>::denorm_min(), 1e-320, 1e-300})
    for (const std::int64_t steps : {1, 2, 5}) {
      const auto how = made({decay(steps, alpha), "optimal"});
      // Nothing of a record remains in the next sum, so each sum has independent noise.
      EXPECT_NEAR(how->certificate().max_error, 1, 1e-6) << alpha;
      PrefixSum sums(how, weighted_options());
      std::array<double, 1> noisy{};
      for (std::int64_t t = 0; t < steps; ++t) sums.release(std::array{1.0}, noisy);
    }
}

TEST(WeightedSum, sums_never_leave_the_integers) {
  // The finest possible grid, the largest momentum, and the maximal number of contributions.
  const Workload workload = Workload::momentum({.steps = 50, .momentum = 1 - 0x1p-30});
  EXPECT_EQ(detail::largest_weight(workload), 50);
  EXPECT_EQ(detail::weight_of_row(workload), 2500);
  EXPECT_NEAR(detail::weight_of_row(decay(1000, 0.9)), 10, 1e-9);
  EXPECT_EQ(detail::largest_weight(decay(1000, 0.9)), 1);
  EXPECT_EQ(detail::weight_of_row(decay(7, 1 - 0x1p-50)), 7);
  for (const Workload& each : weighted_workloads(9)) {
    const Matrix weights = each.matrix().cwiseAbs();
    EXPECT_EQ(detail::least_weight_of_own_step(each), weights.diagonal().minCoeff());
    EXPECT_GE(detail::largest_weight(each) * (1 + 1e-12), weights.maxCoeff()) << each.name();
    EXPECT_GE(detail::weight_of_row(each) * (1 + 1e-12), weights.rowwise().sum().maxCoeff());
  }
  PrefixSumOptions options = weighted_options();
  options.grid = 0x1p-28;
  PrefixSum sums(made({workload, "output"}), options);
  EXPECT_EQ(sums.max_contributions(), static_cast<std::int64_t>(0x1p34 / 50));
}

}  // namespace
}  // namespace dpftrl
