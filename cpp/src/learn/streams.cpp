// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/simulation.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "base/span_of.hpp"
#include "dpftrl/base/error.hpp"
#include "random/gaussian.hpp"

namespace dpftrl {
namespace {

// Uses plain loops and no libm function but sqrt, so that examples are the same on every platform.

/// Row of the synthetic stream's random numbers reserved for the parameter.
constexpr std::uint64_t kParameterRow = kMaxRows - 1;
/// Block of a step's row reserved for the label of the logistic model.
constexpr std::uint32_t kLabelBlock = 0xFFFFFFFF;
/// Covers the rounding of the scaling, so that no feature vector is longer than 1.
constexpr double kStreamNorm = 1 - 0x1p-30;

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void scale_to_norm(std::span<double> v, double target) {
  const double norm = std::sqrt(dot(v, v));
  if (norm > 0)
    for (double& x : v) x = x / norm * target;
}

/// exp(-x) for 0 <= x <= 100, to about 1e-13, from a Taylor series at x / 256, squared eight times.
double exp_of_minus(double x) {
  const double step = -x / 256;
  double sum = 1;
  for (int k = 14; k >= 1; --k) sum = 1 + sum * step / k;
  for (int i = 0; i < 8; ++i) sum *= sum;
  return sum;
}

double logistic(double x) {
  const double small = exp_of_minus(std::abs(x));
  return x >= 0 ? 1 / (1 + small) : small / (1 + small);
}

/// Keeps about one feature in 8, chosen by bits that no normal uses; if none is left, one chosen by
/// the row is set to 1.
void thin_out(const Key& key, std::uint64_t row, std::span<double> features) {
  bool any = false;
  std::array<std::uint32_t, kWordsPerBlock> bits = {};
  for (std::size_t i = 0; i < features.size(); ++i) {
    const std::size_t word = i % kWordsPerBlock;
    const std::uint32_t block = kLabelBlock - 1 - static_cast<std::uint32_t>(i / kWordsPerBlock);
    if (word == 0)
      bits = random_block(key, {.stream = Stream::synthetic_data, .row = row, .block = block});
    if (bits[word] % 8 == 0) {
      any = true;
    } else {
      features[i] = 0;
    }
  }
  if (!any) features[static_cast<std::size_t>(row % features.size())] = 1;
}

/// Coordinates of the true parameter in the plane of `direction_` and `second_`.
std::array<double, 2> position(const SyntheticStreamOptions& options, std::int64_t step) {
  if (options.kind == StreamKind::switching)
    return {step / (options.period / 2) % 2 == 0 ? 1.0 : -1.0, 0};
  if (options.kind != StreamKind::drifting) return {1, 0};
  const std::int64_t quarters = 4 * (step % options.period);
  const std::int64_t side = quarters / options.period;
  const double along =
      static_cast<double>(quarters % options.period) / static_cast<double>(options.period);
  const std::array<std::array<double, 2>, 4> corners = {{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}};
  const std::array<double, 2>& from = corners[static_cast<std::size_t>(side)];
  const std::array<double, 2>& to = corners[static_cast<std::size_t>((side + 1) % 4)];
  const double a = (1 - along) * from[0] + along * to[0];
  const double b = (1 - along) * from[1] + along * to[1];
  const double norm = std::sqrt(a * a + b * b);
  return {a / norm, b / norm};
}

}  // namespace

std::string_view to_string(StreamKind kind) {
  switch (kind) {
    case StreamKind::stationary:
      return "stationary";
    case StreamKind::drifting:
      return "drifting";
    case StreamKind::switching:
      return "switching";
    case StreamKind::heavy_tailed:
      return "heavy-tailed";
    case StreamKind::sparse:
      return "sparse";
  }
  return "unknown";
}

StreamKind stream_kind_from_string(std::string_view name) {
  for (const StreamKind kind : {StreamKind::stationary, StreamKind::drifting, StreamKind::switching,
                                StreamKind::heavy_tailed, StreamKind::sparse})
    if (to_string(kind) == name) return kind;
  fail_argument("stream_kind", "stream",
                "one of stationary, drifting, switching, heavy-tailed, sparse",
                "\"" + std::string(name) + "\"");
}

SyntheticStream::SyntheticStream(const SyntheticStreamOptions& options)
    : options_(options), key_(Key::insecure_from_seed(options.seed)) {
  require_between("synthetic_stream", "dimension", options.dimension, 1, std::int64_t{1} << 20);
  require_between("synthetic_stream", "period", options.period, 2, kMaxNumSteps);
  if (!(options.signal > 0 && options.signal <= 100))
    fail_argument("synthetic_stream", "signal", "positive and at most 100",
                  to_text(options.signal));
  require_non_negative("synthetic_stream", "label_noise", options.label_noise);
  const Eigen::Index dimension = static_cast<Eigen::Index>(options.dimension);
  Vector normals(2 * dimension);
  fill_normals(key_, Stream::synthetic_data, kParameterRow, 0, detail::span_of(normals));
  direction_ = normals.head(dimension);
  second_ = normals.tail(dimension);
  scale_to_norm(detail::span_of(direction_), 1);
  if (dimension == 1) {
    second_.setZero();
    return;
  }
  const double common = dot(detail::span_of(direction_), detail::span_of(second_));
  for (Eigen::Index i = 0; i < dimension; ++i) second_(i) -= common * direction_(i);
  scale_to_norm(detail::span_of(second_), 1);
}

double SyntheticStream::example(std::int64_t step, std::span<double> features) const {
  require_between("synthetic_stream", "step", step, 0, kMaxNumSteps - 1);
  require_length("synthetic_stream", "features", static_cast<std::int64_t>(features.size()),
                 options_.dimension);
  const std::uint64_t row = static_cast<std::uint64_t>(step);
  fill_normals(key_, Stream::synthetic_data, row, 0, features);
  if (options_.kind == StreamKind::sparse) thin_out(key_, row, features);
  scale_to_norm(features, kStreamNorm);
  const std::array<std::uint32_t, kWordsPerBlock> bits =
      random_block(key_, {.stream = Stream::synthetic_data, .row = row, .block = kLabelBlock});
  const double length =
      options_.kind == StreamKind::heavy_tailed ? 1 / std::sqrt(unit_interval(bits[1])) : 1;
  const std::array<double, 2> at = position(options_, step);
  const double margin = at[0] * dot(detail::span_of(direction_), features) +
                        at[1] * dot(detail::span_of(second_), features);
  for (double& x : features) x *= length;
  if (options_.kind == StreamKind::switching) return margin >= 0 ? 1 : -1;
  if (options_.model == LabelModel::linear) {
    double noise = 0;
    fill_normals(key_, Stream::synthetic_data, row, static_cast<std::uint64_t>(options_.dimension),
                 {&noise, 1});
    return length * std::clamp(margin + options_.label_noise * noise, -1.0, 1.0);
  }
  return unit_interval(bits[0]) < logistic(options_.signal * margin) ? 1 : -1;
}

Vector SyntheticStream::true_parameter(std::int64_t step) const {
  require_between("synthetic_stream", "step", step, 0, kMaxNumSteps - 1);
  const std::array<double, 2> at = position(options_, step);
  return at[0] * direction_ + at[1] * second_;
}

TableStream::TableStream(Table table) : table_(std::move(table)) {
  const Matrix& features = table_.features;
  if (features.rows() < 1) fail_argument("table", "features", "of at least 1 row", "0");
  if (features.cols() < 1) fail_argument("table", "features", "of at least 1 column", "0");
  for (Eigen::Index row = 0; row < features.rows(); ++row)
    for (Eigen::Index column = 0; column < features.cols(); ++column)
      require_finite("table",
                     "features[" + std::to_string(row) + "][" + std::to_string(column) + "]",
                     features(row, column));
  if (!table_.labels) return;
  require_length("table", "labels", table_.labels->size(), features.rows());
  require_all_finite("table", "labels", detail::span_of(std::as_const(*table_.labels)));
}

double TableStream::example(std::int64_t step, std::span<double> features) const {
  require_between("table", "step", step, 0, table_.features.rows() - 1);
  require_length("table", "features", static_cast<std::int64_t>(features.size()), dimension());
  const Eigen::Index row = static_cast<Eigen::Index>(step);
  for (std::size_t i = 0; i < features.size(); ++i)
    features[i] = table_.features(row, static_cast<Eigen::Index>(i));
  return table_.labels ? (*table_.labels)(row) : 0;
}

}  // namespace dpftrl
