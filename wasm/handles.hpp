// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Objects owned by JavaScript handles.

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <variant>

#include "convert.hpp"
#include "dpftrl/analysis/planner.hpp"
#include "dpftrl/learn/dp_ftrl.hpp"
#include "dpftrl/learn/regret.hpp"
#include "dpftrl/learn/simulation.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "dpftrl/release/people_sum.hpp"
#include "dpftrl/release/prefix_sum.hpp"
#include "dpftrl/release/release_ledger.hpp"
#include "queries.hpp"

namespace dpftrl::wasm {

/// Noise of totals, of steps, or of steps with what a target requires.
using NoiseRows = std::variant<NoiseStream, NoiseIncrements, GradientNoise>;

/// Objects by number. A number is never used twice.
class Handles {
 public:
  template <typename Object>
  double add(std::unique_ptr<Object> object) {
    ++last_;
    objects_.emplace(last_, std::move(object));
    return static_cast<double>(last_);
  }

  template <typename Object>
  Object& get(double handle) {
    const auto found = objects_.find(count_of(handle));
    const auto* object =
        found == objects_.end() ? nullptr : std::get_if<std::unique_ptr<Object>>(&found->second);
    if (object == nullptr) throw std::logic_error("no such handle");
    return **object;
  }

  void remove(double handle) { objects_.erase(count_of(handle)); }
  double size() const { return static_cast<double>(objects_.size()); }

 private:
  std::unordered_map<
      std::int64_t,
      std::variant<
          std::unique_ptr<PrefixSum>, std::unique_ptr<PeopleSum>, std::unique_ptr<ReleaseLedger>,
          std::unique_ptr<NoiseRows>, std::unique_ptr<DpFtrl>, std::unique_ptr<TwinLearner>,
          std::unique_ptr<ComparatorSolver>, std::unique_ptr<Simulation>, std::unique_ptr<Planner>,
          std::unique_ptr<Queries>, std::unique_ptr<QuerySearch>>>
      objects_;
  std::int64_t last_ = 0;
};

inline Handles& handles() {
  static Handles all;
  return all;
}

}  // namespace dpftrl::wasm
