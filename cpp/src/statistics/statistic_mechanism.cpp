// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/statistics/statistics.hpp"

#include <cmath>

#include "dpftrl/base/error.hpp"
#include "release/release_engine.hpp"

namespace dpftrl::detail {

void require_times(std::string_view where, Neighbours neighbours, bool fixed_times) {
  if (fixed_times && neighbours == Neighbours::zero_out)
    fail_argument(where, "fixed_times", "false without replace-one {neighbours}", "true");
}

std::shared_ptr<const Mechanism> statistic_mechanism(MechanismOptions options,
                                                     const ColumnScale& columns,
                                                     std::string_view where) {
  // Negative weights would give meaningless variances and counts.
  if (options.workload && !options.workload->is_prefix() &&
      options.workload->kind() != Workload::Kind::window)
    fail_argument(where, "workload", "prefix or a window, for a statistic",
                  options.workload->name());
  // `distance` is already the distance between neighbours: with zero_out the mechanism does not
  // double it.
  options.neighbours = Neighbours::zero_out;
  options.moving_records = columns.moves;
  options.clip = columns.distance;
  std::shared_ptr<const Mechanism> mechanism = Mechanism::make(options);
  const double largest_row = std::sqrt(mechanism->strategy().row_norms().max_squared);
  // The columns chose the grid, so an error of PrefixSum would name an option that callers cannot
  // change.
  if (!(mechanism->noise_stddev() / columns.grid * largest_row <= kMaxNoiseInGrids))
    fail_argument(where, "epsilon", "larger, for noise to have room on its grid",
                  to_text(options.target.epsilon));
  return mechanism;
}

Certificate statistic_certificate(const Mechanism& mechanism, const ColumnScale& columns,
                                  Neighbours neighbours, bool fixed_times) {
  Certificate certificate = mechanism.certificate();
  certificate.neighbours = neighbours;
  certificate.fixed_times = fixed_times;
  certificate.clip = columns.distance / neighbour_distance(neighbours);
  return certificate;
}

PrefixSumOptions statistic_options(PrefixSumOptions options, std::int64_t dimension, double grid,
                                   std::string_view where) {
  // Intervals are for normal noise.
  if (options.mode != ReleaseMode::grid)
    fail(ErrorCode::unsupported, where, "mode", "must be grid", "lattice");
  options.dimension = dimension;
  options.grid = grid;
  return options;
}

}  // namespace dpftrl::detail
