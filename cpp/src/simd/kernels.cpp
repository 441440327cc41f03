// SPDX-License-Identifier: Apache-2.0
// Compiled once for the baseline, and on x86-64 again for AVX2 with DPFTRL_KERNELS = avx2_kernels
// and for AVX-512 with avx512_kernels. The code included here is in unnamed namespaces, except for
// small templates of simd/normal_arithmetic.hpp, which are always inlined in optimised builds
// (tests/cpp/no_shared_functions.sh).
#include "simd/simd.hpp"

#include "simd/band_steps.hpp"
#include "simd/buffer_steps.hpp"
#include "simd/butterflies.hpp"
#include "simd/chacha.hpp"
#include "simd/integers.hpp"
#include "simd/normals.hpp"
#include "simd/rows.hpp"

#if !defined(DPFTRL_KERNELS)
#define DPFTRL_KERNELS baseline_kernels
#endif

namespace dpftrl::simd {

const Kernels& DPFTRL_KERNELS();

const Kernels& DPFTRL_KERNELS() {
  static constexpr Kernels kKernels = {
      .chacha_block = chacha_block,
      .blocks_of_row = blocks_of_row,
      .block_of_rows = block_of_rows,
      .normals_double = normals_double,
      .normals_float = normals_float,
      .normals_extended = normals_extended,
      .combine_double = combine_double,
      .combine_float = combine_float,
      .combine_pair = combine_pair,
      .buffers_double = buffers_double,
      .buffers_float = buffers_float,
      .bands_double = bands_double,
      .bands_float = bands_float,
      .round_row = round_row,
      .forward_stage = forward_stage,
      .inverse_stage = inverse_stage,
      .add_integers = add_integers,
      .scale_sums = scale_sums,
  };
  return kKernels;
}

}  // namespace dpftrl::simd
