// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "dpftrl/base/types.hpp"
#include "optimal/blt/blt_point.hpp"
#include "optimal/descent_search.hpp"
#include "optimal/family_optimum.hpp"

namespace dpftrl::detail {

/// Position of a step between two knots of ln lambda.
struct KnotPosition {
  Eigen::Index lower;
  double share_of_upper;
};
KnotPosition knot_position(std::int64_t steps, std::int64_t step);

/// Squared row norms of B' = prefix sums * C'^-1, C' = diag(lambda) T D^-1, at the ends of cells
/// over which D and lambda are constant, and their derivatives in the log gaps of T, followed by
/// ln lambda at the knots if rows are scaled. Exact if every cell is one step.
///
/// The state of T^-1 and the row are a linear system driven by one normal per step; a cell is one
/// step of it (docs/math/families.md).
class NormalizedRowErrors final : public RowErrors {
 public:
  struct Options {
    std::int64_t steps;
    std::int64_t buffers;
    bool scale_rows;
    /// The distance to the nearer end is about this many cells; `steps` gives single steps.
    std::int64_t cells_in_distance;
  };
  explicit NormalizedRowErrors(const Options& options);

  const std::vector<double>& values(const Vector& point) override;
  const std::vector<double>& multiplicities() const override { return lengths_; }
  void pull_back(const std::vector<double>& weights, Vector& gradient) override;

 private:
  /// Quantities that cells of one length share, and the derivatives with respect to these
  /// quantities.
  struct Kind {
    explicit Kind(std::int64_t cell_length) : length(cell_length) {}
    std::int64_t length;
    std::vector<Jet> decay, sum;   // theta^^L and sum_{m<L} theta^^m; derivatives in 1 - theta^
    std::vector<Jet> state_noise;  // per pair; derivatives in the joint complement of theta^
    std::vector<Jet> whole_power, whole_sum, half_power, half_sum;  // per pair, for theta
    std::vector<double> drift, cross_noise;  // drift of the row by the state; noise covariance
    double row_noise = 0;
    std::vector<double> by_decay, by_state_noise, by_drift, by_cross_noise;
    std::vector<double> by_whole_power, by_whole_sum, by_half_power, by_half_sum;
    double by_row_noise = 0;
  };
  struct Cell {
    std::size_t kind;
    KnotPosition at;
    double scale_squared;  ///< lambda^2
    double column_norm;    ///< D, in the middle of the cell
    double by_scale_squared;
    double by_norm;
  };

  void prepare(Kind& kind) const;
  void clear_slopes(Kind& kind) const;
  void add_slopes(const Kind& kind, BltSlopes& slopes) const;
  void column_norms();
  void row_norms();
  void reverse_row_norms(const std::vector<double>& weights);
  void reverse_column_norms(BltSlopes& slopes);
  std::size_t pair(std::size_t i, std::size_t j) const { return i * d_ + j; }

  Options options_;
  std::size_t d_;
  std::vector<Kind> kinds_;
  std::vector<Cell> cells_;
  std::vector<double> lengths_;
  std::vector<double> values_;
  std::vector<double> after_;   ///< per cell and pair: sum over the steps after its last
  std::vector<double> states_;  ///< per cell and pair: covariance of the state before it
  std::vector<double> cross_;   ///< per cell and buffer: covariance of state and row before it
  BltPoint blt_;
};

/// The errors of C' over all steps. `log_row_scales` empty: lambda = 1.
FamilyErrors normalized_errors(const BltPoint& blt, std::span<const double> log_row_scales,
                               std::int64_t steps);

}  // namespace dpftrl::detail
