// SPDX-License-Identifier: Apache-2.0
#include "strategy/toeplitz/blt.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "base/double_double.hpp"
#include "base/toeplitz_matrix.hpp"
#include "dpftrl/base/error.hpp"
#include "optimal/blt/blt_point.hpp"
#include "optimal/family_optimum.hpp"
#include "strategy/families.hpp"
#include "strategy/toeplitz/filtered.hpp"

namespace dpftrl {
namespace {

constexpr double kLargestDecay = 1 - 0x1p-53;

void require_buffers(std::string_view name, const BufferParameters& parameters) {
  const auto size = std::ssize(parameters.decays);
  require_count(name, "decays", "entries", size, 1, kMaxGivenBuffers);
  require_length(name, "weights", std::ssize(parameters.weights), size);
  for (std::size_t i = 0; i < parameters.decays.size(); ++i) {
    const std::string index = "[" + std::to_string(i) + "]";
    const double decay = parameters.decays[i], weight = parameters.weights[i];
    if (!(decay >= 0 && decay < 1))
      fail_argument(name, "decays" + index, "at least 0 and below 1", to_text(decay));
    if (!(std::abs(weight) <= kMaxBufferWeight))
      fail_argument(name, "weights" + index, "between -2^20 and 2^20", to_text(weight));
  }
}

/// c in double-double, because the sensitivity rests on it and weights of both signs may cancel.
std::vector<double> encoder_coefficients(const BufferParameters& parameters, std::int64_t size) {
  std::vector<DoubleDouble> sums(static_cast<std::size_t>(size));
  sums[0].high = 1;
  for (std::size_t i = 0; i < parameters.decays.size(); ++i) {
    DoubleDouble term{parameters.weights[i], 0};
    for (std::size_t j = 1; j < sums.size() && std::abs(term.high) > 0x1p-200; ++j) {
      sums[j] = add(add(sums[j], term.high), term.low);
      term = multiply(term, parameters.decays[i]);
    }
  }
  std::vector<double> coefficients;
  coefficients.reserve(sums.size());
  for (const DoubleDouble& sum : sums) coefficients.push_back(sum.high);
  return coefficients;
}

/// Coefficients of C^-1, the impulse response of the recursion of BufferedDecoder.
std::vector<double> inverse_coefficients(const BufferParameters& parameters, std::int64_t size) {
  std::vector<double> coefficients(static_cast<std::size_t>(size));
  std::vector<double> state(parameters.decays.size());
  for (std::size_t t = 0; t < coefficients.size(); ++t) {
    double next = t == 0 ? 1 : 0;
    for (std::size_t i = 0; i < state.size(); ++i) next -= parameters.weights[i] * state[i];
    for (std::size_t i = 0; i < state.size(); ++i)
      state[i] = parameters.decays[i] * state[i] + next;
    coefficients[t] = next;
  }
  return coefficients;
}

std::vector<PlanNumbers> numbers_of(const BufferParameters& parameters) {
  return {{"buffers", {static_cast<double>(parameters.decays.size())}},
          {"decays", parameters.decays},
          {"weights", parameters.weights}};
}

/// Beyond this many participations, the bound for any strategy is used.
constexpr std::int64_t kMaxSpacedColumns = std::int64_t{1} << 20;

[[noreturn]] void fail_interlacing() {
  fail(ErrorCode::invalid_argument, "blt", "decays",
       "and {weights} must interlace with those of the inverse beyond " +
           to_text(ToeplitzStrategy::kMaxSteps) + " steps: decreasing decays, positive weights");
}

/// 1 - theta^ of the inverse, the z with sum_k weights_k / (z - d_k) = 1, d the complements of the
/// decays, between d_i and the next complement, or at most 1 for the last. Searches for z - d_i,
/// which may be tiny.
double inverse_complement(const Vector& complements, const Vector& weights, Eigen::Index i) {
  const bool is_last = i + 1 == complements.size();
  const double end = (is_last ? 1 : complements(i + 1)) - complements(i);
  const auto excess = [&](double distance) {
    double sum = -1;
    for (Eigen::Index k = 0; k < complements.size(); ++k)
      sum += weights(k) / (distance + (complements(i) - complements(k)));
    return sum;
  };
  if (is_last && excess(end) > 0) fail_interlacing();
  double low = 0, high = end;
  for (double middle = high / 2; low < middle && middle < high; middle = low + (high - low) / 2)
    (excess(middle) > 0 ? low : high) = middle;
  return complements(i) + high;
}

detail::BltPoint point_of(const BufferParameters& parameters) {
  const auto size = static_cast<Eigen::Index>(parameters.decays.size());
  Vector complements(size), inverses(size);
  const Vector weights = Eigen::Map<const Vector>(parameters.weights.data(), size);
  for (Eigen::Index i = 0; i < size; ++i)
    complements(i) = 1 - parameters.decays[static_cast<std::size_t>(i)];
  for (Eigen::Index i = 0; i < size; ++i)
    if (!(weights(i) > 0 && (i == 0 || complements(i - 1) < complements(i)))) fail_interlacing();
  for (Eigen::Index i = 0; i < size; ++i) inverses(i) = inverse_complement(complements, weights, i);
  detail::BltPoint point(detail::BltPoint::log_gaps_of(complements, inverses));
  if (!point.is_finite) fail_interlacing();
  // The sensitivity must be computed from the given numbers.
  point.decay = complements;
  point.weight = weights;
  return point;
}

class LongBltStrategy final : public Strategy {
 public:
  LongBltStrategy(std::int64_t steps, const BufferParameters& parameters)
      : Strategy(Workload::prefix_sums(steps)),
        parameters_(parameters),
        point_(point_of(parameters)) {}

  std::string_view name() const override { return kBlt; }
  std::int64_t num_measurements() const override { return steps(); }
  double column_norm_squared(std::int64_t step) const override {
    require_step(step);
    return norm_squared({.steps = steps() - step, .num_participations = 1, .separation = 1});
  }
  double max_column_norm_squared() const override { return column_norm_squared(0); }
  double row_norm_squared(std::int64_t step) const override {
    require_step(step);
    return detail::largest_row_squared(point_, step + 1, nullptr, 0);
  }
  RowNorms row_norms() const override {
    return {row_norm_squared(0), row_norm_squared(steps() - 1),
            detail::mean_row_squared(point_, steps(), nullptr, 0)};
  }
  Matrix encoder() const override {
    (void)dense_size();
    return lower_triangular_toeplitz(encoder_coefficients(parameters_, steps()));
  }
  Matrix decoder() const override {
    (void)dense_size();
    return lower_triangular_toeplitz(workload().apply(inverse_coefficients(parameters_, steps())));
  }
  DecoderForm decoder_form() const override {
    fail(ErrorCode::unsupported, "blt", "steps",
         "must be at most " + to_text(ToeplitzStrategy::kMaxSteps) + " for noise",
         to_text(steps()));
  }
  bool has_nonnegative_gram() const override { return true; }
  std::vector<PlanNumbers> parameters() const override { return numbers_of(parameters_); }
  /// Exact, because coefficients are positive and do not increase.
  double spaced_norm_squared(std::int64_t num_participations,
                             std::int64_t separation) const override {
    if (num_participations > kMaxSpacedColumns) return 0;
    return norm_squared(
        {.steps = steps(), .num_participations = num_participations, .separation = separation});
  }

 private:
  double norm_squared(const detail::Repeats& repeats) const {
    return detail::sensitivity_squared(point_, repeats, nullptr, 0);
  }

  BufferParameters parameters_;
  detail::BltPoint point_;
};

std::shared_ptr<const Strategy> buffered(std::string_view name, const Workload& workload,
                                         const BufferParameters& parameters) {
  const std::int64_t n = workload.steps();
  if (name == kBlt && n > ToeplitzStrategy::kMaxSteps && workload.is_prefix())
    return long_blt_strategy(n, parameters);
  require_between(name, "steps", n, 1, ToeplitzStrategy::kMaxSteps);
  require_buffers(name, parameters);
  return std::make_shared<const ToeplitzStrategy>(
      workload,
      ToeplitzStrategy::Parts{.name = name,
                              .encoder = encoder_coefficients(parameters, n),
                              .decoder = workload.apply(inverse_coefficients(parameters, n)),
                              .form = form_for_workload(
                                  BufferedDecoder{parameters.decays, parameters.weights}, workload),
                              .parameters = numbers_of(parameters)});
}

bool has_given_buffers(const StrategyParameters& parameters) {
  return !parameters.decays.empty() || !parameters.weights.empty();
}

/// e^x, by doubling of e^y - 1. Uses basic arithmetic alone, so that parameters have the same bits
/// on every platform.
double portable_exp(double x) {
  constexpr int kDoublings = 12;
  const double y = std::ldexp(x, -kDoublings);
  double minus_one = 0;
  for (int k = 12; k >= 1; --k) minus_one = y / k * (1 + minus_one);
  for (int i = 0; i < kDoublings; ++i) minus_one *= 2 + minus_one;
  return 1 + minus_one;
}

/// y between two neighbouring poles with sum_k weights_k / (y - poles_k) = 1; the sum falls from
/// infinity to minus infinity there.
double secular_root(std::span<const double> poles, std::span<const double> weights, double low,
                    double high) {
  for (;;) {
    const double middle = low + (high - low) / 2;
    if (!(low < middle && middle < high)) return middle;
    double sum = 0;
    for (std::size_t k = 0; k < poles.size(); ++k) sum += weights[k] / (middle - poles[k]);
    (sum > 1 ? low : high) = middle;
  }
}

}  // namespace

std::vector<double> buffer_weights(std::span<const double> decays,
                                   std::span<const double> inverse_decays) {
  require_length("buffer_weights", "inverse_decays", std::ssize(inverse_decays),
                 std::ssize(decays));
  std::vector<double> weights;
  for (std::size_t i = 0; i < decays.size(); ++i) {
    double weight = decays[i] - inverse_decays[i];
    for (std::size_t j = 0; j < decays.size(); ++j)
      if (j != i) weight *= (decays[i] - inverse_decays[j]) / (decays[i] - decays[j]);
    weights.push_back(weight);
  }
  require_all_finite("buffer_weights", "weights", weights);
  return weights;
}

BufferParameters rational_buffers(std::int64_t buffers, RationalNodes nodes) {
  require_between(kBltRational, "buffers", buffers, 1, kMaxGivenBuffers);
  constexpr double kPi = 3.14159265358979323846;
  const std::int64_t half = (buffers + 1) / 2;
  const bool shifted = nodes == RationalNodes::shifted;
  const double spacing =
      kPi / std::sqrt(static_cast<double>(2 * (half + 1))) * (shifted ? 1.6 : 1.0);
  const auto size = static_cast<std::size_t>(buffers);
  // Poles theta^_k in decreasing order, and minus the weights of C^-1.
  std::vector<double> poles(size), pole_weights(size);
  double total = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const double k = static_cast<double>(static_cast<std::int64_t>(i) - half + (shifted ? 0 : 1));
    const double growth = portable_exp(spacing * k);
    poles[i] = 1 / (1 + growth * growth);
    pole_weights[i] = poles[i] * poles[i] * growth * growth * growth;
    total += growth * poles[i];
  }
  for (double& weight : pole_weights) weight /= total;
  // C^-1 has a zero at x = 1, so C has a pole there; the other poles interlace.
  BufferParameters parameters{.decays = {1}, .weights = {}};
  for (std::size_t i = 1; i < size; ++i)
    parameters.decays.push_back(secular_root(poles, pole_weights, poles[i], poles[i - 1]));
  parameters.weights = buffer_weights(parameters.decays, poles);
  parameters.decays[0] = kLargestDecay;
  return parameters;
}

std::shared_ptr<const Strategy> blt_strategy(const ToeplitzRequest& request,
                                             const BufferParameters& parameters) {
  return buffered(kBlt, request.workload, parameters);
}

std::shared_ptr<const Strategy> long_blt_strategy(std::int64_t steps,
                                                  const BufferParameters& parameters) {
  require_between(kBlt, "steps", steps, 1, kMaxBufferedSteps);
  require_buffers(kBlt, parameters);
  return std::make_shared<const LongBltStrategy>(steps, parameters);
}

BufferParameters optimal_buffers(const BltProblem& problem) {
  require_between(kBlt, "steps", problem.steps, 1, kMaxBufferedSteps);
  BltOptimum best = find_blt_optimum(problem);
  // For a user in every step, the best decay is 1 up to rounding.
  for (double& decay : best.decays) decay = std::min(decay, kLargestDecay);
  return {.decays = std::move(best.decays), .weights = std::move(best.weights)};
}

std::shared_ptr<const Strategy> blt_normalized_strategy(const Workload& workload,
                                                        std::optional<std::int64_t> buffers,
                                                        Objective objective) {
  const std::int64_t n =
      require_between(kBltNormalized, "steps", workload.steps(), 1, kMaxNormalizedBltSteps);
  const BltNormalizedOptimum best =
      find_blt_normalized_optimum({.steps = n, .objective = objective, .buffers = buffers});
  return blt_normalized_strategy(workload, {.decays = best.decays, .weights = best.weights});
}

std::shared_ptr<const Strategy> blt_normalized_strategy(const Workload& workload,
                                                        const BufferParameters& parameters) {
  const Workload prefix = Workload::prefix_sums(workload.steps());
  return normalized_strategy(buffered(kBltNormalized, prefix, parameters), workload,
                             std::string(kBltNormalized));
}

std::shared_ptr<const Strategy> blt_rational_strategy(const ToeplitzRequest& request,
                                                      std::optional<std::int64_t> buffers) {
  return buffered(kBltRational, request.workload,
                  rational_buffers(buffers.value_or(kDefaultBuffers)));
}

FamilyRow blt_rational_family() {
  return {.info = {.name = kBltRational,
                   .summary = "few buffers, by rational approximation of the square root",
                   .step_cost = "O(buffers)",
                   .memory_cost = "buffers vectors",
                   .parameters = "buffers",
                   .workloads = WorkloadSupport::decoded,
                   .max_steps = ToeplitzStrategy::kMaxSteps,
                   .is_causal = true},
          .makes = Makes::toeplitz,
          .make = [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
            return blt_rational_strategy(request, parameters.buffers);
          }};
}

FamilyRow given_blt_family() {
  return {
      .info = {.name = kBlt,
               .summary = "few buffers, optimised or given by decays and weights",
               .step_cost = "O(buffers)",
               .memory_cost = "buffers vectors",
               .parameters = "buffers, objective, decays, weights",
               .workloads = WorkloadSupport::decoded,
               .max_steps = kMaxBufferedSteps,
               .is_causal = true},
      .makes = Makes::toeplitz,
      .make =
          [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
            if (!has_given_buffers(parameters))
              fail(ErrorCode::unsupported, kBlt, "decays",
                   "and {weights} must be given, or a saved strategy: this module has no search");
            return blt_strategy(request, {parameters.decays, parameters.weights});
          },
      .plan_lists = {"decays", "weights"},
      .from_plan =
          [](const StrategyPlan& plan, const Workload& workload) {
            return buffered(kBlt, workload, {plan.list("decays"), plan.list("weights")});
          }};
}

FamilyRow blt_family() {
  FamilyRow row = given_blt_family();
  row.make = [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
    return blt_strategy(request, has_given_buffers(parameters)
                                     ? BufferParameters{parameters.decays, parameters.weights}
                                     : optimal_buffers({.steps = request.workload.steps(),
                                                        .objective = objective_of(parameters),
                                                        .participation = request.participation,
                                                        .buffers = parameters.buffers}));
  };
  row.from_plan = [](const StrategyPlan& plan, const Workload& workload) {
    return decoded_toeplitz_strategy(workload, [&](const ToeplitzRequest& request) {
      return blt_strategy(request, {plan.list("decays"), plan.list("weights")});
    });
  };
  return row;
}

FamilyRow blt_normalized_family() {
  return {.info = {.name = kBltNormalized,
                   .summary = "few buffers, columns scaled to norm 1, optimised",
                   .step_cost = "O(buffers)",
                   .memory_cost = "buffers vectors",
                   .parameters = "buffers, objective",
                   .workloads = WorkloadSupport::decoded,
                   .max_steps = ToeplitzStrategy::kMaxSteps,
                   .is_causal = true},
          .makes = Makes::any,
          .make =
              [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
                return blt_normalized_strategy(request.workload, parameters.buffers,
                                               objective_of(parameters));
              },
          .plan_lists = {"decays", "weights"},
          .from_plan =
              [](const StrategyPlan& plan, const Workload& workload) {
                return blt_normalized_strategy(workload,
                                               {plan.list("decays"), plan.list("weights")});
              }};
}

}  // namespace dpftrl
