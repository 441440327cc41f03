// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The hot loops, compiled once for the baseline of the platform and, on x86-64, again for AVX2 and
/// for AVX-512. All give the same bits: every number results from the same IEEE operations in the
/// same order, however many are computed at a time.

#include <cstddef>
#include <cstdint>
#include <span>

namespace dpftrl::simd {

template <class T>
struct Factor {
  T value;
  const T* row;
};

struct PairFactor {
  double high;
  double low;
  const double* row_high;
  const double* row_low;
};

/// Largest number of steps in one call.
inline constexpr std::size_t kMaxSteps = 64;

inline constexpr std::size_t kMaxBuffers = 8;

/// Operands of w = z + weight_1 s_1 + ... ; s_i = decay_i s_i + w; total = total + w, for each
/// coordinate.
template <class T>
struct Buffers {
  std::size_t count;  ///< 1 .. kMaxBuffers
  T weights[kMaxBuffers];
  T decays[kMaxBuffers];
  T* states[kMaxBuffers];
  T* total;
};

inline constexpr std::size_t kMaxLags = 31;

/// Operands of w = factor_0 z + factor_1 x_1 + ... ; total = total + w, for each coordinate, where
/// x_i is the w or the z of i steps ago.
template <class T>
struct Bands {
  std::size_t num_lags;  ///< 1 .. kMaxLags
  T factors[kMaxLags + 1];
  bool keeps_fresh;          ///< x is z
  std::size_t num_rows;      ///< rows of the history: num_lags .. kMaxLags + 1
  T* history[kMaxLags + 1];  ///< ring buffer of x, one row per step
  std::size_t next;          ///< row that the first step writes
  T* total;
};

/// Steps of Buffers or Bands. They read z from `fresh` and write the total to `rows`, which may be
/// `fresh`.
template <class T>
struct Steps {
  std::size_t count;  ///< at most kMaxSteps
  const T* fresh;
  std::size_t fresh_stride;  ///< distance from the z of one step to the next
  T* rows;
  std::size_t row_stride;
};

/// Factor by which round_row scales a row to integers, and bounds on the errors of the row.
struct Rounding {
  double scale;
  double absolute;  ///< error of the row, before scaling
  double relative;
};

/// Rows are padded to whole vectors.
inline constexpr std::size_t kPaddedBytes = 32;

/// Pointers to rows need no alignment. Widths of combine are multiples of kPaddedBytes.
struct Kernels {
  /// Writes the 16 words of the block whose last four state words are given.
  void (*chacha_block)(const std::uint32_t* key, const std::uint32_t* counter_and_nonce,
                       std::uint32_t* out);
  /// ChaCha blocks of one row, four to a group; words and lanes as in fill_groups.
  void (*blocks_of_row)(const std::uint32_t* key, std::uint32_t stream, std::uint64_t row,
                        std::uint32_t first_block, std::uint64_t num_groups, std::uint32_t* out);
  /// One ChaCha block of each row, four rows to a group; words and lanes as in fill_row_blocks.
  void (*block_of_rows)(const std::uint32_t* key, std::uint32_t stream, std::uint64_t first_row,
                        std::uint32_t block, std::uint64_t num_groups, std::uint32_t* out);
  /// See random/normal_pairs.hpp.
  bool (*normals_double)(const std::uint32_t* words, std::size_t num_words, double* out);
  bool (*normals_float)(const std::uint32_t* words, std::size_t num_words, float* out);
  /// Writes two doubles for each normal, high and low.
  bool (*normals_extended)(const std::uint32_t* words, std::size_t num_words, double* out);
  /// out = sum of value * row, from the first factor to the last; out may be one of the rows.
  void (*combine_double)(double* out, const Factor<double>* factors, std::size_t num_factors,
                         std::size_t width);
  void (*combine_float)(float* out, const Factor<float>* factors, std::size_t num_factors,
                        std::size_t width);
  /// combine_double in unevaluated sums of two doubles.
  void (*combine_pair)(double* out_high, double* out_low, const PairFactor* factors,
                       std::size_t num_factors, std::size_t width);
  /// Run all steps on a few coordinates at a time, whose states stay in registers, with the
  /// operations of combine, for any width.
  void (*buffers_double)(const Buffers<double>& buffers, const Steps<double>& steps,
                         std::size_t width);
  void (*buffers_float)(const Buffers<float>& buffers, const Steps<float>& steps,
                        std::size_t width);
  void (*bands_double)(const Bands<double>& bands, const Steps<double>& steps, std::size_t width);
  void (*bands_float)(const Bands<float>& bands, const Steps<float>& steps, std::size_t width);
  /// The rounding test of docs/math/grid.md, section 2: writes integers, or kUndecided. Returns
  /// true if all are decided.
  bool (*round_row)(const Rounding& rounding, const double* row, std::size_t width,
                    std::int64_t* out);
  /// Butterflies of points k and k + half of every 2 half points, in place: (a, b) becomes (a + b,
  /// (a - b) w_k), or (a + conj(w_k) b, a - conj(w_k) b). The arrays do not overlap.
  void (*forward_stage)(double* real, double* imaginary, std::size_t length, std::size_t half,
                        const double* cosine, const double* sine);
  void (*inverse_stage)(double* real, double* imaginary, std::size_t length, std::size_t half,
                        const double* cosine, const double* sine);
  /// sums += factor * value, rounded toward zero; the products must be below 2^51.
  void (*add_integers)(double factor, const double* values, std::size_t width, std::int64_t* sums);
  /// out = double(a + b) * grid, for sums in the range of 64 bits and a grid that is a power of
  /// two.
  void (*scale_sums)(const std::int64_t* a, const std::int64_t* b, std::size_t width, double grid,
                     double* out);
};

inline constexpr std::int64_t kUndecided = INT64_MIN;

/// Kernels that every processor of the platform can run.
const Kernels& baseline_kernels();

/// All kernels that this processor can run, from the baseline to the fastest.
std::span<const Kernels* const> all_kernels();
/// The fastest of all_kernels().
const Kernels& kernels();

}  // namespace dpftrl::simd
