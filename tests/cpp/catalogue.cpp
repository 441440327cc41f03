// SPDX-License-Identifier: Apache-2.0
#include "catalogue.hpp"

#include <algorithm>
#include <cmath>

#include "base/toeplitz_matrix.hpp"

namespace dpftrl::testing {
namespace {

std::vector<double> falling_rates(std::int64_t steps) {
  std::vector<double> rates;
  for (std::int64_t t = 0; t < steps; ++t) rates.push_back(1 / (1 + 0.1 * static_cast<double>(t)));
  return rates;
}

}  // namespace

Matrix rough_matrix(std::int64_t steps) {
  const auto size = static_cast<Eigen::Index>(steps);
  Matrix matrix = Matrix::Zero(size, size);
  for (Eigen::Index row = 0; row < size; ++row)
    for (Eigen::Index column = 0; column <= row; ++column)
      matrix(row, column) =
          row == column ? 1.5 : static_cast<double>((7 * row + 5 * column) % 11 - 3) / 8;
  return matrix;
}

Matrix rough_toeplitz_matrix(std::int64_t steps) {
  std::vector<double> column{-2};
  for (std::int64_t t = 1; t < steps; ++t) {
    const double lag = static_cast<double>(t);
    column.push_back(std::cos(lag) / (1 + lag));
  }
  return lower_triangular_toeplitz(column);
}

std::vector<Workload> other_workloads(std::int64_t steps) {
  return {Workload::momentum({.steps = steps, .momentum = 0.9, .decay = 1}),
          Workload::momentum({.steps = steps, .momentum = 0.5, .decay = 0.98}),
          Workload::sliding_window({.steps = steps, .window = 3}),
          Workload::learning_rates({.rates = falling_rates(steps), .momentum = 0}),
          Workload::learning_rates({.rates = falling_rates(steps), .momentum = 0.9}),
          Workload::lower_triangular(rough_matrix(steps)),
          Workload::lower_triangular(rough_toeplitz_matrix(steps))};
}

std::vector<Variant> prefix_variants(std::int64_t steps) {
  std::vector<Variant> variants;
  const auto add = [&](const std::string& name, const std::string& note,
                       const StrategyParameters& parameters) {
    variants.push_back({name + note + ", n = " + std::to_string(steps),
                        {.name = name, .steps = steps, .workload = {}, .parameters = parameters}});
  };
  for (const StrategyInfo& info : strategy_catalogue()) {
    const std::string name(info.name);
    StrategyParameters parameters = quick_parameters(info);
    add(name, "", parameters);
    parameters.normalize_columns = true;
    add(name, ", normalised", parameters);
    parameters.normalize_columns = false;
    parameters.epoch_length = std::min<std::int64_t>(5, steps);
    add(name, ", epochs", parameters);
    parameters.normalize_columns = true;
    add(name, ", normalised epochs", parameters);
  }
  for (const char* name : {"tree", "honaker"})
    add(name, ", completed epochs",
        {.epoch_length = std::min<std::int64_t>(5, steps), .complete_epochs = true});
  for (const std::int64_t arity : {2, 3, 4, 5}) {
    add("tree-k", ", arity " + std::to_string(arity), {.arity = arity});
    if (arity % 2 == 1)
      add("tree-k", ", subtractive " + std::to_string(arity),
          {.arity = arity, .subtractive = true});
  }
  for (const std::int64_t bands : {1, 2, 3}) {
    add("banded-square-root", ", bands " + std::to_string(bands), {.bands = bands});
    add("banded-inverse-square-root", ", bands " + std::to_string(bands), {.bands = bands});
  }
  add("optimal", ", mean, 3 buffers", {.buffers = 3, .objective = Objective::mean});
  add("optimal", ", full accuracy", {.buffers = 0});
  add("blt", ", given", {.decays = {0.97, 0.66}, .weights = {0.21, 0.28}});
  add("blt", ", mean, 2 buffers", {.buffers = 2, .objective = Objective::mean});
  add("blt-scaled", ", mean", {.buffers = 1, .objective = Objective::mean});
  add("blt-normalized", ", mean", {.buffers = 2, .objective = Objective::mean});
  add("banded-toeplitz", ", mean, 3 bands", {.bands = 3, .objective = Objective::mean});
  add("banded", ", mean, 2 bands", {.bands = 2, .objective = Objective::mean});
  for (const std::int64_t k : {2, 4})
    if (steps % k == 0) {
      const Participation epochs =
          Participation::fixed_epoch({.epochs = k, .epoch_length = steps / k});
      for (const char* name : {"optimal", "blt", "banded-toeplitz"}) {
        add(name, ", for " + std::to_string(k) + " epochs", {});
        variants.back().options.participation = epochs;
      }
    }
  add("nu", ", 0.1", {.nu = 0.1});
  add("lambda-cgd", ", 0.5", {.lambda = 0.5});
  add("blt-rational", ", 3 buffers", {.buffers = 3});
  add("log-perturbed", ", cap twice the horizon", {.horizon_cap = 2 * steps});
  for (const std::int64_t window : {1, 3}) {
    add("offset-ar", ", window " + std::to_string(window), {});
    variants.back().options.participation = Participation::active({.window = window});
  }
  add("offset-ar", ", one participation", {});
  return variants;
}

std::vector<Variant> workload_variants(std::int64_t steps) {
  std::vector<Variant> variants;
  for (const Workload& workload : other_workloads(steps))
    for (const StrategyInfo& info : strategy_catalogue())
      for (const bool normalize : {false, true}) {
        if (normalize && info.name == "optimal") continue;  // refused
        StrategyParameters parameters = quick_parameters(info);
        parameters.normalize_columns = normalize;
        variants.push_back({std::string(info.name) + (normalize ? ", normalised, " : ", ") +
                                workload.name() + ", n = " + std::to_string(steps),
                            {.name = std::string(info.name),
                             .steps = steps,
                             .workload = workload,
                             .parameters = parameters}});
      }
  return variants;
}

std::vector<Participation> participations(std::int64_t steps) {
  std::vector<Participation> all = {Participation::single()};
  for (const std::int64_t k : {2, 4})
    if (steps % k == 0)
      all.push_back(Participation::fixed_epoch({.epochs = k, .epoch_length = steps / k}));
  for (const std::int64_t b : {1, 2, 5})
    for (const std::int64_t k : {1, 2, 3, 20})
      all.push_back(Participation::min_separation({.times = k, .apart = b}));
  return all;
}

}  // namespace dpftrl::testing
