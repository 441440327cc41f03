#include "dpftrl/learn/simulation.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_learn_simulation();
void dpftrl_learn_simulation() {
  dpftrl::SimulationOptions options;
  options.mechanism = {
      .strategy = "honaker", .num_steps = 32, .target = {.epsilon = 1, .delta = 1e-6}};
  options.dimension = 2;
  dpftrl::Simulation simulation(options);
  const dpftrl::SimulationChunk chunk = simulation.advance(/*max_steps=*/32);
  assert(simulation.finished() && chunk.noisy_sums.rows() == 32);
}
