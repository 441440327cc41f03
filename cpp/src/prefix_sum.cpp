// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/prefix_sum.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "checkpoint.hpp"
#include "double_double.hpp"
#include "dpftrl/error.hpp"

namespace dpftrl {
namespace {

/// One record spans at most 2^31 grid points, so that squared norms fit 62 bits.
constexpr double kMaxNormInGrids = 0x1p31;
constexpr double kMaxSumInGrids = 0x1p62;
/// Beyond this many grids a double row has no fractional bits left to round.
constexpr double kMaxNoiseInGrids = 0x1p40;
/// Up to here every release is finite.
constexpr double kMaxGrid = 0x1p900;
/// The default grid is not made finer than this part of the noise: the finer it is, the more
/// entries need the slow way of rounding.
constexpr double kFinestOfNoise = 0x1p-20;
/// Below this, products of the noise std could underflow.
constexpr double kMinNoise = 0x1p-900;

double power_of_two_at_most(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);  // value = m 2^exponent, 1/2 <= m < 1
  return std::ldexp(1.0, exponent - 1);
}

bool is_power_of_two(double value) {
  int exponent = 0;
  return value > 0 && std::isnormal(value) && std::frexp(value, &exponent) == 0.5;
}

/// Largest integer at most x^2, exactly.
std::int64_t floor_of_square(double x) {
  const DoubleDouble square = two_product(x, x);
  const double whole = std::floor(square.high);
  // Where the high part has a fraction, the low part is too small to reach an integer.
  const double rest = whole == square.high ? std::floor(square.low) : 0;
  return static_cast<std::int64_t>(whole) + static_cast<std::int64_t>(rest);
}

std::shared_ptr<const Mechanism> require_given(std::shared_ptr<const Mechanism> mechanism) {
  if (!mechanism) fail(ErrorCode::invalid_argument, "prefix_sum: mechanism must be given");
  const Workload& workload = mechanism->strategy().workload();
  // The sums below are running totals: with another decoder they would be neither those nor A G.
  if (!workload.is_prefix())
    fail_argument("prefix_sum", "workload", "prefix", "\"" + workload.name() + "\"");
  return mechanism;
}

}  // namespace

double default_grid(const Mechanism& mechanism, std::int64_t dimension) {
  require_between("default_grid", "dimension", dimension, 1, kMaxDimension);
  const RowNorms rows = mechanism.strategy().row_norms();
  const double num_steps = static_cast<double>(mechanism.num_steps());
  const double smallest = mechanism.noise_stddev() * std::sqrt(rows.min_squared);
  const double typical = mechanism.noise_stddev() * std::sqrt(rows.mean_squared);
  const double resolution = mechanism.clip_norm() / std::sqrt(static_cast<double>(dimension));
  // Truncation takes up to one grid from every record: n of them shall stay below typical / 4.
  const double horizon = typical * std::max(1 / (4 * num_steps), kFinestOfNoise);
  const double wanted = std::min({1.0, smallest / 64, resolution / 64, horizon});
  const double finest = std::max(
      {mechanism.clip_norm() / kMaxNormInGrids, mechanism.clip_norm() * num_steps / kMaxSumInGrids,
       mechanism.noise_stddev() * std::sqrt(rows.max_squared) / kMaxNoiseInGrids});
  return std::max(power_of_two_at_most(wanted), 2 * power_of_two_at_most(finest));
}

void clip_to_norm(std::span<double> record, double clip_norm) {
  require_positive("clip_to_norm", "clip_norm", clip_norm);
  require_all_finite("clip_to_norm", "record", record);
  double largest = 0;
  for (const double x : record) largest = std::max(largest, std::abs(x));
  if (largest == 0) return;
  double sum = 0;
  for (const double x : record) sum += (x / largest) * (x / largest);
  const double ratio = std::sqrt(sum);  // norm / largest; the norm itself may overflow
  if (largest * ratio <= clip_norm) return;
  for (double& x : record) x = x / largest / ratio * clip_norm;
}

PrefixSum::PrefixSum(std::shared_ptr<const Mechanism> mechanism, const PrefixSumOptions& options)
    : mechanism_(require_given(std::move(mechanism))),
      commitment_(detail::key_commitment(options.key)),
      noise_(
          mechanism_->strategy(),
          {.key = options.key, .dimension = options.dimension, .exact_only = options.exact_only}) {
  if (!(mechanism_->noise_stddev() >= kMinNoise))
    fail_argument("prefix_sum", "noise_stddev", "at least 2^-900",
                  to_text(mechanism_->noise_stddev()));
  grid_ = options.grid ? *options.grid : default_grid(*mechanism_, options.dimension);
  if (!is_power_of_two(grid_))
    fail_argument("prefix_sum", "grid", "a power of two", to_text(grid_));
  const double clip_in_grids = mechanism_->clip_norm() / grid_;
  noise_scale_ = mechanism_->noise_stddev() / grid_;
  if (!(grid_ <= kMaxGrid)) fail_argument("prefix_sum", "grid", "at most 2^900", to_text(grid_));
  if (!options.grid && !(clip_in_grids >= 1))
    fail_argument("prefix_sum", "clip_norm", "at least 2^-40 of the largest release std",
                  to_text(mechanism_->clip_norm()));
  const double num_steps = static_cast<double>(mechanism_->num_steps());
  const double largest_row = std::sqrt(mechanism_->strategy().row_norms().max_squared);
  if (!(clip_in_grids >= 1))
    fail_argument("prefix_sum", "grid", "at most clip_norm = " + to_text(mechanism_->clip_norm()),
                  to_text(grid_));
  if (!(noise_scale_ >= kMinNoise))
    fail_argument("prefix_sum", "grid", "at most 2^900 noise stds", to_text(grid_));
  if (!(clip_in_grids <= kMaxNormInGrids) || !(clip_in_grids * num_steps <= kMaxSumInGrids) ||
      !(noise_scale_ * largest_row <= kMaxNoiseInGrids))
    fail_argument("prefix_sum", "grid",
                  "coarse enough that a record spans at most 2^31 grids, the sums 2^62 and the "
                  "noise std 2^40",
                  to_text(grid_));
  max_norm_squared_ = floor_of_square(clip_in_grids);
  max_contributions_ =
      std::max(mechanism_->num_steps(), static_cast<std::int64_t>(kMaxSumInGrids / clip_in_grids));
  const std::size_t dimension = static_cast<std::size_t>(options.dimension);
  sums_.assign(dimension, 0);
  quantised_.assign(dimension, 0);
  scratch_.assign(dimension, 0);
}

void PrefixSum::release(std::span<const double> record, std::span<double> noisy) {
  require_length("prefix_sum", "record", static_cast<std::int64_t>(record.size()), dimension());
  require_length("prefix_sum", "noisy", static_cast<std::int64_t>(noisy.size()), dimension());
  require_left(1);
  require_room(1);
  quantise(record);
  end_step(noisy);
  ++num_contributions_;
}

void PrefixSum::contribute(std::span<const double> contribution) {
  require_length("prefix_sum", "contribution", static_cast<std::int64_t>(contribution.size()),
                 dimension());
  require_left(1);
  require_room(1);
  quantise(contribution);
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += quantised_[i];
  ++num_contributions_;
}

void PrefixSum::release(std::span<double> noisy) {
  require_length("prefix_sum", "noisy", static_cast<std::int64_t>(noisy.size()), dimension());
  require_left(1);
  std::ranges::fill(quantised_, 0);
  end_step(noisy);
}

void PrefixSum::require_room(std::int64_t num_records) const {
  if (num_records > max_contributions_ - num_contributions_)
    fail(ErrorCode::resource_exhausted, "prefix_sum: the sums are full after " +
                                            to_text(max_contributions_) +
                                            " contributions; a coarser grid takes more");
}

void PrefixSum::end_step(std::span<double> noisy) {
  // May lack memory for a recomputation: nothing below throws, so a record counts once.
  const std::span<const std::int64_t> noise = rounded_noise();
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    sums_[i] += quantised_[i];
    // Integer addition first: the sum of a grid point and rounded noise, then one exact scaling.
    noisy[i] = static_cast<double>(sums_[i] + noise[i]) * grid_;
  }
  ++step_;
}

void PrefixSum::release_batch(std::span<const double> records, std::span<double> noisy,
                              std::int64_t num_records) {
  require_between("prefix_sum", "num_records", num_records, 0, num_steps());
  const std::int64_t length = num_records * dimension();
  require_length("prefix_sum", "records", static_cast<std::int64_t>(records.size()), length);
  require_length("prefix_sum", "noisy", static_cast<std::int64_t>(noisy.size()), length);
  require_left(num_records);
  require_room(num_records);
  require_all_finite("prefix_sum", "records", records);
  const std::size_t width = sums_.size();
  for (std::size_t begin = 0; begin < records.size(); begin += width)
    release(records.subspan(begin, width), noisy.subspan(begin, width));
}

std::array<std::byte, 16> PrefixSum::fingerprint() const {
  detail::Sha256 hash;
  hash.append(noise_.fingerprint());
  hash.append(mechanism_->clip_norm());
  hash.append(mechanism_->noise_stddev());
  hash.append(grid_);
  return detail::shortened(hash.finish());
}

std::vector<std::byte> PrefixSum::checkpoint() {
  std::vector<std::byte> bytes = detail::begin_checkpoint();
  detail::append_word(bytes, static_cast<std::uint64_t>(num_contributions_));
  for (const std::int64_t sum : sums_) detail::append_word(bytes, static_cast<std::uint64_t>(sum));
  const std::int64_t state_step = noise_.write_state(step_, bytes);
  detail::seal_checkpoint({.kind = detail::CheckpointKind::prefix_sum,
                           .step = step_,
                           .state_step = state_step,
                           .fingerprint = fingerprint(),
                           .commitment = commitment_},
                          bytes);
  return bytes;
}

void PrefixSum::restore_without_ledger(std::span<const std::byte> bytes) {
  restore(bytes);
}

void PrefixSum::restore(std::span<const std::byte> bytes) {
  const detail::CheckpointHeader header =
      detail::open_checkpoint("prefix_sum",
                              {.kind = detail::CheckpointKind::prefix_sum,
                               .fingerprint = fingerprint(),
                               .commitment = commitment_},
                              num_steps(), bytes);
  const std::span<const std::byte> state = bytes.subspan(detail::kCheckpointHeaderSize);
  const std::size_t size = 8 * (1 + sums_.size());
  if (state.size() < size)
    fail(ErrorCode::bad_state, "prefix_sum: checkpoint must contain " + to_text(dimension()) +
                                   " sums, got " +
                                   to_text(static_cast<std::int64_t>(state.size())) + " bytes");
  const std::uint64_t num_contributions = detail::word_at(state, 0);
  if (num_contributions > static_cast<std::uint64_t>(max_contributions_))
    fail(ErrorCode::bad_state, "prefix_sum: checkpoint must contain at most " +
                                   to_text(max_contributions_) + " contributions, got more");
  end_of_window_ = first_of_window_;
  noise_.restore_state(header.state_step, state.subspan(size), header.step);
  num_contributions_ = static_cast<std::int64_t>(num_contributions);
  for (std::size_t i = 0; i < sums_.size(); ++i)
    sums_[i] = static_cast<std::int64_t>(detail::word_at(state, 8 * (1 + i)));
  step_ = header.step;
}

void PrefixSum::require_left(std::int64_t num_records) const {
  if (num_records > num_steps() - step_)
    fail(ErrorCode::past_horizon, "prefix_sum: step must be below the horizon " +
                                      to_text(num_steps()) + ", got " +
                                      to_text(step_ + num_records - 1));
}

std::span<const std::int64_t> PrefixSum::rounded_noise() {
  const std::size_t width = sums_.size();
  if (step_ < first_of_window_ || step_ >= end_of_window_) {
    end_of_window_ = first_of_window_;
    noise_.seek(step_);
    // No more rows at once than were asked for before.
    const std::int64_t count =
        std::min({noise_.window_size(), std::max<std::int64_t>(1, step_), num_steps() - step_});
    window_.resize(static_cast<std::size_t>(count) * width);
    noise_.next_rounded(window_, count, noise_scale_);
    first_of_window_ = step_;
    end_of_window_ = step_ + count;
  }
  const std::span<std::int64_t> row =
      std::span(window_).subspan(static_cast<std::size_t>(step_ - first_of_window_) * width, width);
  for (std::size_t i = 0; i < width; ++i) {
    if (row[i] != kUndecided) continue;
    row[i] = noise_.rounded_entry({step_, static_cast<std::int64_t>(i)}, noise_scale_);
    ++num_recomputed_;
  }
  return row;
}

void PrefixSum::quantise(std::span<const double> record) {
  std::copy(record.begin(), record.end(), scratch_.begin());
  clip_to_norm(scratch_, mechanism_->clip_norm());
  std::int64_t norm_squared = 0;
  for (std::size_t i = 0; i < scratch_.size(); ++i) {
    quantised_[i] = static_cast<std::int64_t>(scratch_[i] / grid_);  // toward zero
    norm_squared += quantised_[i] * quantised_[i];
  }
  // Clipping rounds; the integers do not. This loop is what the privacy proof rests on.
  while (norm_squared > max_norm_squared_) {
    const auto largest =
        std::max_element(quantised_.begin(), quantised_.end(),
                         [](std::int64_t a, std::int64_t b) { return std::abs(a) < std::abs(b); });
    norm_squared -= 2 * std::abs(*largest) - 1;
    *largest += *largest > 0 ? -1 : 1;
  }
}

}  // namespace dpftrl
