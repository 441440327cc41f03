// SPDX-License-Identifier: Apache-2.0
/// Releases of sliding windows.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "dpftrl/learn/dp_ftrl.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "dpftrl/release/prefix_sum.hpp"
#include "dpftrl/release/stream.hpp"
#include "golden/optima_golden.hpp"
#include "golden/windows_golden.hpp"
#include "integers_of.hpp"
#include "noise/checkpoint.hpp"
#include "random/gaussian.hpp"
#include "special_values.hpp"
#include "support.hpp"
#include "ways_to_release.hpp"

namespace dpftrl {
namespace {

using testing::kNan;

struct WindowProblem {
  std::int64_t steps;
  std::int64_t width;
  std::string strategy = "normalized-square-root";
  Participation participation = Participation::single();
  Neighbours neighbours = Neighbours::zero_out;
  double epsilon = 1;
};

std::shared_ptr<const Mechanism> window_mechanism(const WindowProblem& problem) {
  return Mechanism::make({.strategy = problem.strategy,
                          .steps = problem.steps,
                          .target = {.epsilon = problem.epsilon, .delta = 1e-6},
                          .neighbours = problem.neighbours,
                          .participation = problem.participation,
                          .workload = Workload::sliding_window({problem.steps, problem.width})});
}

PrefixSumOptions window_options(std::int64_t dimension = 1) {
  return {.key = Key::insecure_from_seed(5), .dimension = dimension};
}

/// Pseudorandom record.
std::vector<double> window_record(std::int64_t step, std::int64_t dimension) {
  std::vector<double> values(static_cast<std::size_t>(dimension));
  fill_normals(Key::insecure_from_seed(6), Stream::test, static_cast<std::uint64_t>(step), 0,
               values);
  for (double& x : values) x *= 0.7;
  return values;
}

TEST(WindowSum, a_release_is_the_sum_of_the_last_records_and_a_row_of_rounded_noise) {
  constexpr std::int64_t kSteps = 20, kDimension = 3;
  testing::Thinned thinned(3);
  for (const StrategyInfo& info : strategy_catalogue())
    for (const std::int64_t width : {1, 2, 3, 7, 19}) {
      if (!thinned.takes_next()) continue;
      const auto how = window_mechanism({kSteps, width, std::string(info.name)});
      PrefixSum sums(how, window_options(kDimension));
      NoiseStream noise(how->strategy(),
                        {.key = Key::insecure_from_seed(5), .dimension = kDimension});
      std::vector<std::vector<std::int64_t>> records;
      std::vector<std::int64_t> row(kDimension);
      std::vector<double> noisy(kDimension);
      for (std::int64_t t = 0; t < kSteps; ++t) {
        records.push_back(testing::integers_of(window_record(t, kDimension), sums.grid()));
        sums.release(window_record(t, kDimension), noisy);
        ASSERT_TRUE(noise.next_rounded(row, 1, how->noise_stddev() / sums.grid()));
        for (std::size_t i = 0; i < noisy.size(); ++i) {
          std::int64_t sum = row[i];
          for (std::int64_t s = std::max<std::int64_t>(0, t - width + 1); s <= t; ++s)
            sum += records[static_cast<std::size_t>(s)][i];
          ASSERT_EQ(noisy[i], static_cast<double>(sum) * sums.grid())
              << info.name << ", width " << width << ", step " << t;
        }
      }
    }
}

TEST(WindowSum, coordinates_beyond_a_block_leave_with_their_own_step) {
  constexpr std::int64_t kDimension = 2100, kSteps = 9, kWidth = 4;
  const auto how = window_mechanism({kSteps, kWidth, "output"});
  PrefixSum sums(how, window_options(kDimension)), silent(how, window_options(kDimension));
  std::vector<std::vector<std::int64_t>> records;
  std::vector<double> noisy(kDimension), noise(kDimension);
  for (std::int64_t t = 0; t < kSteps; ++t) {
    records.push_back(testing::integers_of(window_record(t, kDimension), sums.grid()));
    sums.release(window_record(t, kDimension), noisy);
    silent.release(noise);
    for (std::size_t i = 0; i < noisy.size(); ++i) {
      std::int64_t sum = 0;
      for (std::int64_t s = std::max<std::int64_t>(0, t - kWidth + 1); s <= t; ++s)
        sum += records[static_cast<std::size_t>(s)][i];
      ASSERT_EQ(noisy[i] - noise[i], static_cast<double>(sum) * sums.grid()) << t << " " << i;
    }
  }
}

TEST(WindowSum, every_way_to_give_a_record_releases_the_same) {
  constexpr std::int64_t kSteps = 40, kWidth = 6;
  for (const std::int64_t dimension : {1, 2})
    testing::expect_one_release_in_every_way(
        window_mechanism({kSteps, kWidth}), window_options(dimension), kSteps,
        [dimension](std::int64_t t) { return window_record(t, dimension); });
}

TEST(WindowSum, a_step_of_contributions_leaves_as_a_whole) {
  constexpr std::int64_t kSteps = 12, kWidth = 3;
  const auto how = window_mechanism({kSteps, kWidth});
  PrefixSum sums(how, window_options()), silent(how, window_options());
  std::vector<double> noisy(1), noise(1), counts;
  for (std::int64_t t = 0; t < kSteps; ++t) {
    counts.push_back(static_cast<double>(5 * t % 7));
    for (double i = 0; i < counts.back(); ++i) sums.contribute(std::array{1.0});
    sums.release(noisy);
    silent.release(noise);
    double expected = 0;
    for (std::int64_t s = std::max<std::int64_t>(0, t - kWidth + 1); s <= t; ++s)
      expected += counts[static_cast<std::size_t>(s)];
    EXPECT_EQ(noisy[0] - noise[0], expected) << t;
  }
}

TEST(WindowSum, a_window_of_the_horizon_releases_the_prefix_sums) {
  constexpr std::int64_t kSteps = 9;
  for (const char* name : {"honaker", "optimal", "normalized-square-root", "output"}) {
    const auto prefix = Mechanism::make(
        {.strategy = name, .steps = kSteps, .target = {.epsilon = 1, .delta = 1e-6}});
    for (const std::int64_t width : {kSteps, kSteps + 1, 10 * kSteps}) {
      const auto how = window_mechanism({kSteps, width, name});
      PrefixSum window(how, window_options(2)), sums(prefix, window_options(2));
      for (std::int64_t t = 0; t < kSteps; ++t) {
        std::vector<double> a(2), b(2);
        window.release(window_record(t, 2), a);
        sums.release(window_record(t, 2), b);
        EXPECT_EQ(a, b) << name;
      }
      EXPECT_EQ(window.checkpoint(), sums.checkpoint()) << name << ", width " << width;
    }
  }
}

TEST(WindowSum, a_window_of_the_horizon_is_the_workload_of_prefix_sums) {
  constexpr std::int64_t kSteps = 9;
  for (const std::int64_t width : {kSteps, 10 * kSteps}) {
    const Workload window = Workload::sliding_window({kSteps, width});
    EXPECT_TRUE(window.is_prefix());
    EXPECT_EQ(window.window(), 0);
  }
  const Workload window = Workload::sliding_window({.steps = kSteps, .window = 4});
  EXPECT_EQ(window.window(), 4);
  EXPECT_EQ(window.leading(5).window(), 4);
  for (const Workload& block : {window.leading(4), window.block(2, 3)}) {
    EXPECT_TRUE(block.is_prefix());
    EXPECT_EQ(block.window(), 0);
  }
}

using WindowOfPeople = RecordStream<Number, People>;

/// u such that A u equals the releases without noise.
template <class Contribute>
Vector window_increments(const std::shared_ptr<const Mechanism>& how, std::int64_t width,
                         Contribute&& contribute) {
  WindowOfPeople sums(Number(), how, window_options()), silent(Number(), how, window_options());
  Vector added(testing::index_of(how->steps()));
  double before = 0;
  for (Eigen::Index t = 0; t < added.size(); ++t) {
    contribute(sums, t);
    const double now = sums.end().value - silent.end().value;
    added(t) = now - before + (t >= width ? added(t - testing::index_of(width)) : 0);
    before = now;
  }
  return added;
}

/// Largest ||C (x - x')|| over streams of five steps in which one person contributes -1, 0 or 1 at
/// each step, and others contribute, too. `width` is that of A, whose inverse turns releases into
/// increments.
double window_sensitivity(const std::shared_ptr<const Mechanism>& how, std::int64_t width,
                          Neighbours neighbours) {
  constexpr int kStreams = 243;
  std::vector<Vector> streams;
  for (int code = 0; code < kStreams; ++code)
    streams.push_back(window_increments(how, width, [&](WindowOfPeople& sums, Eigen::Index t) {
      int digit = code;
      for (Eigen::Index i = 0; i < t; ++i) digit /= 3;
      if (t % 2 == 0) sums.add("bob", 0.75);
      // Zero values are not contributed, so that patterns consist of the nonzero values.
      if (digit % 3 != 0) sums.add("ann", digit % 3 == 1 ? 1 : -1);
    }));
  const Matrix encoder = how->strategy().encoder();
  double largest = 0;
  for (int a = 0; a < kStreams; ++a)
    for (int b = 0; b < (neighbours == Neighbours::zero_out ? 1 : a); ++b) {
      // With replace-one, neighbours have the same steps but other values.
      bool are_neighbours = true;
      for (int x = a, y = b; x > 0 || y > 0; x /= 3, y /= 3)
        are_neighbours &= neighbours == Neighbours::zero_out || (x % 3 == 0) == (y % 3 == 0);
      if (!are_neighbours) continue;
      const Vector moved =
          streams[static_cast<std::size_t>(a)] - streams[static_cast<std::size_t>(b)];
      largest = std::max(largest, (encoder * moved).norm());
    }
  return largest;
}

TEST(WindowSum, no_pair_of_neighbours_is_further_apart_than_the_sensitivity) {
  constexpr std::int64_t kSteps = 5;
  for (const Neighbours neighbours : {Neighbours::zero_out, Neighbours::replace_one})
    for (const Participation& pattern :
         {Participation::single(), Participation::min_separation({2, 2}),
          Participation::min_separation({3, 1})})
      for (const std::int64_t width : {1, 2, 3, 4})
        for (const char* strategy : {"optimal", "normalized-square-root", "square-root", "output",
                                     "independent", "honaker", "banded-square-root"}) {
          const auto how = window_mechanism({kSteps, width, strategy, pattern, neighbours});
          const double claimed =
              how->certificate().sensitivity * neighbour_distance(neighbours) * (1 + 1e-9);
          const double found = window_sensitivity(how, width, neighbours);
          EXPECT_LE(found, claimed) << strategy << ", width " << width;
          EXPECT_GT(found, 0.3 * claimed);
          // The worst streams are among these, so the noise is no larger than necessary.
          if (how->certificate().exactness == Exactness::exact) {
            EXPECT_GT(found, claimed * (1 - 1e-8)) << strategy << ", width " << width;
          }
        }
}

TEST(WindowSum, sums_from_which_nothing_leaves_would_exceed_the_sensitivity) {
  // Falsifies the check above: increments of prefix sums, interpreted as releases of a window of 2.
  constexpr std::int64_t kSteps = 5, kWidth = 2;
  const auto window = window_mechanism({kSteps, kWidth, "output"});
  const Matrix released = Workload::prefix_sums(kSteps).matrix();
  const Matrix decoder = window->strategy().decoder();
  const Matrix encoder = decoder.triangularView<Eigen::Lower>().solve(released);
  EXPECT_GT(encoder.colwise().norm().maxCoeff(), 1.5 * window->certificate().sensitivity);
}

TEST(WindowSum, leaving_out_a_person_with_many_records_is_within_the_bound) {
  // A person who exceeds the pattern: further records do not count, so the counted ones satisfy it.
  const Participation twice = Participation::min_separation({2, 2});
  const auto how = window_mechanism({5, 3, "normalized-square-root", twice});
  const Vector moved = window_increments(how, 3,
                                         [](WindowOfPeople& sums, Eigen::Index) {
                                           for (int i = 0; i < 3; ++i) sums.add("ann", 0.9);
                                         }) -
                       window_increments(how, 3, [](WindowOfPeople&, Eigen::Index) {});
  EXPECT_EQ(moved, (Vector(5) << 1, 0, 1, 0, 0).finished());
  EXPECT_LE((how->strategy().encoder() * moved).norm(), how->certificate().sensitivity);
}

TEST(WindowSum, the_error_is_within_two_percent_of_the_formula) {
  // With 24,000 coordinates, the standard deviation of a step's mean square is below 1 %; the seed
  // is fixed.
  constexpr std::int64_t kSteps = 40, kCoordinates = 24000;
  for (const char* strategy : {"normalized-square-root", "banded-square-root", "honaker"}) {
    const auto how = window_mechanism({kSteps, 8, strategy});
    PrefixSum sums(how, window_options(kCoordinates));
    std::vector<double> noisy(kCoordinates);
    double total = 0;
    for (std::int64_t t = 0; t < kSteps; ++t) {
      sums.release(noisy);
      double square = 0;
      for (const double x : noisy) square += x * x;
      square /= static_cast<double>(kCoordinates);
      EXPECT_TRUE(testing::relatively_close(square, std::pow(sums.release_stddev(t), 2), 0.04))
          << t;
      total += square;
    }
    const Certificate& claim = how->certificate();
    const double rms = std::sqrt(total / static_cast<double>(kSteps));
    EXPECT_TRUE(testing::relatively_close(rms, claim.mean_error * claim.noise_multiplier, 0.01))
        << strategy;
  }
}

TEST(WindowSum, errors_are_those_of_an_independent_computation) {
  for (const auto& known : golden::windows::errors) {
    const WindowProblem problem{known.num_steps, known.width, "square-root"};
    const Certificate square_root = window_mechanism(problem)->certificate();
    EXPECT_NEAR(square_root.mean_error, known.square_root, 1e-9);
    const Certificate normalized =
        window_mechanism({known.num_steps, known.width, "normalized-square-root"})->certificate();
    EXPECT_NEAR(normalized.mean_error, known.normalized_square_root, 1e-9);
  }
}

TEST(WindowSum, sensitivities_are_those_of_all_patterns_and_signs) {
  for (const auto& known : golden::windows::sensitivities) {
    const std::string kind = known.kind;
    Participation pattern = Participation::single();
    if (kind == "min-separation") pattern = Participation::min_separation({known.k, known.b});
    if (kind == "fixed-epoch") pattern = Participation::fixed_epoch({known.k, known.b});
    const Certificate claim =
        window_mechanism({known.n, known.width, known.strategy, pattern})->certificate();
    EXPECT_GE(claim.sensitivity, known.scalar * (1 - 1e-12)) << known.strategy << known.width;
    if (claim.exactness == Exactness::exact) {
      EXPECT_LE(claim.sensitivity, known.absolute * (1 + 1e-12)) << known.strategy << known.width;
    } else {
      EXPECT_LE(claim.sensitivity, known.absolute * 1.1) << known.strategy << known.width;
    }
  }
}

TEST(WindowSum, streamed_errors_are_within_five_percent_of_the_optimum) {
  constexpr std::int64_t kCoordinates = 400;
  for (const auto& optimum : golden::optima::windows) {
    const auto how = window_mechanism({optimum.num_steps, optimum.width, "normalized-square-root"});
    const Certificate& claim = how->certificate();
    EXPECT_GE(claim.mean_error, optimum.error);
    EXPECT_LE(claim.mean_error, optimum.error * 1.05);
    PrefixSum sums(how, window_options(kCoordinates));
    std::vector<double> noisy(kCoordinates);
    double total = 0;
    for (std::int64_t t = 0; t < optimum.num_steps; ++t) {
      sums.release(noisy);
      for (const double x : noisy) total += x * x;
    }
    // The mean square over 400 coordinates has a standard deviation below 0.6 %.
    const double rms = std::sqrt(total / static_cast<double>(optimum.num_steps * kCoordinates));
    EXPECT_TRUE(testing::relatively_close(rms / claim.noise_multiplier, claim.mean_error, 0.02));
  }
}

TEST(WindowSum, the_optimum_is_at_its_certified_lower_bound) {
  for (const auto& [steps, width] : {std::pair{5, 2}, {64, 8}, {64, 63}, {100, 1}})
    for (const Objective objective : {Objective::mean, Objective::max}) {
      MechanismOptions options{
          .strategy = "optimal", .steps = steps, .target = {.epsilon = 1, .delta = 1e-6}};
      const Workload window = Workload::sliding_window({steps, width});
      options.workload = window;
      options.parameters.objective = objective;
      const Certificate claim = Mechanism::make(options)->certificate();
      const double error = objective == Objective::mean ? claim.mean_error : claim.max_error;
      const double bound = certified_lower_bound(window, Participation::single(), objective)->value;
      EXPECT_GE(error, bound * (1 - 1e-12)) << width;
      EXPECT_LE(error, bound * (1 + 1e-3)) << width;
    }
}

TEST(WindowSum, the_optimum_is_the_known_one) {
  const auto& known = golden::optima::windows[0];
  MechanismOptions options{.strategy = "optimal",
                           .steps = testing::is_full_size() ? known.num_steps : 64,
                           .target = {.epsilon = 1, .delta = 1e-6}};
  options.workload = Workload::sliding_window({options.steps, known.width});
  options.parameters.objective = Objective::mean;
  const auto how = Mechanism::make(options);
  const double found = how->certificate().mean_error;
  if (testing::is_full_size()) {
    EXPECT_GE(found, known.error * (1 - 1e-6));
    EXPECT_LE(found, known.error * (1 + 1e-4));
  }
  PrefixSum sums(how, window_options(2));
  std::vector<double> noisy(2);
  for (std::int64_t t = 0; t < 20; ++t) sums.release(window_record(t, 2), noisy);
  EXPECT_EQ(sums.step(), 20);
}

TEST(WindowSum, the_default_grid_goes_by_the_records_of_a_sum) {
  // Truncation takes up to one grid from each record; over W records this stays below a quarter of
  // the typical noise.
  constexpr std::int64_t kSteps = 4096;
  for (const std::int64_t width : {1, 8, 512, 4095}) {
    const auto how = window_mechanism({kSteps, width, "banded-square-root", Participation::single(),
                                       Neighbours::zero_out, /*epsilon=*/8});
    const double grid = default_grid(*how, 1);
    const RowNorms rows = how->strategy().row_norms();
    const double typical = how->noise_stddev() * std::sqrt(rows.mean_squared);
    EXPECT_LE(static_cast<double>(width) * grid, typical / 4);
    EXPECT_LE(grid, how->noise_stddev() * std::sqrt(rows.min_squared) / 64);
    // The grid is no finer than one of the conditions requires.
    const bool is_needed = static_cast<double>(width) * 2 * grid > typical / 4 ||
                           2 * grid > how->noise_stddev() * std::sqrt(rows.min_squared) / 64 ||
                           2 * grid > how->clip() / 64;
    EXPECT_TRUE(is_needed) << width;
  }
}

TEST(WindowSum, goes_on_from_a_checkpoint_at_any_step_and_between_contributions) {
  constexpr std::int64_t kSteps = 14, kDimension = 2;
  for (const char* strategy : {"normalized-square-root", "banded-square-root", "blt-rational"})
    for (const std::int64_t width : {1, 2, 5, 13})
      for (std::int64_t stop = 0; stop < kSteps; ++stop) {
        const auto how = window_mechanism({kSteps, width, strategy});
        PrefixSum first(how, window_options(kDimension)), second(how, window_options(kDimension));
        std::vector<double> a(kDimension), b(kDimension);
        // Restoring must discard these.
        second.contribute(window_record(99, kDimension));
        second.release(b);
        second.contribute(window_record(98, kDimension));
        for (std::int64_t t = 0; t < stop; ++t) first.release(window_record(t, kDimension), a);
        first.contribute(window_record(77, kDimension));
        second.restore_without_journal(first.checkpoint());
        EXPECT_EQ(second.step(), stop);
        EXPECT_EQ(second.checkpoint(), first.checkpoint());
        for (std::int64_t t = stop; t < kSteps; ++t) {
          first.release(window_record(t, kDimension), a);
          second.release(window_record(t, kDimension), b);
          ASSERT_EQ(a, b) << strategy << ", width " << width << ", from " << stop << ", at " << t;
        }
      }
}

TEST(WindowSum, a_state_holds_the_steps_that_are_still_to_leave) {
  constexpr std::int64_t kDimension = 3, kWidth = 4;
  // Rows of `output` need no additional state.
  PrefixSum sums(window_mechanism({20, kWidth, "output"}), window_options(kDimension));
  std::vector<double> noisy(kDimension);
  for (std::int64_t t = 0; t < 10; ++t) {
    const auto num_rows = static_cast<std::size_t>(std::min(t, kWidth - 1) + 1);
    EXPECT_EQ(sums.checkpoint().size(), detail::kCheckpointHeaderSize + 8 + 8 * num_rows * 3);
    sums.release(window_record(t, kDimension), noisy);
  }
}

/// Resizes the bytes and seals them again.
std::vector<std::byte> resealed_window(std::vector<std::byte> bytes, std::size_t new_size) {
  bytes.resize(new_size);
  detail::Sha256 hash;
  hash.append(std::span(bytes).first(56));
  hash.append(std::span(bytes).subspan(detail::kCheckpointHeaderSize));
  const auto digest = hash.finish();
  std::copy_n(digest.begin(), 8, bytes.begin() + 56);
  return bytes;
}

TEST(WindowSum, states_of_another_workload_or_damaged_ones_are_refused_and_change_nothing) {
  const auto prefix =
      Mechanism::make({.strategy = "output", .steps = 20, .target = {.epsilon = 1, .delta = 1e-6}});
  const auto how = window_mechanism({20, 4, "output"});
  PrefixSum sums(how, window_options()), reference(how, window_options());
  std::vector<double> a(1), b(1);
  for (std::int64_t t = 0; t < 6; ++t) {
    sums.release(window_record(t, 1), a);
    reference.release(window_record(t, 1), b);
  }
  const std::vector<std::byte> state = sums.checkpoint();
  PrefixSum other(window_mechanism({20, 5, "output"}), window_options()),
      totals(prefix, window_options());
  EXPECT_ERROR(other.restore_without_journal(state), "bad_state", "must be of this mechanism");
  EXPECT_ERROR(totals.restore_without_journal(state), "bad_state", "must be of kind 2, got kind 8");
  EXPECT_ERROR(sums.restore_without_journal(totals.checkpoint()), "bad_state",
               "must be of kind 8, got kind 2");
  for (std::size_t i = 0; i < state.size(); ++i) {
    std::vector<std::byte> damaged = state;
    damaged[i] ^= std::byte{1};
    EXPECT_ERROR(sums.restore_without_journal(damaged), "bad_state", "checkpoint");
  }
  EXPECT_ERROR(sums.restore_without_journal(resealed_window(state, state.size() - 1)), "bad_state",
               "must contain the integers of 4 steps, got 31 bytes");
  sums.release(window_record(6, 1), a);
  reference.release(window_record(6, 1), b);
  EXPECT_EQ(a, b);
}

TEST(WindowSum, widths_with_the_same_decoder_and_noise_have_different_states) {
  // C = A and B = I, so the sensitivity is sqrt(width), and twice the distance of records costs as
  // much as four times the width.
  const auto narrow =
      window_mechanism({20, 4, "output", Participation::single(), Neighbours::replace_one});
  const auto wide = window_mechanism({20, 16, "output"});
  ASSERT_EQ(narrow->noise_stddev(), wide->noise_stddev());
  PrefixSumOptions options = window_options();
  options.grid = 0x1p-10;
  PrefixSum a(narrow, options), b(wide, options);
  EXPECT_ERROR(b.restore_without_journal(a.checkpoint()), "bad_state", "must be of this mechanism");
}

TEST(WindowSum, bad_records_change_nothing_and_the_horizon_ends) {
  const auto how = window_mechanism({4, 2});
  PrefixSum sums(how, window_options()), undisturbed(how, window_options());
  std::vector<double> noisy(1), expected(1), two(2);
  for (std::int64_t t = 0; t < 4; ++t) {
    EXPECT_ERROR(sums.release(std::array{kNan}, noisy), "invalid_argument", "must be finite");
    EXPECT_ERROR(sums.contribute(std::array{kNan}), "invalid_argument", "must be finite");
    EXPECT_ERROR(sums.release(two, noisy), "wrong_length", "record must have 1 entry, got 2");
    EXPECT_ERROR(sums.release_batch(std::array{0.5, kNan}, two, 2),
                 t < 3 ? "invalid_argument" : "past_horizon", t < 3 ? "must be finite" : "horizon");
    sums.release(window_record(t, 1), noisy);
    undisturbed.release(window_record(t, 1), expected);
    EXPECT_EQ(noisy, expected);
  }
  EXPECT_ERROR(sums.release(std::array{0.5}, noisy), "past_horizon", "below the horizon 4");
  EXPECT_ERROR(sums.contribute(std::array{0.5}), "past_horizon", "below the horizon 4");
}

TEST(WindowSum, a_ring_beyond_a_gibibyte_is_refused_by_name) {
  const std::int64_t most = (std::int64_t{1} << 27) / 16;
  const auto how = window_mechanism({most + 2, most + 1, "output"});
  EXPECT_ERROR(PrefixSum(how, window_options(16)), "resource_exhausted",
               "prefix_sum: workload must be a window so short that dimension integers");
  const auto short_one = window_mechanism({1 << 12, 1 << 10, "output"});
  EXPECT_ERROR(PrefixSum(short_one, window_options((1 << 17) + 1)), "resource_exhausted",
               "got window=1024");
}

TEST(WindowSum, lattice_learners_and_other_workloads_refuse_by_name) {
  const auto how = window_mechanism({8, 3, "square-root"});
  PrefixSumOptions lattice = window_options();
  lattice.mode = ReleaseMode::lattice;
  EXPECT_ERROR(PrefixSum(how, lattice), "unsupported", "workload must be prefix, got \"window=3\"");
  EXPECT_ERROR(DpFtrl({.mechanism = how,
                       .key = Key::insecure_from_seed(5),
                       .dimension = 1,
                       .loss = make_loss("logistic"),
                       .domain = make_domain("ball", 1)}),
               "invalid_argument", "dp_ftrl: workload must be prefix, got \"window=3\"");
}

}  // namespace
}  // namespace dpftrl
