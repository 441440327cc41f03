#include "dpftrl/release/record.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_release_record();
void dpftrl_release_record() {
  std::array<double, 2> record{3, 4};
  dpftrl::clip_to_norm(record, /*clip_norm=*/1);
  assert(std::abs(record[0] - 0.6) < 1e-12 && std::abs(record[1] - 0.8) < 1e-12);
  const std::array<double, 3> scales{1, 0, -1};
  assert((dpftrl::ProductRecord{.scales = scales, .features = record}.size()) == 6);
}
