// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Rows of B Z, scaled, added to non-integer sums, and rounded once (internal header;
/// docs/math/weights.md).

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dpftrl/noise/noise_stream.hpp"
#include "math/wide_number.hpp"

namespace dpftrl::detail {

class JointRows {
 public:
  /// @param error_of_sums  bound on the error of the given sums, in units of 2^-256.
  /// @throws as NoiseStream.
  JointRows(const Strategy& strategy, const NoiseStreamOptions& options, double scale,
            double error_of_sums);

  /// Writes floor(sum + scale entry + 1/2) of the ideal row of a step, decided in every entry.
  ///
  /// @param rounded  same length as sums.
  /// @exactness   as exact_rounded_entry.
  /// @throws std::bad_alloc, Error{unsupported} see NoiseStream; the same call may be made again.
  /// @checked-by  joint_rows_test
  void round(std::int64_t step, std::span<const WideNumber> sums, std::span<std::int64_t> rounded);

  /// Entries that double precision left open.
  std::int64_t num_recomputed() const { return num_recomputed_; }

  /// See NoiseStream::fingerprint.
  std::array<std::byte, 16> fingerprint() const { return noise_.fingerprint(); }
  std::int64_t write_state(std::int64_t step, std::vector<std::byte>& out) {
    return noise_.write_state(step, out);
  }
  void restore_state(std::int64_t state_step, std::span<const std::byte> state, std::int64_t step);

 private:
  /// Rounds an entry that double precision leaves open.
  std::int64_t recomputed(const NoiseStream::Entry& entry, const WideNumber& sum) const;

  NoiseStream noise_;
  double scale_;
  double error_of_sums_;
  bool exact_only_;
  std::vector<double> row_;
  std::int64_t step_of_row_ = -1;  ///< negative if none
  std::int64_t num_recomputed_ = 0;
};

/// A noise value in double precision before scaling, with its error bound.
struct ApproximateNoise {
  double value;
  double scale;
  RowErrorBound bound;
};

/// floor(sum + scale noise + 1/2) if it is the same for all noise within the bound, else
/// kUndecided.
///
/// @param sum  off by at most 2^-54.
/// @checked-by joint_rows_test "what is decided is right wherever the noise lies within its bound"
std::int64_t round_jointly(const WideNumber& sum, const ApproximateNoise& noise);

}  // namespace dpftrl::detail
