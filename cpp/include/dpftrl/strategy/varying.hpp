// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "dpftrl/optimal/varying_buffers_form.hpp"
#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl {

/// A recursion with few buffers whose numbers change from step to step, its columns scaled.
///
///     C = [c0              ]    rows: c_i gains_i . (factors_{i-1} * ... * factors_j), then column
///         [.  c1           ]    j divided by column_scales_j
///         [.  .  c2        ]
///
/// Nothing is believed about the numbers: the norms of the columns, on which the sensitivity rests,
/// and the variances of the rows are recomputed from them and from the scales, whatever their
/// origin. Numbers from a wrong recursion change what is stated here and not what is true of it.
///
/// @exactness   norms by a recursion over all steps; encoder_slack() bounds what its rounding may
///              have taken from them
/// @checked-by  optimum_test "a wrong term of the Riccati recursion does not pass", "factorizes
///              with unit columns and its stated row norms", "long double recursions agree at a
///              long horizon"
class VaryingBufferedStrategy : public Strategy {
 public:
  struct Parts {
    std::string_view name;  ///< static storage
    std::shared_ptr<const VaryingBuffers> buffers;
    std::vector<double> column_scales;  ///< D, one a step, positive
    std::vector<PlanNumbers> parameters = {};
  };
  /// @param workload  prefix sums, decay without momentum, rates without momentum.
  /// @throws Error{wrong_length} other than one scale a step; Error{invalid_argument} one that is
  ///         not positive and finite; Error{unsupported} another workload, or numbers of both signs
  ///         that cancel each other to rounding.
  VaryingBufferedStrategy(Workload workload, Parts parts);

  const VaryingBuffers& buffers() const { return *parts_.buffers; }
  const std::vector<double>& column_scales() const { return parts_.column_scales; }
  std::string_view name() const override { return parts_.name; }
  std::int64_t num_measurements() const override { return num_steps(); }
  double column_norm_squared(std::int64_t step) const override;
  double max_column_norm_squared() const override { return max_column_norm_squared_; }
  double row_norm_squared(std::int64_t step) const override;
  RowNorms row_norms() const override;
  Matrix encoder() const override;
  Matrix decoder() const override;
  DecoderForm decoder_form() const override;
  bool has_nonnegative_gram() const override { return is_nonnegative_; }
  double encoder_slack() const override { return encoder_slack_; }
  std::vector<PlanNumbers> parameters() const override { return parts_.parameters; }
  std::vector<double> epoch_norms_squared(std::int64_t separation) const override;
  std::vector<double> later_products(std::int64_t lag) const override;

  /// Workloads whose rows have variances by recursion.
  static bool serves(const Workload& workload);

 private:
  [[noreturn]] void refuse_numbers() const;

  Parts parts_;
  std::vector<double> column_norms_squared_;
  std::vector<double> row_variances_;
  double max_column_norm_squared_;
  double encoder_slack_;
  bool is_nonnegative_;
  mutable std::once_flag are_products_made_;
  mutable std::vector<double> largest_products_;  ///< of columns, when they are asked for
};

/// Makes the parts with columns scaled to norm 1, to rounding.
VaryingBufferedStrategy::Parts unit_columns(std::string_view name, VaryingBuffers buffers);

}  // namespace dpftrl
