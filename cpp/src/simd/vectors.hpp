// SPDX-License-Identifier: Apache-2.0
// Included by kernels.cpp only, in each of its compilations. Nothing here has external linkage, so
// that the linker never substitutes a function of one compilation for the same function of another.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__) && !defined(__wasm__)
#include <immintrin.h>
#endif

#if defined(__clang__)
#pragma clang fp contract(off)
#endif

namespace dpftrl::simd {
namespace {

#if defined(__AVX2__)
constexpr std::size_t kVectorBytes = 32;
#else
constexpr std::size_t kVectorBytes = 16;
#endif

using Word = std::uint32_t;
typedef Word Word4 __attribute__((vector_size(16)));
typedef double Doubles __attribute__((vector_size(kVectorBytes)));
typedef float Floats __attribute__((vector_size(kVectorBytes)));
typedef std::int64_t SignedLongs __attribute__((vector_size(kVectorBytes)));

/// A vector at any alignment. GCC compiles memcpy to copies of 16 bytes, by way of the stack.
template <class V>
struct __attribute__((packed, may_alias)) Unaligned {
  V vector;
};

template <class V>
inline V load(const void* p) {
  return static_cast<const Unaligned<V>*>(p)->vector;
}
template <class V>
inline void store(void* p, const V& v) {
  static_cast<Unaligned<V>*>(p)->vector = v;
}

}  // namespace
}  // namespace dpftrl::simd
