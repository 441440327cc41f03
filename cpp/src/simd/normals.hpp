// SPDX-License-Identifier: Apache-2.0
// Normals from random words, several at a time; docs/math/gaussian.md explains every line.
#pragma once

#include <cmath>
#include <utility>

#include "simd/extended_arithmetic.hpp"
#include "simd/normal_arithmetic.hpp"
#include "simd/vectors.hpp"

namespace dpftrl::simd {
namespace {

using Long = std::uint64_t;
typedef std::int32_t Int4 __attribute__((vector_size(16)));

// Double lanes of one vector: two, or four with AVX2. `Half` selects lanes 2 Half, 2 Half + 1.
#if defined(__AVX2__)
typedef Long Longs __attribute__((vector_size(32)));
typedef Word Words __attribute__((vector_size(32)));
typedef std::int32_t Ints __attribute__((vector_size(32)));
constexpr int kHalves = 1;
#else
typedef Long Longs __attribute__((vector_size(16)));
typedef Word Words __attribute__((vector_size(16)));
typedef std::int32_t Ints __attribute__((vector_size(16)));
constexpr int kHalves = 2;
#endif

#if defined(__AVX2__)
// Avoids __builtin_convertvector, for which GCC emits four instructions each, most of them
// shuffles.
inline Longs widen(Word4 words) {
  return std::bit_cast<Longs>(_mm256_cvtepu32_epi64(std::bit_cast<__m128i>(words)));
}
template <int Half>
inline Longs low_words(Word4 low, Word high) {
  return widen(low) | (Long{high} << 32);
}
template <int Half>
inline Longs high_words(Word4 high) {
  return widen(high) << 32;
}
template <int Half>
inline Longs widen_mask(Int4 mask) {
  return std::bit_cast<Longs>(_mm256_cvtepi32_epi64(std::bit_cast<__m128i>(mask)));
}
inline Doubles square_root(Doubles x) {
  return std::bit_cast<Doubles>(_mm256_sqrt_pd(x));
}
inline Floats square_root(Floats x) {
  return std::bit_cast<Floats>(_mm256_sqrt_ps(x));
}
#else
template <int Half>
inline Longs interleave(Word4 low, Word4 high) {
  return std::bit_cast<Longs>(
      __builtin_shufflevector(low, high, 2 * Half, 2 * Half + 4, 2 * Half + 1, 2 * Half + 5));
}
/// Lanes low + 2^32 high.
template <int Half>
inline Longs low_words(Word4 low, Word high) {
  return interleave<Half>(low, Word4{high, high, high, high});
}
template <int Half>
inline Longs high_words(Word4 high) {
  return interleave<Half>(Word4{}, high);
}
template <int Half>
inline Longs widen_mask(Int4 mask) {
  return interleave<Half>(std::bit_cast<Word4>(mask), std::bit_cast<Word4>(mask));
}
// IEEE square roots; a loop over std::sqrt does not vectorise while sqrt may set errno.
#if defined(__clang__)
inline Doubles square_root(Doubles x) {
  return __builtin_elementwise_sqrt(x);
}
inline Floats square_root(Floats x) {
  return __builtin_elementwise_sqrt(x);
}
#elif defined(__SSE2__)
inline Doubles square_root(Doubles x) {
  return std::bit_cast<Doubles>(_mm_sqrt_pd(x));
}
inline Floats square_root(Floats x) {
  return std::bit_cast<Floats>(_mm_sqrt_ps(x));
}
#else
inline Doubles square_root(Doubles x) {
  return Doubles{std::sqrt(x[0]), std::sqrt(x[1])};
}
inline Floats square_root(Floats x) {
  return Floats{std::sqrt(x[0]), std::sqrt(x[1]), std::sqrt(x[2]), std::sqrt(x[3])};
}
#endif
#endif

// Numbers assembled from integers by their bit patterns: the double with high word H and low word
// b is 2^e + b 2^(e-52), so subtracting 2^e leaves b scaled, exactly.
constexpr Word kTwoTo20 = 0x41300000;       // 2^20 + b 2^-32
constexpr Word kTwoToMinus12 = 0x3f300000;  // 2^-12 + b 2^-64
constexpr Word kTwoTo22 = 0x41500000;       // 2^22 + b 2^-30
constexpr Word kTwoToMinus10 = 0x3f500000;  // 2^-10 + b 2^-62
constexpr Word kTwoTo52 = 0x43300000;       // 2^52 + b

template <class V>
inline bool any(V mask) {
  std::int32_t all = 0;
  for (std::size_t lane = 0; lane < sizeof(V) / 4; ++lane) all |= mask[lane];
  return all != 0;
}

/// k from the biased exponent of reduce_uniform.
inline Doubles exponent_of(Longs biased) {
  return (0x1p52 + 1023) - std::bit_cast<Doubles>(Longs(biased | (Long{kTwoTo52} << 32)));
}

/// Rotates a cosine and a sine by the quarter turns in the top two bits of j_high.
template <int Half>
struct Quarters {
  explicit Quarters(Word4 j_high)
      : odd(widen_mask<Half>(std::bit_cast<Int4>(j_high << 1) >> 31)),
        cos_sign(high_words<Half>((j_high ^ (j_high << 1)) & 0x80000000)),
        sin_sign(high_words<Half>(j_high & 0x80000000)) {}
  std::pair<Doubles, Doubles> operator()(Doubles c, Doubles s) const {
    return dpftrl::detail::turn_quarters(c, s, odd, cos_sign, sin_sign);
  }
  Longs odd, cos_sign, sin_sign;
};

/// Two (four) of the four lanes of 16 words; see docs/math/gaussian.md for each line.
template <int Half>
inline void double_lanes(Word4 v_low, Word4 v_high, Int4 upper_half, Word4 j_low, Word4 j_high,
                         double* out) {
  // (W) w = (v + 1/2) 2^-64, one rounding.
  const Doubles w =
      (std::bit_cast<Doubles>(low_words<Half>(v_high, kTwoTo20)) - 0x1p20) +
      (std::bit_cast<Doubles>(low_words<Half>(v_low, kTwoToMinus12)) - (0x1p-12 - 0x1p-65));
  const Doubles minus_log_u1 =
      dpftrl::detail::minus_log<double>(w, widen_mask<Half>(upper_half), exponent_of);
  // (R)
  const Doubles radius = square_root(Doubles(minus_log_u1 + minus_log_u1));
  // (Y) y = (rest + 1/2) 2^-62 - 1/2, one rounding.
  const Doubles y =
      (std::bit_cast<Doubles>(low_words<Half>(j_high & 0x3fffffff, kTwoTo22)) - (0x1p22 + 0.5)) +
      (std::bit_cast<Doubles>(low_words<Half>(j_low, kTwoToMinus10)) - (0x1p-10 - 0x1p-63));
  const auto [c, s] = dpftrl::detail::cos_sin_quarter<double>(y);
  const auto [cosine, sine] = Quarters<Half>(j_high)(c, s);
  // (Z)
  const Doubles z_cos = radius * cosine;
  const Doubles z_sin = radius * sine;
  store(out + 2 * Half, z_cos);
  store(out + 4 + 2 * Half, z_sin);
}

/// double_lanes with w and y exact, and everything computed from them in sums of two doubles.
template <int Half>
inline void extended_lanes(Word4 v_low, Word4 v_high, Int4 upper_half, Word4 j_low, Word4 j_high,
                           double* out) {
  namespace d = dpftrl::detail;
  using Sums = d::Sum<Doubles>;
  const Sums w = d::fast_sum(
      Doubles(std::bit_cast<Doubles>(low_words<Half>(v_high, kTwoTo20)) - 0x1p20),
      Doubles(std::bit_cast<Doubles>(low_words<Half>(v_low, kTwoToMinus12)) - (0x1p-12 - 0x1p-65)));
  const auto reduced = d::reduce_uniform<double>(w.high, widen_mask<Half>(upper_half), exponent_of);
  const Doubles f_low =
      reduced.scale * std::bit_cast<Doubles>(Longs(std::bit_cast<Longs>(w.low) ^ reduced.sign));
  const Sums minus_log_u1 = d::minus_log_of(Sums{reduced.f, f_low}, reduced.k);
  const Sums radius = d::root_of_twice(minus_log_u1, square_root(Doubles(2.0 * minus_log_u1.high)));
  const Sums y = d::fast_sum(
      Doubles(std::bit_cast<Doubles>(low_words<Half>(j_high & 0x3fffffff, kTwoTo22)) -
              (0x1p22 + 0.5)),
      Doubles(std::bit_cast<Doubles>(low_words<Half>(j_low, kTwoToMinus10)) - (0x1p-10 - 0x1p-63)));
  const auto [c, s] = d::turn_of(y);
  const Quarters<Half> turned(j_high);
  const auto [cos_high, sin_high] = turned(c.high, s.high);
  const auto [cos_low, sin_low] = turned(c.low, s.low);
  const Sums z_cos = d::normal_of(radius, Sums{cos_high, cos_low});
  const Sums z_sin = d::normal_of(radius, Sums{sin_high, sin_low});
  for (std::size_t lane = 0; lane < sizeof(Doubles) / sizeof(double); ++lane) {
    double* const here = out + 2 * (2 * Half + lane);
    here[0] = z_cos.high[lane];
    here[1] = z_cos.low[lane];
    here[8] = z_sin.high[lane];
    here[9] = z_sin.low[lane];
  }
}

/// Calls fill(v_low, v_high, upper_half, j_low, j_high) for every 16 words, which are four pairs.
/// Returns whether a pair was exceptional.
template <class Fill>
inline bool for_four_pairs(const Word* words, std::size_t num_words, Word exceptional_word,
                           Fill fill) {
  Int4 exceptional{};
  for (const Word* p = words; p != words + num_words; p += 16) {
    const Word4 i_high = load<Word4>(p + 4);
    const Int4 upper_half = std::bit_cast<Int4>(i_high) >> 31;
    const Word4 mask = std::bit_cast<Word4>(upper_half);
    const Word4 v_low = load<Word4>(p) ^ mask;
    const Word4 v_high = i_high ^ mask;
    exceptional |= std::bit_cast<Int4>(v_high) < static_cast<std::int32_t>(exceptional_word);
    const Word4 j_low = load<Word4>(p + 8);
    const Word4 j_high = load<Word4>(p + 12) + 0x20000000;  // j + 2^61: quadrant = top two bits
    fill(v_low, v_high, upper_half, j_low, j_high);
  }
  return any(exceptional);
}

bool normals_double(const Word* words, std::size_t num_words, double* out) {
  return for_four_pairs(words, num_words, dpftrl::detail::kExceptionalHighWord,
                        [&](Word4 v_low, Word4 v_high, Int4 upper_half, Word4 j_low, Word4 j_high) {
                          double_lanes<0>(v_low, v_high, upper_half, j_low, j_high, out);
                          if constexpr (kHalves == 2)
                            double_lanes<1>(v_low, v_high, upper_half, j_low, j_high, out);
                          out += 8;
                        });
}

bool normals_extended(const Word* words, std::size_t num_words, double* out) {
  return for_four_pairs(words, num_words, dpftrl::detail::kExceptionalHighWordExtended,
                        [&](Word4 v_low, Word4 v_high, Int4 upper_half, Word4 j_low, Word4 j_high) {
                          extended_lanes<0>(v_low, v_high, upper_half, j_low, j_high, out);
                          if constexpr (kHalves == 2)
                            extended_lanes<1>(v_low, v_high, upper_half, j_low, j_high, out);
                          out += 16;
                        });
}

/// One vector of float pairs, from the bits i of u1 and j of u2.
inline std::pair<Floats, Floats> float_lanes(Words i, Words j, Ints& exceptional) {
  const Ints upper_half = std::bit_cast<Ints>(i) >> 31;
  const Words mask = std::bit_cast<Words>(upper_half);
  const Ints v = std::bit_cast<Ints>(Words(i ^ mask));
  exceptional |= v < std::int32_t{dpftrl::detail::kExceptionalWordFloat};
  // (W) w = (v + 1/2) 2^-32
  const Floats w = __builtin_convertvector(v, Floats) * 0x1p-32f + 0x1p-33f;
  const Floats minus_log_u1 = dpftrl::detail::minus_log<float>(w, mask, [](Words biased) {
    return __builtin_convertvector(std::bit_cast<Ints>(Words(127 - biased)), Floats);
  });
  const Floats radius = square_root(Floats(minus_log_u1 + minus_log_u1));
  // (Y) y = (rest + 1/2) 2^-30: j moved by half a quadrant has the quadrant in its top two bits;
  // the other bits, moved back, are `rest`, a signed number.
  const Words moved = j + 0x20000000;
  const Words rest = (moved & 0x3fffffff) - 0x20000000;
  const Floats y = __builtin_convertvector(std::bit_cast<Ints>(rest), Floats) * 0x1p-30f + 0x1p-31f;
  const auto [c, s] = dpftrl::detail::cos_sin_quarter<float>(y);
  const Words odd = std::bit_cast<Words>(Ints(std::bit_cast<Ints>(Words(moved << 1)) >> 31));
  const auto [cosine, sine] = dpftrl::detail::turn_quarters(
      c, s, odd, Words((moved ^ (moved << 1)) & 0x80000000), Words(moved & 0x80000000));
  return {radius * cosine, radius * sine};
}

bool normals_float(const Word* words, std::size_t num_words, float* out) {
  Ints exceptional{};
#if defined(__AVX2__)
  // Two times four pairs side by side: each four are read as [u1 | u2] and written as [cos | sin].
  for (std::size_t i = 0; i < num_words; i += 16) {
    const Words a = load<Words>(words + i);
    const Words b = load<Words>(words + i + 8);
    const auto [c, s] =
        float_lanes(__builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11),
                    __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15), exceptional);
    const Floats first = __builtin_shufflevector(c, s, 0, 1, 2, 3, 8, 9, 10, 11);
    const Floats second = __builtin_shufflevector(c, s, 4, 5, 6, 7, 12, 13, 14, 15);
    store(out + i, first);
    store(out + i + 8, second);
  }
#else
  for (std::size_t i = 0; i < num_words; i += 8) {
    const auto [c, s] =
        float_lanes(load<Words>(words + i), load<Words>(words + i + 4), exceptional);
    store(out + i, c);
    store(out + i + 4, s);
  }
#endif
  return any(exceptional);
}

}  // namespace
}  // namespace dpftrl::simd
