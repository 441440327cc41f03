// SPDX-License-Identifier: Apache-2.0
// Noisy sums of single steps, and records that the caller has clipped.
#include "dpftrl/release/increments.hpp"

#include <array>
#include <cmath>
#include <random>

#include "catalogue.hpp"
#include "special_values.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::kInfinity;
using testing::kNan;

constexpr std::int64_t kIncrementSteps = 23, kIncrementWidth = 3;

MechanismOptions increments_mechanism(const std::string& strategy) {
  return {.strategy = strategy,
          .steps = kIncrementSteps,
          .target = {.epsilon = 1, .delta = 1e-6},
          .clip = 2};
}

PrefixSumOptions clipped_by_caller(std::optional<double> grid = {}) {
  return {.key = Key::insecure_from_seed(91),
          .dimension = kIncrementWidth,
          .grid = grid,
          .clipped_by_caller = true};
}

/// Random record on a grid, with at most the given norm.
std::vector<double> record_on(double grid, double norm, std::mt19937_64& bits) {
  std::vector<double> values(kIncrementWidth);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (double& x : values) x = std::trunc(uniform(bits) * norm / 2 / grid) * grid;
  return values;
}

TEST(Increments, add_up_to_the_releases_bit_for_bit) {
  for (const testing::Variant& variant : testing::prefix_variants(kIncrementSteps)) {
    if (variant.options.participation.pattern()) continue;  // takes counts
    MechanismOptions how = increments_mechanism(variant.options.name);
    how.participation = variant.options.participation;
    how.parameters = variant.options.parameters;
    RecordStream stream(Increments(kIncrementWidth), how, clipped_by_caller());
    const double grid = stream.sums().grid();
    how.clip = stream.mechanism().clip();
    // All records are below the clip norm, so clipping does not change them.
    PrefixSum sums(
        Mechanism::make(how),
        {.key = Key::insecure_from_seed(91), .dimension = kIncrementWidth, .grid = grid});
    ASSERT_EQ(sums.mechanism().noise_stddev(), stream.mechanism().noise_stddev()) << variant.title;
    std::mt19937_64 bits(7);
    std::vector<double> total(kIncrementWidth), release(kIncrementWidth);
    for (std::int64_t step = 0; step < kIncrementSteps; ++step) {
      const std::vector<double> record = record_on(grid, 2, bits);
      sums.release(record, release);
      const Estimates reading = stream.release(record);
      for (std::size_t i = 0; i < kIncrementWidth; ++i) total[i] += reading.values[i];
      ASSERT_EQ(total, release) << variant.title << ", step " << step;
    }
  }
}

TEST(Increments, of_records_that_come_clipped_are_those_records_and_noise) {
  RecordStream stream(Increments(kIncrementWidth), increments_mechanism("tree"),
                      clipped_by_caller());
  RecordStream nothing(Increments(kIncrementWidth), increments_mechanism("tree"),
                       clipped_by_caller());
  const double grid = stream.sums().grid();
  EXPECT_TRUE(stream.sums().is_clipped_by_caller());
  // Far beyond the promised norm, because a record is the sum of many; truncated to the grid.
  const std::vector<double> record{1000, -2000.5 * grid, 0.7 * grid};
  const Estimates with = stream.release(record), without = nothing.release(std::vector(3, 0.0));
  EXPECT_EQ(with.values[0] - without.values[0], 1000);
  EXPECT_EQ(with.values[1] - without.values[1], -2000 * grid);
  EXPECT_EQ(with.values[2] - without.values[2], 0);
}

TEST(Increments, the_norm_covers_what_truncating_a_record_adds) {
  // The integers of two records that differ by at most the promised norm differ by at most the norm
  // that the noise is made for. The promised norm would be too small.
  for (const std::optional<double> grid : {std::optional<double>(), std::optional(0.25)}) {
    const auto promised = Mechanism::make(increments_mechanism("tree"));
    std::mt19937_64 bits(8);
    std::normal_distribution<double> normal;
    double largest = 0, used = 0, clip = 0;
    for (int i = 0; i < 2000; ++i) {
      PrefixSum sums(promised, clipped_by_caller(grid)), other(promised, clipped_by_caller(grid));
      used = sums.grid();
      clip = sums.mechanism().clip();
      std::vector<double> record(kIncrementWidth), with(kIncrementWidth);
      std::vector<double> direction(kIncrementWidth);
      double norm = 0;
      for (double& x : direction) norm += std::pow(x = normal(bits), 2);
      for (std::size_t k = 0; k < kIncrementWidth; ++k) {
        const double aligned = i % 2 == 0 ? 2 / std::sqrt(3.0) : 2 * direction[k] / std::sqrt(norm);
        record[k] = i % 2 == 0 ? used * 0.999 - 2 * aligned * (i % 3) : 10 * normal(bits);
        with[k] = record[k] + aligned * (1 - 1e-12);
      }
      sums.release(record, record);
      other.release(with, with);
      double squared = 0;
      for (std::size_t k = 0; k < kIncrementWidth; ++k) squared += std::pow(with[k] - record[k], 2);
      largest = std::max(largest, std::sqrt(squared));
    }
    EXPECT_LE(largest, clip);
    EXPECT_GT(largest, promised->clip());
    EXPECT_EQ(promised->clip(), 2);
    EXPECT_GE(clip, 2 + std::sqrt(3.0) * used);
    EXPECT_NEAR(clip, 2 + std::sqrt(3.0) * used, 1e-12);
    if (!grid) {
      EXPECT_LE(clip, 2 * (1 + 0x1p-10) * (1 + 1e-15));
    }
  }
}

TEST(Increments, noise_is_made_for_the_norm_and_what_truncation_adds) {
  const auto promised = Mechanism::make(increments_mechanism("tree"));
  for (const double grid : {1.0, 0x1p-12}) {
    const PrefixSum sums(promised, clipped_by_caller(grid));
    const Certificate& claim = sums.mechanism().certificate();
    const double distance = claim.sensitivity * (2 + std::sqrt(3.0) * grid);
    EXPECT_GE(claim.noise_stddev, claim.noise_multiplier * distance);
    // The noise for the promised norm would be too little.
    EXPECT_LT(promised->noise_stddev(), claim.noise_multiplier * distance);
  }
}

TEST(Increments, the_predicted_std_is_that_of_the_readings_on_coarse_grids_too) {
  // Mean squares of 40,000 entries may be off by six standard errors, estimated from the fourth
  // moments.
  constexpr std::int64_t kWidth = 40000;
  int num_cases = 0, num_unlike_two_roundings = 0;
  for (const char* strategy : {"tree", "square-root", "independent"})
    for (const double grid : {0.25, 4.0, 16.0}) {
      MechanismOptions how = increments_mechanism(strategy);
      how.clip = 16;
      how.target.epsilon = 6;
      RecordStream stream(Increments(kWidth), how,
                          {.key = Key::insecure_from_seed(92), .grid = grid});
      const std::vector<double> nothing(kWidth);
      for (std::int64_t step = 0; step < 4; ++step) {
        const Estimates reading = stream.release(nothing);
        double square = 0, fourth = 0;
        for (const double x : reading.values) {
          square += x * x / kWidth;
          fourth += x * x * x * x / kWidth;
        }
        const double most = 6 * std::sqrt((fourth - square * square) / kWidth);
        EXPECT_NEAR(square, reading.stddev * reading.stddev, most)
            << strategy << ", grid " << grid << ", step " << step;
        EXPECT_EQ(reading.stddev, stream.columns().stddev(step));
        ++num_cases;
        // The variance of noise and two independent roundings would be wrong.
        const double before = stream.mechanism().noise_stddev();
        num_unlike_two_roundings += strategy == std::string("independent") &&
                                    std::abs(square - before * before - grid * grid / 6) > most;
      }
    }
  EXPECT_EQ(num_cases, 36);
  EXPECT_GT(num_unlike_two_roundings, 0);
}

TEST(Increments, keep_to_their_half_widths) {
  constexpr std::int64_t kWidth = 20000;
  for (const double grid : {0.25, 16.0}) {
    MechanismOptions how = increments_mechanism("square-root");
    how.clip = 16;
    how.target.epsilon = 6;
    RecordStream stream(Increments(kWidth, 0.9), how,
                        {.key = Key::insecure_from_seed(93), .grid = grid});
    const std::vector<double> nothing(kWidth);
    const double all = stream.columns().simultaneous_half_width(0.05);
    for (std::int64_t step = 0; step < kIncrementSteps; ++step) {
      const Estimates reading = stream.release(nothing);
      EXPECT_EQ(reading.half_width,
                stream.columns().half_width({.step = step, .probability = 1 - 0.9}));
      double beyond = 0;
      for (const double x : reading.values) {
        beyond += std::abs(x) > reading.half_width ? 1 : 0;
        ASSERT_LE(std::abs(x), all);
      }
      // At most five standard errors above 0.1; on the fine grid, 0.1 is nearly reached.
      EXPECT_LE(beyond / kWidth, 0.1 + 5 * std::sqrt(0.09 / kWidth)) << grid << ", " << step;
      if (grid < 1) {
        EXPECT_GE(beyond / kWidth, 0.08) << step;
      }
    }
  }
}

TEST(Increments, half_widths_without_a_meaning_are_refused) {
  RecordStream stream(Increments(1), increments_mechanism("tree"),
                      {.key = Key::insecure_from_seed(96)});
  for (const double bad : {0.0, -1.0, 1.0, 1e-291, kNan}) {
    EXPECT_ERROR(stream.columns().half_width({.step = 0, .probability = bad}), "invalid_argument",
                 "probability must be between 1e-290 and 1");
    EXPECT_ERROR(stream.columns().simultaneous_half_width(bad), "invalid_argument",
                 "probability must be between 1e-200 and 1");
  }
  for (const std::int64_t step : {std::int64_t{-1}, kIncrementSteps})
    EXPECT_ERROR(stream.columns().half_width({.step = step, .probability = 0.1}),
                 "invalid_argument", "step must be between 0 and 22");
}

TEST(Increments, need_gaussian_noise_that_is_known_of_running_totals) {
  const PrefixSumOptions options{.key = Key::insecure_from_seed(94)};
  const auto make = [&](const std::shared_ptr<const Mechanism>& mechanism,
                        const PrefixSumOptions& how) {
    RecordStream stream(Increments(1), mechanism, how);
  };
  EXPECT_ERROR(make(Mechanism::make_pure({.steps = 8, .epsilon = 1}), options), "unsupported",
               "increments: mechanism must have Gaussian noise on a grid");
  PrefixSumOptions lattice = options;
  lattice.mode = ReleaseMode::lattice;
  EXPECT_ERROR(make(Mechanism::make(increments_mechanism("honaker")), lattice), "unsupported",
               "increments: mechanism must have Gaussian noise on a grid");
  MechanismOptions how = increments_mechanism("tree");
  how.steps = 4097;
  EXPECT_ERROR(make(Mechanism::make(how), options), "unsupported",
               "steps must be at most 4096 for an encoder that is not Toeplitz");
  how = increments_mechanism("square-root");
  how.steps = 4097;
  make(Mechanism::make(how), options);
  how = increments_mechanism("independent");
  how.workload = Workload::sliding_window({kIncrementSteps, 2});
  EXPECT_ERROR(make(Mechanism::make(how), options), "unsupported", "must be one for prefix sums");
}

TEST(ClippedByCaller, is_refused_where_records_must_be_clipped_here) {
  const PrefixSumOptions options{.key = Key::insecure_from_seed(95), .clipped_by_caller = true};
  const auto tree = Mechanism::make(increments_mechanism("tree-k"));
  const auto refused = [](auto&& make, const std::string& where) {
    EXPECT_ERROR(make(), "unsupported", "clipped_by_caller must not be set " + where);
  };
  refused(
      [&] {
        PrefixSumOptions lattice = options;
        lattice.mode = ReleaseMode::lattice;
        PrefixSum sums(tree, lattice);
      },
      "in mode lattice");
  refused([&] { PrefixSum sums(Mechanism::make_pure({.steps = 8, .epsilon = 1}), options); },
          "without a delta");
  refused(
      [&] {
        PrefixSumOptions two = options;
        two.dimension = 2;
        const Workload all = Workload::prefix_sums(kIncrementSteps);
        PrefixSum sums(
            Mechanism::make_stack(increments_mechanism("tree"), {.workloads = {all, all}}), two);
      },
      "with several workloads");
  refused(
      [&] {
        MechanismOptions how = increments_mechanism("offset-ar");
        how.participation = Participation::active({.window = 7});
        PrefixSum sums(Mechanism::make(how), options);
      },
      "for active people");
  refused([&] { RecordStream<Numbers, People> stream(Numbers(1), tree, options); }, "with people");
  refused([&] { RecordStream<Increments, People, Journal> stream(Increments(1), tree, options); },
          "with people");
}

TEST(ClippedByCaller, records_without_room_are_refused_and_change_nothing) {
  RecordStream stream(Increments(kIncrementWidth), increments_mechanism("tree"),
                      clipped_by_caller(1.0));
  RecordStream other(Increments(kIncrementWidth), increments_mechanism("tree"),
                     clipped_by_caller(1.0));
  using Record = std::span<const double>;
  const std::vector<double> good{0x1p40, -0x1p40, 0};
  for (const double bad : {0x1.000001p40, -0x1.000001p40, 1e300, kInfinity, kNan}) {
    const std::vector<double> record{1, 2, bad};
    EXPECT_ERROR(stream.check(record), "invalid_argument", "record");
    EXPECT_ERROR(stream.add(record), "invalid_argument", "record");
    EXPECT_ERROR(stream.release(record), "invalid_argument", "record");
    EXPECT_ERROR(stream.add_many(std::array<Record, 2>{good, record}), "invalid_argument",
                 "record");
  }
  EXPECT_EQ(stream.counts().records, 0);
  EXPECT_EQ(stream.release(good).values, other.release(good).values);
  EXPECT_EQ(stream.sums().max_contributions(), std::int64_t{1} << 22);
  PrefixSum sums(Mechanism::make(increments_mechanism("tree")), clipped_by_caller(1.0));
  std::vector<double> batch{1, 2, 3, 1, 2, 0x1p41}, noisy(6);
  EXPECT_ERROR(sums.release_batch(batch, noisy, 2), "invalid_argument", "record must be within");
  EXPECT_EQ(sums.step(), 0);
}

TEST(ClippedByCaller, a_batch_of_numbers_is_its_releases_one_by_one) {
  const auto mechanism = Mechanism::make(increments_mechanism("tree"));
  PrefixSumOptions options = clipped_by_caller();
  options.dimension = 1;
  PrefixSum one_by_one(mechanism, options), batch(mechanism, options);
  std::vector<double> records{3, -100, 0.5, 1e6}, noisy(4);
  batch.release_batch(records, noisy, 4);
  for (std::size_t i = 0; i < records.size(); ++i) {
    double single = 0;
    one_by_one.release(std::span(records).subspan(i, 1), {&single, 1});
    EXPECT_EQ(single, noisy[i]);
  }
}

TEST(ClippedByCaller, states_are_not_those_of_records_that_are_clipped_here) {
  using Kept = RecordStream<Increments, Records, Journal>;
  const auto promised = Mechanism::make(increments_mechanism("tree"));
  const PrefixSumOptions by_caller = clipped_by_caller();
  Kept first(Increments(kIncrementWidth), promised, by_caller);
  // Nothing else differs: clip, noise and grid are the same.
  PrefixSumOptions here = by_caller;
  here.clipped_by_caller = false;
  here.grid = first.sums().grid();
  const auto same_noise = promised->with_clip(first.mechanism().clip());
  Kept second(Increments(kIncrementWidth), same_noise, here);
  EXPECT_EQ(second.mechanism().noise_stddev(), first.mechanism().noise_stddev());
  const auto state = first.state(), other = second.state();
  EXPECT_ERROR(Kept(Increments(kIncrementWidth), same_noise, here).restore(state), "bad_state", "");
  EXPECT_ERROR(Kept(Increments(kIncrementWidth), promised, by_caller).restore(other), "bad_state",
               "");
  Kept(Increments(kIncrementWidth), promised, by_caller).restore(state);
}

TEST(ClippedByCaller, bad_options_are_refused) {
  const auto make = [](const std::function<void(PrefixSumOptions&)>& change) {
    PrefixSumOptions options = clipped_by_caller();
    change(options);
    PrefixSum sums(Mechanism::make(increments_mechanism("tree")), options);
  };
  EXPECT_ERROR(make([](auto& own) { own.grid = 0.3; }), "invalid_argument",
               "grid must be a power of two");
  EXPECT_ERROR(make([](auto& own) { own.grid = 4; }), "invalid_argument",
               "grid must be at most clip = 2");
  EXPECT_ERROR(make([](auto& own) { own.grid = 0x1p-60; }), "invalid_argument",
               "grid must be coarse enough");
  EXPECT_ERROR(make([](auto& own) { own.dimension = 0; }), "invalid_argument", "dimension");
  EXPECT_ERROR(make([](auto& own) {
                 own.dimension = 0;
                 own.grid = 1;
               }),
               "invalid_argument", "dimension");
}

}  // namespace
}  // namespace dpftrl
