// SPDX-License-Identifier: Apache-2.0
#include "strategy/endless_ar.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <functional>
#include <memory>

#include "dpftrl/base/error.hpp"

namespace dpftrl {
namespace {

/// Parameters for a window, and the sensitivity, which tests/reference/active_endless_oracle.py
/// bounds from above by dynamic programming; here it is rounded up.
struct EndlessRow {
  std::int64_t window;
  std::vector<double> gains;
  std::vector<double> decays;
  double sensitivity;
};

const std::vector<EndlessRow>& endless_rows() {
  static const std::vector<EndlessRow> rows = {
      {1, {0.038}, {0.9505}, 10.421},
      {7, {0.0159, 0.3325}, {0.968, 0}, 8.688},
      {30, {0.0055, 0.459}, {0.9785, 0.266}, 5.9567},
  };
  return rows;
}

/// Covers the rounding of sums of squares, and the terms left out of these sums.
constexpr double kRowRoundUp = 1 + 0x1p-40;
/// Squares below this, of a response that decays by about 1 % per step, are left out.
constexpr double kLeastSquare = 0x1p-60;
/// Enough for every row above.
constexpr std::int64_t kMostRows = 4096;

/// Output and state of C' or of its inverse, which differ in the input of the state.
class Poles {
 public:
  Poles(const std::vector<double>& gains, const std::vector<double>& decays)
      : gains_(gains), decays_(decays), states_(gains.size()) {}

  double feedback() const {
    double sum = 0;
    for (std::size_t i = 0; i < states_.size(); ++i) sum += gains_[i] * states_[i];
    return sum;
  }
  void enter(double input) {
    for (std::size_t i = 0; i < states_.size(); ++i) states_[i] = decays_[i] * states_[i] + input;
  }

 private:
  const std::vector<double>& gains_;
  const std::vector<double>& decays_;
  std::vector<double> states_;
};

}  // namespace

EndlessArStrategy::EndlessArStrategy(std::int64_t steps, std::int64_t window)
    : Strategy(Workload::prefix_sums(require_between(kName, "steps", steps, 1, kMaxNumSteps))) {
  const auto& rows = endless_rows();
  const auto row = std::ranges::find(rows, window, &EndlessRow::window);
  if (row == rows.end()) fail_argument(kName, "windows", "1, 7 or 30", to_text(window));
  sensitivity_ = row->sensitivity;
  gains_ = row->gains;
  decays_ = row->decays;
  Poles poles(gains_, decays_);
  double sum = 0;
  for (std::int64_t t = 0; t < kMostRows; ++t) {
    const double response = (t == 0 ? 1 : 0) + poles.feedback();
    poles.enter(response);
    sum += response * response;
    row_norms_squared_.push_back(sum * kRowRoundUp);
    if (response * response < kLeastSquare) break;
  }
}

double EndlessArStrategy::column_norm_squared(std::int64_t step) const {
  require_step(step);
  // The column is C' applied to a run that lasts to the end.
  Poles poles(gains_, decays_);
  double sum = 0;
  for (std::int64_t t = step; t < steps(); ++t) {
    const double entry = 1 - poles.feedback();
    poles.enter(1);
    sum += entry * entry;
  }
  return sum;
}

double EndlessArStrategy::row_norm_squared(std::int64_t step) const {
  require_step(step);
  const auto last = static_cast<std::int64_t>(row_norms_squared_.size()) - 1;
  return row_norms_squared_[static_cast<std::size_t>(std::min(step, last))];
}

RowNorms EndlessArStrategy::row_norms() const {
  const std::int64_t kept = std::min<std::int64_t>(steps(), std::ssize(row_norms_squared_));
  const double largest = row_norm_squared(steps() - 1);
  double sum = largest * static_cast<double>(steps() - kept);
  for (std::int64_t t = 0; t < kept; ++t) sum += row_norm_squared(t);
  return {.min_squared = row_norm_squared(0),
          .max_squared = largest,
          .mean_squared = sum / static_cast<double>(steps())};
}

Matrix EndlessArStrategy::encoder() const {
  const Eigen::Index n = dense_size();
  Matrix encoder = Matrix::Zero(n, n);
  Poles poles(gains_, decays_);
  for (Eigen::Index lag = 0; lag < n; ++lag) {
    encoder.diagonal(-lag).setConstant(1 - poles.feedback());
    poles.enter(1);
  }
  return encoder;
}

Matrix EndlessArStrategy::decoder() const {
  const Eigen::Index n = dense_size();
  Matrix decoder = Matrix::Zero(n, n);
  Poles poles(gains_, decays_);
  for (Eigen::Index lag = 0; lag < n; ++lag) {
    const double response = (lag == 0 ? 1 : 0) + poles.feedback();
    poles.enter(response);
    decoder.diagonal(-lag).setConstant(response);
  }
  return decoder;
}

DecoderForm EndlessArStrategy::decoder_form() const {
  BufferedDecoder base{.decays = decays_, .weights = gains_};
  std::ranges::transform(base.weights, base.weights.begin(), std::negate());
  // The increments of the rows of `base`.
  return FilteredDecoder{.base = std::make_shared<const DecoderForm>(std::move(base)),
                         .column_scales = {},
                         .workload = Workload::sliding_window({.steps = steps(), .window = 1})};
}

}  // namespace dpftrl
