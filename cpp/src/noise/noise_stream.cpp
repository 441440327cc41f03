// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/noise/noise_stream.hpp"

#include <Eigen/Core>
#include <limits>

#include "dpftrl/base/error.hpp"
#include "noise/checkpoint.hpp"
#include "noise/exact/exact_entry.hpp"
#include "noise/increments_form.hpp"
#include "noise/programs/row_maker.hpp"

namespace dpftrl {
namespace {

void require_options(const NoiseStreamOptions& options) {
  require_between("noise_stream", "dimension", options.dimension, 1, kMaxDimension);
  require_between("noise_stream", "first_coordinate", options.first_coordinate, 0,
                  kMaxDimension - options.dimension);
}

noise::ProgramOptions program_options(const NoiseStreamOptions& options, std::int64_t num_rows) {
  return {.key = options.key,
          .dimension = options.dimension,
          .first_coordinate = options.first_coordinate,
          .num_rows = num_rows};
}

DecoderForm form_of(const Strategy& strategy, const NoiseStreamOptions& options) {
  DecoderForm form = strategy.decoder_form();
  if (!options.increments) return form;
  if (std::optional<DecoderForm> own = noise::increments_form(form)) return *std::move(own);
  fail(ErrorCode::unsupported, "noise_stream", "strategy",
       "must be one whose inverse has few bands, for prefix sums, to give increments",
       std::string(strategy.name()));
}

/// Position in a stream, and its size, for checks.
struct Place {
  std::int64_t step;
  std::int64_t steps;
  std::int64_t dimension;
};

void require_rows_left(const Place& place, std::int64_t num_rows) {
  if (num_rows > place.steps - place.step)
    fail(ErrorCode::past_horizon, "noise_stream", "step",
         "must be below the horizon " + to_text(place.steps), to_text(place.step + num_rows - 1));
}

void require_row(const Place& place, std::size_t size) {
  require_length("noise_stream", "row", static_cast<std::int64_t>(size), place.dimension);
  require_rows_left(place, 1);
}

void require_rows(const Place& place, std::size_t size, std::int64_t num_rows) {
  require_between("noise_stream", "num_rows", num_rows, 0, place.steps);
  require_length("noise_stream", "rows", static_cast<std::int64_t>(size),
                 num_rows * place.dimension);
  require_rows_left(place, num_rows);
}

/// Rounds the rows of a window wherever their error bound decides.
class RoundingSink final : public noise::Sink<double> {
 public:
  /// @param least  the scale, and an absolute error to add to the bound of each row.
  RoundingSink(const noise::Window& window, const simd::Rounding& least,
               std::span<std::int64_t> rows)
      : window_(window), least_(least), rows_(rows) {}

  void take(std::int64_t i, std::size_t first, std::span<const double> values) override {
    const std::size_t width = noise::width_of(window_.options());
    std::int64_t* out = rows_.data() + static_cast<std::size_t>(i) * width + first;
    while (!values.empty()) {
      const RowErrorBound bound = error_bound(window_.precision(), window_.bound(i));
      // Rows that share a bound are handled as one row.
      std::size_t count = std::min(width - first, values.size());
      for (++i; count < values.size() && is_same(window_.bound(i), window_.bound(i - 1)); ++i)
        count += width;
      are_all_decided_ &= simd::kernels().round_row(
          {least_.scale, least_.absolute + bound.absolute, bound.relative}, values.data(), count,
          out);
      values = values.subspan(count);
      out += count;
    }
  }

  void expect(std::int64_t i, std::size_t first, std::size_t count) override {
    noise::fetch(
        rows_.data() + static_cast<std::size_t>(i) * noise::width_of(window_.options()) + first,
        count * sizeof(std::int64_t));
  }

  bool are_all_decided() const { return are_all_decided_; }

  static RowErrorBound error_bound(noise::Precision precision, const noise::Bound& bound) {
    // Only the high part of an extended number is output.
    return {bound.error * noise::kSlack, noise::is_extended(precision) ? noise::kUnitRoundoff : 0};
  }

 private:
  static bool is_same(const noise::Bound& a, const noise::Bound& b) { return a.error == b.error; }

  const noise::Window& window_;
  simd::Rounding least_;
  std::span<std::int64_t> rows_;
  bool are_all_decided_ = true;
};

}  // namespace

class NoiseStream::Maker : public noise::RowMaker<double> {
  using RowMaker::RowMaker;
};

NoiseStreamOptions::operator detail::NoiseShard() const {
  return {.key = key, .dimension = dimension, .first_coordinate = first_coordinate};
}

NoiseStream::NoiseStream(const Strategy& strategy, const NoiseStreamOptions& options)
    : steps_(strategy.steps()), options_(options) {
  require_options(options);
  form_ = std::make_unique<const DecoderForm>(form_of(strategy, options));
  const noise::ProgramOptions how = program_options(options, steps_);
  noise::require_form(how, *form_);
  maker_ = std::make_unique<Maker>(how, *form_);
}

NoiseStream::~NoiseStream() = default;
NoiseStream::NoiseStream(NoiseStream&&) noexcept = default;
NoiseStream& NoiseStream::operator=(NoiseStream&&) noexcept = default;

void NoiseStream::seek(std::int64_t step) {
  require_between("noise_stream", "step", step, 0, steps_);
  maker_->seek(step);
  step_ = step;
}

std::array<std::byte, 16> NoiseStream::fingerprint() const {
  detail::Sha256 hash;
  hash.append(steps_);
  hash.append(dimension());
  hash.append(options_.first_coordinate);
  hash.append(static_cast<std::int64_t>(maker_->window().precision()));
  detail::append_form(hash, *form_);
  return detail::shortened(hash.finish());
}

std::int64_t NoiseStream::write_state(std::int64_t step, std::vector<std::byte>& out) {
  return maker_->write_state(step, out);
}

std::vector<std::byte> NoiseStream::checkpoint() {
  std::vector<std::byte> bytes = detail::begin_checkpoint();
  const std::int64_t state_step = write_state(step_, bytes);
  detail::seal_checkpoint({.kind = detail::CheckpointKind::noise_stream,
                           .step = step_,
                           .state_step = state_step,
                           .fingerprint = fingerprint(),
                           .commitment = detail::key_commitment(options_.key)},
                          bytes);
  return bytes;
}

void NoiseStream::restore(std::span<const std::byte> bytes) {
  const detail::CheckpointHeader header =
      detail::open_checkpoint("noise_stream",
                              {.kind = detail::CheckpointKind::noise_stream,
                               .fingerprint = fingerprint(),
                               .commitment = detail::key_commitment(options_.key)},
                              steps_, bytes);
  restore_state(header.state_step, bytes.subspan(detail::kCheckpointHeaderSize), header.step);
}

void NoiseStream::restore_state(std::int64_t state_step, std::span<const std::byte> state,
                                std::int64_t step) {
  maker_->read_state(state_step, state);
  step_ = step;
  maker_->seek(step);
}

void NoiseStream::next(std::span<double> row) {
  require_row({step_, steps_, dimension()}, row.size());
  maker_->seek(step_);
  maker_->next(row);
  ++step_;
}

void NoiseStream::next_rows(std::span<double> rows, std::int64_t num_rows) {
  require_rows({step_, steps_, dimension()}, rows.size(), num_rows);
  maker_->seek(step_);
  maker_->next_rows(rows, num_rows);
  step_ += num_rows;
}

bool NoiseStream::next_rounded(std::span<std::int64_t> rows, std::int64_t num_rows, double scale) {
  require_rows({step_, steps_, dimension()}, rows.size(), num_rows);
  if (!(scale >= 0 && scale <= 0x1p60))
    fail_argument("noise_stream", "scale", "between 0 and 2^60", to_text(scale));
  // Without an error bound, no rounding can be decided.
  const double unknown = options_.exact_only ? std::numeric_limits<double>::infinity() : 0;
  const std::size_t width = static_cast<std::size_t>(dimension());
  maker_->seek(step_);
  // Allocates before drawing: losing a row would shift the noise of every later row.
  std::vector<double> row(maker_->buffered() > 0 ? width : 0);
  bool are_all_decided = true;
  for (std::int64_t done = 0; done < num_rows;) {
    const std::span<std::int64_t> out = rows.subspan(static_cast<std::size_t>(done) * width);
    if (maker_->buffered() > 0) {
      maker_->next_rows(row, 1);
      const RowErrorBound bound = bound_of_row();
      are_all_decided &= simd::kernels().round_row(
          {scale, bound.absolute + unknown, bound.relative}, row.data(), width, out.data());
      ++done;
      continue;
    }
    const std::int64_t count = std::min(num_rows - done, window_size());
    RoundingSink sink(maker_->window(), {scale, unknown, 0}, out);
    maker_->make(count, sink);
    are_all_decided &= sink.are_all_decided();
    done += count;
  }
  step_ += num_rows;
  return are_all_decided;
}

RowErrorBound NoiseStream::row_error_bound() const {
  if (!maker_->has_row())
    fail_argument("noise_stream", "row", "one that was written since the last seek", "none");
  return bound_of_row();
}

RowErrorBound NoiseStream::bound_of_row() const {
  return RoundingSink::error_bound(maker_->window().precision(), maker_->last_bound());
}

std::int64_t NoiseStream::rounded(std::int64_t coordinate, double scale) const {
  return rounded_entry({step_ - 1, coordinate}, scale);
}

std::int64_t NoiseStream::rounded_entry(const Entry& entry, double scale) const {
  require_between("noise_stream", "step", entry.step, step_ > 0 ? 0 : -1, step_ - 1);
  if (step_ > 0)
    if (const auto nearest = rounded_by_refined_row(entry, scale)) return *nearest;
  return exact_rounded_entry(*form_, options_, entry.step, entry.coordinate, scale);
}

/// Computes the entry from refined normals of its coordinate alone, if that is more precise than
/// this stream.
std::optional<NoiseStream::Approximation> NoiseStream::refined_entry(const Entry& entry) const {
  if (options_.exact_only) return std::nullopt;
  const auto* const toeplitz = std::get_if<ToeplitzDecoder>(form_.get());
  const bool is_refined = maker_->window().precision() == noise::Precision::refined;
  if (toeplitz == nullptr && (!noise::adds_up(*form_) || is_refined)) return std::nullopt;
  require_between("noise_stream", "coordinate", entry.coordinate, 0, dimension() - 1);
  NoiseStreamOptions one = options_;
  one.first_coordinate += entry.coordinate;
  one.dimension = 1;
  noise::ProgramOptions how = program_options(one, entry.step + 1);
  how.precision = noise::Precision::refined;
  noise::RefinedEntry refined;
  if (toeplitz != nullptr) {
    refined = noise::refined_entry(how, *toeplitz, entry.step);
  } else {
    Maker maker(how, *form_);
    maker.seek(entry.step);
    maker.next({&refined.value, 1});
    refined.error = maker.last_bound().error;
  }
  return Approximation{refined.value,
                       RoundingSink::error_bound(how.precision, {.error = refined.error})};
}

std::optional<std::int64_t> NoiseStream::rounded_by_refined_row(const Entry& entry,
                                                                double scale) const {
  const std::optional<Approximation> refined = refined_entry(entry);
  if (!refined) return std::nullopt;
  const RowErrorBound& bound = refined->bound;
  std::int64_t nearest = kUndecided;
  simd::kernels().round_row({scale, bound.absolute, bound.relative}, &refined->value, 1, &nearest);
  if (nearest == kUndecided) return std::nullopt;
  return nearest;
}

std::int64_t NoiseStream::window_size() const {
  return maker_->max_window();
}

class FloatNoiseStream::Maker : public noise::RowMaker<float> {
  using RowMaker::RowMaker;
};

FloatNoiseStream::FloatNoiseStream(const Strategy& strategy, const NoiseStreamOptions& options)
    : steps_(strategy.steps()), dimension_(options.dimension) {
  require_options(options);
  form_ = std::make_unique<const DecoderForm>(form_of(strategy, options));
  noise::ProgramOptions how = program_options(options, steps_);
  how.precision = noise::Precision::single;
  how.float_stream = Stream::noise_float;
  noise::require_form(how, *form_);
  maker_ = std::make_unique<Maker>(how, *form_);
}

FloatNoiseStream::~FloatNoiseStream() = default;
FloatNoiseStream::FloatNoiseStream(FloatNoiseStream&&) noexcept = default;
FloatNoiseStream& FloatNoiseStream::operator=(FloatNoiseStream&&) noexcept = default;

void FloatNoiseStream::seek(std::int64_t step) {
  require_between("noise_stream", "step", step, 0, steps_);
  maker_->seek(step);
  step_ = step;
}

void FloatNoiseStream::next(std::span<float> row) {
  require_row({step_, steps_, dimension_}, row.size());
  maker_->seek(step_);
  maker_->next(row);
  ++step_;
}

void FloatNoiseStream::next_rows(std::span<float> rows, std::int64_t num_rows) {
  require_rows({step_, steps_, dimension_}, rows.size(), num_rows);
  maker_->seek(step_);
  maker_->next_rows(rows, num_rows);
  step_ += num_rows;
}

Matrix noise_matrix(const NoiseStreamOptions& options, std::int64_t num_rows) {
  require_options(options);
  require_between("noise_matrix", "num_rows", num_rows, 1, 4 * kMaxDenseSteps);
  const Eigen::Index width = static_cast<Eigen::Index>(options.dimension);
  Matrix matrix(static_cast<Eigen::Index>(num_rows), width);
  for (Eigen::Index row = 0; row < matrix.rows(); ++row)
    noise::fill_measurement(program_options(options, num_rows), row,
                            {matrix.row(row).data(), static_cast<std::size_t>(width)});
  return matrix;
}

}  // namespace dpftrl
