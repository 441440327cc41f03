// SPDX-License-Identifier: Apache-2.0
#pragma once

/// How the module of counters refuses what only the whole package has.

#include <string>
#include <string_view>

#include "dpftrl/base/error.hpp"

namespace dpftrl::wasm {

[[noreturn]] inline void fail_absent(std::string_view parameter, std::string_view what) {
  constexpr std::string_view kFunction = "module";
  fail(ErrorCode::unsupported, kFunction, parameter,
       std::string("must be left out: ") + std::string(what) + " are in the whole package");
}

[[noreturn]] inline void fail_workload() {
  fail_absent("workload", "workloads other than prefix sums");
}

}  // namespace dpftrl::wasm
