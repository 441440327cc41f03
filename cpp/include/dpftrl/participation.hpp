// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Who may contribute when, and which streams count as neighbours.

#include <cstdint>
#include <string_view>

namespace dpftrl {

/// Neighbouring relation. `zero_out` replaces one user's contributions by zeros (the convention of
/// the DP-FTRL literature, close to add/remove); `replace_one` replaces them by any other
/// contributions of norm at most the clip norm, which doubles the distance.
enum class Neighbours { zero_out, replace_one };

std::string_view to_string(Neighbours neighbours);
/// "zero-out" or "replace-one"; anything else throws Error{invalid_argument}.
Neighbours neighbours_from_string(std::string_view name);

/// Largest distance of one contribution between neighbouring streams, in clip norms: 1 or 2.
double neighbour_distance(Neighbours neighbours);

/// Participation schema. This version knows single participation: every user contributes to at
/// most one step.
class Participation {
 public:
  static Participation single() { return Participation(); }
  std::string_view name() const { return "single"; }

 private:
  Participation() = default;
};

}  // namespace dpftrl
