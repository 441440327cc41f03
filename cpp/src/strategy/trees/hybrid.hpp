// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "dpftrl/strategy/strategy.hpp"
#include "strategy/trees/haar.hpp"

namespace dpftrl {

/// Doubling blocks for an unknown horizon (the hybrid mechanism of Chan, Shi, Song 2011, with
/// another mechanism inside). Block b holds steps 2^b - 1 .. 2^(b+1) - 2. It measures `haar` for
/// 2^b steps, with columns scaled to squared norm 1/2, and the block's total, also with squared
/// norm 1/2. Rows of later blocks add the totals of earlier blocks. num_steps = 7, H the encoder of
/// `haar`:
///
///     sqrt(2) C = [1            ]  H(1)
///                 [1            ]  total
///                 [  H(2)       ]
///                 [  1 1        ]  total
///                 [      H(4)   ]
///                 [      1 1 1 1]  total
///
/// num_steps is only a cap: the noise of a step and the column norms do not depend on it. The last
/// total is measured as well, although no row within the cap needs it.
class HybridStrategy final : public Strategy {
 public:
  static constexpr std::string_view kName = "hybrid";
  explicit HybridStrategy(std::int64_t num_steps);

  std::string_view name() const override { return kName; }
  std::int64_t num_measurements() const override;
  double column_norm_squared(std::int64_t step) const override;
  double max_column_norm_squared() const override;
  double row_norm_squared(std::int64_t step) const override;
  RowNorms row_norms() const override;
  Matrix encoder() const override;
  Matrix decoder() const override;
  DecoderForm decoder_form() const override;
  ColumnStructure columns() const override { return HybridColumns{}; }
  /// A block's total raises all inner products within it by as much as the columns of `haar` can
  /// lower them.
  bool has_nonnegative_gram() const override { return true; }
  bool is_causal() const override { return blocks_.size() < 2; }

 private:
  /// Number of steps of block b within the horizon.
  std::int64_t block_length(std::size_t block) const;
  double block_column_norm_squared(std::size_t block) const;

  std::vector<HaarStrategy> blocks_;
};

}  // namespace dpftrl
