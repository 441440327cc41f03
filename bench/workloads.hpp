// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What is timed: one list for every build, so that native and WebAssembly do the same work.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "dpftrl/gaussian.hpp"
#include "dpftrl/mechanism.hpp"
#include "dpftrl/noise_stream.hpp"
#include "dpftrl/prefix_sum.hpp"
#include "dpftrl/random.hpp"
#include "dpftrl/strategy.hpp"

namespace dpftrl::bench {

/// Does one batch of a workload; called again and again.
using Run = std::function<void()>;

struct Workload {
  std::string name;
  double items;  ///< of one batch: coordinates x steps, normals, bytes, releases, flops
  std::function<Run()> make;  ///< allocates and prepares, outside the timing
};

/// Horizon of the streamed mechanisms, the order of the number of steps of a training run.
inline constexpr std::int64_t kNumSteps = 1024;

/// Length of the bare fills: 128 KiB of doubles, within a level-2 cache.
inline constexpr std::int64_t kFillLength = std::int64_t{1} << 14;

/// Tells the compiler that the memory behind `data` is read.
inline void keep(const void* data) {
  asm volatile("" : : "r"(data) : "memory");
}

inline Key bench_key() {
  return Key::insecure_from_seed(1);
}

inline std::vector<double> zeros(std::int64_t length) {
  return std::vector<double>(static_cast<std::size_t>(length));
}

/// Rows of a streamed mechanism, `num_rows` a batch; a stream at its horizon is made anew, within
/// the timing (below 1 % of the pass it ends).
inline Workload streamed_rows(const std::string& strategy, std::int64_t dimension,
                              std::int64_t num_rows) {
  return {"rows/" + strategy + "/" + std::to_string(dimension),
          static_cast<double>(dimension * num_rows), [=]() -> Run {
            const auto shape = make_strategy({.name = strategy, .num_steps = kNumSteps});
            const NoiseStreamOptions options{.key = bench_key(), .dimension = dimension};
            const auto stream = std::make_shared<NoiseStream>(*shape, options);
            return [=, row = zeros(dimension)]() mutable {
              for (std::int64_t i = 0; i < num_rows; ++i) {
                if (stream->step() == kNumSteps) *stream = NoiseStream(*shape, options);
                stream->next(row);
                keep(row.data());
              }
            };
          }};
}

/// All rows of a mechanism that generates them in advance: the generation is part of the batch.
inline Workload pregenerated_rows(const std::string& strategy, std::int64_t dimension) {
  return {"rows/" + strategy + "/" + std::to_string(dimension),
          static_cast<double>(dimension * kNumSteps), [=]() -> Run {
            const auto shape = make_strategy({.name = strategy, .num_steps = kNumSteps});
            return [=, row = zeros(dimension)]() mutable {
              NoiseStream stream(*shape, {.key = bench_key(), .dimension = dimension});
              for (std::int64_t t = 0; t < kNumSteps; ++t) {
                stream.next(row);
                keep(row.data());
              }
            };
          }};
}

template <class T>
Workload bare_normals(const std::string& name) {
  return {name, static_cast<double>(kFillLength), []() -> Run {
            return [out = std::vector<T>(static_cast<std::size_t>(kFillLength)),
                    row = std::uint64_t{0}]() mutable {
              fill_normals(bench_key(), Stream::test, row++, 0, std::span<T>(out));
              keep(out.data());
            };
          }};
}

inline Workload chacha20_bytes() {
  return {"chacha20", static_cast<double>(kFillLength) * sizeof(std::uint32_t), []() -> Run {
            return [words = std::vector<std::uint32_t>(static_cast<std::size_t>(kFillLength)),
                    row = std::uint64_t{0}]() mutable {
              fill_groups(bench_key(), Stream::test, row++, 0, words);
              keep(words.data());
            };
          }};
}

/// A private running count: one coordinate, one release a call, from the first step to the horizon.
inline Workload counter(const std::string& strategy) {
  return {"counter/" + strategy, static_cast<double>(kNumSteps), [=]() -> Run {
            const auto mechanism = Mechanism::make({.strategy = strategy,
                                                    .num_steps = kNumSteps,
                                                    .target = {.epsilon = 1, .delta = 1e-6}});
            return [=] {
              PrefixSum sum(mechanism, {.key = bench_key(), .grid = std::nullopt});
              const double record = 1;
              double total = 0;
              for (std::int64_t t = 0; t < kNumSteps; ++t) {
                sum.release({&record, 1}, {&total, 1});
                keep(&total);
              }
            };
          }};
}

inline Workload matrix_product() {
  static constexpr Eigen::Index kSize = 512;
  return {"gemm", 2.0 * kSize * kSize * kSize, []() -> Run {
            return [a = Eigen::MatrixXd(Eigen::MatrixXd::Random(kSize, kSize)),
                    b = Eigen::MatrixXd(Eigen::MatrixXd::Random(kSize, kSize)),
                    c = Eigen::MatrixXd(kSize, kSize)]() mutable {
              c.noalias() = a * b;
              keep(c.data());
            };
          }};
}

/// Baseline S: the sampler of the C++ standard library, bare.
inline Workload standard_library_normals() {
  return {"baseline/S", static_cast<double>(kFillLength), []() -> Run {
            return [engine = std::mt19937_64(1), normal = std::normal_distribution<float>(),
                    out = std::vector<float>(static_cast<std::size_t>(kFillLength))]() mutable {
              for (float& x : out) x = normal(engine);
              keep(out.data());
            };
          }};
}

inline std::vector<Workload> workloads() {
  constexpr std::int64_t kSmall = std::int64_t{1} << 14;
  constexpr std::int64_t kLarge = std::int64_t{1} << 20;
  std::vector<Workload> list = {standard_library_normals(), chacha20_bytes(),
                                bare_normals<float>("normals/float"),
                                bare_normals<double>("normals/double")};
  for (const char* strategy : {"independent", "output", "tree", "honaker"}) {
    list.push_back(streamed_rows(strategy, kSmall, 64));
    list.push_back(streamed_rows(strategy, kLarge, 8));
  }
  list.push_back(pregenerated_rows("square-root", 1024));
  list.push_back(counter("honaker"));
  list.push_back(counter("square-root"));
  list.push_back(matrix_product());
  return list;
}

/// Caches, page tables, clock frequency and, in WebAssembly, the optimising compiler need a start.
inline void warm_up(const Run& run, double seconds) {
  const auto start = std::chrono::steady_clock::now();
  do run();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds);
}

}  // namespace dpftrl::bench
