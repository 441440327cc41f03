// SPDX-License-Identifier: Apache-2.0
#include "simd/simd.hpp"

namespace dpftrl::simd {

#if defined(DPFTRL_DISPATCH)

const Kernels& avx2_kernels();

const Kernels& kernels() {
  static const Kernels& chosen =
      __builtin_cpu_supports("avx2") ? avx2_kernels() : baseline_kernels();
  return chosen;
}

#else

const Kernels& kernels() {
  return baseline_kernels();
}

#endif

}  // namespace dpftrl::simd
