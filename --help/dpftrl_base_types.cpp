#include "dpftrl/base/types.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_base_types();
void dpftrl_base_types() {
  dpftrl::Matrix records = dpftrl::Matrix::Zero(2, 3);  // two steps of three numbers
  records.row(1) << 0.5, -1, 2;
  const dpftrl::Vector total = records.colwise().sum();
  assert(total[2] == 2);
}
