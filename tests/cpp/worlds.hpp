// SPDX-License-Identifier: Apache-2.0
#pragma once

// All streams that differ in the records of one user, and how far apart their measurements are.

#include <Eigen/Core>
#include <algorithm>
#include <cstdint>
#include <vector>

#include "dpftrl/base/types.hpp"
#include "dpftrl/problem/participation.hpp"
#include "support.hpp"

namespace dpftrl::testing {

/// Measurements C G of a stream that has a user's records in some steps, and nothing else.
struct World {
  std::uint64_t steps = 0;  ///< one bit for each step with a record
  Matrix encoded;
};

/// Kinds of neighbours: the records are removed; replaced or removed in their steps; or replaced by
/// others at any steps.
enum class Relation { zero_out, fixed_times, moving };

/// Lists all worlds in which the user has one of the records in each step of an allowed pattern.
inline std::vector<World> worlds_of(const Matrix& encoder, const Participation& participation,
                                    const std::vector<Vector>& records) {
  std::vector<World> worlds = {{.encoded = Matrix::Zero(encoder.rows(), records.front().size())}};
  for (Eigen::Index step = 0; step < encoder.cols(); ++step) {
    const std::size_t num_before = worlds.size();
    for (std::size_t i = 0; i < num_before; ++i) {
      std::vector<std::int64_t> pattern;
      for (Eigen::Index t = 0; t < step; ++t)
        if (worlds[i].steps >> t & 1) pattern.push_back(t);
      pattern.push_back(step);
      if (!participation.allows(pattern, encoder.cols())) continue;
      for (const Vector& record : records)
        worlds.push_back({.steps = worlds[i].steps | std::uint64_t{1} << step,
                          .encoded = worlds[i].encoded + encoder.col(step) * record.transpose()});
    }
  }
  return worlds;
}

inline bool are_neighbours(Relation relation, const World& from, const World& to) {
  if (relation == Relation::moving) return true;
  if (relation == Relation::zero_out) return to.steps == 0;
  return (from.steps & to.steps) == to.steps;
}

/// Largest distance of two neighbours.
inline double farthest_worlds(const std::vector<World>& worlds, Relation relation) {
  double largest = 0;
  for (const World& from : worlds)
    for (const World& to : worlds)
      if (are_neighbours(relation, from, to))
        largest = std::max(largest, (from.encoded - to.encoded).norm());
  return largest;
}

}  // namespace dpftrl::testing
