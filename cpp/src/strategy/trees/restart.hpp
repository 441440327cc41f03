// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "dpftrl/strategy/strategy.hpp"
#include "dpftrl/strategy/strategy_info.hpp"

namespace dpftrl {

/// Any strategy (C_e, B_e) for prefix sums, restarted every e = epoch_length steps; the last epoch
/// may be shorter. Rows of later epochs add one decoder row of each finished epoch, r = row e - 1:
///
///     C = [C_e        ]      B = [B_e                ]
///         [    C_e    ]          [1 r   B_e          ]
///         [        C_e]          [1 r   1 r   B_e    ]
///
/// With `complete_epochs` (trees only), an epoch is a tree over P = 2^ceil(lg e) steps, of which
/// all after the first e are empty. C_e is its encoder without the columns of the empty steps, and
/// r = row P - 1, which uses only the root.
class RestartStrategy final : public Strategy {
 public:
  static constexpr std::string_view kName = "restart";
  static constexpr std::int64_t kMaxEpochs = std::int64_t{1} << 20;
  struct Options {
    std::int64_t steps;
    std::int64_t epoch_length;
    bool complete_epochs = false;
    /// Strategy for prefix sums of epoch_length steps, or a DyadicStrategy of P steps if completed.
    std::shared_ptr<const Strategy> epoch_strategy;
  };
  /// @throws Error{invalid_argument} epoch_length outside 1..steps, an epoch_strategy of
  ///         another length, or not a tree if completed; Error{unsupported} more than kMaxEpochs
  ///         epochs, or another workload.
  explicit RestartStrategy(const Options& options);

  /// Restarts the strategy that `make_epoch` makes from the same options with the horizon of an
  /// epoch. Reads the parameters epoch_length and complete_epochs.
  static std::shared_ptr<const Strategy> make(
      const StrategyOptions& options,
      std::shared_ptr<const Strategy> (*make_epoch)(const StrategyOptions&));

  std::int64_t epoch_length() const { return epoch_length_; }
  std::int64_t epochs() const { return (steps() - 1) / epoch_length_ + 1; }
  const Strategy& epoch_strategy() const { return *epoch_; }

  /// For example "honaker, restarted every 100 steps", followed by ", completed" if completed.
  std::string_view name() const override { return name_; }
  std::int64_t num_measurements() const override;
  double column_norm_squared(std::int64_t step) const override;
  double max_column_norm_squared() const override;
  double row_norm_squared(std::int64_t step) const override;
  /// @throws Error{unsupported} more than 2^26 rows would have to be visited, in an epoch that is
  ///         shorter than the epoch strategy's horizon.
  RowNorms row_norms() const override;
  Matrix encoder() const override;
  Matrix decoder() const override;
  DecoderForm decoder_form() const override;
  ColumnStructure columns() const override {
    return RestartedColumns{.epoch = epoch_.get(), .epoch_length = epoch_length_};
  }
  bool has_nonnegative_gram() const override { return epoch_->has_nonnegative_gram(); }
  double encoder_slack() const override { return epoch_->encoder_slack(); }
  bool is_causal() const override { return epoch_->is_causal(); }
  /// Parameters of the epoch strategy, and the epoch length.
  std::vector<PlanNumbers> parameters() const override;

 private:
  /// Norms over the first `num_rows` rows of the epoch strategy.
  RowNorms epoch_row_norms(std::int64_t num_rows) const;
  std::int64_t closing_row() const { return epoch_->steps() - 1; }

  std::int64_t epoch_length_;
  std::shared_ptr<const Strategy> epoch_;
  std::string name_;
};

}  // namespace dpftrl
