#include "dpftrl/noise/noise_stream.hpp"
#include "dpftrl/strategy/catalogue.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_noise_noise_stream();
void dpftrl_noise_noise_stream() {
  const auto strategy = dpftrl::make_strategy({.name = "tree", .num_steps = 8});
  dpftrl::NoiseStream noise(*strategy,
                            {.key = dpftrl::Key::from_entropy(), .dimension = 2});
  std::array<double, 2> first{}, row{};
  noise.next(first);
  noise.seek(0);
  noise.next(row);
  assert(row == first && noise.step() == 1);
  
  const std::optional<double> level =
      dpftrl::sampled_error(*strategy, dpftrl::Participation::single(), {.beta = 0.05});
  assert(level > 0);
}
