// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dpftrl/queries/query_mechanism.hpp"
#include "dpftrl/queries/query_workload.hpp"

namespace dpftrl::wasm {

/// What a handle of linear queries owns.
struct Queries {
  QueryWorkload workload;
  QueryMechanism mechanism;
};

/// What a handle of their search owns.
struct QuerySearch {
  QueryFactorizer factorizer;
  QueryPrivacy privacy;
};

}  // namespace dpftrl::wasm
