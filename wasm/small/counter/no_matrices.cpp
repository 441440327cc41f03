// SPDX-License-Identifier: Apache-2.0
// No matrix of a workload, whose only use would be the variances of increments.

#include "../absent.hpp"
#include "dpftrl/problem/workload.hpp"

namespace dpftrl {

Workload Workload::lower_triangular(Matrix) {
  wasm::fail_workload();
}
Matrix Workload::matrix() const {
  wasm::fail_workload();
}
std::vector<double> Workload::apply_matrix(std::vector<double>) const {
  wasm::fail_workload();
}

}  // namespace dpftrl
