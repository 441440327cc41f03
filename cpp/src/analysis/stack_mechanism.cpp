// SPDX-License-Identifier: Apache-2.0

/// Mechanisms for several workloads of one stream: docs/math/stacks.md.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "strategy/stack.hpp"

namespace dpftrl {
namespace {

constexpr std::string_view kStackFunction = "stack";

/// Largest number of steps over which encoders are compared.
constexpr std::int64_t kMaxChoiceSteps = 2048;

/// Checks the arguments and returns the stack with weights whose sum is 1.
Stack checked_stack(const MechanismOptions& options, const StackOptions& given) {
  if (options.workload || options.encoder_workload)
    fail(ErrorCode::invalid_argument, kStackFunction, "workload",
         "must not be given together with {workloads}");
  if (options.parameters.objective.value_or(Objective::mean) != Objective::mean)
    fail_argument(kStackFunction, "objective", "mean, for several workloads", "max");
  Stack stack{.workloads = given.workloads, .weights = given.weights};
  const std::int64_t count = std::ssize(stack.workloads);
  require_between(kStackFunction, "workloads", count, 1, Mechanism::kMaxStack);
  for (const Workload& workload : stack.workloads)
    if (workload.steps() != options.steps)
      fail_argument(kStackFunction, "workloads",
                    "of {steps} = " + to_text(options.steps) + " steps", to_text(workload.steps()));
  if (stack.weights.empty()) stack.weights.assign(stack.workloads.size(), 1.0);
  require_length(kStackFunction, "weights", std::ssize(stack.weights), count);
  double sum = 0;
  for (std::size_t i = 0; i < stack.weights.size(); ++i)
    sum += require_positive(kStackFunction, "weights[" + std::to_string(i) + "]", stack.weights[i]);
  for (double& weight : stack.weights)
    weight = require_positive(kStackFunction, "weights", weight / sum);
  return stack;
}

/// Errors at noise multiplier 1: the largest of all rows of all workloads, and the weighted RMS
/// error.
UnitError errors_of(const Readers& readers, const Stack& stack,
                    const Participation& participation) {
  const Sensitivity distance = sensitivity(*readers.strategies.front(), participation);
  double largest = 0, mean = 0;
  for (std::size_t i = 0; i < readers.strategies.size(); ++i) {
    const RowNorms rows = readers.strategies[i]->row_norms();
    largest = std::max(largest, rows.max_squared);
    mean += stack.weights[i] * rows.mean_squared;
  }
  return {distance, distance.value * std::sqrt(largest), distance.value * std::sqrt(mean)};
}

/// Workload of the encoder; for long streams, errors of the first steps decide.
Workload best_design(const StrategyOptions& options, const Stack& stack) {
  std::vector<Workload> designs = designs_for(options, stack);
  if (designs.size() == 1) return designs.front();
  StrategyOptions leading = options;
  leading.steps = std::min(options.steps, kMaxChoiceSteps);
  if (leading.steps < options.steps) leading.participation = Participation::single();
  const Stack first = stack.leading(leading.steps);
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < designs.size(); ++i) {
    const Readers readers = readers_of(leading, first, designs[i].leading(leading.steps));
    const double error = errors_of(readers, first, leading.participation).mean_error;
    if (!(error < least)) continue;
    least = error;
    best = i;
  }
  return std::move(designs[best]);
}

std::string name_of(const Stack& stack) {
  std::string name;
  for (const Workload& workload : stack.workloads)
    name.append(name.empty() ? "" : " + ").append(workload.name());
  return name;
}

/// Refuses several windows of active people, each of which has its own participation and noise.
void require_one_noise(const Mechanism& mechanism, std::string_view function) {
  if (mechanism.has_parts())
    fail(ErrorCode::unsupported, function, "mechanism",
         "must have one noise for all readers (analyse each reader of several windows alone)");
}

}  // namespace

std::shared_ptr<const Mechanism> Mechanism::make_stack(const MechanismOptions& options,
                                                       const StackOptions& given) {
  require_positive(kStackFunction, "clip", options.clip);
  const Stack stack = checked_stack(options, given);
  StrategyOptions strategy_options{.name = options.strategy,
                                   .steps = options.steps,
                                   .parameters = options.parameters,
                                   .participation = options.participation};
  require_strategy_options(strategy_options);
  Readers readers = readers_of(strategy_options, stack, best_design(strategy_options, stack));
  std::shared_ptr<const Strategy> front = readers.strategies.front();
  Certificate certificate =
      claim(options, *front, errors_of(readers, stack, options.participation));
  certificate.workload = name_of(stack);
  certificate.objective = Objective::mean;
  // The stack has the optimum of workload_of_stack.
  if (is_dense_optimum_of_stack(strategy_options)) {
    StrategyOptions whole = strategy_options;
    whole.workload = workload_of_stack(stack);
    certificate.optimised_for = optimised_for(whole);
  }
  const std::shared_ptr<Mechanism> made(
      new Mechanism(std::move(front), std::move(strategy_options), std::move(certificate)));
  made->stack_ =
      std::make_shared<const Stacked>(Stacked{.strategies = std::move(readers.strategies),
                                              .weights = stack.weights,
                                              .lower_bound = readers.lower_bound.every_dimension});
  return made;
}

std::shared_ptr<const Mechanism> Mechanism::reader(std::int64_t index) const {
  require_between(kStackFunction, "index", index, 0, num_readers() - 1);
  if (has_parts()) return parts_[static_cast<std::size_t>(index)];
  std::shared_ptr<const Strategy> own =
      stack_ ? stack_->strategies[static_cast<std::size_t>(index)] : strategy_;
  const RowNorms rows = own->row_norms();
  Certificate certificate = certificate_;
  certificate.workload = own->workload().name();
  certificate.max_error = certificate.sensitivity * std::sqrt(rows.max_squared);
  certificate.mean_error = certificate.sensitivity * std::sqrt(rows.mean_squared);
  return std::shared_ptr<const Mechanism>(
      new Mechanism(std::move(own), options_, std::move(certificate)));
}

double Mechanism::stack_lower_bound() const {
  require_one_noise(*this, kStackFunction);
  double sum = 0;
  for (std::int64_t i = 0; i < num_readers(); ++i) {
    const std::shared_ptr<const Mechanism> own = reader(i);
    const std::optional<LowerBound> bound =
        certified_lower_bound(own->strategy(), participation(), Objective::mean);
    const double value = bound ? bound->every_dimension : 0;
    sum += (stack_ ? stack_->weights[static_cast<std::size_t>(i)] : 1) * value * value;
  }
  // Covers the rounding of the sum, and of workload_of_stack in the search.
  return std::max(std::sqrt(sum), stack_ ? stack_->lower_bound : 0) * (1 - 0x1p-30);
}

std::vector<SimultaneousError> simultaneous_errors(const Mechanism& mechanism,
                                                   const SimultaneousOptions& options) {
  if (mechanism.is_pure())
    fail(ErrorCode::unsupported, "simultaneous_error", "mechanism",
         "must be one with a delta: the noise of others is not normal");
  require_one_noise(mechanism, "simultaneous_error");
  const auto k = static_cast<double>(mechanism.num_readers());
  require_inside("simultaneous_error", "beta", options.beta, 0, 1);
  SimultaneousOptions each = options;
  // Rounded down. log1p and expm1 keep the digits of a beta that is too small for 1 - beta.
  if (k > 1) each.beta = -std::expm1(std::log1p(-options.beta) / k) * (1 - 0x1p-50);
  std::vector<SimultaneousError> errors;
  for (std::int64_t i = 0; i < mechanism.num_readers(); ++i)
    errors.push_back(
        simultaneous_error(mechanism.reader(i)->strategy(), mechanism.participation(), each));
  return errors;
}

}  // namespace dpftrl
