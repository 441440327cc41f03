// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <vector>

#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl {

/// Let S be the principal square root of the circulant matrix of order 2n with first column (1, ..,
/// 1, 0, .., 0), n ones, whose upper left block is A. B is the first n rows of S, and C its first n
/// columns. With s the first column of S and indices modulo 2n, n = 2:
///
///         [s0 s3 s2 s1]         [s0 s3]
///     B = [s1 s0 s3 s2]     C = [s1 s0]
///                               [s2 s1]
///                               [s3 s2]
///
/// All rows of B and all columns of C have the same norm, so every release has the same error, 1/2
/// + (1/2n) sum_{j=1..n} 1 / sin((2j-1) pi / (2n)). C reads later steps (it has 2n rows), so the
/// proof for adaptive streams uses its lower-triangular form. The coefficients are computed on
/// first use, because norms do not need them.
/// @source  Henzinger, Upadhyay, arXiv 2412.02840; Mathias, SIAM J. Matrix Anal. Appl. 14, 1993.
class GroupAlgebraStrategy final : public Strategy {
 public:
  static constexpr std::string_view kName = "group-algebra";
  static constexpr std::int64_t kMaxSteps = std::int64_t{1} << 20;
  explicit GroupAlgebraStrategy(std::int64_t num_steps);

  std::string_view name() const override { return kName; }
  std::int64_t num_measurements() const override { return 2 * num_steps(); }
  double column_norm_squared(std::int64_t step) const override;
  double max_column_norm_squared() const override { return norm_squared_; }
  double row_norm_squared(std::int64_t step) const override;
  RowNorms row_norms() const override { return {norm_squared_, norm_squared_, norm_squared_}; }
  Matrix encoder() const override;
  Matrix decoder() const override;
  DecoderForm decoder_form() const override;
  ColumnStructure columns() const override { return CirculantColumns{}; }
  double encoder_slack() const override { return coefficients().encoder_slack; }
  bool is_causal() const override { return num_steps() == 1; }

 private:
  struct Coefficients {
    std::vector<double> circulant;  ///< s
    double encoder_slack = 0;
    /// Returns s_lag for a lag between -2n and 2n.
    double at_lag(std::int64_t lag) const;
  };
  Coefficients make_coefficients() const;
  const Coefficients& coefficients() const;

  double norm_squared_;
  mutable std::once_flag is_made_;
  mutable Coefficients coefficients_;
};

}  // namespace dpftrl
