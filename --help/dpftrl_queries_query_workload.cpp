#include "dpftrl/queries/query_workload.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_queries_query_workload();
void dpftrl_queries_query_workload() {
  const auto domain = dpftrl::QueryDomain::categories({"red", "green", "blue"});
  const std::vector<std::string> seen{"blue", "red", "red"};
  const std::vector<std::int64_t> histogram = domain.histogram(seen);
  assert(histogram == std::vector<std::int64_t>({2, 0, 1}));
  const auto at_most = dpftrl::QueryWorkload::prefix(3);
  assert(at_most.answers(std::vector<double>{2, 0, 1})[2] == 3);
}
