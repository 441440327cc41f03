#include "dpftrl/release/people.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_release_people();
void dpftrl_release_people() {
  dpftrl::People people(dpftrl::Participation::single(),
                        dpftrl::CodeSecret(dpftrl::Key::insecure_from_seed(1)), /*adds=*/true);
  const auto ann = people.code_of("ann"), bob = people.code_of("bob");
  assert(people.admit(ann, std::array{1.0}, /*step=*/0));
  assert(people.admit(ann, std::array{1.0}, 0));  // her record of the step is now 2
  people.end_step();
  assert(!people.admit(ann, std::array{1.0}, 1));  // she took part
  assert(people.admit(bob, std::array{1.0}, 1));
}
