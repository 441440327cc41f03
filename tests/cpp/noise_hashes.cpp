// SPDX-License-Identifier: Apache-2.0
// Hashes of noise rows that must be the same from every compiler, instruction set and platform.
//
//     noise_hashes            compares with the recorded hashes; exit code 1 if one differs
//     noise_hashes --print    prints them, for recording after an intended change

#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "dpftrl/noise_stream.hpp"

namespace {

struct Recorded {
  const char* strategy;
  std::int64_t num_steps;
  std::int64_t dimension;
  std::uint64_t hash;
};

constexpr std::array kRecorded = {
    Recorded{"independent", 1000, 70, 0xfba8147c97cf4039},
    Recorded{"output", 1000, 70, 0x60ae35c2004b0f9b},
    Recorded{"tree", 1000, 70, 0xdebefbaaac9be44f},
    Recorded{"honaker", 1000, 70, 0xf4867de7538c9acb},
    Recorded{"square-root", 1000, 70, 0x8ef25b322575eb8a},
    Recorded{"square-root", 4097, 3, 0x5b5bfdc24c550980},
};

/// FNV-1a over the bytes of every row.
std::uint64_t noise_hash(const Recorded& run) {
  const auto strategy = dpftrl::make_strategy({.name = run.strategy, .num_steps = run.num_steps});
  dpftrl::NoiseStream stream(
      *strategy, {.key = dpftrl::Key::insecure_from_seed(2026), .dimension = run.dimension});
  std::vector<double> row(static_cast<std::size_t>(run.dimension));
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::int64_t t = 0; t < run.num_steps; ++t) {
    stream.next(row);
    for (const double x : row)
      for (std::uint64_t bits = std::bit_cast<std::uint64_t>(x), byte = 0; byte < 8; ++byte)
        hash = (hash ^ (bits >> (8 * byte) & 0xff)) * 0x100000001b3;
  }
  return hash;
}

}  // namespace

int main(int argc, char** argv) {
  const bool print = argc > 1 && std::strcmp(argv[1], "--print") == 0;
  bool same = true;
  for (const Recorded& run : kRecorded) {
    const std::uint64_t hash = noise_hash(run);
    same = same && hash == run.hash;
    if (print || hash != run.hash)
      std::printf("%s n=%lld d=%lld 0x%016llx%s\n", run.strategy,
                  static_cast<long long>(run.num_steps), static_cast<long long>(run.dimension),
                  static_cast<unsigned long long>(hash), hash == run.hash ? "" : " DIFFERS");
  }
  if (same) std::puts("all hashes as recorded");
  return same || print ? 0 : 1;
}
