// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dpftrl/strategy/strategy.hpp"
#include "strategy/toeplitz/toeplitz_base.hpp"

namespace dpftrl {

/// Adapts a strategy for prefix sums to any workload, with or without scaling its columns:
///
///     C = C_base D^-1,      B = A_workload D A^-1 B_base,      D diagonal.
///
/// Row norms of B take O(n d^2) if the base has d buffers (any horizon, workloads other than
/// windows and matrices). For other lower-triangular Toeplitz bases, up to kMaxTransformedSteps,
/// they take O(n log n) for `square-root` and prefix sums, and O(n log^2 n) for other bases with
/// prefix sums, for momentum that differs from the decay, and for rates without momentum. Windows
/// of W steps take O(n W) up to 2^28 / W steps, and wide ones O(n^2) up to kMaxToeplitzSteps, as do
/// rates with momentum and momentum within 2^-10 of the decay. All other cases use dense matrices,
/// up to kMaxDenseRowSteps; beyond that, row_norms() is unsupported. Row norms are computed on
/// first use, because noise does not need them.
class FilteredStrategy final : public Strategy {
 public:
  static constexpr std::int64_t kMaxSteps = std::int64_t{1} << 24;
  static constexpr std::int64_t kMaxTransformedSteps = std::int64_t{1} << 22;
  static constexpr std::int64_t kMaxToeplitzSteps = std::int64_t{1} << 16;
  static constexpr std::int64_t kMaxDenseRowSteps = 2048;

  struct Options {
    std::shared_ptr<const Strategy> base;  ///< strategy for prefix sums
    Workload workload;
    std::vector<double> column_scales = {};  ///< D, positive; all 1 if empty
    std::string name;
  };
  explicit FilteredStrategy(Options options);

  std::string_view name() const override { return options_.name; }
  std::int64_t num_measurements() const override { return options_.base->num_measurements(); }
  double column_norm_squared(std::int64_t step) const override;
  double max_column_norm_squared() const override;
  double row_norm_squared(std::int64_t step) const override;
  RowNorms row_norms() const override;
  Matrix encoder() const override;
  Matrix decoder() const override;
  DecoderForm decoder_form() const override;
  ColumnStructure columns() const override {
    return ScaledColumns{.base = options_.base.get(), .scales = options_.column_scales};
  }
  /// First column of the base's encoder, if the columns are not scaled.
  std::span<const double> toeplitz_encoder() const override;
  std::int64_t bands() const override { return options_.base->bands(); }
  bool has_nonnegative_gram() const override { return options_.base->has_nonnegative_gram(); }
  double encoder_slack() const override { return options_.base->encoder_slack(); }
  bool is_causal() const override { return options_.base->is_causal(); }
  std::vector<PlanNumbers> parameters() const override { return options_.base->parameters(); }
  std::optional<StreamCost> stream_cost() const override { return options_.base->stream_cost(); }

 private:
  double scale(std::int64_t step) const;
  /// Squared norms of all rows of B; empty if there is no formula.
  std::vector<double> squared_row_norms() const;
  /// @throws Error{unsupported} there is no formula.
  const std::vector<double>& rows() const;

  Options options_;
  mutable std::once_flag are_rows_made_;
  mutable std::vector<double> rows_;
};

/// Normalises columns: D_j = ||C_j||, so that all columns have norm 1 up to rounding (the returned
/// norms are the norms of C D^-1 with the stored D). For a lower-triangular Toeplitz encoder and
/// prefix sums, no release gets a larger error. The default name is "normalized-" followed by the
/// name of the base.
/// @source  Henzinger, Kalinin, Upadhyay, arXiv 2509.14334 (square root).
/// @checked-by toeplitz_strategies_test "normalising a Toeplitz encoder raises no error"
std::shared_ptr<const Strategy> normalized_strategy(std::shared_ptr<const Strategy> base,
                                                    const Workload& workload,
                                                    std::string name = {});
inline constexpr std::string_view kNormalizedSquareRoot = "normalized-square-root";

/// Decodes another workload from the base's encoder, under the base's name.
std::shared_ptr<const Strategy> decoded_strategy(std::shared_ptr<const Strategy> base,
                                                 const Workload& workload);

/// Decodes any workload from a Toeplitz encoder for prefix sums.
std::shared_ptr<const Strategy> decoded_toeplitz_strategy(
    const Workload& workload,
    const std::function<std::shared_ptr<const Strategy>(const ToeplitzRequest&)>& make);

}  // namespace dpftrl
