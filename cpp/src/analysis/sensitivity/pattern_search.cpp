// SPDX-License-Identifier: Apache-2.0
#include "analysis/sensitivity/pattern_search.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <map>

#include "base/counting.hpp"

namespace dpftrl {
namespace {

constexpr double kMaxPatternOperations = 0x1p20;

double entry(const Matrix& products, std::int64_t i, std::int64_t j) {
  return products(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
}

/// Largest distance between two columns whose inner product is not 0.
std::int64_t width_of(const Matrix& products) {
  std::int64_t width = 0;
  for (Eigen::Index j = 0; j < products.cols(); ++j)
    for (Eigen::Index i = j + 1; i < products.rows(); ++i)
      if (products(i, j) != 0) width = std::max<std::int64_t>(width, i - j);
  return width;
}

/// Patterns of at most k steps within n, or any number above kMaxPatternOperations if there are
/// more.
double num_patterns(std::int64_t n, std::int64_t k, std::int64_t b) {
  double all = 1, of_size = 1;
  for (std::int64_t m = 1; m <= k; ++m) {
    // n - (m - 1) (b - 1) choose m
    const std::int64_t room = n - (m - 1) * (b - 1);
    if (room < m) break;
    of_size = 1;
    for (std::int64_t i = 0; i < m; ++i)
      of_size *= static_cast<double>(room - i) / static_cast<double>(i + 1);
    all += of_size;
    if (all > kMaxPatternOperations) break;
  }
  return all;
}

class PatternProgram {
 public:
  PatternProgram(const Matrix& products, std::int64_t width, std::int64_t separation)
      : products_(products), width_(width), separation_(separation) {}

  Pattern run(std::int64_t k) {
    layers_.emplace_back();
    std::map<Recent, std::size_t> start;
    reach(start, layers_[0], {}, 0, kNone);
    Best best{0, 0, 0};
    for (std::int64_t size = 1; size <= k; ++size) {
      extend();
      const Layer& layer = layers_.back();
      for (std::size_t i = 0; i < layer.size(); ++i)
        if (layer[i].value > best.value) best = {layer[i].value, layers_.size() - 1, i};
    }
    return traced(best);
  }

 private:
  /// Steps of a pattern whose columns still have products with later ones, in order; always
  /// includes the last step.
  using Recent = std::vector<std::int64_t>;
  struct State {
    Recent recent;
    double value;
    std::size_t before;  ///< index in the layer of one step fewer
  };
  using Layer = std::vector<State>;
  struct Best {
    double value;
    std::size_t layer, index;
  };
  static constexpr std::size_t kNone = ~std::size_t{0};

  /// Adds a step to all patterns.
  void extend() {
    const Layer& fewer = layers_.back();
    Layer longer;
    std::map<Recent, std::size_t> places;
    // States are ordered by their last steps. `best_apart` is the best pattern whose columns are
    // orthogonal to column `step` and all later ones.
    std::size_t next = 0, best_apart = kNone;
    for (std::int64_t step = 0; step < products_.cols(); ++step) {
      for (; next < fewer.size() && is_apart(fewer[next], step); ++next)
        if (best_apart == kNone || fewer[next].value > fewer[best_apart].value) best_apart = next;
      if (best_apart != kNone)
        reach(places, longer, {step}, fewer[best_apart].value + entry(products_, step, step),
              best_apart);
      for (std::size_t i = next; i < fewer.size(); ++i) {
        if (end_of(fewer[i]) + separation_ > step) break;
        with_step(places, longer, step, i, fewer[i]);
      }
    }
    layers_.push_back(std::move(longer));
  }

  void with_step(std::map<Recent, std::size_t>& places, Layer& longer, std::int64_t step,
                 std::size_t index, const State& state) {
    Recent recent;
    double value = state.value + entry(products_, step, step);
    for (const std::int64_t earlier : state.recent) {
      if (step - earlier > width_) continue;
      value += 2 * entry(products_, earlier, step);
      // The next step is at least separation_ later.
      if (step + separation_ - earlier <= width_) recent.push_back(earlier);
    }
    recent.push_back(step);
    reach(places, longer, std::move(recent), value, index);
  }

  static void reach(std::map<Recent, std::size_t>& places, Layer& layer, Recent recent,
                    double value, std::size_t before) {
    const auto [place, is_new] = places.try_emplace(recent, layer.size());
    if (is_new)
      layer.push_back({std::move(recent), value, before});
    else if (State& known = layer[place->second]; value > known.value)
      known = {std::move(recent), value, before};
  }

  std::int64_t end_of(const State& state) const {
    return state.recent.empty() ? -separation_ : state.recent.back();
  }
  /// True if columns from `step` on are orthogonal to all columns of the state.
  bool is_apart(const State& state, std::int64_t step) const {
    return end_of(state) + std::max(separation_ - 1, width_) < step || state.recent.empty();
  }

  Pattern traced(Best best) const {
    Pattern pattern{best.value, {}};
    for (std::size_t index = best.index, layer = best.layer; layer > 0; --layer) {
      const State& state = layers_[layer][index];
      pattern.steps.push_back(state.recent.back());
      index = state.before;
    }
    std::ranges::reverse(pattern.steps);
    return pattern;
  }

  const Matrix& products_;
  std::int64_t width_, separation_;
  std::vector<Layer> layers_;  ///< states by number of steps in the pattern
};

}  // namespace

std::optional<Pattern> largest_pattern(const Matrix& products, const Participation& participation) {
  const std::int64_t n = products.cols(), b = participation.apart();
  const std::int64_t k = participation.times_within(n);
  const std::int64_t width = width_of(products);
  // Bound on the number of patterns to extend, by their last step and the relevant earlier steps.
  const double states =
      num_patterns(std::max<std::int64_t>(0, width - 2 * b + 1), k - 2, b) * static_cast<double>(n);
  const double next = static_cast<double>(std::max<std::int64_t>(1, width - b + 1));
  if (!(static_cast<double>(k) * states * next <= kMaxPatternOperations)) return std::nullopt;
  return PatternProgram(products, width, b).run(k);
}

}  // namespace dpftrl
