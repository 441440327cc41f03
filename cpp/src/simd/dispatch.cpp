// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "simd/simd.hpp"

namespace dpftrl::simd {

#if defined(DPFTRL_DISPATCH)
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
#endif

std::span<const Kernels* const> all_kernels() {
  static const std::vector<const Kernels*> found = [] {
    std::vector<const Kernels*> list{&baseline_kernels()};
#if defined(DPFTRL_DISPATCH)
    if (__builtin_cpu_supports("avx2")) {
      list.push_back(&avx2_kernels());
      if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
        list.push_back(&avx512_kernels());
    }
#endif
    return list;
  }();
  return found;
}

const Kernels& kernels() {
#if defined(DPFTRL_DISPATCH)
  static const Kernels& fastest = *all_kernels().back();
  return fastest;
#else
  // Names the baseline kernels directly, so that the linker can drop loops that a module never
  // calls.
  return baseline_kernels();
#endif
}

}  // namespace dpftrl::simd
