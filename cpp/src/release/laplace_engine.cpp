// SPDX-License-Identifier: Apache-2.0
// Pure mechanisms: integer sums plus integer Laplace noise, for the nodes of a tree or for single
// steps.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <utility>
#include <variant>

#include "base/double_double.hpp"
#include "dpftrl/base/error.hpp"
#include "random/discrete_gaussian.hpp"
#include "random/laplace_sum.hpp"
#include "release/laplace_tail.hpp"
#include "release/release_engine.hpp"

namespace dpftrl {
namespace {

using detail::kMaxNoiseInGrids;
using detail::kMaxNormInGrids;
using detail::kMaxSumInGrids;

constexpr std::string_view kPrefixSum = "prefix_sum";
/// Integers up to this are exact in double precision.
constexpr double kMaxDistance = 0x1p53;
/// Least noise std in units of the default grid, because the scale is rounded up to an integer.
constexpr double kPartsOfNoise = 0x1p12;

double default_laplace_grid(const Mechanism& mechanism, std::int64_t dimension) {
  const RowNorms rows = mechanism.strategy().row_norms();
  const auto steps = static_cast<double>(mechanism.steps());
  const double stddev = mechanism.noise_stddev(), clip = mechanism.clip();
  // Each record loses up to one grid unit; keep the total of n records below a quarter of the
  // noise.
  const double horizon = stddev * std::sqrt(rows.mean_squared) * std::max(1 / (4 * steps), 0x1p-20);
  const double resolution = clip / (64 * static_cast<double>(dimension));
  const double wanted = std::min({1.0, stddev / kPartsOfNoise, resolution, horizon});
  const double finest = std::max({clip / kMaxNormInGrids, clip * steps / kMaxSumInGrids,
                                  stddev * std::sqrt(rows.max_squared) / kMaxNoiseInGrids});
  return std::max(detail::power_of_two_at_most(wanted), 2 * detail::power_of_two_at_most(finest));
}

/// Smallest integer scale with epsilon scale >= distance in real arithmetic.
std::int64_t scale_for(double distance, double epsilon) {
  const double quotient = distance / epsilon;
  if (!(quotient < static_cast<double>(kMaxLaplaceScale)))
    fail_argument(kPrefixSum, "grid", "so coarse that the scale of the noise is at most 2^46 grids",
                  to_text(quotient));
  const auto is_enough = [&](double scale) {
    const DoubleDouble product = two_product(epsilon, scale);
    return product.high > distance || (product.high == distance && product.low >= 0);
  };
  double scale = std::max(1.0, std::floor(quotient) - 1);
  while (!is_enough(scale)) ++scale;
  return static_cast<std::int64_t>(scale);
}

LaplaceNoise noise_of(const Mechanism& mechanism, double grid) {
  const Certificate& claim = mechanism.certificate();
  const double max_norm = std::floor(claim.clip / grid);
  const double distance = claim.sensitivity * max_norm * neighbour_distance(claim.neighbours);
  if (!(distance <= kMaxDistance))
    fail_argument(kPrefixSum, "grid", "so coarse that a user moves the nodes by at most 2^53 grids",
                  to_text(distance));
  return {.scale = scale_for(distance, claim.epsilon),
          .distance = static_cast<std::int64_t>(distance),
          .max_norm = static_cast<std::int64_t>(max_norm)};
}

/// Noise of single steps, each of which is one measurement.
class StepNoise {
 public:
  StepNoise(std::int64_t scale, const PrefixSumOptions& options)
      : law_(scale), key_(options.key), row_(static_cast<std::size_t>(options.dimension)) {}

  std::span<const std::int64_t> operator()(std::int64_t step) {
    for (std::size_t i = 0; i < row_.size(); ++i)
      row_[i] = law_.sample(key_, {.row = static_cast<std::uint64_t>(step), .coordinate = i});
    return row_;
  }

 private:
  DiscreteLaplace law_;
  Key key_;
  std::vector<std::int64_t> row_;
};

/// Noise of a total: the sum over the nodes that the step adds, minus the sum over the nodes that
/// it subtracts. Nodes are kept as long as successive steps share them.
class NodeNoise {
 public:
  NodeNoise(const KaryDecoder& tree, std::int64_t scale, const PrefixSumOptions& options)
      : tree_(tree),
        law_(scale),
        key_(options.key),
        levels_(static_cast<std::size_t>(tree.num_levels)),
        row_(static_cast<std::size_t>(options.dimension)) {
    for (Level& level : levels_) level.sum.resize(row_.size());
  }

  std::span<const std::int64_t> operator()(std::int64_t step) {
    const std::int64_t largest = tree_.subtractive ? tree_.arity / 2 : tree_.arity - 1;
    std::ranges::fill(row_, 0);
    std::int64_t rest = step + 1;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      std::int64_t digit = rest % tree_.arity;
      if (digit > largest) digit -= tree_.arity;
      rest = (rest - digit) / tree_.arity;
      Level& level = levels_[l];
      make(level, l, rest * tree_.arity, digit);
      for (std::size_t i = 0; i < row_.size(); ++i) row_[i] += level.sum[i];
    }
    return row_;
  }

 private:
  struct Level {
    std::int64_t first = -1;  ///< node at which the digit begins; -1 if nothing is kept
    std::int64_t digit = 0;
    std::vector<std::int64_t> sum;
  };

  /// Row of a node's address, unique to the node: the number of its measurement (KaryDecoder).
  std::uint64_t row_of(std::size_t level, std::int64_t node) const {
    std::int64_t last = node + 1;
    for (std::size_t l = 0; l < level; ++l) last *= tree_.arity;
    auto number = static_cast<std::int64_t>(level);
    --last;
    for (std::size_t l = 0; l < levels_.size(); ++l, last /= tree_.arity) number += last;
    return static_cast<std::uint64_t>(number);
  }

  void make(Level& level, std::size_t l, std::int64_t first, std::int64_t digit) {
    if (level.first == first && level.digit == digit) return;
    level.first = -1;  // Invalid until filled, because sampling may throw.
    std::ranges::fill(level.sum, 0);
    for (std::int64_t node = std::min(first, first + digit); node < std::max(first, first + digit);
         ++node) {
      const std::uint64_t row = row_of(l, node);
      for (std::size_t i = 0; i < level.sum.size(); ++i) {
        const std::int64_t noise = law_.sample(key_, {.row = row, .coordinate = i});
        level.sum[i] += digit > 0 ? noise : -noise;
      }
    }
    level.first = first;
    level.digit = digit;
  }

  KaryDecoder tree_;
  DiscreteLaplace law_;
  Key key_;
  std::vector<Level> levels_;
  std::vector<std::int64_t> row_;
};

/// Integers of a record, whose magnitudes add up to at most max_norm, unconditionally.
std::vector<std::int64_t> integers_of(const ProductRecord& record, double clip, double grid,
                                      std::int64_t max_norm) {
  const detail::Clip clipped(record, clip, RecordNorm::l1);
  std::vector<std::int64_t> integers;
  integers.reserve(static_cast<std::size_t>(record.size()));
  std::int64_t excess = -max_norm;
  for (const double scale : record.scales)
    for (const double x : record.features) {
      integers.push_back(static_cast<std::int64_t>(clipped(scale * x) / grid));
      excess += std::abs(integers.back());
    }
  while (excess > 0) {
    const auto most =
        std::ranges::max_element(integers, {}, [](std::int64_t q) { return std::abs(q); });
    const std::int64_t less = std::min(excess, std::abs(*most));
    *most += *most > 0 ? -less : less;
    excess -= less;
  }
  return integers;
}

/// Half-widths of sums of nodes at the probability last requested.
class HalfWidths {
 public:
  std::int64_t of(const LaplaceNoise& law, double num_nodes, double probability) {
    if (probability != probability_) found_.clear();
    probability_ = probability;
    const auto [at, is_new] = found_.try_emplace(num_nodes);
    if (is_new) at->second = law.half_width(num_nodes, probability);
    return at->second;
  }

 private:
  double probability_ = 0;
  std::map<double, std::int64_t> found_;
};

/// Rows of noise; the same for a step however often and in whatever order they are requested.
using PureNoise = std::variant<StepNoise, NodeNoise>;

PureNoise pure_noise(const Strategy& strategy, std::int64_t scale,
                     const PrefixSumOptions& options) {
  if (strategy.workload().is_single_step()) return StepNoise(scale, options);
  return NodeNoise(std::get<KaryDecoder>(strategy.decoder_form()), scale, options);
}

class LaplaceEngine final : public detail::ReleaseEngine {
 public:
  LaplaceEngine(const Mechanism& mechanism, const PrefixSumOptions& options, double grid)
      : mechanism_(mechanism),
        clip_(mechanism.clip()),
        grid_(grid),
        law_(noise_of(mechanism, grid)),
        max_contributions_(std::max(
            mechanism.steps(),
            static_cast<std::int64_t>(kMaxSumInGrids / static_cast<double>(law_.max_norm)))),
        noise_(pure_noise(mechanism.strategy(), law_.scale, options)),
        sums_(static_cast<std::size_t>(options.dimension)) {}

  double grid() const override { return grid_; }
  std::int64_t max_contributions() const override { return max_contributions_; }
  std::int64_t num_recomputed() const override { return 0; }
  double release_stddev(std::int64_t step) const override {
    return grid_ * law_.stddev(mechanism_.strategy().row_norm_squared(step));
  }
  double half_width(const ReleaseEntry& entry, double probability) const override {
    const double num_nodes = mechanism_.strategy().row_norm_squared(entry.step);
    return grid_ * static_cast<double>(widths_.of(law_, num_nodes, probability));
  }
  double simultaneous_half_width(double probability) const override {
    const double each = probability / static_cast<double>(sums_.size());
    return grid_ * static_cast<double>(
                       detail::simultaneous_laplace_width(mechanism_.strategy(), law_, each));
  }
  std::optional<LaplaceNoise> laplace() const override { return law_; }

  detail::GridRecord quantised(const ProductRecord& record) const override {
    return detail::GridRecord(integers_of(record, clip_, grid_, law_.max_norm));
  }
  void add(const detail::GridRecord& record) override { record.add_to(sums_); }

  void release(std::int64_t step, const detail::GridRecord& record, std::span<double> noisy,
               ReleaseSink* sink) override {
    // Sampling may throw; nothing below does, so a record counts once.
    const std::span<const std::int64_t> noise =
        std::visit([step](auto& rows) { return rows(step); }, noise_);
    add(record);
    for (std::size_t i = 0; i < sums_.size(); ++i)
      noisy[i] = static_cast<double>(sums_[i] + noise[i]) * grid_;
    if (mechanism_.strategy().workload().is_single_step()) std::ranges::fill(sums_, 0);
    if (sink != nullptr) sink->take(0, noisy);
  }

  detail::CheckpointKind kind() const override { return detail::CheckpointKind::laplace_sum; }
  void append_fingerprint(detail::Sha256& hash) const override {
    detail::append_form(hash, mechanism_.strategy().decoder_form());
    hash.append(std::int64_t{std::ssize(sums_)});
    hash.append(law_.scale);
    hash.append(law_.distance);
    hash.append(law_.max_norm);
  }

  std::int64_t write_state(std::int64_t step, std::vector<std::byte>& out) override {
    for (const std::int64_t sum : sums_) detail::append_word(out, static_cast<std::uint64_t>(sum));
    return step;
  }

  void restore_state(std::int64_t state_step, std::span<const std::byte> state,
                     std::int64_t step) override {
    if (state.size() != 8 * sums_.size() || state_step != step)
      fail(ErrorCode::bad_state, kPrefixSum, "checkpoint",
           "must contain " + to_text(static_cast<std::int64_t>(sums_.size())) + " sums",
           to_text(static_cast<std::int64_t>(state.size())) + " bytes");
    detail::read_integers(state, sums_);
  }

 private:
  const Mechanism& mechanism_;
  double clip_;
  double grid_;
  LaplaceNoise law_;
  std::int64_t max_contributions_;
  PureNoise noise_;
  /// True sums including contributions to the open step, or that step alone for a window of one, in
  /// grid units; exposed only in checkpoints.
  std::vector<std::int64_t> sums_;
  mutable HalfWidths widths_;  ///< caches half-widths, because each takes a search
};

}  // namespace

double LaplaceNoise::stddev(double num_nodes) const {
  return std::sqrt(detail::discrete_laplace_variance(static_cast<double>(scale)) * num_nodes);
}

std::int64_t LaplaceNoise::half_width(double num_nodes, double probability) const {
  return detail::LaplaceSum(static_cast<std::int64_t>(num_nodes), scale).half_width(probability);
}

std::unique_ptr<detail::ReleaseEngine> detail::make_laplace_engine(
    const Mechanism& mechanism, const PrefixSumOptions& options) {
  require_between(kPrefixSum, "dimension", options.dimension, 1, kMaxDimension);
  const double grid =
      options.grid ? *options.grid : default_laplace_grid(mechanism, options.dimension);
  require_grid(kPrefixSum, mechanism, grid);
  return std::make_unique<LaplaceEngine>(mechanism, options, grid);
}

}  // namespace dpftrl
