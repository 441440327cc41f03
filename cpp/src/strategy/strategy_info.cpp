// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/strategy/strategy_info.hpp"

#include <algorithm>
#include <array>

namespace dpftrl {
namespace {

using Parameters = StrategyParameters;

constexpr std::array kParameters = {
    ParameterInfo{"bands", &Parameters::bands},
    ParameterInfo{"buffers", &Parameters::buffers},
    ParameterInfo{"decays", &Parameters::decays},
    ParameterInfo{"weights", &Parameters::weights},
    ParameterInfo{"arity", &Parameters::arity},
    ParameterInfo{"subtractive", &Parameters::subtractive},
    ParameterInfo{"nu", &Parameters::nu},
    ParameterInfo{"lambda", &Parameters::lambda},
    ParameterInfo{"alpha", &Parameters::alpha},
    ParameterInfo{"loglog_power", &Parameters::loglog_power},
    ParameterInfo{"horizon_cap", &Parameters::horizon_cap},
    ParameterInfo{"objective", &Parameters::objective},
    ParameterInfo{"epoch_length", &Parameters::epoch_length, true},
    ParameterInfo{"complete_epochs", &Parameters::complete_epochs, true},
    ParameterInfo{"normalize_columns", &Parameters::normalize_columns, true},
};

template <typename T>
bool is_set(const std::optional<T>& value) {
  return value.has_value();
}
bool is_set(const std::vector<double>& values) {
  return !values.empty();
}
bool is_set(bool value) {
  return value;
}

}  // namespace

bool ParameterInfo::is_flag() const {
  return std::holds_alternative<std::optional<bool> Parameters::*>(member) ||
         std::holds_alternative<bool Parameters::*>(member);
}

bool ParameterInfo::is_list() const {
  return std::holds_alternative<std::vector<double> Parameters::*>(member);
}

bool ParameterInfo::is_given(const StrategyParameters& parameters) const {
  return std::visit([&](auto place) { return is_set(parameters.*place); }, member);
}

std::span<const ParameterInfo> parameter_infos() {
  return kParameters;
}

const ParameterInfo* find_parameter(std::string_view name) {
  const auto* const found = std::ranges::find(kParameters, name, &ParameterInfo::name);
  return found == kParameters.end() ? nullptr : found;
}

}  // namespace dpftrl
