// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl {

/// Tree of arity k: node (l, i) covers steps i k^l .. (i+1) k^l - 1. In the plain tree, row t adds
/// the nodes of the base-k expansion of t + 1. In the subtractive tree (Andersson, Pagh, Steiner,
/// Torkamani 2024, arXiv 2408.07021), k is odd, digits are -(k-1)/2 .. (k-1)/2, and a negative
/// digit subtracts nodes that reach further. steps = 4, arity 3, subtractive, and plain:
///
///     C = [1      ]  node (0, 0)        C = [1      ]  node (0, 0)
///         [    1  ]  node (0, 2)            [  1    ]  node (0, 1)
///         [1 1 1  ]  node (1, 0)            [1 1 1  ]  node (1, 0)
///         [      1]  node (0, 3)            [      1]  node (0, 3)
///
/// A node that no step within the horizon uses is not measured; it is a row of zeros (left out
/// above). Nodes that reach past the horizon are cut off there, because nothing was added beyond
/// it.
class KaryStrategy final : public Strategy {
 public:
  static constexpr std::string_view kName = "tree-k";
  static constexpr std::int64_t kMaxArity = 1023;
  struct Options {
    std::int64_t steps;
    std::int64_t arity = 7;   ///< k in 2 .. kMaxArity; 7 is best for long subtractive trees
    bool subtractive = true;  ///< needs an odd arity
  };
  /// @throws Error{invalid_argument} a number out of range, or an even arity with `subtractive`.
  explicit KaryStrategy(const Options& options);

  std::int64_t arity() const { return arity_; }
  /// True if a row within the horizon uses node (level, index).
  bool is_used(std::size_t level, std::int64_t index) const;

  std::string_view name() const override { return kName; }
  std::int64_t num_measurements() const override { return num_measurements_; }
  double column_norm_squared(std::int64_t step) const override;
  double max_column_norm_squared() const override;
  double row_norm_squared(std::int64_t step) const override;
  RowNorms row_norms() const override;
  Matrix encoder() const override;
  Matrix decoder() const override;
  DecoderForm decoder_form() const override;
  ColumnStructure columns() const override;
  /// Rows of C are indicators.
  bool has_nonnegative_gram() const override { return true; }
  bool is_causal() const override { return !subtractive_; }
  std::vector<PlanNumbers> parameters() const override {
    return {{"arity", {static_cast<double>(arity_)}}, {"subtractive", {subtractive_ ? 1.0 : 0.0}}};
  }

 private:
  /// Digits of `count`, lowest first.
  std::vector<std::int64_t> digits(std::int64_t count) const;
  /// Index of the last used node of the level; -1 if none.
  std::int64_t last_used(std::size_t level) const;
  std::int64_t measurement(std::size_t level, std::int64_t index) const;
  double largest_row() const;

  std::int64_t arity_;
  bool subtractive_;
  std::int64_t largest_digit_;
  std::int64_t smallest_digit_;
  std::vector<std::int64_t> places_;  ///< k^l
  std::int64_t num_measurements_;
};

}  // namespace dpftrl
