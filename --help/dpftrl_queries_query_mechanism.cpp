#include "dpftrl/queries/query_mechanism.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_queries_query_mechanism();
void dpftrl_queries_query_mechanism() {
  const dpftrl::QueryMechanism mechanism(
      dpftrl::factorize_queries(dpftrl::QueryWorkload::prefix(4)), {.epsilon = 1, .delta = 1e-6});
  const std::vector<std::int64_t> histogram{10, 0, 3, 7};
  const dpftrl::QueryRelease release =
      mechanism.release(histogram, dpftrl::Key::from_entropy());
  assert(release.answers.size() == 4);
  const dpftrl::Vector counts = dpftrl::consistent_histogram(mechanism, release);
  assert(counts.minCoeff() >= 0);
}
