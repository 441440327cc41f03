// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <vector>

#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl {

/// Dyadic tree: one measurement for every dyadic interval completed within the horizon, in
/// post-order. Any number of steps, not only powers of two. steps = 4, measurements as rows of C:
///
///     [1      ]  leaf 0
///     [  1    ]  leaf 1
///     [1 1    ]  node (1, 0)
///     [    1  ]  leaf 2
///     [      1]  leaf 3
///     [    1 1]  node (1, 1)
///     [1 1 1 1]  node (2, 0)
///
/// The decoder adds the node estimates in the binary expansion of t + 1; the node weights of
/// DyadicDecoder define how a node is estimated from its subtree.
class DyadicStrategy : public Strategy {
 public:
  std::int64_t num_measurements() const override;
  double column_norm_squared(std::int64_t step) const override;
  double max_column_norm_squared() const override;
  double row_norm_squared(std::int64_t step) const override;
  RowNorms row_norms() const override;
  Matrix encoder() const override;
  Matrix decoder() const override;
  DecoderForm decoder_form() const override { return DyadicDecoder{node_weights_}; }
  ColumnStructure columns() const override { return DyadicColumns{}; }
  /// Rows of C are indicators.
  bool has_nonnegative_gram() const override { return true; }

 protected:
  /// Levels 0 .. floor(lg steps).
  static std::int64_t num_levels(std::int64_t steps);
  DyadicStrategy(std::int64_t steps, std::vector<double> node_weights);

 private:
  Eigen::Index dense_measurements() const;

  std::vector<double> node_weights_;
  std::vector<double> node_variances_;
};

/// Binary tree (Dwork, Naor, Pitassi, Rothblum 2010; Chan, Shi, Song 2011): a node is estimated by
/// its own measurement alone.
class TreeStrategy final : public DyadicStrategy {
 public:
  static constexpr std::string_view kName = "tree";
  explicit TreeStrategy(std::int64_t steps);
  std::string_view name() const override { return kName; }
};

/// Honaker's streaming estimator (2015; Kairouz et al. 2021, arXiv 2103.00039): a node is estimated
/// from its whole subtree by inverse-variance weighting; node variance 1 / (2 (1 - 2^-(l+1))).
class HonakerStrategy final : public DyadicStrategy {
 public:
  static constexpr std::string_view kName = "honaker";
  explicit HonakerStrategy(std::int64_t steps);
  std::string_view name() const override { return kName; }
};

}  // namespace dpftrl
