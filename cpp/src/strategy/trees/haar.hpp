// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl {

/// Strategies that measure Haar coefficients over N = 2^k >= n steps, k = ceil(lg steps), with one
/// weight per level. steps = 4, g_l >= 0:
///
///     C = sqrt(g_0) [1  1  1  1]    the mean
///         sqrt(g_2) [1  1 -1 -1]    support 4
///         sqrt(g_1) [1 -1      ]    support 2
///         sqrt(g_1) [      1 -1]
///
/// Every column has squared norm g_0 + g_1 + ... + g_k. Columns past the horizon are cut off, and
/// coefficients beyond it are not measured. A coefficient reads its whole support but is used
/// before the support ends, so C is not causal as written. A lower-triangular C with this Gram
/// matrix gives the same noise.
///
/// Stores the scales of HaarDecoder: 1 / (2^l sqrt(g_l)) and 1 / (N sqrt(g_0)).
class HaarBasisStrategy : public Strategy {
 public:
  std::int64_t num_measurements() const override;
  double column_norm_squared(std::int64_t step) const override;
  double max_column_norm_squared() const override { return column_norm_squared_; }
  double row_norm_squared(std::int64_t step) const override;
  /// Takes O(log^2 n) time.
  /// @checked-by trees_test "haar extremes are found for every horizon to 2048"
  RowNorms row_norms() const override;
  Matrix encoder() const override;
  Matrix decoder() const override;
  DecoderForm decoder_form() const override { return form_; }
  ColumnStructure columns() const override { return HaarColumns{}; }
  bool has_nonnegative_gram() const override { return has_nonnegative_gram_; }
  bool is_causal() const override { return form_.scales.empty(); }

 protected:
  /// @param weights  g_0, g_1, ..., g_k, positive.
  HaarBasisStrategy(std::int64_t steps, const std::vector<double>& weights);

 private:
  Eigen::Index dense_measurements() const;

  HaarDecoder form_;
  double column_norm_squared_;
  bool has_nonnegative_gram_;
};

/// Weights the levels for the least mean error over `steps` with columns of norm 1.
class HaarStrategy final : public HaarBasisStrategy {
 public:
  static constexpr std::string_view kName = "haar";
  explicit HaarStrategy(std::int64_t steps);
  std::string_view name() const override { return kName; }
};

/// The complete binary tree over N steps with the least-squares decoder, B = A C^+ (Honaker 2015;
/// Henzinger, Upadhyay, Upadhyay 2023): every row uses all nodes. The Haar vectors are the
/// eigenvectors of that tree's Gram matrix, so its levels are weighted by the eigenvalues.
class HonakerFullStrategy final : public HaarBasisStrategy {
 public:
  static constexpr std::string_view kName = "honaker-full";
  explicit HonakerFullStrategy(std::int64_t steps);
  std::string_view name() const override { return kName; }
};

}  // namespace dpftrl
