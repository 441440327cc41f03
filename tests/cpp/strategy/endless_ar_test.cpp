// SPDX-License-Identifier: Apache-2.0
/// Counts of active people without a horizon.
#include "strategy/endless_ar.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <utility>
#include <vector>

#include "dense_algebra.hpp"
#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "dpftrl/release/prefix_sum.hpp"
#include "golden/active_endless_golden.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::index_of;

std::shared_ptr<const Mechanism> endless_users(const std::vector<std::int64_t>& windows) {
  return Mechanism::make_endless_active({.target = {.epsilon = 1, .delta = 1e-6},
                                         .participation = Participation::active({.window = 1})},
                                        windows);
}

TEST(EndlessAr, constants_are_those_of_the_dynamic_program) {
  for (const auto& row : golden::active_endless::endless) {
    const EndlessArStrategy strategy(4096, row.window);
    const std::vector<PlanNumbers> parameters = strategy.parameters();
    EXPECT_EQ(parameters[0].values[0], row.gain_0);
    EXPECT_EQ(parameters[1].values[0], row.decay_0);
    if (row.gain_1 > 0) {
      EXPECT_EQ(parameters[0].values[1], row.gain_1);
      EXPECT_EQ(parameters[1].values[1], row.decay_1);
    }
    EXPECT_EQ(EndlessArStrategy::kProtectedSteps, row.days);
    // The sensitivity is not below the proved bound, nor far above what some pattern reaches.
    EXPECT_GE(strategy.sensitivity(), row.upper * (1 + 1e-6));
    EXPECT_LE(strategy.sensitivity(), row.lower * (1 + 1e-4));
    EXPECT_NEAR(std::sqrt(strategy.row_norms().max_squared), row.error, 1e-6);
  }
}

/// Largest energies of patterns whose first and last run may be cut, from above: a dynamic program
/// over the remaining days on a grid of states, for people who are inactive (off) and active (on).
/// The remaining energy, less that of the state after the last day, is a maximum of affine
/// functions of the state, hence convex, and interpolation between the corners of a cell is never
/// below it.
class GridProgram {
 public:
  using Pair = std::array<double, 2>;
  GridProgram(std::int64_t window, const Pair& gains, const Pair& decays,
              const std::array<std::int64_t, 2>& sizes)
      : window_(window), gains_(gains), decays_(decays), sizes_(sizes) {
    for (std::size_t i = 0; i < 2; ++i)
      units_[i] = 1 / (1 - decays[i]) / static_cast<double>(sizes[i] - 1);
  }

  /// Largest energy of all patterns of up to `days` days.
  double largest(std::int64_t days) const {
    const std::vector<Move> rest = moves(0, 1), stay = moves(1, 1), start = moves(1, window_);
    const std::size_t size = rest.size();
    std::vector<double> off(size), later(size);
    // Values for the latest `window_` values of `remaining`, the largest first.
    std::deque<std::vector<double>> on = {std::vector<double>(size)};
    double best = 0;
    for (std::int64_t remaining = 1; remaining <= days; ++remaining) {
      const bool is_cut = remaining < window_;
      const std::vector<Move> cut = is_cut ? moves(1, remaining) : std::vector<Move>();
      const std::vector<Move>& run = is_cut ? cut : start;
      std::vector<double> active(size);
      for (std::size_t k = 0; k < size; ++k) {
        const double resting = value(rest[k], off);
        active[k] = std::max(resting, value(stay[k], on.front()));
        later[k] = std::max(resting, value(run[k], on.back()));
      }
      std::swap(off, later);
      on.push_front(std::move(active));
      if (std::ssize(on) > window_) on.pop_back();
      best = std::max({best, off[0], on.front()[0]});
    }
    return best;
  }

 private:
  /// The energy of some days, and the cell in which the state is after them.
  struct Move {
    double energy;
    std::size_t corner;
    Pair fractions;
  };

  double tail(const Pair& state) const {
    double sum = 0;
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 2; ++j)
        sum += gains_[i] * state[i] * gains_[j] * state[j] / (1 - decays_[i] * decays_[j]);
    return sum;
  }

  Move move(Pair state, double active, std::int64_t days) const {
    Move result{.energy = -tail(state), .corner = 0, .fractions = {}};
    for (; days > 0; --days) {
      const double seen = active - gains_[0] * state[0] - gains_[1] * state[1];
      result.energy += seen * seen;
      for (std::size_t i = 0; i < 2; ++i) state[i] = decays_[i] * state[i] + active;
    }
    result.energy += tail(state);
    for (std::size_t i = 0; i < 2; ++i) {
      const double place = state[i] / units_[i];
      const auto low = std::min(static_cast<std::int64_t>(place), sizes_[i] - 2);
      result.fractions[i] = std::min(place - static_cast<double>(low), 1.0);
      const std::int64_t stride = i == 0 ? sizes_[1] : 1;
      result.corner += static_cast<std::size_t>(low * stride);
    }
    return result;
  }

  std::vector<Move> moves(double active, std::int64_t days) const {
    std::vector<Move> all;
    for (std::int64_t i = 0; i < sizes_[0]; ++i)
      for (std::int64_t j = 0; j < sizes_[1]; ++j)
        all.push_back(move({static_cast<double>(i) * units_[0], static_cast<double>(j) * units_[1]},
                           active, days));
    return all;
  }

  double value(const Move& move, const std::vector<double>& values) const {
    const auto [p, q] = move.fractions;
    const double* const at = values.data() + move.corner;
    const double* const next = at + sizes_[1];
    return move.energy + (1 - p) * ((1 - q) * at[0] + q * at[1]) +
           p * ((1 - q) * next[0] + q * next[1]);
  }

  std::int64_t window_;
  Pair gains_, decays_;
  std::array<std::int64_t, 2> sizes_;
  Pair units_{};
};

TEST(EndlessAr, a_dynamic_program_never_finds_more_than_the_constants) {
  for (const auto& row : golden::active_endless::endless) {
    // The second state is 0 or 1 if it decays at once.
    const std::array<std::int64_t, 2> sizes = row.decay_1 > 0
                                                  ? std::array<std::int64_t, 2>{300, 200}
                                                  : std::array<std::int64_t, 2>{8000, 2};
    const GridProgram program(row.window, {row.gain_0, row.gain_1}, {row.decay_0, row.decay_1},
                              sizes);
    const double found = std::sqrt(program.largest(row.days + row.window - 1));
    EXPECT_LE(found, EndlessArStrategy(1, row.window).sensitivity());
    EXPECT_NEAR(found, row.upper, 2e-6);
  }
}

TEST(EndlessAr, a_count_is_as_noisy_as_is_said) {
  for (const auto& [window, most] : {std::pair{1, 45.4}, {7, 40.6}, {30, 31.9}}) {
    const auto mechanism = endless_users({window});
    EXPECT_LE(mechanism->release_stddev(Mechanism::kEndlessSteps - 1), most);
    EXPECT_GE(mechanism->release_stddev(Mechanism::kEndlessSteps - 1), most - 0.06);
    EXPECT_EQ(mechanism->certificate().protected_steps, 365);
    EXPECT_LT(mechanism->proof().residual.value, 1e-10);
  }
}

TEST(EndlessAr, factors_multiply_to_sums_and_have_these_norms) {
  constexpr std::int64_t kDays = 60;
  for (const std::int64_t window : EndlessArStrategy::kWindows) {
    const EndlessArStrategy strategy(kDays, window);
    const Matrix decoder = strategy.decoder(), encoder = strategy.encoder();
    EXPECT_LT((decoder * encoder - strategy.workload().matrix()).cwiseAbs().maxCoeff(), 1e-12);
    for (std::int64_t t = 0; t < kDays; ++t) {
      EXPECT_NEAR(decoder.row(index_of(t)).squaredNorm(), strategy.row_norm_squared(t), 1e-10);
      EXPECT_NEAR(encoder.col(index_of(t)).squaredNorm(), strategy.column_norm_squared(t), 1e-10);
    }
    EXPECT_NEAR(decoder.squaredNorm() / kDays, strategy.row_norms().mean_squared, 1e-10);
  }
}

// Regular alternations of runs and gaps that begin within a year move the measurements by no more
// than the sensitivity.
TEST(EndlessAr, no_pattern_of_a_year_is_longer_than_the_sensitivity) {
  constexpr std::int64_t kDays = 700;
  for (const std::int64_t window : EndlessArStrategy::kWindows) {
    const EndlessArStrategy strategy(kDays, window);
    // C' = C A^-1.
    Matrix response = strategy.encoder();
    response.leftCols(kDays - 1) -= Matrix(response.rightCols(kDays - 1));
    const double most = strategy.sensitivity() * strategy.sensitivity();
    double largest = 0;
    for (const std::int64_t gap : {1, 2, 3, 5}) {
      for (std::int64_t run = window; run <= 4 * window; ++run) {
        Vector u = Vector::Zero(kDays);
        const std::int64_t end = 365 + window - 1;
        for (std::int64_t t = 0; t < end; ++t)
          if (t % (run + gap) < run) u[index_of(t)] = 1;
        largest = std::max(largest, (response * u).squaredNorm());
      }
    }
    EXPECT_LE(largest, most);
    EXPECT_GE(largest, most * 0.85);
  }
}

TEST(EndlessAr, rows_of_noise_are_those_of_the_decoder_and_addressed) {
  constexpr std::int64_t kDays = 50, kFar = 20000;
  for (const std::int64_t window : EndlessArStrategy::kWindows) {
    const EndlessArStrategy strategy(Mechanism::kEndlessSteps, window);
    const Key key = Key::insecure_from_seed(51);
    NoiseStream noise(strategy, {.key = key});
    const auto sums = make_strategy({.name = "independent", .steps = kDays});
    NoiseStream normals(*sums, {.key = key});
    const Matrix decoder = EndlessArStrategy(kDays, window).decoder();
    Vector z = Vector::Zero(kDays);
    double before = 0;
    for (std::int64_t t = 0; t < kDays; ++t) {
      std::array<double, 1> total{}, row{};
      normals.next(total);
      z[index_of(t)] = total[0] - before;
      before = total[0];
      noise.next(row);
      EXPECT_NEAR(row[0], decoder.row(index_of(t)).dot(z), 1e-9) << t;
    }
    // A row is the same after a seek as after all rows before it, also decades later.
    std::array<double, 1> first{}, again{};
    noise.seek(kFar);
    noise.next(first);
    noise.seek(0);
    for (std::int64_t t = 0; t <= kFar; ++t) noise.next(again);
    EXPECT_EQ(first, again);
  }
}

TEST(EndlessAr, several_windows_share_a_budget_and_survive_a_restart) {
  const auto mechanism = endless_users({1, 7, 30});
  EXPECT_NEAR(mechanism->reader(2)->noise_stddev(),
              std::sqrt(3) * endless_users({30})->noise_stddev(), 1e-9);
  const PrefixSumOptions options{.key = Key::insecure_from_seed(52), .dimension = 3, .grid = 1};
  PrefixSum whole(mechanism, options), begun(mechanism, options), resumed(mechanism, options);
  std::vector<double> expected(3), found(3);
  const std::vector<std::int64_t> one = {1, 2, 3};
  for (std::int64_t day = 0; day < 400; ++day) {
    whole.release(CountChanges{one}, expected);
    if (day < 200) begun.release(CountChanges{one}, found);
    if (day == 200) resumed.restore_without_journal(begun.checkpoint());
    if (day >= 200) resumed.release(CountChanges{one}, found);
    EXPECT_EQ(found, expected) << day;
  }
}

TEST(EndlessAr, other_windows_and_neighbours_are_refused) {
  EXPECT_THROW(endless_users({14}), Error);
  EXPECT_THROW(endless_users({}), Error);
  const auto refused = [](const ActivePattern& pattern) {
    try {
      Mechanism::make_endless_active({.target = {.epsilon = 1, .delta = 1e-6},
                                      .neighbours = pattern.neighbours,
                                      .participation = Participation::active(pattern)},
                                     std::vector<std::int64_t>{7});
      ADD_FAILURE() << "not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.constraint(),
                "must be active with zero-out neighbours, an open start and no cap on runs");
    }
  };
  refused({.window = 7, .runs = 3});
  refused({.window = 7, .has_open_start = false});
  refused({.window = 7, .neighbours = Neighbours::replace_one});
}

}  // namespace
}  // namespace dpftrl
