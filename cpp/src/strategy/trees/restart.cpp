// SPDX-License-Identifier: Apache-2.0
#include "strategy/trees/restart.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <bit>

#include "dpftrl/base/error.hpp"

namespace dpftrl {
namespace {

constexpr std::int64_t kMaxRows = std::int64_t{1} << 26;

std::int64_t horizon_of_epoch(std::int64_t epoch_length, bool is_completed) {
  if (!is_completed) return epoch_length;
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(epoch_length)));
}

}  // namespace

RestartStrategy::RestartStrategy(const Options& options)
    : Strategy(Workload::prefix_sums(options.steps)),
      epoch_length_(require_between(kName, "epoch_length", options.epoch_length, 1, options.steps)),
      epoch_(options.epoch_strategy) {
  const std::string base(epoch_->name());
  if (!epoch_->workload().is_prefix())
    fail(ErrorCode::unsupported, "restart", "epoch_strategy", "must be one for prefix sums",
         epoch_->workload().name());
  if (options.complete_epochs && !std::holds_alternative<DyadicColumns>(epoch_->columns()))
    fail_argument(kName, "complete_epochs", "false for all but tree and honaker",
                  "true for " + base);
  const std::int64_t horizon = horizon_of_epoch(epoch_length_, options.complete_epochs);
  if (epoch_->steps() != horizon)
    fail_argument(kName, "epoch_strategy", "for " + to_text(horizon) + " steps",
                  to_text(epoch_->steps()));
  if (epochs() > kMaxEpochs)
    fail(ErrorCode::unsupported, "restart", "epoch_length",
         "must be such that there are at most " + to_text(kMaxEpochs) + " epochs",
         to_text(epochs()));
  name_ = base + ", restarted every " + to_text(epoch_length_) + " steps" +
          (options.complete_epochs ? ", completed" : "");
}

std::shared_ptr<const Strategy> RestartStrategy::make(
    const StrategyOptions& options,
    std::shared_ptr<const Strategy> (*make_epoch)(const StrategyOptions&)) {
  const StrategyParameters& given = options.parameters;
  // Checked before it is used.
  require_between(kName, "steps", options.steps, 1, kMaxNumSteps);
  const std::int64_t epoch_length =
      require_between(kName, "epoch_length", given.epoch_length.value_or(0), 1, options.steps);
  StrategyOptions epoch = options;
  epoch.steps = horizon_of_epoch(epoch_length, given.complete_epochs);
  epoch.workload.reset();
  epoch.parameters.epoch_length.reset();
  epoch.parameters.complete_epochs = false;
  return std::make_shared<const RestartStrategy>(Options{.steps = options.steps,
                                                         .epoch_length = epoch_length,
                                                         .complete_epochs = given.complete_epochs,
                                                         .epoch_strategy = make_epoch(epoch)});
}

std::int64_t RestartStrategy::num_measurements() const {
  return epochs() * epoch_->num_measurements();
}

double RestartStrategy::column_norm_squared(std::int64_t step) const {
  require_step(step);
  return epoch_->column_norm_squared(step % epoch_length_);
}

double RestartStrategy::max_column_norm_squared() const {
  // Every column of a completed tree has the same norm.
  return epoch_->max_column_norm_squared();
}

double RestartStrategy::row_norm_squared(std::int64_t step) const {
  require_step(step);
  return static_cast<double>(step / epoch_length_) * epoch_->row_norm_squared(closing_row()) +
         epoch_->row_norm_squared(step % epoch_length_);
}

RowNorms RestartStrategy::epoch_row_norms(std::int64_t num_rows) const {
  if (num_rows == epoch_->steps()) return epoch_->row_norms();
  if (num_rows > kMaxRows)
    fail(ErrorCode::unsupported, name_, "epoch_length",
         "must divide {steps}, or be at most " + to_text(kMaxRows), to_text(epoch_length_));
  RowNorms norms = {
      .min_squared = epoch_->row_norm_squared(0), .max_squared = 0, .mean_squared = 0};
  for (std::int64_t step = 0; step < num_rows; ++step) {
    const double row = epoch_->row_norm_squared(step);
    norms.min_squared = std::min(norms.min_squared, row);
    norms.max_squared = std::max(norms.max_squared, row);
    norms.mean_squared += row;
  }
  norms.mean_squared /= static_cast<double>(num_rows);
  return norms;
}

// Squared row norms of epoch i exceed those of the first epoch by i times the squared norm of the
// closing row.
RowNorms RestartStrategy::row_norms() const {
  const double closing = epoch_->row_norm_squared(closing_row());
  const std::int64_t num_whole = steps() / epoch_length_;
  const std::int64_t rest = steps() % epoch_length_;
  const double whole = static_cast<double>(num_whole);
  const RowNorms inside = epoch_row_norms(epoch_length_);
  RowNorms norms = {.min_squared = inside.min_squared,
                    .max_squared = (whole - 1) * closing + inside.max_squared,
                    .mean_squared = (whole - 1) / 2 * closing + inside.mean_squared};
  if (rest == 0) return norms;
  const RowNorms last = epoch_row_norms(rest);
  norms.max_squared = std::max(norms.max_squared, whole * closing + last.max_squared);
  norms.mean_squared += (whole * closing + last.mean_squared - norms.mean_squared) *
                        (static_cast<double>(rest) / static_cast<double>(steps()));
  return norms;
}

Matrix RestartStrategy::encoder() const {
  const Eigen::Index columns = dense_size();
  const Eigen::Index length = static_cast<Eigen::Index>(epoch_length_);
  const Matrix inside = epoch_->encoder();
  Matrix encoder = Matrix::Zero(static_cast<Eigen::Index>(num_measurements()), columns);
  Eigen::Index row = 0;
  for (Eigen::Index first = 0; first < columns; first += length, row += inside.rows()) {
    const Eigen::Index width = std::min(length, columns - first);
    encoder.block(row, first, inside.rows(), width) = inside.leftCols(width);
  }
  return encoder;
}

Matrix RestartStrategy::decoder() const {
  const Eigen::Index rows = dense_size();
  const Eigen::Index length = static_cast<Eigen::Index>(epoch_length_);
  const Matrix inside = epoch_->decoder();
  Matrix decoder = Matrix::Zero(rows, static_cast<Eigen::Index>(num_measurements()));
  Eigen::Index column = 0;
  for (Eigen::Index first = 0; first < rows; first += length, column += inside.cols()) {
    const Eigen::Index height = std::min(length, rows - first);
    decoder.block(first, column, height, inside.cols()) = inside.topRows(height);
    for (Eigen::Index step = first + height; step < rows; ++step)
      decoder.row(step).segment(column, inside.cols()) = inside.bottomRows(1);
  }
  return decoder;
}

std::vector<PlanNumbers> RestartStrategy::parameters() const {
  std::vector<PlanNumbers> all = epoch_->parameters();
  all.push_back({"epoch_length", {static_cast<double>(epoch_length_)}});
  return all;
}

DecoderForm RestartStrategy::decoder_form() const {
  const std::shared_ptr<const DecoderForm> inside =
      std::make_shared<const DecoderForm>(epoch_->decoder_form());
  BlockDecoder form;
  for (std::int64_t first = 0; first < steps(); first += epoch_length_)
    form.blocks.push_back({.steps = std::min(epoch_length_, steps() - first),
                           .form = inside,
                           .num_measurements = epoch_->num_measurements(),
                           .closing_row = closing_row()});
  return form;
}

}  // namespace dpftrl
