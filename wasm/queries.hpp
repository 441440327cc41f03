// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dpftrl/queries/query_mechanism.hpp"
#include "dpftrl/queries/query_workload.hpp"

namespace dpftrl::wasm {

/// Contents of a handle of linear queries.
struct Queries {
  QueryWorkload workload;
  QueryMechanism mechanism;
};

/// Contents of a handle of a search for linear queries.
struct QuerySearch {
  QueryFactorizer factorizer;
  QueryPrivacy privacy;
};

}  // namespace dpftrl::wasm
