// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl {

/// Smooth binary mechanism (Andersson, Pagh 2023, arXiv 2306.09666). Leaf i is the i-th string of h
/// bits with w ones; step t adds its record to leaf t. Row t adds, for every 1-bit of leaf t + 1,
/// the sibling to the left: the leaves with the same bits above and a 0 there. num_steps = 4, h =
/// 4, w = 2, leaves 0011 0101 0110 1001 1010:
///
///     C = [1      ]  0 0 * *, ends with leaf 0        B = [1 1            ]  leaf 0101
///         [       ]                                       [1   1          ]  leaf 0110
///         [  1    ]  0 1 0 *, ends with leaf 1            [        1 1    ]  leaf 1001
///         [       ]                                       [        1   1  ]  leaf 1010
///         [1 1 1  ]  0 * * *, ends with leaf 2
///         [       ]
///         [      1]  1 0 0 *, ends with leaf 3
///         [       ]
///
/// Measurement 2 i is the only node that ends with leaf i and has a leaf to its right, because one
/// node splits at the highest bit in which leaves i and i + 1 differ.
/// If a 1-bit has only ones below it, its sibling has no leaf. This empty sum is measured as well,
/// so that all rows have variance w: measurement 2 t + 1 stands for the a empty siblings of row t,
/// with factor sqrt(a).
class SmoothStrategy final : public Strategy {
 public:
  static constexpr std::string_view kName = "smooth-tree";
  static constexpr std::int64_t kMaxHeight = 62;
  struct Shape {
    std::int64_t height;  ///< h <= kMaxHeight
    std::int64_t weight;  ///< w, 1 <= w < h, binomial(h, w) >= num_steps + 1
  };
  /// @throws Error{invalid_argument} a number out of range, or too few leaves.
  SmoothStrategy(std::int64_t num_steps, const Shape& shape);

  /// Returns the shape of least error and, among equals, of least weight, which has the fewest
  /// nodes per row.
  static Shape best_shape(std::int64_t num_steps);

  const Shape& shape() const { return shape_; }

  std::string_view name() const override { return kName; }
  std::int64_t num_measurements() const override { return 2 * num_steps(); }
  double column_norm_squared(std::int64_t step) const override;
  double max_column_norm_squared() const override;
  /// w for every step, up to the rounding of sqrt(a).
  double row_norm_squared(std::int64_t step) const override;
  RowNorms row_norms() const override;
  Matrix encoder() const override;
  Matrix decoder() const override;
  DecoderForm decoder_form() const override {
    return SmoothDecoder{.height = shape_.height, .weight = shape_.weight};
  }
  ColumnStructure columns() const override {
    return SmoothColumns{.height = shape_.height, .weight = shape_.weight};
  }
  /// Rows of C are indicators, or zero.
  bool has_nonnegative_gram() const override { return true; }
  std::vector<PlanNumbers> parameters() const override {
    return {{"height", {static_cast<double>(shape_.height)}},
            {"weight", {static_cast<double>(shape_.weight)}}};
  }

 private:
  Shape shape_;
};

}  // namespace dpftrl
