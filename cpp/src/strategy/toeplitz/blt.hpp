// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "optimal/family_optimum.hpp"
#include "strategy/toeplitz/toeplitz_base.hpp"

namespace dpftrl {

/// Buffered linear Toeplitz matrices: c_0 = 1, c_j = sum_i weights_i decays_i^(j-1). They take one
/// vector of memory per buffer. The stored numbers define C exactly.
/// @source  Dvijotham, McMahan, Pillutla, Steinke, Thakurta, arXiv 2404.16706.
struct BufferParameters {
  std::vector<double> decays;   ///< theta, each in [0, 1), 1 .. kMaxGivenBuffers of them
  std::vector<double> weights;  ///< omega, one per decay, finite, at most 2^20 in magnitude
};
inline constexpr std::int64_t kMaxGivenBuffers = 32;
inline constexpr double kMaxBufferWeight = 0x1p20;

inline constexpr std::string_view kBlt = "blt";
std::shared_ptr<const Strategy> blt_strategy(const ToeplitzRequest& request,
                                             const BufferParameters& parameters);

/// `blt` for prefix sums of any length, with closed forms of all norms instead of a list of
/// coefficients. `blt` uses it beyond ToeplitzStrategy::kMaxSteps. It has errors and sensitivities,
/// for single and repeated participation, but makes no noise.
///
/// @exactness   a few rounding errors, also for decays close to 1
/// @throws Error{invalid_argument} steps outside 1 .. kMaxBufferedSteps; parameters whose inverse
///         does not interlace with them, 1 > theta_1 > theta^_1 > theta_2 > ... >= 0 (the
///         parameters of find_blt_optimum do).
/// @cost        O(d^2) per norm; O(k d^2) for k participations.
/// @checked-by  toeplitz_strategies_test "closed forms of buffers are the sums of their
///             coefficients"
std::shared_ptr<const Strategy> long_blt_strategy(std::int64_t steps,
                                                  const BufferParameters& parameters);
inline constexpr std::int64_t kMaxBufferedSteps = std::int64_t{1} << 30;

/// The buffers of least error for prefix sums (find_blt_optimum).
BufferParameters optimal_buffers(const BltProblem& problem);

/// Buffers with columns scaled to norm 1, chosen to minimise the error of the scaled encoder
/// (find_blt_normalized_optimum).
inline constexpr std::string_view kBltNormalized = "blt-normalized";
std::shared_ptr<const Strategy> blt_normalized_strategy(const Workload& workload,
                                                        std::optional<std::int64_t> buffers,
                                                        Objective objective);
/// `blt-normalized` with given buffers.
std::shared_ptr<const Strategy> blt_normalized_strategy(const Workload& workload,
                                                        const BufferParameters& parameters);

/// The rational approximation of (1-x)^(1/2) by `buffers` nodes of the trapezoidal rule,
///
///     theta^_k = 1 / (1 + e^(2 h k)),   C^-1 = sum_k e^(hk) (1-x) theta^_k / (1 - theta^_k x)
///                                              / sum_k e^(hk) theta^_k,
///
/// for any horizon. `published` uses h = pi / sqrt(2 (ceil(d/2) + 1)) and k = -ceil(d/2) + 1 .. d -
/// ceil(d/2). `shifted`, the default, uses 1.6 times that h and lowers every k by one; it is much
/// better for few buffers and long horizons.
/// @source  arXiv 2404.16706, Proposition 4.5; the shifted nodes come from the jax_privacy library.
enum class RationalNodes { published, shifted };
BufferParameters rational_buffers(std::int64_t buffers,
                                  RationalNodes nodes = RationalNodes::shifted);

inline constexpr std::string_view kBltRational = "blt-rational";
inline constexpr std::int64_t kDefaultBuffers = 10;
std::shared_ptr<const Strategy> blt_rational_strategy(const ToeplitzRequest& request,
                                                      std::optional<std::int64_t> buffers);

/// Weights of the matrix with the given decays whose inverse has decays `inverse_decays`: weights_i
/// = prod_j (theta_i - theta^_j) / prod_{j != i} (theta_i - theta_j). The decays must be distinct.
/// @source  arXiv 2404.16706, Lemma 5.2.
std::vector<double> buffer_weights(std::span<const double> decays,
                                   std::span<const double> inverse_decays);

}  // namespace dpftrl
