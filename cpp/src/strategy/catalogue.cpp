// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/strategy/catalogue.hpp"

#include <algorithm>

#include "base/closest.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "strategy/families.hpp"

namespace dpftrl {
namespace {

const std::vector<FamilyRow>& families() {
  static const std::vector<FamilyRow> rows = [] {
    std::vector<FamilyRow> all;
    for (FamilyRow (*const row)() : family_makers()) all.push_back(row());
    return all;
  }();
  return rows;
}

}  // namespace

const FamilyRow& find_family(std::string_view name) {
  std::string known;
  std::string_view closest;
  // A name that differs in more letters is not suggested.
  std::size_t least = std::min<std::size_t>(2, name.size() / 3) + 1;
  for (const FamilyRow& family : families()) {
    if (family.info.name == name) return family;
    if (family.is_for_active_people) continue;
    known.append(known.empty() ? "" : ", ").append(family.info.name);
    const std::size_t distance = detail::edit_distance(name.substr(0, 64), family.info.name);
    if (distance < least) {
      least = distance;
      closest = family.info.name;
    }
  }
  if (!closest.empty()) known.append(" (did you mean ").append(closest).append("?)");
  fail_argument("make_strategy", "strategy", "one of " + known, "\"" + std::string(name) + "\"");
}

namespace {

/// True if `name` is an item of a comma-separated list.
bool lists(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(", "), list.size());
    if (list.substr(0, end) == name) return true;
    list.remove_prefix(std::min(end + 2, list.size()));
  }
  return false;
}

void require_known_parameters(const StrategyInfo& info, const StrategyOptions& options) {
  const StrategyParameters& given = options.parameters;
  for (const ParameterInfo& parameter : parameter_infos()) {
    if (!parameter.is_given(given)) continue;
    if (!parameter.is_general && !lists(info.parameters, parameter.name))
      fail(ErrorCode::invalid_argument, "make_strategy", parameter.name,
           "is not a parameter of " + std::string(info.name));
    if (given.plan)
      fail(ErrorCode::invalid_argument, "make_strategy", parameter.name,
           "cannot be given together with a plan");
  }
  if (given.buffers && !given.decays.empty())
    fail(ErrorCode::invalid_argument, "make_strategy", "buffers",
         "cannot be given together with {decays}, which are as many");
  if (given.normalize_columns && info.name == OptimalStrategy::kName && options.workload &&
      !options.workload->is_prefix())
    fail(ErrorCode::invalid_argument, "make_strategy", "normalize_columns",
         "cannot be given for optimal and " + options.workload->name() +
             ": the columns of that optimum are what they should be");
  if (given.complete_epochs && !given.epoch_length)
    fail_argument("make_strategy", "complete_epochs", "given together with {epoch_length}", "true");
}

void require_horizon(const std::optional<Workload>& workload, const char* name,
                     std::int64_t steps) {
  if (workload && workload->steps() != steps)
    fail_argument("make_strategy", name, "of {steps} = " + to_text(steps) + " steps",
                  to_text(workload->steps()));
}

/// Checks that the family has an encoder for the encoder workload from which prefix sums can be
/// decoded.
void require_encoder_workload(const FamilyRow& family, const StrategyOptions& options) {
  if (!options.encoder_workload || options.encoder_workload->is_prefix()) return;
  const StrategyParameters& given = options.parameters;
  const bool is_optimal = options.name == OptimalStrategy::kName;
  const bool has_toeplitz_encoder =
      options.name != "output" && family.info.workloads == WorkloadSupport::adapted &&
      family.makes == Makes::toeplitz && options.encoder_workload->is_toeplitz();
  const bool is_able = (is_optimal ? !given.normalize_columns : has_toeplitz_encoder) &&
                       !given.plan && !given.epoch_length &&
                       (!options.workload || options.workload->is_prefix());
  if (!is_able)
    fail(ErrorCode::unsupported, options.name, "encoder_workload",
         "must be one from whose encoder prefix sums can be decoded",
         options.encoder_workload->name());
}

const FamilyRow* find_planned(std::string_view mechanism) {
  for (const FamilyRow& family : families())
    if (family.from_plan != nullptr && family.info.name == mechanism) return &family;
  return nullptr;
}

}  // namespace

void require_strategy_options(const StrategyOptions& options) {
  require_known_parameters(find_family(options.name).info, options);
  require_encoder_workload(find_family(options.name), options);
  require_horizon(options.workload, "workload", options.steps);
  require_horizon(options.encoder_workload, "encoder_workload", options.steps);
  options.participation.require_horizon(options.steps);
}

StrategyPointer make_strategy(const StrategyOptions& options) {
  require_strategy_options(options);
  const FamilyRow& family = find_family(options.name);
  if (options.participation.pattern() && !family.is_for_active_people) {
    // Other families have no search for active people.
    StrategyOptions single = options;
    single.participation = Participation::single();
    return make_strategy(single);
  }
  const Workload workload =
      options.workload ? *options.workload : Workload::prefix_sums(options.steps);
  if (options.parameters.plan)
    return planned_strategy(family.info.name, *options.parameters.plan, workload);
  const bool is_plain = workload.is_prefix() &&
                        (!options.encoder_workload || options.encoder_workload->is_prefix()) &&
                        !options.parameters.normalize_columns && !options.parameters.epoch_length &&
                        !family.normalizes_columns;
  if (!is_plain) return adapted_strategy(family, options, workload);
  return family.make(
      {.designed_for = workload, .workload = workload, .participation = options.participation},
      options.parameters);
}

const std::vector<StrategyInfo>& strategy_catalogue() {
  static const std::vector<StrategyInfo> catalogue = [] {
    std::vector<StrategyInfo> infos;
    for (const FamilyRow& family : families())
      if (!family.is_for_active_people) infos.push_back(family.info);
    return infos;
  }();
  return catalogue;
}

std::string names_with_plans() {
  std::string names;
  for (const FamilyRow& family : families())
    if (family.from_plan != nullptr)
      names.append(names.empty() ? "" : ", ").append(family.info.name);
  return names;
}

bool has_plans(std::string_view mechanism) {
  return find_planned(mechanism) != nullptr;
}

StrategyPointer planned_strategy(std::string_view mechanism, const StrategyPlan& plan,
                                 const Workload& workload) {
  const FamilyRow* family = find_planned(mechanism);
  if (family == nullptr)
    fail_argument("plan", "strategy", "one that a plan can define",
                  "\"" + std::string(mechanism) + "\"");
  for (const PlanNumbers& list : plan.numbers) {
    if (std::ranges::find(family->plan_lists, list.name) == family->plan_lists.end())
      fail(ErrorCode::invalid_argument, "plan", list.name,
           "is not a list of " + std::string(mechanism));
    if (std::ranges::count(plan.numbers, list.name, &PlanNumbers::name) > 1)
      fail(ErrorCode::invalid_argument, "plan", list.name, "must be given once", "twice");
  }
  return family->from_plan(plan, workload);
}

}  // namespace dpftrl
