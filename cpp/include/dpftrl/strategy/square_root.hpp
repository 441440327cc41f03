// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "dpftrl/strategy.hpp"

namespace dpftrl {

/// B = C = the lower-triangular Toeplitz matrix of (1-x)^(-1/2), so B C = A (Bennett 1977;
/// Fichtenberger, Henzinger, Upadhyay 2022, arXiv 2202.11205). Best of all Toeplitz factorizations
/// in max error.
class SquareRootStrategy final : public Strategy {
 public:
  static constexpr std::string_view kName = "square-root";
  /// Up to this many steps; the coefficients are kept.
  static constexpr std::int64_t kMaxSteps = std::int64_t{1} << 24;
  explicit SquareRootStrategy(std::int64_t num_steps);

  std::string_view name() const override { return kName; }
  std::int64_t num_measurements() const override { return num_steps(); }
  double column_norm_squared(std::int64_t step) const override;
  double max_column_norm_squared() const override;
  double row_norm_squared(std::int64_t step) const override;
  RowNorms row_norms() const override;
  Matrix encoder() const override;
  Matrix decoder() const override { return encoder(); }
  DecoderForm decoder_form() const override { return ToeplitzDecoder{coefficients_}; }

 private:
  std::vector<double> coefficients_;
  std::vector<double> sums_of_squares_;  ///< S_1 .. S_n
};

}  // namespace dpftrl
