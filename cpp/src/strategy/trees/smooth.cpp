// SPDX-License-Identifier: Apache-2.0
#include "strategy/trees/smooth.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "base/counting.hpp"
#include "dpftrl/base/error.hpp"
#include "strategy/family_row.hpp"

namespace dpftrl {
namespace {

/// Returns the leaf that has `index` leaves before it.
std::uint64_t leaf(const SmoothStrategy::Shape& shape, std::int64_t index) {
  std::uint64_t bits = 0;
  std::int64_t ones = shape.weight;
  for (std::int64_t bit = shape.height - 1; bit >= 0; --bit) {
    const std::int64_t with_zero = binomial(bit, ones);
    if (index < with_zero) continue;
    index -= with_zero;
    bits |= std::uint64_t{1} << bit;
    --ones;
  }
  return bits;
}

/// Position of the highest one in `bits`, which must not be 0.
int highest_one(std::uint64_t bits) {
  return static_cast<int>(std::bit_width(bits)) - 1;
}

/// Number of zeros among the `length` lowest bits that have a one below them.
std::int64_t num_zeros_above_a_one(std::uint64_t bits, int length) {
  const std::uint64_t low = bits & ((std::uint64_t{1} << length) - 1);
  return low == 0 ? 0 : length - std::popcount(low) - std::countr_zero(low);
}

}  // namespace

SmoothStrategy::SmoothStrategy(std::int64_t num_steps, const Shape& shape)
    : Strategy(Workload::prefix_sums(num_steps)), shape_(shape) {
  require_between(kName, "height", shape.height, 2, kMaxHeight);
  require_between(kName, "weight", shape.weight, 1, shape.height - 1);
  const std::int64_t num_leaves = binomial(shape.height, shape.weight);
  if (num_leaves <= num_steps)
    fail_argument(kName, "weight",
                  "such that binomial({height}, {weight}) is at least {num_steps} + 1",
                  to_text(num_leaves) + " for " + to_text(num_steps) + " steps");
}

SmoothStrategy::Shape SmoothStrategy::best_shape(std::int64_t num_steps) {
  require_between(kName, "num_steps", num_steps, 1, kMaxNumSteps);
  std::optional<Shape> best;
  const auto error_squared = [](const Shape& shape) {
    return shape.weight * (shape.height - shape.weight);
  };
  for (std::int64_t weight = 1; weight < kMaxHeight; ++weight) {
    std::int64_t height = weight + 1;
    while (height <= kMaxHeight && binomial(height, weight) <= num_steps) ++height;
    if (height > kMaxHeight) continue;
    const Shape shape{.height = height, .weight = weight};
    if (!best || error_squared(shape) < error_squared(*best)) best = shape;
  }
  return *best;
}

// Leaf x lies in the left siblings at its zeros. A left sibling is used within the horizon n if its
// right sibling has a leaf up to leaf n. Let q be the highest bit in which x and leaf n differ; x
// has a 0 there, because x < n. At q, the right sibling holds leaf n. At a zero of both above q, it
// begins after leaf n. Below q, it lies before leaf n and has a leaf if x has a one below that
// zero.
double SmoothStrategy::column_norm_squared(std::int64_t step) const {
  require_step(step);
  const std::uint64_t own = leaf(shape_, step);
  const int differing = highest_one(own ^ leaf(shape_, num_steps()));
  return static_cast<double>(1 + num_zeros_above_a_one(own, differing));
}

// Among the steps whose leaf first differs from leaf n at bit q, with a ones above it, there is one
// with its w - a >= 1 ones placed so that all q - (w - a) zeros are above one of them. q + a does
// not grow from one 1-bit of leaf n to the next, so the highest 1-bit is best.
double SmoothStrategy::max_column_norm_squared() const {
  return static_cast<double>(highest_one(leaf(shape_, num_steps())) + 1 - shape_.weight);
}

double SmoothStrategy::row_norm_squared(std::int64_t step) const {
  require_step(step);
  return static_cast<double>(shape_.weight);
}

RowNorms SmoothStrategy::row_norms() const {
  const double weight = static_cast<double>(shape_.weight);
  return {weight, weight, weight};
}

Matrix SmoothStrategy::encoder() const {
  const Eigen::Index n = dense_size();
  Matrix encoder = Matrix::Zero(2 * n, n);
  std::uint64_t own = leaf(shape_, 0);
  for (Eigen::Index i = 0; i < n; ++i) {
    const std::uint64_t next = leaf(shape_, i + 1);
    const int splits = highest_one(own ^ next);
    const std::int64_t ones_below = std::popcount(own & ((std::uint64_t{1} << splits) - 1));
    const Eigen::Index width = static_cast<Eigen::Index>(binomial(splits, ones_below));
    encoder.row(2 * i).segment(i + 1 - width, width).setOnes();
    own = next;
  }
  return encoder;
}

Matrix SmoothStrategy::decoder() const {
  const Eigen::Index n = dense_size();
  Matrix decoder = Matrix::Zero(n, 2 * n);
  for (Eigen::Index step = 0; step < n; ++step) {
    std::int64_t ones = shape_.weight, first_leaf = 0;
    const std::uint64_t bits = leaf(shape_, step + 1);
    for (std::int64_t bit = shape_.height - 1; bit >= 0; --bit) {
      if ((bits >> bit & 1) == 0) continue;
      const std::int64_t in_left = binomial(bit, ones--);
      if (in_left == 0) break;  // siblings further down have no leaf either
      first_leaf += in_left;
      decoder(step, static_cast<Eigen::Index>(2 * (first_leaf - 1))) = 1;
    }
    decoder(step, 2 * step + 1) = std::sqrt(static_cast<double>(std::countr_one(bits)));
  }
  return decoder;
}

namespace {

StrategyPointer make_smooth(std::int64_t num_steps, const StrategyParameters& parameters) {
  const std::optional<std::int64_t>&height = parameters.height, &weight = parameters.weight;
  if (height.has_value() != weight.has_value())
    fail_argument(SmoothStrategy::kName, height ? "weight" : "height",
                  "given together with {" + std::string(height ? "height" : "weight") + "}",
                  "nothing");
  const SmoothStrategy::Shape shape =
      height ? SmoothStrategy::Shape{.height = *height, .weight = *weight}
             : SmoothStrategy::best_shape(num_steps);
  return std::make_shared<const SmoothStrategy>(num_steps, shape);
}

}  // namespace

FamilyRow smooth_family() {
  return {.info = {.name = SmoothStrategy::kName,
                   .summary = "binary tree over strings of equal weight, equal noise on all steps",
                   .step_cost = "O(1) amortised",
                   .memory_cost = "O(log n) vectors",
                   .parameters = "height, weight",
                   .workloads = WorkloadSupport::decoded,
                   .max_steps = kMaxNumSteps,
                   .is_causal = true},
          .makes = Makes::prefix_sums,
          .make = [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
            return make_smooth(request.workload.num_steps(), parameters);
          }};
}

}  // namespace dpftrl
