// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Vectors, matrices and limits that all other headers share.
///
/// ```cpp
/// dpftrl::Matrix records = dpftrl::Matrix::Zero(2, 3);  // two steps of three numbers
/// records.row(1) << 0.5, -1, 2;
/// const dpftrl::Vector total = records.colwise().sum();
/// assert(total[2] == 2);
/// ```

#include <Eigen/Core>
#include <cstdint>

namespace dpftrl {

using Vector = Eigen::VectorXd;
/// Row-major: row t of a matrix is what happens at step t.
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Horizons up to this many steps (the addressing of the noise has room for 2^48 rows, and the
/// dyadic mechanisms use fewer than two rows a step).
inline constexpr std::int64_t kMaxNumSteps = std::int64_t{1} << 40;
/// Matrices are materialised only up to this many steps; everything else streams.
inline constexpr std::int64_t kMaxDenseSteps = 4096;
/// Coordinates of one stream; fits the sizes of 32-bit platforms.
inline constexpr std::int64_t kMaxDimension = std::int64_t{1} << 31;

}  // namespace dpftrl
