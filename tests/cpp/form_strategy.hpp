// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <utility>

#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl::testing {

/// Strategy that consists only of a decoder form.
class FormStrategy final : public Strategy {
 public:
  FormStrategy(DecoderForm form, std::int64_t steps)
      : Strategy(Workload::prefix_sums(steps)), form_(std::move(form)) {}

  std::string_view name() const override { return "form"; }
  std::int64_t num_measurements() const override { return 0; }
  double column_norm_squared(std::int64_t) const override { return 0; }
  double max_column_norm_squared() const override { return 0; }
  double row_norm_squared(std::int64_t) const override { return 0; }
  RowNorms row_norms() const override { return {}; }
  Matrix encoder() const override { return {}; }
  Matrix decoder() const override { return {}; }
  DecoderForm decoder_form() const override { return form_; }

 private:
  DecoderForm form_;
};

}  // namespace dpftrl::testing
