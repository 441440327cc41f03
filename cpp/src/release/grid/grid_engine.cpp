// SPDX-License-Identifier: Apache-2.0
// Mode grid: integer sums plus exactly rounded rows of B Z.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/largest_magnitude.hpp"
#include "dpftrl/base/error.hpp"
#include "random/integer_variance.hpp"
#include "release/grid/grid_engine.hpp"
#include "release/grid/weighted_sums.hpp"
#include "simd/simd.hpp"

namespace dpftrl {
namespace {

using detail::kMaxNoiseInGrids;
using detail::kMaxNormInGrids;
using detail::kMaxSumInGrids;
using detail::power_of_two_at_most;

/// Long horizons do not make the default grid finer than this fraction of the noise, because on a
/// finer grid more entries need slow rounding.
constexpr double kFinestOfNoise = 0x1p-20;

/// Largest grid with finite releases.
constexpr double kMaxGrid = 0x1p900;
/// Below this, products of the noise std could underflow.
constexpr double kMinNoise = 0x1p-900;

void require_enough_noise(std::string_view where, const Mechanism& mechanism) {
  if (!(mechanism.noise_stddev() >= kMinNoise))
    fail_argument(where, "noise_stddev", "at least 2^-900", to_text(mechanism.noise_stddev()));
}

/// Bound on the magnitudes of a record's integers.
double largest_entry(const Mechanism& mechanism, bool is_clipped_by_caller, double grid) {
  if (!is_clipped_by_caller && !detail::takes_counts(mechanism)) return mechanism.clip() / grid;
  const double weight = detail::largest_weight(mechanism.strategy().workload());
  return std::min(detail::kMaxUnclippedInGrids,
                  kMaxSumInGrids / static_cast<double>(mechanism.steps()) / weight);
}

double grid_of(const Mechanism& mechanism, const PrefixSumOptions& options) {
  require_enough_noise("prefix_sum", mechanism);
  const double grid = options.grid ? *options.grid : default_grid(mechanism, options.dimension);
  if (!options.grid && grid <= kMaxGrid && !(mechanism.clip() / grid >= 1))
    fail_argument("prefix_sum", "clip", "at least 2^-40 of the largest release std",
                  to_text(mechanism.clip()));
  detail::require_grid("prefix_sum", mechanism, grid);
  return grid;
}

}  // namespace

namespace detail {

GridReleases::GridReleases(const Mechanism& mechanism, const PrefixSumOptions& options)
    : mechanism_(mechanism),
      is_clipped_by_caller_(options.clipped_by_caller),
      clip_(mechanism.clip()),
      grid_(grid_of(mechanism, options)),
      dimension_(options.dimension),
      largest_entry_(largest_entry(mechanism, is_clipped_by_caller_, grid_)),
      max_contributions_(
          std::max(mechanism.steps(),
                   static_cast<std::int64_t>(kMaxSumInGrids / largest_entry_ /
                                             largest_weight(mechanism.strategy().workload())))) {}

GridRecord GridReleases::as_it_is(const ProductRecord& record) const {
  const double largest = largest_magnitude(record.scales) * largest_magnitude(record.features);
  const double most = largest_entry_ * grid_;
  if (!(largest <= most)) {
    require_all_finite("prefix_sum", "record", record.features);
    fail_argument("prefix_sum", "record", "within " + to_text(most) + ", the room for an entry",
                  to_text(largest));
  }
  return {record, grid_};
}

GridRecord GridReleases::unclipped(const CountChanges& changes) const {
  const auto per_person = static_cast<std::int64_t>(1 / grid_);
  const auto most = static_cast<std::int64_t>(largest_entry_) / per_person;
  std::vector<std::int64_t> integers;
  integers.reserve(changes.counts.size());
  for (const std::int64_t people : changes.counts) {
    require_between("prefix_sum", "record", people, -most, most);
    integers.push_back(people * per_person);
  }
  return GridRecord(std::move(integers));
}

double GridReleases::release_stddev(std::int64_t step) const {
  if (step == known_step_) return known_stddev_;
  known_stddev_ =
      grid_ * std::sqrt(rounded_gaussian_variance(mechanism_.release_stddev(step) / grid_));
  known_step_ = step;
  return known_stddev_;
}

double GridReleases::half_width(const ReleaseEntry& entry, double probability) const {
  return (normal_(probability) * release_stddev(entry.step) + grid_ / 2) * kWidthRoundUp;
}

double GridReleases::simultaneous_half_width(double probability) const {
  // Union bound: every entry of every step gets an equal share of the probability, at the largest
  // std.
  const double num_entries =
      static_cast<double>(mechanism_.steps()) * static_cast<double>(dimension_);
  const double largest =
      mechanism_.noise_stddev() * std::sqrt(mechanism_.strategy().row_norms().max_squared);
  const double stddev = grid_ * std::sqrt(rounded_gaussian_variance(largest / grid_));
  return (normal_half_width(probability / num_entries) * stddev + grid_ / 2) * kWidthRoundUp;
}

GridEngine::GridEngine(const Mechanism& mechanism, const PrefixSumOptions& options,
                       std::int64_t first_coordinate)
    : GridReleases(mechanism, options),
      noise_(mechanism.strategy(),
             {.key = options.key,
              .dimension = options.dimension,
              .first_coordinate = first_coordinate,
              .exact_only = options.exact_only},
             mechanism.noise_stddev() / grid()),
      sums_(static_cast<std::size_t>(options.dimension)) {}

void GridEngine::release(std::int64_t step, const GridRecord& record, std::span<double> noisy,
                         ReleaseSink* sink) {
  // May run out of memory in a recomputation; nothing below throws, so a record counts once.
  const std::span<const std::int64_t> noise = noise_(step);
  // Blocks stay in the level-1 cache between the loops.
  for (std::size_t begin = 0; begin < sums_.size(); begin += ReleaseSink::kBlock) {
    const std::size_t count = std::min(ReleaseSink::kBlock, sums_.size() - begin);
    record.add_to(std::span(sums_).subspan(begin, count), begin);
    hand_out({begin, count}, noise, noisy, sink);
  }
}

void GridEngine::hand_out(Block part, std::span<const std::int64_t> noise, std::span<double> noisy,
                          ReleaseSink* sink) {
  const auto [begin, count] = part;
  // Adds two integers, the sum and its rounded noise, and scales the result once, exactly.
  if (sink == nullptr) {
    simd::kernels().scale_sums(&sums_[begin], &noise[begin], count, grid(), &noisy[begin]);
    return;
  }
  std::array<double, ReleaseSink::kBlock> block;
  simd::kernels().scale_sums(&sums_[begin], &noise[begin], count, grid(), block.data());
  sink->take(begin, std::span(block).first(count));
  std::copy_n(block.data(), count, &noisy[begin]);
}

std::int64_t GridEngine::release_numbers(std::int64_t step, std::span<const double> records,
                                         std::span<double> noisy) {
  // Throws only before anything changes, as above.
  const std::span<const std::int64_t> noise =
      noise_.several(step, static_cast<std::int64_t>(records.size()));
  std::int64_t sum = sums_[0];
  for (std::size_t i = 0; i < noise.size(); ++i) {
    sum += integer_of(records[i]);
    noisy[i] = static_cast<double>(sum + noise[i]) * grid();
  }
  sums_[0] = sum;
  return static_cast<std::int64_t>(noise.size());
}

std::int64_t GridEngine::write_state(std::int64_t step, std::vector<std::byte>& out) {
  for (const std::int64_t sum : sums_) append_word(out, static_cast<std::uint64_t>(sum));
  return noise_.write_state(step, out);
}

void GridEngine::restore_state(std::int64_t state_step, std::span<const std::byte> state,
                               std::int64_t step) {
  const std::size_t size = 8 * sums_.size();
  if (state.size() < size)
    fail(ErrorCode::bad_state, "prefix_sum", "checkpoint",
         "must contain " + to_text(static_cast<std::int64_t>(sums_.size())) + " sums",
         to_text(static_cast<std::int64_t>(state.size())) + " bytes");
  noise_.restore_state(state_step, state.subspan(size), step);
  read_integers(state, sums_);
}

}  // namespace detail

void detail::require_grid(std::string_view where, const Mechanism& mechanism, double grid) {
  require_enough_noise(where, mechanism);
  if (!is_power_of_two(grid)) fail_argument(where, "grid", "a power of two", to_text(grid));
  const double clip_in_grids = mechanism.clip() / grid;
  const double noise_in_grids = mechanism.noise_stddev() / grid;
  if (!(grid <= kMaxGrid)) fail_argument(where, "grid", "at most 2^900", to_text(grid));
  const double steps = static_cast<double>(mechanism.steps());
  const double largest_row = std::sqrt(mechanism.strategy().row_norms().max_squared);
  if (!(clip_in_grids >= 1))
    fail_argument(where, "grid", "at most {clip} = " + to_text(mechanism.clip()), to_text(grid));
  if (!(noise_in_grids >= kMinNoise))
    fail_argument(where, "grid", "at most 2^900 noise stds", to_text(grid));
  const double largest = largest_weight(mechanism.strategy().workload());
  if (!(clip_in_grids <= kMaxNormInGrids) || !(clip_in_grids * largest * steps <= kMaxSumInGrids) ||
      !(noise_in_grids * largest_row <= kMaxNoiseInGrids))
    fail_argument(where, "grid",
                  "coarse enough that a record spans at most 2^31 grids, the sums 2^62 and the "
                  "noise std 2^40",
                  to_text(grid));
}

double default_grid(const Mechanism& mechanism, std::int64_t dimension) {
  require_between("default_grid", "dimension", dimension, 1, kMaxDimension);
  const RowNorms rows = mechanism.strategy().row_norms();
  const Workload& workload = mechanism.strategy().workload();
  const double steps = static_cast<double>(mechanism.steps());
  const double smallest = mechanism.noise_stddev() * std::sqrt(rows.min_squared);
  const double typical = mechanism.noise_stddev() * std::sqrt(rows.mean_squared);
  const double resolution = mechanism.clip() / std::sqrt(static_cast<double>(dimension));
  // Each record loses up to one grid unit; keep the total below typical / 4.
  const double horizon =
      typical * std::max(1 / (4 * detail::weight_of_row(workload)), kFinestOfNoise);
  const double wanted = std::min({1.0, smallest / 64, resolution / 64, horizon});
  const double finest =
      std::max({mechanism.clip() / kMaxNormInGrids,
                mechanism.clip() * detail::largest_weight(workload) * steps / kMaxSumInGrids,
                mechanism.noise_stddev() * std::sqrt(rows.max_squared) / kMaxNoiseInGrids});
  return std::max(power_of_two_at_most(wanted), 2 * power_of_two_at_most(finest));
}

std::unique_ptr<detail::GridReleases> detail::make_grid_engine(const Mechanism& mechanism,
                                                               const PrefixSumOptions& options,
                                                               std::int64_t first_coordinate) {
  return std::make_unique<GridEngine>(mechanism, options, first_coordinate);
}

}  // namespace dpftrl
