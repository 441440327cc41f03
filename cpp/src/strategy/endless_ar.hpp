// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl {

/// Noise for counts of active people without a horizon: a slow and a fast autoregression.
///
///     B = 1 / C',    C' = 1 - sum_i gains_i x / (1 - decays_i x),    C = C' A
///
/// The variance of a release stays below a limit that does not depend on the number of steps. Only
/// for windows of 1, 7 and 30 steps, for which `sensitivity` was computed.
///
/// @source      docs/math/active.md, section 5
/// @checked-by  endless_ar_test
class EndlessArStrategy final : public Strategy {
 public:
  static constexpr std::string_view kName = "endless-ar";
  /// All events of one person within this many consecutive steps are protected.
  static constexpr std::int64_t kProtectedSteps = 365;
  static constexpr std::int64_t kWindows[] = {1, 7, 30};

  /// @throws Error{invalid_argument} a window other than 1, 7 or 30.
  EndlessArStrategy(std::int64_t steps, std::int64_t window);

  std::string_view name() const override { return kName; }
  std::int64_t num_measurements() const override { return steps(); }
  double column_norm_squared(std::int64_t step) const override;
  double max_column_norm_squared() const override { return column_norm_squared(0); }
  double row_norm_squared(std::int64_t step) const override;
  RowNorms row_norms() const override;
  Matrix encoder() const override;
  Matrix decoder() const override;
  DecoderForm decoder_form() const override;
  std::vector<PlanNumbers> parameters() const override {
    return {{"gains", gains_}, {"decays", decays_}};
  }

  /// Largest norm of C' times the difference of the counts, if one person's events of any
  /// kProtectedSteps consecutive steps are removed and all others stay.
  /// @exactness   an upper bound: the stored numbers are rounded up
  /// @guarantee   holds for any number of steps, since the patterns span only a part of the stream
  /// @checked-by  endless_ar_test "constants are those of the dynamic program"
  double sensitivity() const { return sensitivity_; }

 private:
  double sensitivity_;
  std::vector<double> gains_;
  std::vector<double> decays_;
  std::vector<double> row_norms_squared_;  ///< the last entry holds for all later rows
};

}  // namespace dpftrl
