// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/strategy/optimal.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "dpftrl/base/error.hpp"
#include "optimal/realisation.hpp"
#include "optimal/varying_numbers.hpp"

namespace dpftrl {

bool VaryingBufferedStrategy::serves(const Workload& workload) {
  if (workload.momentum() != 0) return false;
  return workload.is_prefix() || workload.kind() == Workload::Kind::rates ||
         workload.kind() == Workload::Kind::momentum;
}

VaryingBufferedStrategy::VaryingBufferedStrategy(Workload workload, Parts parts)
    : Strategy(std::move(workload)), parts_(std::move(parts)), max_column_norm_squared_(0) {
  if (!serves(this->workload()))
    fail(ErrorCode::unsupported, name(), "workload",
         "must be prefix sums, decay or rates without momentum", this->workload().name());
  require_length(name(), "inverse_scales", std::ssize(parts_.numbers->inverse_scales), steps());
  column_norms_squared_ = detail::column_norms_squared(*parts_.numbers);
  if (parts_.column_scales.empty())
    for (const double norm_squared : column_norms_squared_)
      parts_.column_scales.push_back(std::sqrt(norm_squared));
  require_length(name(), "column_scales", std::ssize(parts_.column_scales), steps());
  encoder_slack_ = detail::rounding_of_column_norms(*parts_.numbers, column_norms_squared_);
  std::vector<double> row_scales = parts_.column_scales;
  for (std::size_t j = 0; j < row_scales.size(); ++j) {
    const double scale = require_positive(name(), "column_scales", parts_.column_scales[j]);
    column_norms_squared_[j] /= scale * scale;
    max_column_norm_squared_ = std::max(max_column_norm_squared_, column_norms_squared_[j]);
    if (!this->workload().rates().empty()) row_scales[j] *= this->workload().rates()[j];
  }
  row_variances_ = detail::variances(*parts_.numbers, row_scales, this->workload().decay()).rows;
  for (const double variance : row_variances_)
    if (!(variance > 0 && variance <= 0x1p200)) refuse_numbers();
  if (!(parts_.numbers->max_row_stddev <= 0x1p100 && parts_.numbers->max_state_stddev <= 0x1p100))
    refuse_numbers();
  const detail::NumberRange range = detail::range_of(*parts_.numbers);
  is_nonnegative_ = range.is_nonnegative;
  has_growing_factors_ = range.largest_factor > 1;
}

void VaryingBufferedStrategy::refuse_numbers() const {
  fail(ErrorCode::unsupported, name(), "numbers",
       "must be far enough from cancelling each other for double precision");
}

double VaryingBufferedStrategy::column_norm_squared(std::int64_t step) const {
  require_step(step);
  return column_norms_squared_[static_cast<std::size_t>(step)];
}

double VaryingBufferedStrategy::row_norm_squared(std::int64_t step) const {
  require_step(step);
  return row_variances_[static_cast<std::size_t>(step)];
}

std::vector<double> VaryingBufferedStrategy::epoch_norms_squared(std::int64_t separation) const {
  if (!is_nonnegative_) return {};
  return detail::epoch_norms_squared(*parts_.numbers, parts_.column_scales, separation);
}

std::vector<double> VaryingBufferedStrategy::later_products(std::int64_t lag) const {
  if (!is_nonnegative_ || has_growing_factors_) return {};
  std::call_once(are_products_made_, [this] {
    largest_products_ = detail::largest_products(*parts_.numbers, parts_.column_scales);
  });
  return detail::later_products(*parts_.numbers, parts_.column_scales, largest_products_, lag);
}

RowNorms VaryingBufferedStrategy::row_norms() const {
  const auto [low, high] = std::ranges::minmax(row_variances_);
  double total = 0;
  for (const double variance : row_variances_) total += variance;
  return {low, high, total / static_cast<double>(steps())};
}

Matrix VaryingBufferedStrategy::encoder() const {
  detail::VaryingReader reader(numbers());
  const Eigen::Index n = dense_size(), q = static_cast<Eigen::Index>(reader.buffers());
  const auto gains = [&](Eigen::Index step) {
    return Eigen::Map<const Vector>(reader.gains(static_cast<std::size_t>(step)), q);
  };
  const auto factors = [&](Eigen::Index step) {
    return Eigen::Map<const Vector>(reader.factors(static_cast<std::size_t>(step)), q);
  };
  Matrix encoder = Matrix::Zero(n, n);
  for (Eigen::Index j = 0; j < n; ++j) {
    const double scale = parts_.column_scales[static_cast<std::size_t>(j)];
    Vector product = factors(j);
    encoder(j, j) = 1 / (reader.inverse_scale(static_cast<std::size_t>(j)) * scale);
    for (Eigen::Index i = j + 1; i < n; ++i) {
      const double c = 1 / reader.inverse_scale(static_cast<std::size_t>(i));
      encoder(i, j) = c * gains(i).dot(product) / scale;
      product.array() *= factors(i).array();
    }
  }
  return encoder;
}

Matrix VaryingBufferedStrategy::decoder() const {
  const Matrix workload_matrix = workload().matrix();
  return encoder()
      .triangularView<Eigen::Lower>()
      .transpose()
      .solve(workload_matrix.transpose())
      .transpose();
}

DecoderForm VaryingBufferedStrategy::decoder_form() const {
  return FilteredDecoder{
      .base = std::make_shared<const DecoderForm>(VaryingBufferedDecoder{parts_.numbers}),
      .column_scales = parts_.column_scales,
      .workload = workload()};
}

}  // namespace dpftrl
