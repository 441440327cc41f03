// SPDX-License-Identifier: Apache-2.0
#include "strategy/toeplitz/toeplitz_base.hpp"

#include <algorithm>
#include <cmath>

#include "base/double_double.hpp"
#include "base/toeplitz_matrix.hpp"
#include "dpftrl/base/error.hpp"

namespace dpftrl {
namespace {

std::vector<double> sums_of_squares(std::span<const double> values) {
  std::vector<double> sums;
  sums.reserve(values.size());
  DoubleDouble sum;
  for (const double value : values) {
    sum = add(sum, value * value);
    sums.push_back(sum.high);
  }
  return sums;
}

RowNorms norms_of(std::span<const double> squares) {
  DoubleDouble total;
  for (const double row : squares) total = add(total, row);
  return {squares.front(), squares.back(), total.high / static_cast<double>(squares.size())};
}

double l1_norm(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += std::abs(value);
  return sum;
}

}  // namespace

ToeplitzStrategy::ToeplitzStrategy(Workload workload, Parts parts)
    : Strategy(std::move(workload)), parts_(std::move(parts)) {
  column_sums_ = sums_of_squares(parts_.encoder);
  row_sums_ = sums_of_squares(parts_.decoder);
  row_norms_ = norms_of(row_sums());
  const auto kept = static_cast<std::size_t>(std::min(steps(), kMaxDecoderCoefficients));
  if (parts_.decoder.size() > kept) {
    parts_.decoder.resize(kept);
    parts_.decoder.shrink_to_fit();
  }
  has_nonnegative_gram_ =
      std::all_of(parts_.encoder.begin(), parts_.encoder.end(), [](double c) { return c >= 0; });
  for (const double norm : {column_sums_.back(), row_sums().back()})
    if (!std::isfinite(norm))
      fail_argument(name(), "parameters", "such that B and C have finite norms", to_text(norm));
}

const std::vector<double>& ToeplitzStrategy::row_sums() const {
  return row_sums_.empty() ? column_sums_ : row_sums_;
}

std::span<const double> ToeplitzStrategy::toeplitz_decoder() const {
  if (!parts_.decoder.empty()) return parts_.decoder;
  return toeplitz_encoder().first(
      static_cast<std::size_t>(std::min(steps(), kMaxDecoderCoefficients)));
}

double ToeplitzStrategy::column_norm_squared(std::int64_t step) const {
  require_step(step);
  return column_sums_[static_cast<std::size_t>(steps() - 1 - step)];
}

double ToeplitzStrategy::row_norm_squared(std::int64_t step) const {
  require_step(step);
  return row_sums()[static_cast<std::size_t>(step)];
}

Matrix ToeplitzStrategy::encoder() const {
  (void)dense_size();
  return lower_triangular_toeplitz(parts_.encoder);
}

Matrix ToeplitzStrategy::decoder() const {
  (void)dense_size();
  return lower_triangular_toeplitz(toeplitz_decoder());
}

DecoderForm form_for_workload(DecoderForm base, const Workload& workload) {
  if (workload.is_prefix()) return base;
  return FilteredDecoder{.base = std::make_shared<const DecoderForm>(std::move(base)),
                         .column_scales = {},
                         .workload = workload};
}

std::vector<double> solve_workload(const Workload& workload, std::vector<double> sequence) {
  const auto size = static_cast<std::int64_t>(sequence.size());
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  const double decay = workload.decay(), momentum = workload.momentum();
  for (std::int64_t t = size - 1; t > 0; --t) sequence[at(t)] -= decay * sequence[at(t - 1)];
  for (std::int64_t t = size - 1; t > 0; --t) sequence[at(t)] -= momentum * sequence[at(t - 1)];
  if (workload.kind() == Workload::Kind::window)
    for (std::int64_t t = workload.window(); t < size; ++t)
      sequence[at(t)] += sequence[at(t - workload.window())];
  return sequence;
}

double slack_of_rounded_decoder(const Workload& workload, std::span<const double> encoder,
                                std::span<const double> decoder) {
  const std::vector<double> inverse =
      solve_workload(workload, std::vector<double>(encoder.begin(), encoder.end()));
  const double change = l1_norm(inverse) * l1_norm(decoder) * 0x1p-52;
  return change / (1 - change) * (1 + 0x1p-10);
}

}  // namespace dpftrl
