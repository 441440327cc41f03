// SPDX-License-Identifier: Apache-2.0

/// Version and mechanisms of a module, and its handles.

#include <emscripten/val.h>

#include <string>

#include "convert.hpp"
#include "guard.hpp"
#include "handles.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;

std::string version() {
  return std::string(DPFTRL_VERSION);
}

val catalogue() {
  val list = val::array();
  for (const StrategyInfo& info : strategy_catalogue()) {
    val entry = val::object();
    entry.set("name", std::string(info.name));
    entry.set("summary", std::string(info.summary));
    entry.set("stepCost", std::string(info.step_cost));
    entry.set("memoryCost", std::string(info.memory_cost));
    entry.set("parameters", std::string(info.parameters));
    entry.set("workloads", info.workloads == WorkloadSupport::adapted ? "adapted" : "decoded");
    entry.set("maxSteps", static_cast<double>(info.max_steps));
    entry.set("causal", info.is_causal);
    entry.set("pureDp", info.allows_pure_dp);
    list.call<double>("push", entry);
  }
  return list;
}

void dispose(double handle) {
  handles().remove(handle);
}

double live_handles() {
  return handles().size();
}

}  // namespace

EMSCRIPTEN_BINDINGS(dpftrl_module) {
  bind<&version>("version");
  bind<&catalogue>("catalogue");
  bind<&dispose>("dispose");
  bind<&live_handles>("liveHandles");
}

}  // namespace dpftrl::wasm
