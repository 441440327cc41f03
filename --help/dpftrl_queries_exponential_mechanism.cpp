#include "dpftrl/queries/exponential_mechanism.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_queries_exponential_mechanism();
void dpftrl_queries_exponential_mechanism() {
  const std::vector<std::int64_t> histogram{10, 0, 3, 7};
  const dpftrl::Key key = dpftrl::Key::from_entropy();
  const std::int64_t winner = dpftrl::private_winner(histogram, {.epsilon = 100}, key);
  assert(winner == 0);
}
