#include "dpftrl/release/lattice/lattice.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_release_lattice_lattice();
void dpftrl_release_lattice_lattice() {
  const auto mechanism = dpftrl::Mechanism::make(
      {.strategy = "honaker", .num_steps = 100, .target = {.epsilon = 1, .delta = 1e-6}});
  const auto lattice = dpftrl::LatticeMechanism::make(mechanism, {});
  assert(lattice->certificate().noise == dpftrl::LatticeNoise::discrete_gaussian);
  assert(lattice->release_stddev(/*step=*/99) > mechanism->release_stddev(99));
}
