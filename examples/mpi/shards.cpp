// SPDX-License-Identifier: Apache-2.0

/// Generates noise for one large model in several processes that do not communicate. Each process
/// generates its range of coordinates, bit for bit as a single process would.
///
///     mpirun -n 4 shards [dimension [steps]]      default: 10000000 coordinates, 4 steps
///
/// The first process draws a key and broadcasts it. The processes combine a hash of the rounded
/// noise of all steps; then the first process generates everything alone, and the hashes must
/// agree.

#include <mpi.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include "dpftrl/noise/noise_stream.hpp"
#include "dpftrl/random/random.hpp"
#include "dpftrl/strategy/catalogue.hpp"

namespace {

struct Range {
  std::int64_t begin;
  std::int64_t end;
};

/// Mixes 64 bits (the finaliser of SplitMix64).
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

/// Sums entries mixed with their places, so that the hash of all is the sum over the ranges.
std::uint64_t hash_of(const dpftrl::Strategy& strategy, const dpftrl::Key& key,
                      const Range& range) {
  constexpr double kGridsPerStddev = 64;
  dpftrl::NoiseStream stream(
      strategy,
      {.key = key, .dimension = range.end - range.begin, .first_coordinate = range.begin});
  std::vector<std::int64_t> row(static_cast<std::size_t>(range.end - range.begin));
  std::uint64_t hash = 0;
  for (std::int64_t step = 0; step < strategy.steps(); ++step) {
    stream.next_rounded(row, 1, kGridsPerStddev);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto coordinate = static_cast<std::int64_t>(i);
      if (row[i] == dpftrl::kUndecided) row[i] = stream.rounded(coordinate, kGridsPerStddev);
      const auto place = static_cast<std::uint64_t>(step) << 40 |
                         static_cast<std::uint64_t>(range.begin + coordinate);
      hash += mixed(static_cast<std::uint64_t>(row[i]) + mixed(place));
    }
  }
  return hash;
}

/// Key that the first process draws and broadcasts.
dpftrl::Key shared_key(int rank) {
  std::array<std::byte, 32> bytes{};
  if (rank == 0) {
    const dpftrl::Key key = dpftrl::Key::from_entropy();
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::byte>(key.words()[i / 4] >> (8 * (i % 4)));
  }
  MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
  return dpftrl::Key::from_bytes(bytes);
}

int run(std::int64_t dimension, std::int64_t steps) {
  int rank = 0, num_ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  const auto strategy = dpftrl::make_strategy(
      {.name = "blt-rational", .steps = steps, .workload = {}, .parameters = {.buffers = 4}});
  const dpftrl::Key key = shared_key(rank);
  const double start = MPI_Wtime();
  const std::uint64_t own =
      hash_of(*strategy, key, {dimension * rank / num_ranks, dimension * (rank + 1) / num_ranks});
  std::uint64_t all = 0;
  MPI_Reduce(&own, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank != 0) return 0;
  const double between = MPI_Wtime();
  const std::uint64_t alone = hash_of(*strategy, key, {0, dimension});
  std::printf("%lld coordinates, %lld steps\n", static_cast<long long>(dimension),
              static_cast<long long>(steps));
  std::printf("%d processes  %016llx  %.2f s\n", num_ranks, static_cast<unsigned long long>(all),
              between - start);
  std::printf("one process  %016llx  %.2f s\n", static_cast<unsigned long long>(alone),
              MPI_Wtime() - between);
  std::puts(all == alone ? "the same noise" : "DIFFERENT noise");
  return all == alone ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 1;
  try {
    status = run(argc > 1 ? std::atoll(argv[1]) : 10'000'000, argc > 2 ? std::atoll(argv[2]) : 4);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "shards: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
