// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dpftrl/strategy.hpp"

namespace dpftrl {

/// Output perturbation: C = A, B = I. Independent noise on every prefix sum; the first record
/// enters all of them, so the sensitivity is sqrt(num_steps).
class OutputStrategy final : public Strategy {
 public:
  static constexpr std::string_view kName = "output";
  explicit OutputStrategy(std::int64_t num_steps) : Strategy(num_steps) {}

  std::string_view name() const override { return kName; }
  std::int64_t num_measurements() const override { return num_steps(); }
  double column_norm_squared(std::int64_t step) const override;
  double max_column_norm_squared() const override;
  double row_norm_squared(std::int64_t step) const override;
  RowNorms row_norms() const override { return {1, 1, 1}; }
  Matrix encoder() const override;
  Matrix decoder() const override;
  DecoderForm decoder_form() const override { return IdentityDecoder{}; }
};

}  // namespace dpftrl
