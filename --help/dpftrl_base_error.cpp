#include "dpftrl/base/error.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_base_error();
void dpftrl_base_error() {
  try {
    dpftrl::require_positive("my_sum", "clip_norm", -1);
    assert(false);
  } catch (const dpftrl::Error& error) {
    assert(error.code() == dpftrl::ErrorCode::invalid_argument);
  }
}
