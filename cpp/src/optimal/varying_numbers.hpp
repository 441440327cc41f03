// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Access to gains and factors of VaryingBuffers that does not unpack all of them.

#include <cstddef>
#include <memory>
#include <vector>

#include "dpftrl/optimal/optimum.hpp"
#include "math/packed_series.hpp"

namespace dpftrl::detail {

/// Packed gains and factors of long recursions. Each buffer is packed separately, because its
/// numbers change little from step to step.
class PackedNumbers {
 public:
  /// Steps that are packed together.
  static constexpr std::size_t kBlock = PackedSeries::kLength;

  PackedNumbers(std::size_t steps, std::size_t buffers);

  /// Set and get `buffers` numbers per step for the steps of block b, at most kBlock.
  void set_gains(std::size_t b, const std::vector<double>& numbers);
  void set_factors(std::size_t b, const std::vector<double>& numbers);
  void get_gains(std::size_t b, std::vector<double>& numbers) const;
  void get_factors(std::size_t b, std::vector<double>& numbers) const;
  std::size_t num_bytes() const { return gains_.num_bytes() + factors_.num_bytes(); }

 private:
  void set(PackedSeries& series, std::size_t b, const std::vector<double>& numbers) const;
  void get(const PackedSeries& series, std::size_t b, std::vector<double>& numbers) const;

  std::size_t steps_, buffers_;
  PackedSeries gains_, factors_;  ///< buffer k of block b is piece b q + k, q = buffers
};

/// Reads the numbers of any step; fast if it is in the same block as the previous one.
class VaryingReader {
 public:
  explicit VaryingReader(const VaryingBuffers& recursion)
      : recursion_(recursion), buffers_(static_cast<std::size_t>(recursion.buffers)) {}

  std::size_t steps() const { return recursion_.inverse_scales.size(); }
  std::size_t buffers() const { return buffers_; }
  double inverse_scale(std::size_t step) const { return recursion_.inverse_scales[step]; }

  /// Pointer to the numbers of one step, valid until the next call.
  const double* gains(std::size_t step) {
    if (!recursion_.packed) return &recursion_.gains[step * buffers_];
    if (step / PackedNumbers::kBlock != gains_block_) load_gains(step / PackedNumbers::kBlock);
    return &gains_[step % PackedNumbers::kBlock * buffers_];
  }
  const double* factors(std::size_t step) {
    if (!recursion_.packed) return &recursion_.factors[step * buffers_];
    if (step / PackedNumbers::kBlock != factors_block_) load_factors(step / PackedNumbers::kBlock);
    return &factors_[step % PackedNumbers::kBlock * buffers_];
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  void load_gains(std::size_t b);
  void load_factors(std::size_t b);

  const VaryingBuffers& recursion_;
  std::size_t buffers_;
  std::size_t gains_block_ = kNone, factors_block_ = kNone;
  std::vector<double> gains_, factors_;  ///< numbers of these blocks
};

}  // namespace dpftrl::detail
