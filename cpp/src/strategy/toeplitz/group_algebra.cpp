// SPDX-License-Identifier: Apache-2.0
#include "strategy/toeplitz/group_algebra.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/double_double.hpp"
#include "dpftrl/base/error.hpp"
#include "math/fft.hpp"
#include "math/toeplitz.hpp"
#include "strategy/family_row.hpp"

namespace dpftrl {
namespace {

struct Point {
  double cos;
  double sin;
};

/// Taylor series as nested products: cos x = 1 - x^2/(1*2) (1 - x^2/(3*4) (...)), sin x = x (1 -
/// x^2/(2*3) (...)). Nine steps suffice for |x| <= pi/4.
struct TaylorStep {
  double cosine;
  double sine;
};
constexpr std::array<TaylorStep, 9> kSteps = {{{1.0 / 2, 1.0 / 6},
                                               {1.0 / 12, 1.0 / 20},
                                               {1.0 / 30, 1.0 / 42},
                                               {1.0 / 56, 1.0 / 72},
                                               {1.0 / 90, 1.0 / 110},
                                               {1.0 / 132, 1.0 / 156},
                                               {1.0 / 182, 1.0 / 210},
                                               {1.0 / 240, 1.0 / 272},
                                               {1.0 / 306, 1.0 / 342}}};

/// Returns the cosine and sine of 2 pi numerator / denominator by Taylor series, with the same bits
/// on every platform and small sines to full relative accuracy. The denominator must be below 2^60.
Point on_circle(std::int64_t numerator, std::int64_t denominator) {
  const std::int64_t scaled = 8 * (numerator % denominator);
  const std::int64_t octant = scaled / denominator;
  const std::int64_t rest = scaled % denominator;
  const bool mirrored = octant % 2 == 1;
  constexpr double kQuarterPi = 0.78539816339744830962;
  const double x = kQuarterPi * (static_cast<double>(mirrored ? denominator - rest : rest) /
                                 static_cast<double>(denominator));
  const double square = x * x;
  double cosine = 1, sine = 1;
  for (std::size_t k = kSteps.size(); k-- > 0;) {
    cosine = 1 - square * kSteps[k].cosine * cosine;
    sine = 1 - square * kSteps[k].sine * sine;
  }
  sine *= x;
  // Octants 1, 2, 5, 6 exchange the two; the signs follow from the quadrant.
  if (octant % 4 == 1 || octant % 4 == 2) std::swap(cosine, sine);
  return {octant >= 2 && octant < 6 ? -cosine : cosine, octant >= 4 ? -sine : sine};
}

/// Fourier coefficients v_l of the part of s that changes sign after n entries, without the factor
/// 1/(2n): the root of 2 / (1 - e^(-i phi)) is e^(i (phi - pi)/4) / sqrt(sin(phi/2)), phi = (2l+1)
/// pi / n.
Point root_of_eigenvalue(std::int64_t l, std::int64_t n) {
  const std::int64_t odd = 2 * l + 1;
  const double size = 1 / std::sqrt(on_circle(std::min(odd, 2 * n - odd), 4 * n).sin);
  const Point phase = on_circle(std::abs(odd - n), 8 * n);
  return {size * phase.cos, odd < n ? -size * phase.sin : size * phase.sin};
}

/// t_m = (1/2n) Re sum_l v_l e^(i pi (2l+1) m / n), m = 0 .. n-1. With w_l = e^(i pi l^2 / n) and
/// 2 l m = l^2 + m^2 - (m-l)^2 this is a convolution with the conjugates of w (Bluestein).
std::vector<double> alternating_part(std::int64_t n) {
  const Fft fft(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(2 * n - 2))));
  std::vector<double> re(fft.size()), im(fft.size()), chirp_re(fft.size()), chirp_im(fft.size());
  const auto chirp = [n](std::int64_t l) { return on_circle(l * l, 2 * n); };
  for (std::int64_t l = 0; l < n; ++l) {
    const Point v = root_of_eigenvalue(l, n), w = chirp(l);
    const auto i = static_cast<std::size_t>(l);
    re[i] = v.cos * w.cos - v.sin * w.sin;
    im[i] = v.cos * w.sin + v.sin * w.cos;
    const std::size_t mirrored = l == 0 ? 0 : fft.size() - i;
    chirp_re[i] = chirp_re[mirrored] = w.cos;
    chirp_im[i] = chirp_im[mirrored] = -w.sin;
  }
  fft.forward(re, im);
  fft.forward(chirp_re, chirp_im);
  for (std::size_t k = 0; k < fft.size(); ++k) {
    const double a = re[k], b = im[k];
    re[k] = a * chirp_re[k] - b * chirp_im[k];
    im[k] = a * chirp_im[k] + b * chirp_re[k];
  }
  fft.inverse(re, im);
  std::vector<double> part(static_cast<std::size_t>(n));
  for (std::int64_t m = 0; m < n; ++m) {
    // e^(i pi m / n) w_m = e^(i pi (m^2 + m) / n).
    const Point turn = on_circle(m * m + m, 2 * n);
    const auto i = static_cast<std::size_t>(m);
    part[i] = (re[i] * turn.cos - im[i] * turn.sin) / static_cast<double>(2 * n);
  }
  return part;
}

/// ||s||^2 = 1/2 + (1/2n) sum_{j=1..n} 1 / sin((2j-1) pi / (2n)), by Parseval.
double closed_norm_squared(std::int64_t n) {
  DoubleDouble half;  // the terms of j and of n + 1 - j are equal
  for (std::int64_t j = 1; j <= n / 2; ++j) half = add(half, 1 / on_circle(2 * j - 1, 4 * n).sin);
  const double middle = n % 2 == 1 ? 1 : 0;
  return 0.5 + (2 * half.high + middle) / static_cast<double>(2 * n);
}

/// Bound on how much longer than sqrt(norm_squared) the columns of the exact C can be.
///
/// B and C from the stored s have B C = A - R, R Toeplitz with entries 1 - (s * s)_k for lags k < n
/// and -(s * s)_k beyond, where * is the cyclic convolution of order 2n. C + B^+ R is an exact
/// encoder. As B C = A - R, the least singular value of B is at least (1/2 - |R|) / |C|, since
/// |A^-1| <= 2; and |C|^2 is at most the l1-norm of s * s, because a circulant is normal.
/// docs/math/grid.md, section 1.
double measured_slack(std::span<const double> s, double norm_squared) {
  const std::size_t n = s.size() / 2;
  // With p_m = s_m + s_{m+n} and q_m = s_m - s_{m+n}, m < n: (s * s)_k and (s * s)_{k+n} are
  // (P +- Q) / 2, P_k = (p p)_k + (p p)_{k+n}, Q_k = (q q)_k - (q q)_{k+n}. p is almost constant.
  const double constant = 1 / std::sqrt(static_cast<double>(n));
  std::vector<double> q(n);
  double deviation = 0, q_squared = 0;
  for (std::size_t m = 0; m < n; ++m) {
    const DoubleDouble p = two_sum(s[m], s[m + n]);
    deviation += std::abs(p.high - constant) + std::abs(p.low);
    q[m] = s[m] - s[m + n];
    q_squared += q[m] * q[m];
  }
  const BoundedProduct square = multiply_by_fft(q, q);
  const double steps = static_cast<double>(n);
  const double of_p = std::abs(constant * constant * steps - 1) + 0x1p-51 +
                      2 * std::abs(constant) * deviation + deviation * deviation;
  double of_q = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const double wrapped = k + n < square.terms.size() ? square.terms[k + n] : 0;
    of_q = std::max(of_q, std::abs(square.terms[k] - wrapped - 1));
  }
  of_q += 2 * square.error_bound + q_squared * 0x1p-51 + 0x1p-51;
  const double entry = (of_p + of_q) / 2;
  const double column = entry * std::sqrt(2 * steps);
  const double least_singular_value =
      (0.5 - column * std::sqrt(steps)) / std::sqrt(steps * (1 + 2 * entry));
  if (!(least_singular_value > 0))
    fail(ErrorCode::unsupported, GroupAlgebraStrategy::kName, "num_steps",
         "must be so few that coefficients are accurate", to_text(static_cast<std::int64_t>(n)));
  DoubleDouble stored;
  for (const double x : s) stored = add(stored, x * x);
  // sqrt(1 + x) <= 1 + |x|; the last term covers the rounding of the two norms.
  const double of_norm = std::abs(stored.high / norm_squared - 1) + 0x1p-48;
  return (of_norm + column / least_singular_value / std::sqrt(norm_squared)) * (1 + 0x1p-10);
}

}  // namespace

GroupAlgebraStrategy::GroupAlgebraStrategy(std::int64_t num_steps)
    : Strategy(Workload::prefix_sums(num_steps)) {
  require_between(kName, "num_steps", num_steps, 1, kMaxSteps);
  norm_squared_ = closed_norm_squared(num_steps);
}

GroupAlgebraStrategy::Coefficients GroupAlgebraStrategy::make_coefficients() const {
  const std::vector<double> part = alternating_part(num_steps());
  const double constant = 1 / (2 * std::sqrt(static_cast<double>(num_steps())));
  Coefficients made;
  made.circulant.reserve(2 * part.size());
  for (const double t : part) made.circulant.push_back(constant + t);
  for (const double t : part) made.circulant.push_back(constant - t);
  made.encoder_slack = measured_slack(made.circulant, norm_squared_);
  return made;
}

const GroupAlgebraStrategy::Coefficients& GroupAlgebraStrategy::coefficients() const {
  std::call_once(is_made_, [this] { coefficients_ = make_coefficients(); });
  return coefficients_;
}

double GroupAlgebraStrategy::Coefficients::at_lag(std::int64_t lag) const {
  const std::int64_t order = std::ssize(circulant);
  return circulant[static_cast<std::size_t>(lag < 0 ? lag + order : lag)];
}

double GroupAlgebraStrategy::column_norm_squared(std::int64_t step) const {
  require_step(step);
  return norm_squared_;
}

double GroupAlgebraStrategy::row_norm_squared(std::int64_t step) const {
  require_step(step);
  return norm_squared_;
}

Matrix GroupAlgebraStrategy::decoder() const {
  const Coefficients& stored = coefficients();
  Matrix decoder(dense_size(), 2 * dense_size());
  for (Eigen::Index row = 0; row < decoder.rows(); ++row)
    for (Eigen::Index column = 0; column < decoder.cols(); ++column)
      decoder(row, column) = stored.at_lag(row - column);
  return decoder;
}

Matrix GroupAlgebraStrategy::encoder() const {
  const Coefficients& stored = coefficients();
  Matrix encoder(2 * dense_size(), dense_size());
  for (Eigen::Index row = 0; row < encoder.rows(); ++row)
    for (Eigen::Index column = 0; column < encoder.cols(); ++column)
      encoder(row, column) = stored.at_lag(row - column);
  return encoder;
}

DecoderForm GroupAlgebraStrategy::decoder_form() const {
  const std::int64_t n = num_steps();
  ToeplitzDecoder form{
      .coefficients = {}, .num_future = 2 * n - 1, .num_measurements = num_measurements()};
  for (std::int64_t lag = 1 - 2 * n; lag < n; ++lag)
    form.coefficients.push_back(coefficients().at_lag(lag));
  return form;
}

FamilyRow group_algebra_family() {
  return {.info = {.name = GroupAlgebraStrategy::kName,
                   .summary = "square root of a circulant: the same error at every step",
                   .step_cost = "O(log n) by FFT, generated in advance",
                   .memory_cost = "n vectors",
                   .parameters = "",
                   .workloads = WorkloadSupport::decoded,
                   .max_steps = GroupAlgebraStrategy::kMaxSteps,
                   .is_causal = false},
          .makes = Makes::prefix_sums,
          .make = [](const ToeplitzRequest& request, const StrategyParameters&) -> StrategyPointer {
            return std::make_shared<const GroupAlgebraStrategy>(request.workload.num_steps());
          }};
}

}  // namespace dpftrl
