// SPDX-License-Identifier: Apache-2.0
// The workloads under Google Benchmark; its usual flags apply (--benchmark_filter, ...).
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "workloads.hpp"

namespace {

using dpftrl::bench::Run;
using dpftrl::bench::warm_up;
using dpftrl::bench::Workload;

constexpr double kWarmUpSeconds = 0.02;

void register_workload(const Workload& workload) {
  // Google Benchmark calls the function several times to find the number of iterations.
  const auto kept = std::make_shared<Run>();
  benchmark::RegisterBenchmark(workload.name.c_str(), [=](benchmark::State& state) {
    if (!*kept) {
      *kept = workload.make();
      warm_up(*kept, kWarmUpSeconds);
    }
    const Run& run = *kept;
    for (auto _ : state) run();
    state.counters["items"] = workload.items;
  });
}

std::string compiler() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::AddCustomContext("compiler", compiler());
  benchmark::AddCustomContext("flags", DPFTRL_BENCH_FLAGS);
  for (const Workload& workload : dpftrl::bench::workloads()) register_workload(workload);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
