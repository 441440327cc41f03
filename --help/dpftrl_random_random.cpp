#include "dpftrl/random/random.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_random_random();
void dpftrl_random_random() {
  const dpftrl::Key key = dpftrl::Key::from_entropy();
  std::array<std::uint32_t, 100> words{};
  dpftrl::fill_bits(key, dpftrl::Stream::test, /*row=*/3, /*first_word=*/0, words);
  std::array<std::uint32_t, 10> some{};
  dpftrl::fill_bits(key, dpftrl::Stream::test, 3, 50, some);
  assert(some[0] == words[50]);  // any part, in any order
}
