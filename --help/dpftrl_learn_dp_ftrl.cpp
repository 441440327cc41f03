#include "dpftrl/learn/dp_ftrl.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_learn_dp_ftrl();
void dpftrl_learn_dp_ftrl() {
  const auto mechanism = dpftrl::Mechanism::make(
      {.strategy = "honaker", .num_steps = 100, .target = {.epsilon = 1, .delta = 1e-6}});
  dpftrl::DpFtrl learner({.mechanism = mechanism,
                          .key = dpftrl::Key::from_entropy(),
                          .dimension = 2,
                          .loss = dpftrl::make_loss("logistic"),
                          .domain = dpftrl::make_domain("ball", 1)});
  const double score = learner.step(std::array{0.6, 0.8}, /*label=*/1);
  assert(score == 0);  // from before the example was learned
  assert(learner.steps_done() == 1 && learner.iterate().norm() <= 1 + 1e-9);
}
