// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "optimal/family_optimum.hpp"
#include "optimal/task.hpp"

namespace dpftrl::detail {

/// find_banded_toeplitz_optimum and find_banded_optimum in pieces. `options` must outlive them.
Task<BandedToeplitzOptimum> search_banded_toeplitz(BandedProblem problem,
                                                   const FamilyOptions& options, Pieces* pieces);
Task<BandedOptimum> search_banded(BandedProblem problem, const FamilyOptions& options,
                                  Pieces* pieces);

}  // namespace dpftrl::detail
