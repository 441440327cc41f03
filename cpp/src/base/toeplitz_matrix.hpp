// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "dpftrl/base/types.hpp"

namespace dpftrl {

/// Dense lower-triangular Toeplitz matrix with first column `coefficients`.
Matrix lower_triangular_toeplitz(std::span<const double> coefficients);

}  // namespace dpftrl
