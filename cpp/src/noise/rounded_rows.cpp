// SPDX-License-Identifier: Apache-2.0
#include "noise/rounded_rows.hpp"

#include <algorithm>

namespace dpftrl::detail {
namespace {

/// Largest number of entries of a window. Wider rows get a window of two where possible, so that
/// states go through memory only every second step.
constexpr std::int64_t kMaxWindowEntries = std::int64_t{1} << 19;
constexpr std::int64_t kMinWindowRows = 2;

constexpr std::size_t kBlock = 1024;

}  // namespace

std::span<const std::int64_t> RoundedRows::operator()(std::int64_t step) {
  const auto width = static_cast<std::size_t>(noise_.dimension());
  if (!has(step)) {
    end_of_window_ = first_of_window_;
    noise_.seek(step);
    const std::int64_t most =
        std::min({noise_.window_size(), steps(),
                  std::max(kMinWindowRows, kMaxWindowEntries / noise_.dimension())});
    // Makes at most as many rows at once as were requested before.
    const std::int64_t count = std::min({most, std::max<std::int64_t>(1, step), steps() - step});
    window_.reserve(static_cast<std::size_t>(most) * width);
    window_.resize(static_cast<std::size_t>(count) * width);
    is_decided_ = noise_.next_rounded(window_, count, scale_);
    first_of_window_ = step;
    end_of_window_ = step + count;
  }
  const std::span<std::int64_t> row =
      std::span(window_).subspan(static_cast<std::size_t>(step - first_of_window_) * width, width);
  if (!is_decided_) decide(step, row);
  return row;
}

void RoundedRows::decide(std::int64_t step, std::span<std::int64_t> row) {
  for (std::size_t first = 0; first < row.size(); first += kBlock) {
    const std::span<std::int64_t> block = row.subspan(first, std::min(kBlock, row.size() - first));
    // Scans the whole block first, with SIMD: hardly any block has an open entry.
    std::int64_t num_open = 0;
    for (const std::int64_t entry : block) num_open += entry == kUndecided;
    if (num_open == 0) continue;
    for (std::size_t i = 0; i < block.size(); ++i)
      if (block[i] == kUndecided)
        block[i] = noise_.rounded_entry({step, static_cast<std::int64_t>(first + i)}, scale_);
    num_recomputed_ += num_open;
  }
}

bool RoundedRows::keeps_several() const {
  return kMaxWindowEntries / noise_.dimension() > kMinWindowRows;
}

void RoundedRows::fill(std::int64_t step, std::span<std::int64_t> rows) {
  const auto width = static_cast<std::size_t>(noise_.dimension());
  noise_.seek(step);
  if (noise_.next_rounded(rows, std::ssize(rows) / noise_.dimension(), scale_)) return;
  for (; !rows.empty(); rows = rows.subspan(width), ++step) decide(step, rows.first(width));
}

std::span<const std::int64_t> RoundedRows::several(std::int64_t step, std::int64_t most) {
  const std::span<const std::int64_t> first = (*this)(step);
  const auto count = static_cast<std::size_t>(std::min(most, end_of_window_ - step));
  const std::span<const std::int64_t> rows(first.data(), count * first.size());
  const auto open = std::find(rows.begin(), rows.end(), kUndecided);
  const auto num_decided = static_cast<std::size_t>(open - rows.begin()) / first.size();
  return rows.first(num_decided * first.size());
}

void RoundedRows::use_scale(double scale) {
  if (scale == scale_) return;
  end_of_window_ = first_of_window_;
  scale_ = scale;
}

void RoundedRows::restore_state(std::int64_t state_step, std::span<const std::byte> state,
                                std::int64_t step) {
  end_of_window_ = first_of_window_;
  noise_.restore_state(state_step, state, step);
}

}  // namespace dpftrl::detail
