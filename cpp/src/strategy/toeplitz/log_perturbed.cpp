// SPDX-License-Identifier: Apache-2.0
#include "strategy/toeplitz/log_perturbed.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>

#include "base/double_double.hpp"
#include "dpftrl/base/error.hpp"
#include "math/toeplitz.hpp"
#include "strategy/family_row.hpp"

namespace dpftrl {
namespace {

struct Factors {
  std::vector<double> encoder;
  std::vector<double> decoder;  ///< decoder for prefix sums
};

struct Node {
  double place;  ///< in [0, 1/2]; its mirror image is at 1 - place
  double weight;
};
/// Gauss-Legendre rule on [0, 1].
constexpr std::array<Node, 10> kNodes = {{
    {0.0034357004074525377, 0.0088070035695760589},
    {0.018014036361043106, 0.020300714900193469},
    {0.043882785874337048, 0.031336024167054534},
    {0.080441514088890595, 0.041638370788352377},
    {0.1268340467699246, 0.050965059908620221},
    {0.18197315963674249, 0.059097265980759206},
    {0.24456649902458646, 0.065844319224588319},
    {0.31314695564229023, 0.071048054659191021},
    {0.38610707442917747, 0.074586493236301871},
    {0.46173673943325133, 0.076376693565362919},
}};

/// y_j of ln(-ln(1-x) / x) = sum_j y_j x^j: j y_j = int_0^1 t (t+1) .. (t+j-1) / j! dt, as int_0^1
/// (1-x)^(-t) dt = -x / ((1-x) ln(1-x)). The integrand is about j^(t-1) / Gamma(t), for which this
/// many nodes are exact up to rounding, up to 2^24 steps. Rounding errors move encoder and decoder
/// together.
std::vector<double> logarithm_of_logarithm(std::size_t size) {
  std::array<double, 2 * kNodes.size()> rests, terms;  // 1 - t; weight times integrand
  for (std::size_t i = 0; i < kNodes.size(); ++i) {
    rests[2 * i] = kNodes[i].place;
    rests[2 * i + 1] = 1 - kNodes[i].place;
    terms[2 * i] = terms[2 * i + 1] = kNodes[i].weight;
  }
  std::vector<double> logarithm(size);
  for (std::size_t j = 1; j < size; ++j) {
    const double inverse = 1 / static_cast<double>(j);
    for (std::size_t i = 0; i < terms.size(); ++i) terms[i] *= 1 - rests[i] * inverse;
    std::array<double, 4> sums{};
    for (std::size_t i = 0; i < terms.size(); i += sums.size())
      for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += terms[i + k];
    logarithm[j] = ((sums[0] + sums[1]) + (sums[2] + sums[3])) * inverse;
  }
  return logarithm;
}

Factors perturbed_factors(double alpha, double delta, std::int64_t num_coefficients) {
  const auto size = static_cast<std::size_t>(num_coefficients);
  const std::vector<double> log = logarithm_of_logarithm(size + 1);
  std::vector<double> exponent(size);
  for (std::size_t j = 0; j < size; ++j) exponent[j] = -(0.5 + alpha) * log[j];
  if (delta != 0) {
    std::vector<double> inner(size);
    for (std::size_t j = 0; j < size; ++j) inner[j] = 2 * log[j + 1];
    const std::vector<double> log_log = logarithm_of_series(inner);
    for (std::size_t j = 0; j < size; ++j) exponent[j] += delta * log_log[j];
  }
  // (1-x)^(-1/2) has the logarithm sum x^j / (2j).
  const auto with_root = [&](double sign) {
    std::vector<double> logarithm(size);
    for (std::size_t j = 1; j < size; ++j)
      logarithm[j] = 0.5 / static_cast<double>(j) + sign * exponent[j];
    return exponential_of_series(logarithm);
  };
  return {with_root(1), with_root(-1)};
}

double l2_norm(std::span<const double> values) {
  DoubleDouble sum;
  for (const double value : values) sum = add(sum, value * value);
  return std::sqrt(sum.high);
}

/// Bounds how much longer than `encoder` a column of the exact C = B^-1 A can be, A the prefix sums
/// and B the stored decoder, from the residual r = a - b c: C = c + (b^-1) r. Nothing is assumed
/// about how the coefficients were obtained. docs/math/grid.md, section 1.
double measured_slack(const Factors& factors) {
  const std::span<const double> c = factors.encoder, b = factors.decoder;
  const BoundedProduct product = multiply_by_fft(b, c);
  double residual = 0, change = std::abs(c[0]);  // change: l1-norm of (1-x) c
  for (std::size_t j = 0; j < c.size(); ++j) {
    residual = std::max(residual, std::abs(1 - product.terms[j]) + product.error_bound);
    if (j > 0) change += std::abs(c[j] - c[j - 1]);
  }
  // b (1-x) c = 1 - q with q = (1-x) r, so that |b^-1|_1 <= |(1-x) c|_1 / (1 - |q|_1).
  const double steps = static_cast<double>(c.size());
  const double inverse = change / (1 - 2 * residual * steps);
  if (!(inverse > 0))
    fail(ErrorCode::unsupported, kLogPerturbed, "alpha",
         "and {loglog_power} must be such that coefficients are accurate for " +
             to_text(static_cast<std::int64_t>(c.size())) + " steps");
  return inverse * residual * std::sqrt(steps) / std::abs(c[0]) * (1 + 0x1p-10);
}

class LogPerturbedStrategy final : public ToeplitzStrategy {
 public:
  LogPerturbedStrategy(Workload workload, Parts parts, Factors factors, double capped_norm_squared)
      : ToeplitzStrategy(std::move(workload), std::move(parts)),
        factors_(std::move(factors)),
        capped_norm_squared_(capped_norm_squared) {}
  double max_column_norm_squared() const override { return capped_norm_squared_; }
  /// Measured on first use, because errors do not need it.
  double encoder_slack() const override {
    std::call_once(is_measured_, [this] { slack_ = measured_slack(factors_); });
    return slack_;
  }

 private:
  Factors factors_;
  double capped_norm_squared_;
  mutable std::once_flag is_measured_;
  mutable double slack_ = 0;
};

}  // namespace

std::shared_ptr<const Strategy> log_perturbed_strategy(const ToeplitzRequest& request,
                                                       const LogPerturbedOptions& options) {
  const Workload& workload = request.workload;
  const std::int64_t n = workload.steps();
  require_between(kLogPerturbed, "steps", n, 1, kMaxLogPerturbedSteps);
  const double alpha = options.alpha.value_or(0.01);
  if (!(alpha > 0 && alpha <= 1))
    fail_argument(kLogPerturbed, "alpha", "above 0 and at most 1", to_text(alpha));
  const double delta = options.loglog_power.value_or(0);
  if (!(delta >= 0 && delta <= 1))
    fail_argument(kLogPerturbed, "loglog_power", "between 0 and 1", to_text(delta));
  const std::int64_t cap = options.horizon_cap.value_or(n);
  require_between(kLogPerturbed, "horizon_cap", cap, n, kMaxLogPerturbedSteps);

  Factors factors = perturbed_factors(alpha, delta, cap);
  const double capped_norm = l2_norm(factors.encoder);
  factors.encoder.resize(static_cast<std::size_t>(n));
  factors.decoder.resize(static_cast<std::size_t>(n));
  ToeplitzStrategy::Parts parts{.name = kLogPerturbed};
  parts.parameters = {
      {"alpha", {alpha}}, {"loglog_power", {delta}}, {"horizon_cap", {static_cast<double>(cap)}}};
  parts.form = form_for_workload(ToeplitzDecoder{.coefficients = factors.decoder}, workload);
  parts.encoder = factors.encoder;
  parts.decoder = factors.decoder;
  if (!workload.is_prefix())
    parts.decoder =
        workload.apply(solve_workload(Workload::prefix_sums(n), std::move(parts.decoder)));
  return std::make_shared<const LogPerturbedStrategy>(
      workload, std::move(parts), std::move(factors), capped_norm * capped_norm);
}

FamilyRow log_perturbed_family() {
  return {.info = {.name = kLogPerturbed,
                   .summary = "square root damped by logarithms, scaled for a longer horizon",
                   .step_cost = "O(log n) by FFT, generated in advance",
                   .memory_cost = "n vectors",
                   .parameters = "alpha, loglog_power, horizon_cap",
                   .workloads = WorkloadSupport::decoded,
                   .max_steps = kMaxLogPerturbedSteps,
                   .is_causal = true},
          .makes = Makes::toeplitz,
          .make = [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
            return log_perturbed_strategy(request, {.alpha = parameters.alpha,
                                                    .loglog_power = parameters.loglog_power,
                                                    .horizon_cap = parameters.horizon_cap});
          }};
}

}  // namespace dpftrl
