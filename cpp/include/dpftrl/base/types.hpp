// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Vectors, matrices and limits shared by the other headers. Eigen's types are only declared here,
/// so that programs without matrices need not compile Eigen; a program that uses a matrix includes
/// `<Eigen/Core>`.
///
/// ```cpp
/// #include <Eigen/Core>
/// dpftrl::Matrix records = dpftrl::Matrix::Zero(2, 3);  // two steps of three numbers
/// records.row(1) << 0.5, -1, 2;
/// const dpftrl::Vector total = records.colwise().sum();
/// assert(total[2] == 2);
/// ```

#include <cstdint>

namespace Eigen {
template <typename Scalar, int Rows, int Columns, int Options, int MaxRows, int MaxColumns>
class Matrix;
}

namespace dpftrl {

/// Eigen::VectorXd.
using Vector = Eigen::Matrix<double, -1, 1, 0, -1, 1>;
/// Eigen::MatrixXd, but row-major.
using Matrix = Eigen::Matrix<double, -1, -1, 1, -1, -1>;

/// Largest horizon. The noise has addresses for 2^48 rows, and the dyadic mechanisms use fewer than
/// two rows per step.
inline constexpr std::int64_t kMaxNumSteps = std::int64_t{1} << 40;
/// Largest number of steps for which dense matrices are formed.
inline constexpr std::int64_t kMaxDenseSteps = 4096;
/// Largest number of coordinates of one stream; fits a 32-bit size_t.
inline constexpr std::int64_t kMaxDimension = std::int64_t{1} << 31;

}  // namespace dpftrl
