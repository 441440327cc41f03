#include "dpftrl/learn/losses/loss.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_learn_losses_loss();
void dpftrl_learn_losses_loss() {
  const auto logistic = dpftrl::make_loss("logistic");
  assert(logistic->slope(/*prediction=*/0, /*label=*/1) == -0.5);
  const dpftrl::FunctionLoss own(
      [](double p, double y) { return dpftrl::LossAt{std::cosh(p - y), std::sinh(p - y)}; });
  assert(own.at(1, 1).value == 1);
}
