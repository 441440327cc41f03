// SPDX-License-Identifier: Apache-2.0

/// Roots of W^T W for k epochs of b steps, without an n x n matrix.
///
/// Idea. The quadrature sum_k w_k H_k^-1 needs H^-1 on the k x k blocks of the phases only, where
/// H = K + s Lambda, K = A^-1 D_u^-1 A^-T is tridiagonal in time, and Lambda has a block for every
/// phase. Ordered by phases, K couples phase s with s + 1 by a diagonal matrix, and the last phase
/// with the first one of the next epoch: a ring. Laid flat, in pairs, it is a chain:
///
///     0 -- 1 -- 2                                       [ D_0    -C_0         ]
///     |         |      pairs (0, 5) (1, 4) (2, 3)   H = [-C_0^T   D_1    -C_1 ]
///     5 -- 4 -- 3                                       [       -C_1^T    D_2 ]
///
/// with D_i of 2k x 2k and C_i diagonal. The corner of the ring is inside D_0; for odd b the middle
/// phase stands alone in the last block, and C before it is two diagonal matrices.
///
/// Recurrence. Pivots from both ends meet in every block:
///
///     P_{i+1} = D_{i+1} - C_i^T P_i^-1 C_i                                        pushed_down
///     R_{i-1} = D_{i-1} - C_{i-1} R_i^-1 C_{i-1}^T                                pushed_up
///     (H^-1)_ii = (D_i - C_{i-1}^T P_{i-1}^-1 C_{i-1} - C_i R_{i+1}^-1 C_i^T)^-1
///
/// Three inverses of 2k x 2k per pair and node: O(b k^3).
///
/// Rounding. The smallest nodes are about 1 / n^2, so H is ill-conditioned. In a proof every
/// inverse is corrected by Newton's method in twice the precision and its error is MEASURED
/// (`Known::error`). An inverse enters only through what is subtracted from a D_i, so the computed
/// blocks are exact for H + E, E block diagonal and at most e in norm. The error relative to the
/// block is at most 2.5 (e / h + f), with h a lower bound on the eigenvalues of H, and f the error
/// of the last inversion.
///
/// Source: docs/math/optimal.md, section 6. Products in twice the precision: Ogita, Rump, Oishi,
/// SIAM J. Sci. Comput. 26 (2005).

#include "optimal/epochs/epoch_resolvent.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/double_double.hpp"
#include "math/linear_algebra.hpp"

namespace dpftrl::detail {
namespace {

using Wide = DoubleDouble;
using Index = Eigen::Index;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnit = 0x1p-53;
/// Covers the rounding of the error bounds themselves.
constexpr double kRoundUp = 1.01;

/// high + low; `low` is empty in plain double precision.
struct WideMatrix {
  Matrix high, low;

  bool is_wide() const { return low.size() > 0; }
  Wide at(Index i, Index j) const { return {high(i, j), is_wide() ? low(i, j) : 0}; }
  void set(Index i, Index j, const Wide& value) {
    high(i, j) = value.high;
    if (is_wide()) low(i, j) = value.low;
  }
};

WideMatrix zeros(Index size, bool is_wide) {
  return {.high = Matrix::Zero(size, size), .low = is_wide ? Matrix::Zero(size, size) : Matrix()};
}

/// A matrix, with a bound on its distance in norm from the exact one.
struct Known {
  WideMatrix value;
  double error = 0;
};

/// R - P Q in twice the precision: products are split exactly, and their errors summed separately.
/// The result is off by at most (size + 4)^2 2^-104 ||P||_F ||Q||_F and a relative 2^-53.
Matrix less_product(Matrix residual, const WideMatrix& p, const Matrix& q) {
  const Index size = q.rows();
  constexpr double kSplit = 134217729.0;  // 2^27 + 1
  const Matrix scaled = kSplit * p.high;
  const Matrix upper = scaled - (scaled - p.high);
  const Matrix lower = p.high - upper;
  Vector sum(size), rest(size);
  for (Index j = 0; j < size; ++j) {
    sum = residual.col(j);
    rest.setZero();
    for (Index k = 0; k < size; ++k) {
      const double factor = q(k, j), factor_scaled = kSplit * factor;
      const double factor_upper = factor_scaled - (factor_scaled - factor);
      const double factor_lower = factor - factor_upper;
      for (Index i = 0; i < size; ++i) {
        const double product = p.high(i, k) * factor;
        const double missed = ((upper(i, k) * factor_upper - product) + upper(i, k) * factor_lower +
                               lower(i, k) * factor_upper) +
                              lower(i, k) * factor_lower;
        const Wide next = two_sum(sum(i), -product);
        sum(i) = next.high;
        rest(i) += next.low - (missed + p.low(i, k) * factor);
      }
    }
    residual.col(j) = sum + rest;
  }
  return residual;
}

/// P^-1; nothing if P is not positive definite to rounding. In wide precision the inverse Q in
/// double is followed by one step of Newton's method, Q + Q R with R = I - P Q, or by two if P is
/// ill-conditioned. Up to rounding I - P (Q + Q R) = R_0 R, R_0 the first residual and R the last,
/// so the norms of the two bound the error.
std::optional<Known> inverse_of(const WideMatrix& p) {
  constexpr double kIllConditioned = 0x1p-30;
  std::optional<Matrix> first = inverse_of_positive(p.high);
  if (!first) return std::nullopt;
  Known inverse{.value = {.high = std::move(*first), .low = {}}};
  if (!p.is_wide()) return inverse;
  const Matrix& q = inverse.value.high;
  const Matrix first_residual = less_product(Matrix::Identity(q.rows(), q.cols()), p, q);
  Matrix correction = multiply(q, first_residual), residual = first_residual;
  const double p_norm = p.high.norm(), q_norm = q.norm(), before = first_residual.norm();
  const double count = static_cast<double>(q.rows()) + 4;
  double rounding = count * count * 0x1p-104 * p_norm * q_norm + kUnit * before;
  if (before > kIllConditioned) {
    residual = less_product(first_residual, p, correction);
    rounding += count * count * 0x1p-104 * p_norm * correction.norm() + kUnit * residual.norm();
    correction += multiply(q, residual);
  }
  inverse.value.low = 0.5 * (correction + correction.transpose());
  const double rest = residual.norm();
  const double rounding_after = 2 * count * kUnit * q_norm * rest + kUnit * correction.norm();
  const double defect =
      kRoundUp * ((before + rounding) * (rest + rounding) + rounding + p_norm * rounding_after);
  inverse.error =
      defect < 0.5 ? kRoundUp * (q_norm + correction.norm()) * defect / (1 - defect) : kInfinity;
  return inverse;
}

/// a - b; its error includes the rounding of sums in twice the precision.
Known difference(const Known& a, const Known& b) {
  Known result{.value = {.high = a.value.high - b.value.high, .low = {}},
               .error = a.error + b.error};
  if (!a.value.is_wide()) return result;
  result.value.low.resizeLike(result.value.high);
  for (Index j = 0; j < result.value.high.cols(); ++j)
    for (Index i = 0; i < result.value.high.rows(); ++i)
      result.value.set(i, j, add(a.value.at(i, j), negative(b.value.at(i, j))));
  result.error += 0x1p-98 * (a.value.high.norm() + b.value.high.norm());
  return result;
}

/// The blocks of H in the order of the ring laid flat.
class FoldedRing {
 public:
  FoldedRing(const EpochWeights& weights, bool is_wide)
      : epochs_(weights.columns.front().rows()), length_(std::ssize(weights.columns)) {
    Wide before;
    for (const double own : weights.inverse_rows) {
      steps_.push_back({.coupling = two_product(weights.decay, own), .diagonal = add(before, own)});
      before = multiply(steps_.back().coupling, weights.decay);
    }
    for (Index i = 0; i < num_blocks(); ++i)
      blocks_.push_back({.base = base(i, is_wide),
                         .columns = columns_of(weights, i),
                         .couplings = i + 1 < num_blocks() ? couplings(i) : std::vector<Wide>{}});
  }

  Index num_blocks() const { return (length_ + 1) / 2; }
  Index epochs() const { return epochs_; }
  Index num_halves(Index block) const { return 2 * block + 1 == length_ ? 1 : 2; }
  Index size(Index block) const { return num_halves(block) * epochs_; }
  /// The phase of the first or the second half of a block.
  Index phase(Index block, Index half) const { return half == 0 ? block : length_ - 1 - block; }
  Index step(Index block, Index entry) const {
    return phase(block, entry / epochs_) + entry % epochs_ * length_;
  }
  /// The entry in the next block whose step is adjacent to that of `entry`.
  Index beside(Index block, Index entry) const {
    return num_halves(block + 1) == 2 ? entry : entry % epochs_;
  }
  /// Minus the entry of H between `entry` and its neighbour in the next block.
  const Wide& coupling(Index block, Index entry) const {
    return of(blocks_, block).couplings[static_cast<std::size_t>(entry)];
  }
  /// Minus the entry of H between step t and step t + 1.
  const Wide& coupling_after(Index t) const { return of(steps_, t).coupling; }

  /// Diagonal block of H.
  Known diagonal(Index block, double shift) const {
    const Block& own = of(blocks_, block);
    Known d{.value = own.base};
    if (!d.value.is_wide()) {
      d.value.high += shift * own.columns;
      return d;
    }
    for (Index j = 0; j < size(block); ++j)
      for (Index i = 0; i < size(block); ++i)
        d.value.set(i, j, add(own.base.at(i, j), two_product(shift, own.columns(i, j))));
    d.error = 0x1p-98 * (d.value.high.norm() + own.base.high.norm());
    return d;
  }

  /// C_i^T P_i^-1 C_i: what eliminating a block subtracts from the next diagonal block.
  Known pushed_down(Index block, const Known& inverse) const {
    Known product = coupled(block, inverse);
    if (size(block + 1) == size(block)) return product;
    const Index k = epochs_;
    Known sum{.value = zeros(k, product.value.is_wide()),
              .error = product.error + 0x1p-96 * product.value.high.norm()};
    for (Index j = 0; j < 2 * k; ++j)
      for (Index i = 0; i < 2 * k; ++i)
        sum.value.set(i % k, j % k, add(sum.value.at(i % k, j % k), product.value.at(i, j)));
    return sum;
  }

  /// C_i R_{i+1}^-1 C_i^T: what eliminating the next block subtracts from this diagonal block.
  Known pushed_up(Index block, const Known& inverse) const {
    if (size(block + 1) == size(block)) return coupled(block, inverse);
    Known twice = inverse;
    twice.value.high = inverse.value.high.replicate<2, 2>();
    if (inverse.value.is_wide()) twice.value.low = inverse.value.low.replicate<2, 2>();
    return coupled(block, twice);
  }

  /// Entry of H^-1 between `entry` and its neighbour in the next block.
  /// @param above  the inverse of the pivot of `block` from above.
  /// @param below  the diagonal block of H^-1 after it.
  Wide across(Index block, Index entry, const WideMatrix& above, const WideMatrix& below) const {
    Wide sum;
    for (Index i = 0; i < size(block); ++i)
      sum = add(sum, multiply(multiply(above.at(entry, i), coupling(block, i)),
                              below.at(beside(block, i), beside(block, entry))));
    return sum;
  }

 private:
  struct Step {
    Wide coupling;  ///< alpha / u_t
    Wide diagonal;  ///< 1 / u_t + alpha^2 / u_{t-1}
  };
  struct Block {
    WideMatrix base;  ///< part from A^-1 D_u^-1 A^-T
    Matrix columns;   ///< part from Lambda
    std::vector<Wide> couplings;
  };

  template <class List>
  static const typename List::value_type& of(const List& list, Index i) {
    return list[static_cast<std::size_t>(i)];
  }

  /// Scales entry (i, j) by coupling_i * coupling_j. If the matrix was repeated 2 x 2, its error in
  /// norm doubles.
  Known coupled(Index block, const Known& matrix) const {
    Known product = matrix;
    const Index count = size(block);
    Vector factors(count);
    for (Index i = 0; i < count; ++i) factors(i) = coupling(block, i).high;
    const double largest = factors.maxCoeff();
    const double repeats = size(block + 1) == count ? 1 : 2;
    product.error *= kRoundUp * repeats * largest * largest;
    if (!matrix.value.is_wide()) {
      product.value.high = factors.asDiagonal() * matrix.value.high * factors.asDiagonal();
      return product;
    }
    for (Index j = 0; j < count; ++j)
      for (Index i = 0; i < count; ++i)
        product.value.set(
            i, j,
            multiply(multiply(matrix.value.at(i, j), coupling(block, i)), coupling(block, j)));
    product.error += 0x1p-98 * product.value.high.norm();
    return product;
  }

  std::vector<Wide> couplings(Index block) const {
    std::vector<Wide> list;
    for (Index i = 0; i < size(block); ++i)
      list.push_back(coupling_after(step(block, i) - (i < epochs_ ? 0 : 1)));
    return list;
  }

  WideMatrix base(Index block, bool is_wide) const {
    WideMatrix d = zeros(size(block), is_wide);
    for (Index i = 0; i < size(block); ++i) {
      d.set(i, i, of(steps_, step(block, i)).diagonal);
      for (Index j = 0; j < size(block); ++j)
        if (step(block, j) == step(block, i) + 1) {
          d.set(i, j, negative(coupling_after(step(block, i))));
          d.set(j, i, d.at(i, j));
        }
    }
    return d;
  }

  Matrix columns_of(const EpochWeights& weights, Index block) const {
    Matrix columns = Matrix::Zero(size(block), size(block));
    for (Index half = 0; half < num_halves(block); ++half)
      columns.block(half * epochs_, half * epochs_, epochs_, epochs_) =
          of(weights.columns, phase(block, half));
    return columns;
  }

  Index epochs_, length_;
  std::vector<Step> steps_;
  std::vector<Block> blocks_;
};

/// Adds the terms of the nodes one by one.
class Accumulator {
 public:
  Accumulator(const EpochWeights& weights, const EpochSpectrum& spectrum,
              const EpochRootOptions& options)
      : weights_(weights),
        spectrum_(spectrum),
        options_(options),
        ring_(weights, options.is_proved),
        tops_(static_cast<std::size_t>(ring_.num_blocks())),
        from_above_(tops_.size()) {
    const Index k = ring_.epochs();
    sum_.columns.assign(weights.columns.size(), Matrix::Zero(k, k));
    if (!options.has_rows) return;
    const Index n = weights.inverse_rows.size();
    sum_.rows = Vector::Zero(n);
    own_.resize(static_cast<std::size_t>(n));
    next_.resize(own_.size());
  }

  /// Adds weight H^-1 with s = shift. False if an inverse does not exist to rounding.
  bool add_node(double shift, double weight) {
    errors_ = {};
    if (!eliminate_downward(shift)) return false;
    Known from_below, after;
    for (Index i = ring_.num_blocks(); i-- > 0;) {
      const bool is_last = i + 1 == ring_.num_blocks(), is_first = i == 0;
      Known pivot = ring_.diagonal(i, shift);
      if (!is_last) pivot = difference(pivot, from_below);
      const Known own =
          is_first ? pivot : difference(pivot, from_above_[static_cast<std::size_t>(i)]);
      const std::optional<Known> block = inverse_of(own.value);
      if (!block) return false;
      errors_.of_pivots = std::max(errors_.of_pivots, own.error);
      errors_.of_block = std::max(errors_.of_block, block->error);
      errors_.of_blocks = std::max(errors_.of_blocks, block->error * own.value.high.norm());
      errors_.largest = std::max(errors_.largest, block->value.high.norm());
      add_columns(i, block->value, weight);
      if (options_.has_rows) note_rows(i, block->value, after.value);
      after = *block;
      if (is_first) break;
      const std::optional<Known> below = inverse_of(pivot.value);
      if (!below) return false;
      from_below = ring_.pushed_up(i - 1, *below);
    }
    const double relative = relative_error(shift);
    sum_.columns_error = std::max(sum_.columns_error, relative);
    if (options_.has_rows) add_rows(shift, weight, relative);
    return true;
  }

  EpochRoot result(std::size_t num_nodes) {
    const double k = static_cast<double>(ring_.epochs());
    const double count = static_cast<double>(num_nodes) + 4;
    double size = 0;
    for (std::size_t s = 0; s < sum_.columns.size(); ++s) {
      sum_.nuclear += sum_.columns[s].cwiseProduct(weights_.columns[s]).sum();
      size += sum_.columns[s].diagonal().dot(weights_.columns[s].diagonal());
    }
    sum_.columns_error = (sum_.columns_error + 2 * count * kUnit) * kRoundUp;
    const double terms = k * k + static_cast<double>(sum_.columns.size()) + 8;
    sum_.nuclear_error = (sum_.columns_error + 2 * terms * kUnit) * k * size * kRoundUp;
    if (options_.has_rows)
      sum_.rows_error =
          (sum_.rows_error + 2 * count * kUnit * sum_.rows.cwiseAbs().maxCoeff()) * kRoundUp;
    if (!options_.is_proved) sum_.columns_error = sum_.nuclear_error = sum_.rows_error = kInfinity;
    return std::move(sum_);
  }

 private:
  /// Largest errors and norms of one node.
  struct Errors {
    double of_pivots = 0;  ///< error in norm of the matrices that were inverted
    double of_block = 0;   ///< error in norm of the inverses
    double of_blocks = 0;  ///< error in norm of the inverses times the norm of what was inverted
    double of_top = 0;     ///< error in norm of the inverses of pivots from above
    double largest = 0;    ///< norm of an inverse
    double largest_top = 0;
  };

  bool eliminate_downward(double shift) {
    Known pivot = ring_.diagonal(0, shift);
    for (Index i = 0; i + 1 < ring_.num_blocks(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::optional<Known> top = inverse_of(pivot.value);
      if (!top) return false;
      errors_.of_top = std::max(errors_.of_top, top->error);
      errors_.largest_top = std::max(errors_.largest_top, top->value.high.norm());
      if (options_.has_rows) tops_[at] = top->value;
      from_above_[at + 1] = ring_.pushed_down(i, *top);
      pivot = difference(ring_.diagonal(i + 1, shift), from_above_[at + 1]);
    }
    return true;
  }

  /// See "Rounding" above: e is `of_pivots`, f `of_blocks`, and h the sum of the least eigenvalues
  /// of s Lambda and K.
  double relative_error(double shift) const {
    if (!options_.is_proved) return 0;
    const double moved =
        errors_.of_pivots / (shift * spectrum_.least_column + spectrum_.least_base);
    const double error = moved + errors_.of_blocks;
    return error < 0.1 ? 2.5 * error : kInfinity;
  }

  void add_columns(Index block, const WideMatrix& inverse, double weight) {
    const Index k = ring_.epochs();
    for (Index half = 0; half < ring_.num_halves(block); ++half) {
      Matrix& sum = sum_.columns[static_cast<std::size_t>(ring_.phase(block, half))];
      const Index first = half * k;
      if (inverse.is_wide())
        sum += weight *
               (inverse.high.block(first, first, k, k) + inverse.low.block(first, first, k, k));
      else
        sum += weight * inverse.high.block(first, first, k, k);
    }
  }

  /// Stores the entries of H^-1 on and next to the diagonal, in time order.
  void note_rows(Index block, const WideMatrix& inverse, const WideMatrix& after) {
    for (Index i = 0; i < ring_.size(block); ++i) {
      const Index t = ring_.step(block, i);
      own_[static_cast<std::size_t>(t)] = inverse.at(i, i);
      for (Index j = 0; j < ring_.size(block); ++j)
        if (ring_.step(block, j) == t + 1) next_[static_cast<std::size_t>(t)] = inverse.at(i, j);
      if (block + 1 == ring_.num_blocks()) continue;
      const Index before = i < ring_.epochs() ? t : t - 1;
      next_[static_cast<std::size_t>(before)] =
          ring_.across(block, i, tops_[static_cast<std::size_t>(block)], after);
    }
  }

  /// Diagonal entry t of ((W W^T)^-1 + shift)^-1 is (1 - c^T H^-1 c / u) / shift, c column t of
  /// A^-1.
  void add_rows(double shift, double weight, double relative) {
    const double alpha = weights_.decay;
    const Vector& g = weights_.inverse_rows;
    for (Index t = 0; t < g.size(); ++t) {
      const auto at = static_cast<std::size_t>(t);
      Wide form = own_[at];
      if (t + 1 < g.size()) {
        form = add(form, multiply(next_[at], -2 * alpha));
        form = add(form, multiply(multiply(own_[at + 1], alpha), alpha));
      }
      const Wide rest = add(multiply(negative(form), g(t)), 1);
      sum_.rows(t) += weight / shift * rest.high;
    }
    const double largest = g.maxCoeff(), size = static_cast<double>(ring_.size(0));
    const double coupling = largest * alpha;
    const double across =
        coupling * (errors_.of_top * errors_.largest + errors_.largest_top * errors_.of_block +
                    size * 0x1p-90 * errors_.largest_top * errors_.largest);
    sum_.rows_error +=
        weight / shift *
        (relative + largest * (16 * relative * errors_.largest + 4 * alpha * across) + 0x1p-90);
  }

  const EpochWeights& weights_;
  EpochSpectrum spectrum_;
  EpochRootOptions options_;
  FoldedRing ring_;
  std::vector<WideMatrix> tops_;   ///< inverses of pivots from above
  std::vector<Known> from_above_;  ///< `pushed_down` into each block
  std::vector<Wide> own_, next_;   ///< H^-1 at (t, t) and (t, t + 1)
  Errors errors_;
  EpochRoot sum_;
};

/// Sums the whole of H^-1 over the nodes, in the order of the ring. With P the pivots from above,
/// -C the blocks beside the diagonal, U_i = P_i^-1 C_i, the blocks of H^-1 are, from the last one
/// up,
///
///     (H^-1)_ij = U_i (H^-1)_{i+1,j}  for j > i,    (H^-1)_ii = P_i^-1 + (H^-1)_{i,i+1} U_i^T.
class MatrixAccumulator {
 public:
  explicit MatrixAccumulator(const EpochWeights& weights)
      : ring_(weights, false),
        pivots_(static_cast<std::size_t>(ring_.num_blocks())),
        steps_(pivots_.size()),
        sum_(Matrix::Zero(weights.inverse_rows.size(), weights.inverse_rows.size())) {}

  /// Adds weight H^-1. False if an inverse does not exist to rounding.
  bool add_node(double shift, double weight) {
    if (!eliminate_downward(shift)) return false;
    const Index n = sum_.rows();
    Index first = n;
    Matrix below;  // the block column of H^-1 after this one, from its diagonal on
    for (std::size_t i = pivots_.size(); i-- > 0;) {
      const Index size = pivots_[i].rows();
      first -= size;
      Matrix own(n - first, size);
      own.topRows(size) = pivots_[i];
      if (below.size() > 0) {
        const Matrix& step = steps_[i];
        own.bottomRows(below.rows()) = multiply(below, step.transpose());
        own.topRows(size) += multiply(step, own.middleRows(size, step.cols()));
      }
      sum_.block(first, first, n - first, size) += weight * own;
      below = std::move(own);
    }
    return true;
  }

  Matrix in_order_of_time() const {
    std::vector<Index> times;
    for (Index i = 0; i < ring_.num_blocks(); ++i)
      for (Index j = 0; j < ring_.size(i); ++j) times.push_back(ring_.step(i, j));
    const Index n = sum_.rows();
    Matrix ordered(n, n);
    for (Index j = 0; j < n; ++j)
      for (Index i = j; i < n; ++i) {
        const Index row = times[static_cast<std::size_t>(i)];
        const Index column = times[static_cast<std::size_t>(j)];
        ordered(row, column) = ordered(column, row) = sum_(i, j);
      }
    return ordered;
  }

 private:
  bool eliminate_downward(double shift) {
    Known pivot = ring_.diagonal(0, shift);
    for (Index i = 0; i < ring_.num_blocks(); ++i) {
      std::optional<Known> inverse = inverse_of(pivot.value);
      if (!inverse) return false;
      const auto at = static_cast<std::size_t>(i);
      if (i + 1 < ring_.num_blocks()) {
        pivot = difference(ring_.diagonal(i + 1, shift), ring_.pushed_down(i, *inverse));
        steps_[at] = Matrix::Zero(ring_.size(i), ring_.size(i + 1));
        for (Index j = 0; j < ring_.size(i); ++j)
          steps_[at].col(ring_.beside(i, j)) +=
              inverse->value.high.col(j) * ring_.coupling(i, j).high;
      }
      pivots_[at] = std::move(inverse->value.high);
    }
    return true;
  }

  FoldedRing ring_;
  std::vector<Matrix> pivots_;  ///< P_i^-1
  std::vector<Matrix> steps_;   ///< U_i
  Matrix sum_;                  ///< lower triangle only
};

/// Upper bounds on tr W^T W = sum_t u_t A_t Lambda A_t^T, from the magnitudes of Lambda, and on
/// sum_t u_t A_t A_t^T; A_t are rows of A.
struct Traces {
  double of_gram = 0;
  double of_rows = 0;
};
Traces traces_of(const EpochWeights& weights) {
  const Index k = weights.columns.front().rows(), b = std::ssize(weights.columns);
  const double alpha = weights.decay, epoch = std::pow(alpha, static_cast<double>(b));
  double quadratic = 0, square = 0;
  Traces traces;
  for (Index t = 0; t < k * b; ++t) {
    const Matrix& lambda = weights.columns[static_cast<std::size_t>(t % b)];
    const Index e = t / b;
    double cross = 0, factor = 1;
    for (Index i = e; i-- > 0;) cross += std::abs(lambda(i, e)) * (factor *= epoch);
    quadratic = alpha * alpha * quadratic + lambda(e, e) + 2 * cross;
    square = alpha * alpha * square + 1;
    traces.of_gram += quadratic / weights.inverse_rows(t);
    traces.of_rows += square / weights.inverse_rows(t);
  }
  return traces;
}

/// Proved lower bound on the eigenvalues of a symmetric matrix; 0 if no positive one is proved.
double proved_least_eigenvalue(const Matrix& matrix) {
  const Index k = matrix.rows();
  const double shift = symmetric_eigenvalues(matrix)(0) / 2;
  if (!(shift > 0)) return 0;
  // If the factorization of A - shift succeeds, A - shift + E is positive for an E of norm below
  // the trace times some units of rounding (Demmel 1989).
  const Matrix shifted = matrix - shift * Matrix::Identity(k, k);
  if (!inverse_of_positive(shifted)) return 0;
  return std::max(0.0, shift - 4 * (static_cast<double>(k) + 4) * kUnit * matrix.trace());
}

}  // namespace

EpochSpectrum epoch_spectrum(const EpochWeights& weights) {
  constexpr double kSlack = 1 + 0x1p-26;
  const Index b = std::ssize(weights.columns);
  const Vector& g = weights.inverse_rows;
  EpochSpectrum spectrum{.interval = {.low = 0, .high = 0}, .least_column = kInfinity};
  double largest = 0;
  for (Index s = 0; s < b; ++s) {
    const double least = proved_least_eigenvalue(weights.columns[static_cast<std::size_t>(s)]);
    double diagonal = 0;
    for (Index t = s; t < g.size(); t += b)
      diagonal = std::max(diagonal, g(t) + (t > 0 ? weights.decay * weights.decay * g(t - 1) : 0));
    spectrum.least_column = std::min(spectrum.least_column, least);
    largest = std::max(largest, 2 * diagonal / least);
  }
  const Traces traces = traces_of(weights);
  spectrum.least_base = 1 / (traces.of_rows * kSlack);
  const double low = 1 / (traces.of_gram * kSlack);
  if (std::isfinite(largest) && std::isfinite(low) && low > 0)
    spectrum.interval = {.low = low, .high = std::max(low, largest * kSlack)};
  return spectrum;
}

std::optional<EpochRoot> epoch_root(const InverseRoot& root, const EpochSpectrum& spectrum,
                                    const EpochWeights& weights, const EpochRootOptions& options) {
  Accumulator sum(weights, spectrum, options);
  for (std::size_t i = 0; i < root.shifts.size(); ++i)
    if (!sum.add_node(root.shifts[i], root.weights[i])) return std::nullopt;
  return sum.result(root.shifts.size());
}

std::optional<Matrix> epoch_matrix(const InverseRoot& root, const EpochWeights& weights) {
  MatrixAccumulator sum(weights);
  for (std::size_t i = 0; i < root.shifts.size(); ++i)
    if (!sum.add_node(root.shifts[i], root.weights[i])) return std::nullopt;
  return sum.in_order_of_time();
}

}  // namespace dpftrl::detail
