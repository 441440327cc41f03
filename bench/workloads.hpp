// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Workloads to time, in one list for every build so that native and WebAssembly do the same work.

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
#include <Eigen/Eigenvalues>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/learn/dp_ftrl.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "dpftrl/optimal/optimum.hpp"
#include "dpftrl/random/random.hpp"
#include "dpftrl/release/prefix_sum.hpp"
#include "dpftrl/strategy/catalogue.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "math/toeplitz.hpp"
#include "optimal/family_optimum.hpp"
#include "random/gaussian.hpp"
#include "strategy/toeplitz/blt.hpp"

namespace dpftrl::bench {

/// Runs one batch of a workload; called repeatedly.
using Run = std::function<void()>;

struct Workload {
  std::string name;
  /// Items in one batch: coordinates x steps, normals, bytes, releases, flops, analyses, solutions
  /// or steps.
  double items;
  std::function<Run()> make;  ///< allocates and prepares, outside the timing
};

/// Horizon of the streamed mechanisms, about the number of steps in a training run.
inline constexpr std::int64_t kNumSteps = 1024;

/// Length of the bare fills: 128 KiB of doubles, within a level-2 cache.
inline constexpr std::int64_t kFillLength = std::int64_t{1} << 14;

/// Dimensions of the streamed rows.
inline constexpr std::int64_t kSmall = std::int64_t{1} << 14;
inline constexpr std::int64_t kLarge = std::int64_t{1} << 20;

/// Gap between the error and its lower bound at which the solver stops, and the number of
/// iterations after which the plain fixed point reaches it at 512 steps.
inline constexpr double kSolverGap = 1e-10;
inline constexpr int kFixedPointIterations = 207;

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

/// Rows of a streamed mechanism, `num_rows` per batch; a stream at its horizon is recreated within
/// the timing (below 1 % of the pass it ends).
inline Workload streamed_rows(const std::string& name, const StrategyOptions& strategy,
                              std::int64_t dimension, std::int64_t num_rows) {
  return {"rows/" + name + "/" + std::to_string(dimension),
          static_cast<double>(dimension * num_rows), [=]() -> Run {
            const auto shape = make_strategy(strategy);
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

/// Parameters with four buffers for families that have buffers.
inline StrategyParameters windowed_parameters(const std::string& name) {
  StrategyParameters parameters;
  if (name == "blt" || name == "optimal") parameters.buffers = 4;
  return parameters;
}

/// Windows of 16 rows of floats, of doubles, or of integers after the rounding test.
template <class Stream, class Value, class Next>
Workload windowed_rows(const std::string& kind, const std::string& strategy, std::int64_t dimension,
                       Next next) {
  static constexpr std::int64_t kNumRows = 16;
  return {
      kind + "/" + strategy + "/" + std::to_string(dimension),
      static_cast<double>(dimension * kNumRows), [=]() -> Run {
        const auto shape = make_strategy(
            {.name = strategy, .steps = kNumSteps, .parameters = windowed_parameters(strategy)});
        const NoiseStreamOptions options{.key = bench_key(), .dimension = dimension};
        const auto stream = std::make_shared<Stream>(*shape, options);
        return [=, rows = std::vector<Value>(
                       static_cast<std::size_t>(dimension * kNumRows))]() mutable {
          if (stream->step() == kNumSteps) *stream = Stream(*shape, options);
          next(*stream, rows, kNumRows);
          keep(rows.data());
        };
      }};
}

inline Workload float_window(const std::string& strategy, std::int64_t dimension) {
  return windowed_rows<FloatNoiseStream, float>(
      "float-window", strategy, dimension,
      [](auto& stream, auto& rows, std::int64_t count) { stream.next_rows(rows, count); });
}

inline Workload double_window(const std::string& strategy, std::int64_t dimension) {
  return windowed_rows<NoiseStream, double>(
      "double-window", strategy, dimension,
      [](auto& stream, auto& rows, std::int64_t count) { stream.next_rows(rows, count); });
}

/// Rounded noise with a standard deviation of 2^14 grids.
inline Workload grid_window(const std::string& strategy, std::int64_t dimension) {
  return windowed_rows<NoiseStream, std::int64_t>("grid-window", strategy, dimension,
                                                  [](auto& stream, auto& rows, std::int64_t count) {
                                                    stream.next_rounded(rows, count, 0x1p14);
                                                  });
}

/// Increments of rounded noise, with one row per call as in `grid_row`, or with a window.
inline Workload grid_increments(const std::string& strategy, std::int64_t dimension,
                                std::int64_t num_rows) {
  return windowed_rows<NoiseIncrements, std::int64_t>(
      num_rows == 1 ? "increment-row" : "increment-window", strategy, dimension,
      [=](auto& stream, auto& rows, std::int64_t count) {
        const std::span<std::int64_t> all(rows);
        for (std::int64_t i = 0; i < count; i += num_rows)
          stream.next_rounded(all.subspan(static_cast<std::size_t>(i * dimension),
                                          static_cast<std::size_t>(num_rows * dimension)),
                              num_rows, 0x1p14);
      });
}

/// The integers of `grid_window`, one row per call.
inline Workload grid_row(const std::string& strategy, std::int64_t dimension) {
  return windowed_rows<NoiseStream, std::int64_t>(
      "grid-row", strategy, dimension, [=](auto& stream, auto& rows, std::int64_t count) {
        const std::span<std::int64_t> all(rows);
        for (std::int64_t i = 0; i < count; ++i)
          stream.next_rounded(all.subspan(static_cast<std::size_t>(i * dimension),
                                          static_cast<std::size_t>(dimension)),
                              1, 0x1p14);
      });
}

/// Steps of a learner over the unit ball.
template <class Step>
Workload learner_steps(const std::string& kind, const std::string& strategy, std::int64_t dimension,
                       Step step) {
  static constexpr std::int64_t kBatch = 16;
  return {kind + "/" + strategy + "/" + std::to_string(dimension),
          static_cast<double>(dimension * kBatch), [=]() -> Run {
            const auto mechanism = Mechanism::make({.strategy = strategy,
                                                    .steps = kNumSteps,
                                                    .target = {.epsilon = 1, .delta = 1e-6},
                                                    .parameters = windowed_parameters(strategy)});
            const DpFtrlOptions options{.mechanism = mechanism,
                                        .key = bench_key(),
                                        .dimension = dimension,
                                        .loss = make_loss("logistic"),
                                        .domain = make_domain("ball", 1)};
            const auto learner = std::make_shared<DpFtrl>(options);
            return [=, features = std::vector<double>(static_cast<std::size_t>(dimension), 1e-3)] {
              if (learner->steps_done() == kNumSteps) *learner = DpFtrl(options);
              for (std::int64_t i = 0; i < kBatch; ++i) step(*learner, features);
              keep(learner->iterate().data());
            };
          }};
}

/// Steps with a given gradient, from clipping to the next iterate.
inline Workload learner(const std::string& strategy, std::int64_t dimension) {
  return learner_steps("learner", strategy, dimension, [](DpFtrl& learner, const auto& features) {
    const double slope = 0.5;
    learner.step_along(features, {&slope, 1});
  });
}

/// Steps without a gradient, from the noise to the next iterate.
inline Workload learner_step(const std::string& strategy, std::int64_t dimension) {
  return learner_steps("learner-step", strategy, dimension,
                       [](DpFtrl& learner, const auto& /*features*/) { learner.end_batch(); });
}

/// All rows of a mechanism that generates them in advance; the generation is part of the batch.
inline Workload pregenerated_rows(const std::string& strategy, std::int64_t dimension) {
  return {"rows/" + strategy + "/" + std::to_string(dimension),
          static_cast<double>(dimension * kNumSteps), [=]() -> Run {
            const auto shape = make_strategy({.name = strategy, .steps = kNumSteps});
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

/// Private running count of one coordinate, one release per call, from the first step to the
/// horizon.
inline Workload counter(const std::string& strategy) {
  return {
      "counter/" + strategy, static_cast<double>(kNumSteps), [=]() -> Run {
        const auto mechanism = Mechanism::make(
            {.strategy = strategy, .steps = kNumSteps, .target = {.epsilon = 1, .delta = 1e-6}});
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

/// Private running count in batches of 256 releases.
inline Workload counter_batch(const std::string& strategy, ReleaseMode mode = ReleaseMode::grid,
                              const std::string& suffix = "") {
  return {
      "counter-batch/" + strategy + suffix, static_cast<double>(kNumSteps), [=]() -> Run {
        const auto mechanism = Mechanism::make(
            {.strategy = strategy, .steps = kNumSteps, .target = {.epsilon = 1, .delta = 1e-6}});
        return [=, records = std::vector<double>(256, 1), totals = zeros(256)]() mutable {
          PrefixSum sum(mechanism, {.key = bench_key(), .mode = mode, .grid = std::nullopt});
          for (std::int64_t t = 0; t < kNumSteps; t += 256) {
            sum.release_batch(records, totals, 256);
            keep(totals.data());
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

/// Baseline S: the normal sampler of the C++ standard library.
inline Workload standard_library_normals() {
  return {"baseline/S", static_cast<double>(kFillLength), []() -> Run {
            return [engine = std::mt19937_64(1), normal = std::normal_distribution<float>(),
                    out = std::vector<float>(static_cast<std::size_t>(kFillLength))]() mutable {
              for (float& x : out) x = normal(engine);
              keep(out.data());
            };
          }};
}

/// Sensitivity and errors of a mechanism, including its construction by name.
inline Workload analysis(const std::string& strategy, std::int64_t steps) {
  return {"analysis/" + strategy + "/" + std::to_string(steps), 1, [=]() -> Run {
            return [=] {
              const auto shape = make_strategy({.name = strategy, .steps = steps});
              const UnitError error = unit_error(*shape, Participation::single());
              keep(&error);
            };
          }};
}

/// Baseline of the analyses: the product of two sequences by FFT.
inline Workload convolution(std::int64_t length) {
  return {"baseline/convolution", 1, [=]() -> Run {
            return [sequence = square_root_coefficients(length)] {
              const BoundedProduct product = multiply_by_fft(sequence, sequence);
              keep(product.terms.data());
            };
          }};
}

/// Certified optimum, to the gap at which mechanism `optimal` stops.
inline Workload optimum(std::int64_t steps) {
  return {"solver/optimal/" + std::to_string(steps), 1, [=]() -> Run {
            return [=] {
              const Optimum found =
                  find_optimum({.steps = steps, .objective = Objective::mean}, {.gap = kSolverGap});
              keep(found.column_weights.data());
            };
          }};
}

/// Optimal BLT with four buffers with constant decays.
inline Workload blt_optimum(std::int64_t steps) {
  return {"solver/blt-4/" + std::to_string(steps), 1, [=]() -> Run {
            return [=] {
              const BltOptimum found = find_blt_optimum({.steps = steps, .buffers = 4});
              keep(found.decays.data());
            };
          }};
}

/// Optimal Toeplitz encoder with 32 bands.
inline Workload banded_toeplitz_optimum(std::int64_t steps) {
  return {"solver/banded-toeplitz-32/" + std::to_string(steps), 1, [=]() -> Run {
            return [=] {
              const BandedToeplitzOptimum found =
                  find_banded_toeplitz_optimum({.steps = steps, .bands = 32});
              keep(found.coefficients.data());
            };
          }};
}

/// Coefficients and norms of the recursion from dual weights, without the solver.
inline Workload recursion_of_optimum(std::int64_t steps) {
  return {"riccati/optimal/" + std::to_string(steps), static_cast<double>(steps), [=]() -> Run {
            const auto workload = dpftrl::Workload::prefix_sums(steps);
            const OptimalPlan plan =
                plan_optimal(workload, {.buffers = 8, .use_solver = false}).plan;
            return [=] {
              const OptimalStrategy strategy(workload, plan);
              keep(&strategy);
            };
          }};
}

/// Baseline of the solver: the same optimum by the plain fixed point
/// v <- diag((D_v^(1/2) A^T A D_v^(1/2))^(1/2)), with one eigendecomposition per iteration. A batch
/// is one iteration; a solution takes kFixedPointIterations.
inline Workload dense_fixed_point() {
  static constexpr Eigen::Index kSize = 512;
  return {"baseline/fixed-point", 1.0 / kFixedPointIterations, []() -> Run {
            const Eigen::MatrixXd sums =
                Eigen::MatrixXd::Ones(kSize, kSize).triangularView<Eigen::Lower>();
            return [gram = Eigen::MatrixXd(sums.transpose() * sums),
                    weights = Eigen::VectorXd(Eigen::VectorXd::Ones(kSize))]() mutable {
              const Eigen::VectorXd scale = weights.cwiseSqrt();
              const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(
                  scale.asDiagonal() * gram * scale.asDiagonal());
              weights =
                  solver.eigenvectors().cwiseAbs2() * solver.eigenvalues().cwiseMax(0).cwiseSqrt();
              keep(weights.data());
            };
          }};
}

/// Rows of the mechanisms whose state is a few rows only.
inline void add_streamed_rows(std::vector<Workload>& list) {
  const auto add = [&](const std::string& name, const StrategyOptions& strategy) {
    list.push_back(streamed_rows(name, strategy, kSmall, 64));
    list.push_back(streamed_rows(name, strategy, kLarge, 8));
  };
  for (const char* strategy : {"independent", "output", "tree", "honaker", "haar",
                               "banded-square-root", "banded-inverse-square-root"})
    add(strategy, {.name = strategy, .steps = kNumSteps});
  for (const std::int64_t buffers : {4, 8}) {
    const BufferParameters rational = rational_buffers(buffers);
    add("blt-" + std::to_string(buffers),
        {.name = "blt",
         .steps = kNumSteps,
         .parameters = {.decays = rational.decays, .weights = rational.weights}});
  }
  add("optimal-8", {.name = "optimal", .steps = kNumSteps, .parameters = {.buffers = 8}});
}

/// Analyses of every family without a parameter search at 10^6 steps, and of trees, in closed form,
/// at 10^9.
inline void add_analyses(std::vector<Workload>& list) {
  list.push_back(convolution(1000000));
  for (const StrategyInfo& info : strategy_catalogue())
    if (info.parameters.find("objective") == std::string_view::npos)
      list.push_back(analysis(std::string(info.name), 1000000));
  for (const char* strategy : {"tree", "honaker", "honaker-full", "haar", "tree-k"})
    list.push_back(analysis(strategy, 1000000000));
}

inline std::vector<Workload> workloads() {
  std::vector<Workload> list = {standard_library_normals(), chacha20_bytes(),
                                bare_normals<float>("normals/float"),
                                bare_normals<double>("normals/double")};
  add_streamed_rows(list);
  for (const char* strategy : {"blt", "tree", "honaker", "haar", "banded-toeplitz",
                               "banded-inverse-square-root", "optimal"})
    list.push_back(float_window(strategy, kLarge));
  for (const char* strategy : {"blt", "honaker", "optimal"}) {
    list.push_back(double_window(strategy, kLarge));
    list.push_back(grid_window(strategy, kLarge));
    list.push_back(grid_increments(strategy, kLarge, 16));
  }
  for (const char* strategy : {"blt", "honaker", "optimal"}) {
    list.push_back(grid_row(strategy, kLarge));
    list.push_back(grid_increments(strategy, kLarge, 1));
    list.push_back(learner_step(strategy, kLarge));
    list.push_back(learner(strategy, kLarge));
  }
  list.push_back(pregenerated_rows("square-root", 1024));
  list.push_back(pregenerated_rows("normalized-square-root", 1024));
  list.push_back(counter("honaker"));
  list.push_back(counter("square-root"));
  list.push_back(counter_batch("blt"));
  list.push_back(counter_batch("honaker"));
  list.push_back(counter_batch("honaker", ReleaseMode::lattice, "-lattice"));
  list.push_back(matrix_product());
  add_analyses(list);
  list.push_back(dense_fixed_point());
  list.push_back(optimum(1024));
  list.push_back(optimum(10000));
  list.push_back(optimum(100000));
  list.push_back(optimum(1000000));
  list.push_back(blt_optimum(1000000));
  list.push_back(banded_toeplitz_optimum(100000));
  list.push_back(recursion_of_optimum(10000));
  list.push_back(recursion_of_optimum(1000000));
  return list;
}

/// Warms up caches, page tables, clock frequency and, in WebAssembly, the optimising compiler.
inline void warm_up(const Run& run, double seconds) {
  const auto start = std::chrono::steady_clock::now();
  do run();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds);
}

}  // namespace dpftrl::bench
