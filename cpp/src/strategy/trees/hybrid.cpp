// SPDX-License-Identifier: Apache-2.0
#include "strategy/trees/hybrid.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "dpftrl/base/error.hpp"
#include "strategy/family_row.hpp"

namespace dpftrl {
namespace {

/// Scale of the rows of `haar` and of a total, sqrt(2).
double scale() {
  return std::sqrt(2.0);
}

/// Block b begins at step 2^b - 1 and has 2^b steps.
std::int64_t first_step(std::size_t block) {
  return (std::int64_t{1} << block) - 1;
}

std::size_t block_of(std::int64_t step) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(step + 1))) - 1;
}

}  // namespace

HybridStrategy::HybridStrategy(std::int64_t num_steps)
    : Strategy(Workload::prefix_sums(num_steps)) {
  for (std::size_t b = 0; b <= block_of(num_steps - 1); ++b)
    blocks_.emplace_back(std::int64_t{1} << b);
}

std::int64_t HybridStrategy::block_length(std::size_t block) const {
  return std::min(std::int64_t{1} << block, num_steps() - first_step(block));
}

std::int64_t HybridStrategy::num_measurements() const {
  std::int64_t count = 0;
  for (const HaarStrategy& block : blocks_) count += block.num_measurements() + 1;
  return count;
}

double HybridStrategy::block_column_norm_squared(std::size_t block) const {
  return (blocks_[block].max_column_norm_squared() + 1) / (scale() * scale());
}

double HybridStrategy::column_norm_squared(std::int64_t step) const {
  require_step(step);
  return block_column_norm_squared(block_of(step));
}

double HybridStrategy::max_column_norm_squared() const {
  double largest = 0;
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    largest = std::max(largest, block_column_norm_squared(b));
  return largest;
}

double HybridStrategy::row_norm_squared(std::int64_t step) const {
  require_step(step);
  const std::size_t block = block_of(step);
  const double inside = blocks_[block].row_norm_squared(step - first_step(block));
  return scale() * scale() * (static_cast<double>(block) + inside);
}

RowNorms HybridStrategy::row_norms() const {
  RowNorms norms = {.min_squared = row_norm_squared(0), .max_squared = 0, .mean_squared = 0};
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const RowNorms inside = blocks_[b].leading_row_norms(block_length(b));
    const double before = static_cast<double>(b);
    norms.min_squared =
        std::min(norms.min_squared, scale() * scale() * (before + inside.min_squared));
    norms.max_squared =
        std::max(norms.max_squared, scale() * scale() * (before + inside.max_squared));
    norms.mean_squared += scale() * scale() * (before + inside.mean_squared) *
                          (static_cast<double>(block_length(b)) / static_cast<double>(num_steps()));
  }
  return norms;
}

Matrix HybridStrategy::encoder() const {
  (void)dense_size();
  Matrix encoder = Matrix::Zero(static_cast<Eigen::Index>(num_measurements()), dense_size());
  Eigen::Index row = 0;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const Matrix inside = blocks_[b].encoder() / scale();
    const Eigen::Index first = static_cast<Eigen::Index>(first_step(b));
    const Eigen::Index length = static_cast<Eigen::Index>(block_length(b));
    encoder.block(row, first, inside.rows(), length) = inside.leftCols(length);
    row += inside.rows();
    encoder.row(row++).segment(first, length).setConstant(1 / scale());
  }
  return encoder;
}

Matrix HybridStrategy::decoder() const {
  Matrix decoder = Matrix::Zero(dense_size(), static_cast<Eigen::Index>(num_measurements()));
  Eigen::Index column = 0;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const Matrix inside = scale() * blocks_[b].decoder();
    const Eigen::Index first = static_cast<Eigen::Index>(first_step(b));
    const Eigen::Index length = static_cast<Eigen::Index>(block_length(b));
    decoder.block(first, column, length, inside.cols()) = inside.topRows(length);
    column += inside.cols();
    decoder.col(column++).tail(decoder.rows() - first - length).setConstant(scale());
  }
  return decoder;
}

DecoderForm HybridStrategy::decoder_form() const {
  BlockDecoder form;
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    form.blocks.push_back({.num_steps = block_length(b),
                           .form = std::make_shared<const DecoderForm>(blocks_[b].decoder_form()),
                           .num_measurements = blocks_[b].num_measurements(),
                           .scale = scale(),
                           .total_scale = scale()});
  return form;
}

FamilyRow hybrid_family() {
  return row_of_tree<HybridStrategy>(
      "unknown horizon: blocks of doubling length, each with `haar` inside", /*is_causal=*/false);
}

}  // namespace dpftrl
