// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/noise_stream.hpp"

#include "dpftrl/error.hpp"
#include "exact_entry.hpp"
#include "noise/kernel.hpp"

namespace dpftrl {
namespace {

void require_options(const NoiseStreamOptions& options) {
  require_between("noise_stream", "dimension", options.dimension, 1, kMaxDimension);
  require_between("noise_stream", "first_coordinate", options.first_coordinate, 0,
                  kMaxDimension - options.dimension);
}

noise::KernelOptions kernel_options(const NoiseStreamOptions& options, std::int64_t num_rows) {
  return {.key = options.key,
          .dimension = options.dimension,
          .first_coordinate = options.first_coordinate,
          .num_rows = num_rows};
}

}  // namespace

NoiseStream::NoiseStream(const Strategy& strategy, const NoiseStreamOptions& options)
    : num_steps_(strategy.num_steps()), options_(options) {
  require_options(options);
  form_ = std::make_unique<const DecoderForm>(strategy.decoder_form());
  const noise::KernelOptions how = kernel_options(options, num_steps_);
  noise::require_form(how, *form_);
  kernel_ = noise::make_kernel(how, *form_);
}

NoiseStream::~NoiseStream() = default;
NoiseStream::NoiseStream(NoiseStream&&) noexcept = default;
NoiseStream& NoiseStream::operator=(NoiseStream&&) noexcept = default;

void NoiseStream::next(std::span<double> row) {
  require_length("noise_stream", "row", static_cast<std::int64_t>(row.size()), dimension());
  if (step_ >= num_steps_)
    fail(ErrorCode::past_horizon, "noise_stream: step must be below the horizon " +
                                      to_text(num_steps_) + ", got " + to_text(step_));
  kernel_->write_row(step_, row);
  ++step_;
}

RowErrorBound NoiseStream::row_error_bound() const {
  return kernel_->error_bound();
}

std::int64_t NoiseStream::rounded(std::int64_t coordinate, double scale) const {
  return exact_rounded_entry(*form_, options_, step_ - 1, coordinate, scale);
}

Matrix noise_matrix(const NoiseStreamOptions& options, std::int64_t num_rows) {
  require_options(options);
  require_between("noise_matrix", "num_rows", num_rows, 1, 4 * kMaxDenseSteps);
  const Eigen::Index width = static_cast<Eigen::Index>(options.dimension);
  Matrix matrix(static_cast<Eigen::Index>(num_rows), width);
  for (Eigen::Index row = 0; row < matrix.rows(); ++row)
    noise::fill_measurement(kernel_options(options, num_rows), row,
                            {matrix.row(row).data(), static_cast<std::size_t>(width)});
  return matrix;
}

}  // namespace dpftrl
