// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Rows of B Z, scaled and rounded, one at a time (internal header).

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dpftrl/noise/noise_stream.hpp"

namespace dpftrl::detail {

class RoundedRows {
 public:
  /// @throws as NoiseStream.
  RoundedRows(const Strategy& strategy, const NoiseStreamOptions& options, double scale)
      : noise_(strategy, options), scale_(scale) {}

  /// floor(scale entry + 1/2) of the ideal row of a step, decided in every entry. Several
  /// consecutive steps are made at once. Valid until the next call.
  /// @throws std::bad_alloc, Error{unsupported} see NoiseStream; the same call may be made again.
  std::span<const std::int64_t> operator()(std::int64_t step);

  /// Rows of the steps from `step` on, contiguous: at least one and at most `most`, as far as they
  /// are in the window and none after the first needs recomputation.
  std::span<const std::int64_t> several(std::int64_t step, std::int64_t most);

  /// Writes the rows of the steps from `step` on without storing them in the window.
  void fill(std::int64_t step, std::span<std::int64_t> rows);
  /// Whether rows are so short that requesting one makes a window of several.
  bool keeps_several() const;
  /// Whether the row is in the window.
  bool has(std::int64_t step) const { return first_of_window_ <= step && step < end_of_window_; }

  /// Switches to another scale.
  void use_scale(double scale);
  double scale() const { return scale_; }

  std::int64_t steps() const { return noise_.steps(); }
  std::int64_t dimension() const { return noise_.dimension(); }
  /// Entries that double precision left open.
  std::int64_t num_recomputed() const { return num_recomputed_; }

  /// See NoiseStream::fingerprint.
  std::array<std::byte, 16> fingerprint() const { return noise_.fingerprint(); }
  std::int64_t write_state(std::int64_t step, std::vector<std::byte>& out) {
    return noise_.write_state(step, out);
  }
  void restore_state(std::int64_t state_step, std::span<const std::byte> state, std::int64_t step);

 private:
  /// Decides the entries of a row that double precision left open.
  void decide(std::int64_t step, std::span<std::int64_t> row);

  NoiseStream noise_;
  double scale_;
  std::vector<std::int64_t> window_;  ///< rows of the steps from first_of_window_ on
  std::int64_t first_of_window_ = 0;
  std::int64_t end_of_window_ = 0;
  bool is_decided_ = true;  ///< true if every entry of the window is decided
  std::int64_t num_recomputed_ = 0;
};

}  // namespace dpftrl::detail
