// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Mode grid: integer sums plus exactly rounded rows of B Z (internal header).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "noise/rounded_rows.hpp"
#include "random/normal_tail.hpp"
#include "release/release_engine.hpp"

namespace dpftrl::detail {

/// Base of the engines that put records on a grid.
class GridReleases : public ReleaseEngine {
 public:
  GridReleases(const Mechanism& mechanism, const PrefixSumOptions& options);

  double grid() const final { return grid_; }
  std::int64_t max_contributions() const final { return max_contributions_; }
  double release_stddev(std::int64_t step) const final;
  double half_width(const ReleaseEntry& entry, double probability) const final;
  double simultaneous_half_width(double probability) const final;
  GridRecord quantised(const ProductRecord& record) const final {
    if (is_clipped_by_caller_) return as_it_is(record);
    return {record, clip_, grid_};
  }
  GridRecord unclipped(const CountChanges& changes) const final;
  /// Does everything in `release` that can fail, so that the same call of `release` right after it
  /// cannot throw. Has no visible effect.
  virtual void prepare(std::int64_t step, const GridRecord& record) = 0;

 protected:
  /// Integer of a record of one finite number, equal to what GridRecord computes. A number beyond
  /// the clip norm is clipped to exactly +-clip there as well, because x / |x| is +-1 and the norm
  /// over the magnitude is 1. Division by the grid, a power of two, is exact or its result is below
  /// 1, so an integer q has |q| <= clip / grid as real numbers, and q^2, an integer, is at most
  /// floor((clip / grid)^2).
  std::int64_t integer_of(double record) const {
    return static_cast<std::int64_t>(std::clamp(record, -clip_, clip_) / grid_);
  }

 private:
  GridRecord as_it_is(const ProductRecord& record) const;

  const Mechanism& mechanism_;
  bool is_clipped_by_caller_;
  double clip_;
  double grid_;
  std::int64_t dimension_;
  double largest_entry_;  ///< bound on the integers of a record
  std::int64_t max_contributions_;
  // Cached, because a reading needs the std of its step twice, once for its half-width.
  mutable NormalHalfWidth normal_;
  mutable std::optional<std::int64_t> known_step_;
  mutable double known_stddev_ = 0;  ///< std of the step known_step_
};

/// Prefix sums. The engine for windows overrides how sums are updated.
class GridEngine : public GridReleases {
 public:
  GridEngine(const Mechanism& mechanism, const PrefixSumOptions& options,
             std::int64_t first_coordinate = 0);

  std::int64_t num_recomputed() const final { return noise_.num_recomputed(); }

  void prepare(std::int64_t step, const GridRecord&) final { (void)noise_(step); }
  void add(const GridRecord& record) override { record.add_to(sums_); }
  void release(std::int64_t step, const GridRecord& record, std::span<double> noisy,
               ReleaseSink* sink) override;
  std::int64_t release_numbers(std::int64_t step, std::span<const double> records,
                               std::span<double> noisy) override;

  CheckpointKind kind() const override { return CheckpointKind::prefix_sum; }
  void append_fingerprint(Sha256& hash) const override { hash.append(noise_.fingerprint()); }
  std::int64_t write_state(std::int64_t step, std::vector<std::byte>& out) override;
  void restore_state(std::int64_t state_step, std::span<const std::byte> state,
                     std::int64_t step) override;

 protected:
  struct Block {
    std::size_t begin;
    std::size_t count;
  };

  /// Releases a block of the sums with the noise of the step. Does not throw.
  void hand_out(Block part, std::span<const std::int64_t> noise, std::span<double> noisy,
                ReleaseSink* sink);

  RoundedRows& noise() { return noise_; }
  std::span<std::int64_t> sums() { return sums_; }

 private:
  RoundedRows noise_;
  /// True sums including contributions to the open step, in grid units; exposed only in
  /// checkpoints.
  std::vector<std::int64_t> sums_;
};

}  // namespace dpftrl::detail
