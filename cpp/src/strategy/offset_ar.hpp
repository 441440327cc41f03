// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl {

/// Noise for counts of active people: one common offset, and an autoregression of order 1.
///
///     B B^T = Sigma,    Sigma_ij = theta^|i-j| + offset
///
///     B = [a  1              ]   a^2 = offset,  b^2 = 1 - theta^2     C = B^T Sigma^-1 A
///         [a  th    b        ]
///         [a  th^2  th b  b  ]   n x (n + 1)                          (n + 1) x n
///
/// Every release has the variance 1 + offset. The first row of C reads all steps.
///
/// @exactness   a and b are rounded up, which adds a positive semi-definite matrix to Sigma, so no
///              column norm is below the norm of the exact encoder's column
/// @source      docs/math/active.md
/// @checked-by  offset_ar_test "norms and factors are those of the covariance",
///              "the sensitivity is that of all patterns"
class OffsetArStrategy final : public Strategy {
 public:
  static constexpr std::string_view kName = "offset-ar";
  static constexpr std::int64_t kMaxSteps = std::int64_t{1} << 14;
  /// Parameters are multiples of these, so that everything computed from them has few digits.
  static constexpr double kThetaUnit = 0x1p-10;
  static constexpr double kOffsetUnit = 0x1p-14;
  static constexpr double kMaxOffset = 16;
  struct Parameters {
    double theta;
    double offset;
  };

  /// @throws Error{invalid_argument} theta not a multiple of 2^-10 in [0, 1), offset not a multiple
  ///         of 2^-14 in [0, 16], or more than kMaxSteps steps.
  OffsetArStrategy(std::int64_t steps, const Parameters& parameters);

  std::string_view name() const override { return kName; }
  std::int64_t num_measurements() const override { return steps() + 1; }
  double column_norm_squared(std::int64_t step) const override;
  double max_column_norm_squared() const override { return max_column_norm_squared_; }
  double row_norm_squared(std::int64_t step) const override;
  RowNorms row_norms() const override;
  Matrix encoder() const override;
  Matrix decoder() const override;
  DecoderForm decoder_form() const override;
  bool is_causal() const override { return false; }
  std::vector<PlanNumbers> parameters() const override {
    return {{"theta", {parameters_.theta}}, {"offset", {parameters_.offset}}};
  }
  /// @exactness   zero-out: exact for every pattern. Replace-one: exact without an offset, without
  ///              a cap on runs, and for (window + 1)^2 * steps <= 2^24; else an upper bound.
  /// @guarantee   never below the true value, and within a relative 2^-49 of the value without
  ///              rounding (replace-one: steps * 2^-50)
  /// @source      docs/math/active.md, theorems 2 and 5
  /// @checked-by  offset_ar_test "the sensitivity is that of all patterns", "replaced people differ
  ///              by the longest difference"
  std::optional<PatternNorm> active_norm_squared(const ActivePattern& pattern) const override;

 private:
  Parameters parameters_;
  double scale_;       ///< a, rounded up
  double innovation_;  ///< b, rounded up
  double max_column_norm_squared_;
};

/// Parameters that make the largest error of a pattern smallest: the square of the sensitivity
/// times 1 + offset, which is convex in the offset.
OffsetArStrategy::Parameters best_offset_ar(std::int64_t steps, const ActivePattern& pattern);

}  // namespace dpftrl
