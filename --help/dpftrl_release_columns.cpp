#include "dpftrl/release/columns.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_release_columns();
void dpftrl_release_columns() {
  const dpftrl::Numbers columns(/*size=*/2);
  const std::array<double, 2> record{3, 4};
  std::array<double, 2> row{};
  assert(columns.write(record, row).data() == record.data());  // the identity
}
