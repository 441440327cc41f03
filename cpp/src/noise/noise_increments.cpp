// SPDX-License-Identifier: Apache-2.0
// Rows of C^-1 Z: differences of successive rounded rows of totals.
#include <algorithm>
#include <array>
#include <bit>

#include "dpftrl/base/error.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "noise/checkpoint.hpp"
#include "noise/increments_form.hpp"
#include "noise/rounded_rows.hpp"

namespace dpftrl {
namespace {

constexpr double kMaxScale = 0x1p60;

void require_prefix_sums(const Strategy& strategy) {
  if (!strategy.workload().is_prefix())
    fail(ErrorCode::unsupported, "noise_increments", "strategy",
         "must be one for prefix sums, to give increments", strategy.workload().name());
}

NoiseStreamOptions with_increments(NoiseStreamOptions options, bool increments) {
  options.increments = increments;
  return options;
}

}  // namespace

class NoiseIncrements::Rows {
 public:
  Rows(const Strategy& strategy, const NoiseStreamOptions& options)
      : is_difference_(!noise::increments_form(strategy.decoder_form()).has_value()),
        commitment_(detail::key_commitment(options.key)),
        rows_(strategy, with_increments(options, !is_difference_), 0) {}

  std::int64_t steps() const { return rows_.steps(); }
  std::int64_t dimension() const { return rows_.dimension(); }
  std::int64_t step() const { return step_; }

  void seek(std::int64_t step) {
    require_between("noise_increments", "step", step, 0, steps());
    step_ = step;
  }

  std::vector<std::byte> checkpoint() {
    std::vector<std::byte> bytes = detail::begin_checkpoint();
    // Encoders whose inverse has few bands use the checkpoints of NoiseStream.
    std::int64_t first = step_;
    if (is_difference_) {
      const bool has_total = step_ > 0 && step_of_total_ == step_ - 1;
      detail::append_word(bytes, std::bit_cast<std::uint64_t>(has_total ? rows_.scale() : -1.0));
      if (has_total)
        for (const std::int64_t entry : total_)
          detail::append_word(bytes, static_cast<std::uint64_t>(entry));
      else
        first = std::max<std::int64_t>(0, step_ - 1);
    }
    const std::int64_t state_step = rows_.write_state(first, bytes);
    detail::CheckpointHeader header = identity();
    header.step = step_;
    header.state_step = state_step;
    detail::seal_checkpoint(header, bytes);
    return bytes;
  }

  void restore(std::span<const std::byte> bytes) {
    const detail::CheckpointHeader header =
        detail::open_checkpoint("noise_increments", identity(), steps(), bytes);
    std::span<const std::byte> state = bytes.subspan(detail::kCheckpointHeaderSize);
    if (!is_difference_) {
      rows_.restore_state(header.state_step, state, header.step);
      step_ = header.step;
      return;
    }
    require_bytes(state, 8);
    const double scale = std::bit_cast<double>(detail::word_at(state, 0));
    state = state.subspan(8);
    const bool has_total = header.step > 0 && scale >= 0 && scale <= kMaxScale;
    const std::size_t size = has_total ? 8 * static_cast<std::size_t>(dimension()) : 0;
    require_bytes(state, size);
    const std::int64_t first =
        has_total ? header.step : std::max<std::int64_t>(header.state_step, header.step - 1);
    step_of_total_ = kNone;
    rows_.restore_state(header.state_step, state.subspan(size), first);
    if (has_total) {
      rows_.use_scale(scale);
      total_.resize(static_cast<std::size_t>(dimension()));
      detail::read_integers(state, total_);
      step_of_total_ = header.step - 1;
    }
    step_ = header.step;
  }

  void next_rounded(std::span<std::int64_t> rows, std::int64_t num_rows, double scale) {
    require_between("noise_increments", "num_rows", num_rows, 0, steps());
    require_length("noise_increments", "rows", static_cast<std::int64_t>(rows.size()),
                   num_rows * dimension());
    if (!(scale >= 0 && scale <= kMaxScale))
      fail_argument("noise_increments", "scale", "between 0 and 2^60", to_text(scale));
    if (num_rows > steps() - step_)
      fail(ErrorCode::past_horizon, "noise_increments", "step",
           "must be below the horizon " + to_text(steps()), to_text(step_ + num_rows - 1));
    if (num_rows == 0) return;
    prepare(scale);
    const auto width = static_cast<std::size_t>(dimension());
    for (std::int64_t step = step_; !rows.empty(); ++step) {
      if (rows_.has(step) || (rows.size() == width && rows_.keeps_several())) {
        take(rows_(step), rows.first(width), step);
        rows = rows.subspan(width);
        continue;
      }
      // Writes all remaining rows at once, bypassing the window.
      rows_.fill(step, rows);
      if (is_difference_) subtract(rows, step_ + num_rows - 1);
      break;
    }
    step_ += num_rows;
  }

 private:
  /// Marks a missing row of totals; -1 is the row of zeros before the first.
  static constexpr std::int64_t kNone = -2;

  static void require_bytes(std::span<const std::byte> state, std::size_t size) {
    if (state.size() < size)
      fail(ErrorCode::bad_state, "noise_increments", "checkpoint",
           "must contain " + to_text(static_cast<std::int64_t>(size)) + " bytes of a row",
           to_text(static_cast<std::int64_t>(state.size())));
  }

  detail::CheckpointHeader identity() const {
    return {.kind = is_difference_ ? detail::CheckpointKind::noise_increments
                                   : detail::CheckpointKind::noise_stream,
            .fingerprint = rows_.fingerprint(),
            .commitment = commitment_};
  }

  /// Ensures that total_ is the row of totals before the next one, at this scale.
  void prepare(double scale) {
    if (scale != rows_.scale()) step_of_total_ = kNone;
    rows_.use_scale(scale);
    if (!is_difference_ || step_of_total_ == step_ - 1) return;
    step_of_total_ = kNone;
    if (step_ == 0) {
      total_.assign(static_cast<std::size_t>(dimension()), 0);
    } else {
      const std::span<const std::int64_t> row = rows_(step_ - 1);
      total_.assign(row.begin(), row.end());
    }
    step_of_total_ = step_ - 1;
  }

  /// Writes the increment of a step, given its row of totals.
  void take(std::span<const std::int64_t> row, std::span<std::int64_t> out, std::int64_t step) {
    if (!is_difference_) {
      std::ranges::copy(row, out.begin());
      return;
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
      out[i] = row[i] - total_[i];
      total_[i] = row[i];
    }
    step_of_total_ = step;
  }

  /// Overwrites rows of totals, up to step `last_step`, with their increments.
  void subtract(std::span<std::int64_t> rows, std::int64_t last_step) {
    constexpr std::size_t kBlock = 2048;
    const std::size_t width = total_.size();
    // Processes all rows of one block of coordinates, which stays in the cache, before the next.
    for (std::size_t first = 0; first < width; first += kBlock) {
      const std::size_t count = std::min(kBlock, width - first);
      std::int64_t* const before = &total_[first];
      std::array<std::int64_t, kBlock> last;
      std::copy_n(&rows[rows.size() - width + first], count, last.begin());
      for (std::size_t row = rows.size() - width; row > 0; row -= width) {
        std::int64_t* const entries = &rows[row + first];
        const std::int64_t* const earlier = &rows[row - width + first];
        for (std::size_t i = 0; i < count; ++i) entries[i] -= earlier[i];
      }
      for (std::size_t i = 0; i < count; ++i) rows[first + i] -= before[i];
      std::copy_n(last.begin(), count, before);
    }
    step_of_total_ = last_step;
  }

  bool is_difference_;
  detail::ShortDigest commitment_;  ///< commitment to the key
  detail::RoundedRows rows_;        ///< rows of totals, or of increments if C^-1 has few bands
  std::int64_t step_ = 0;
  std::vector<std::int64_t> total_;  ///< row of totals of step `step_of_total_`
  std::int64_t step_of_total_ = kNone;
};

NoiseIncrements::NoiseIncrements(const Strategy& strategy, const NoiseStreamOptions& options) {
  require_prefix_sums(strategy);
  rows_ = std::make_unique<Rows>(strategy, options);
}

NoiseIncrements::~NoiseIncrements() = default;
NoiseIncrements::NoiseIncrements(NoiseIncrements&&) noexcept = default;
NoiseIncrements& NoiseIncrements::operator=(NoiseIncrements&&) noexcept = default;

std::int64_t NoiseIncrements::steps() const {
  return rows_->steps();
}
std::int64_t NoiseIncrements::dimension() const {
  return rows_->dimension();
}
std::int64_t NoiseIncrements::step() const {
  return rows_->step();
}
void NoiseIncrements::seek(std::int64_t step) {
  rows_->seek(step);
}
std::vector<std::byte> NoiseIncrements::checkpoint() {
  return rows_->checkpoint();
}
void NoiseIncrements::restore(std::span<const std::byte> bytes) {
  rows_->restore(bytes);
}
void NoiseIncrements::next_rounded(std::span<std::int64_t> rows, std::int64_t num_rows,
                                   double scale) {
  rows_->next_rounded(rows, num_rows, scale);
}

}  // namespace dpftrl
