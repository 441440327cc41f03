// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Streams of examples (features, label), addressed by step.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "dpftrl/base/types.hpp"
#include "dpftrl/random/random.hpp"

namespace dpftrl {

/// Example `step` is a pure function of the stream: two learners see the same examples, and any
/// step can be made again.
class ExampleStream {
 public:
  virtual ~ExampleStream() = default;
  virtual std::int64_t dimension() const = 0;
  /// Number of examples, or nothing if the stream does not end.
  virtual std::optional<std::int64_t> num_examples() const = 0;
  /// Writes the features of example `step` (0-based) and returns its label.
  /// @throws Error{wrong_length} features; Error{invalid_argument} step not in the stream.
  virtual double example(std::int64_t step, std::span<double> features) const = 0;
};

/// How the true parameter moves.
enum class StreamKind {
  stationary,    ///< not at all
  drifting,      ///< once round a square in a random plane in `period` steps, scaled to unit length
  switching,     ///< changes sign every `period` / 2 steps; no label noise: every label is the one
                 ///< that what was taught in the interval before gets most wrong
  heavy_tailed,  ///< stationary, but features and linear labels are u^(-1/2) times as long, u
                 ///< uniform in (0, 1): of infinite variance, so that clipping matters
  sparse,        ///< stationary, but about 7 in 8 features are 0, never all of them
};

std::string_view to_string(StreamKind kind);
/// "stationary", "drifting", "switching", "heavy-tailed", "sparse"; anything else throws
/// Error{invalid_argument}.
StreamKind stream_kind_from_string(std::string_view name);

/// How labels follow from the margin m = <true parameter, x>, |m| <= 1.
enum class LabelModel {
  logistic,  ///< +1 with probability 1 / (1 + exp(-signal m)), else -1
  linear,    ///< m + label_noise N(0, 1), clamped to [-1, 1]
};

struct SyntheticStreamOptions {
  StreamKind kind = StreamKind::stationary;
  LabelModel model = LabelModel::logistic;
  std::int64_t dimension = 4;  ///< 1 .. 2^20
  std::uint64_t seed = 1;
  std::int64_t period = 1024;  ///< >= 2; drifting and switching
  double signal = 10;          ///< > 0, at most 100; logistic
  double label_noise = 0.1;    ///< >= 0; linear
};

/// Examples with ||x|| = 1 (a hair below, never above, but for heavy tails), uniform on the sphere
/// or on that of the features that are not 0.
///
/// @exactness  the same bits on every platform: the arithmetic is +, -, *, / and sqrt, and the
///             exponential of the logistic model is a polynomial of its own, not libm's.
/// @checked-by streams_test
class SyntheticStream final : public ExampleStream {
 public:
  /// @throws Error{invalid_argument} an option out of range.
  explicit SyntheticStream(const SyntheticStreamOptions& options);
  std::int64_t dimension() const override { return options_.dimension; }
  std::optional<std::int64_t> num_examples() const override { return std::nullopt; }
  double example(std::int64_t step, std::span<double> features) const override;
  /// The unit vector that the labels at `step` follow (one coordinate of it when dimension is 1).
  Vector true_parameter(std::int64_t step) const;

 private:
  SyntheticStreamOptions options_;
  Key key_;
  Vector direction_;  ///< two orthonormal directions; the second is 0 in dimension 1
  Vector second_;
};

/// Given examples, n x d, with a label each or none at all.
struct Table {
  Matrix features;
  std::optional<Vector> labels;
};

class TableStream final : public ExampleStream {
 public:
  /// @throws Error{invalid_argument} no rows, no columns, or an entry that is not finite (named);
  ///         Error{wrong_length} another number of labels than rows.
  explicit TableStream(Table table);
  std::int64_t dimension() const override { return table_.features.cols(); }
  std::optional<std::int64_t> num_examples() const override { return table_.features.rows(); }
  bool has_labels() const { return table_.labels.has_value(); }
  /// The label is 0 when the table has none.
  double example(std::int64_t step, std::span<double> features) const override;

 private:
  Table table_;
};

}  // namespace dpftrl
