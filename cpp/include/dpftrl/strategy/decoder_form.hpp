// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Compact descriptions from which a noise stream generates rows of B Z without a matrix.
///
/// A form defines B exactly, by the doubles that it stores, in real arithmetic. The roundings of a
/// kernel are part of its error bound, not of B. `A` is the prefix-sum matrix; z_m is row m of Z;
/// steps are t = 0, 1, ...
///
/// ```cpp
/// // Row t of B Z is w_0 + ... + w_t, w_t = z_t - z_{t-1} / 2.
/// const dpftrl::DecoderForm form = dpftrl::BandedInverseDecoder{.coefficients = {1, -0.5}};
/// assert(std::get<dpftrl::BandedInverseDecoder>(form).coefficients.size() == 2);
/// ```

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "dpftrl/optimal/optimum.hpp"
#include "dpftrl/problem/workload.hpp"

namespace dpftrl {

struct DecoderForm;

/// B = I: row t of B Z is z_t.
struct IdentityDecoder {};

/// B = A: row t of B Z is z_0 + ... + z_t.
struct RunningSumDecoder {};

/// Dyadic tree. Node (l, i) covers steps i 2^l .. (i+1) 2^l - 1 and is measured, in post-order,
/// when its last step has arrived. Its estimate is
///     est_0 = z,    est_l = w_l z + (1 - w_l) (est_left + est_right),
/// and row t of B Z adds the estimates of the nodes in the binary expansion of t + 1.
struct DyadicDecoder {
  /// w_l for levels 0 .. floor(lg steps), in [1/2, 1], w_0 = 1. B C = A for any weights.
  std::vector<double> node_weights;
};

/// Tree of arity k. Node (l, i) covers steps i k^l .. (i+1) k^l - 1, l < num_levels. Row t adds the
/// nodes in the base-k expansion of t + 1. With digits d_l in 0 .. k-1, these are the d_l nodes of
/// level l to the right of where the nodes of the higher digits end. If subtractive (odd k), digits
/// are in -(k-1)/2 .. (k-1)/2, and a negative digit subtracts the |d_l| nodes of level l to the
/// left of where those nodes end.
///
/// Node (l, i), whose last step is s = (i+1) k^l - 1, is measurement
/// l + sum_{j<num_levels} floor(s / k^j). This is post-order, and also numbers nodes beyond the
/// horizon, which subtractive expansions use.
struct KaryDecoder {
  std::int64_t arity;
  bool subtractive;
  std::int64_t num_levels;
};

/// Haar coefficients, N = 2^k >= steps, k = scales.size(). Measurement 0 belongs to the mean,
/// 2^(k-l) + i to the Haar function with support i 2^l .. (i+1) 2^l - 1. With T = t + 1, r = T mod
/// 2^l, row t is
///     mean_scale T z_0  +  sum_{l=1..k} scales[l-1] min(r, 2^l - r) z_{2^(k-l) + floor(t / 2^l)}.
struct HaarDecoder {
  double mean_scale;
  std::vector<double> scales;
};

/// Row t is c_0 z_t + c_1 z_{t-1} + ... + c_t z_0.
struct ToeplitzDecoder {
  std::vector<double> coefficients;  ///< at least one per step, at most 2^22
};

/// B = A C^-1, C lower-triangular Toeplitz with the few given coefficients, c_0 != 0:
///     w_t = (z_t - c_1 w_{t-1} - c_2 w_{t-2} - ...) / c_0,    row t = w_0 + ... + w_t.
struct BandedDecoder {
  std::vector<double> coefficients;
};

/// B = A C^-1, C^-1 lower-triangular Toeplitz with the few given coefficients:
///     w_t = g_0 z_t + g_1 z_{t-1} + ...,    row t = w_0 + ... + w_t.
struct BandedInverseDecoder {
  std::vector<double> coefficients;
};

/// B = C^-1, lower-triangular Toeplitz with the few given coefficients:
///     row t = g_0 z_t + g_1 z_{t-1} + ...
/// These are the increments of BandedInverseDecoder. Every row computes its normals again, so none
/// are kept.
struct MovingSumDecoder {
  std::vector<double> coefficients;
};

/// B = A C^-1, C the buffered linear Toeplitz matrix c_0 = 1, c_j = sum_i weights_i decays_i^(j-1):
///     w_t = z_t - weights . s,    s <- decays * s + w_t,    s = 0 at first,
///     row t = w_0 + ... + w_t.
struct BufferedDecoder {
  std::vector<double> decays;   ///< in [0, 1)
  std::vector<double> weights;  ///< as many as decays
};

/// B = A C^-1, C given by its inverse:
///     w_t = inverse_scales_t z_t - gains_t . s,    s <- factors_t * (s + w_t),    s = 0 at first,
///     row t = w_0 + ... + w_t.
/// C is lower triangular with C_tt = c_t and C_ij = c_i gains_i . (factors_{i-1} * ... *
/// factors_j).
struct VaryingBufferedDecoder {
  std::shared_ptr<const VaryingBuffers> numbers;
};

/// B = A C^-1, C lower triangular with few bands:
///     w_t = (z_t - C_{t,t-1} w_{t-1} - C_{t,t-2} w_{t-2} - ...) / C_tt,  row t = w_0 + ... + w_t.
struct VaryingBandedDecoder {
  std::shared_ptr<const VaryingBands> numbers;
};

/// An autoregression plus an offset common to all rows:
///     x_0 = z_1,    x_t = decay x_{t-1} + innovation z_{t+1},    row t = offset z_0 + x_t.
struct AutoregressiveDecoder {
  double offset;
  double decay;  ///< in [0, 1)
  double innovation;
};

/// Fresh noise for every block of consecutive steps. Row t is the sum of what the completed blocks
/// left, plus row (t - first step of the block) of the current block's form. A completed block
/// leaves row `closing_row` of its form. Measurements are numbered block by block.
struct BlockDecoder {
  struct Block {
    std::int64_t steps;
    std::shared_ptr<const DecoderForm> form;
    std::int64_t num_measurements;  ///< of the form
    std::int64_t closing_row;       ///< a row of the form; may be past the block's steps
  };
  std::vector<Block> blocks;
};

/// B = A_workload D A^-1 B_base, D = diag(column_scales): the strategy C_base D^-1 for another
/// workload. With the rows r_t of B_base Z:
///     w_t = column_scales_t (r_t - r_{t-1}),    row t = (A_workload w)_t.
struct FilteredDecoder {
  std::shared_ptr<const DecoderForm> base;
  std::vector<double> column_scales;  ///< D, one per step, positive; empty: all 1
  Workload workload;
};

struct DecoderForm
    : std::variant<IdentityDecoder, RunningSumDecoder, DyadicDecoder, KaryDecoder, HaarDecoder,
                   ToeplitzDecoder, BandedDecoder, BandedInverseDecoder, BufferedDecoder,
                   VaryingBufferedDecoder, VaryingBandedDecoder, BlockDecoder, FilteredDecoder,
                   MovingSumDecoder, AutoregressiveDecoder> {
  using variant::variant;
};

}  // namespace dpftrl
