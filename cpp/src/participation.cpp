// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/participation.hpp"

#include <string>

#include "dpftrl/error.hpp"

namespace dpftrl {

std::string_view to_string(Neighbours neighbours) {
  return neighbours == Neighbours::zero_out ? "zero-out" : "replace-one";
}

Neighbours neighbours_from_string(std::string_view name) {
  if (name == "zero-out") return Neighbours::zero_out;
  if (name == "replace-one") return Neighbours::replace_one;
  fail_argument("neighbours_from_string", "neighbours", "zero-out or replace-one",
                std::string(name));
}

double neighbour_distance(Neighbours neighbours) {
  return neighbours == Neighbours::zero_out ? 1 : 2;
}

}  // namespace dpftrl
