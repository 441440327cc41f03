// SPDX-License-Identifier: Apache-2.0
// Times the workloads in WebAssembly under Node. Chooses the number of iterations like Google
// Benchmark, and has two of its flags (--benchmark_filter is the exact name here) and the part of
// its JSON that run.mjs reads.
#include <emscripten.h>
#include <emscripten/version.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "workloads.hpp"

// CPU time of the process, like Google Benchmark's main figure: other load does not count.
EM_JS(double, cpu_seconds, (), {
  const usage = process.cpuUsage();
  return (usage.user + usage.system) * 1e-6;
})

namespace {

using dpftrl::bench::Run;
using dpftrl::bench::warm_up;
using dpftrl::bench::Workload;

/// Long enough for V8 to replace baseline code with optimised code.
constexpr double kWarmUpSeconds = 0.1;

struct Times {
  double cpu;   ///< seconds
  double real;  ///< seconds
};

Times time_batches(const Run& run, std::int64_t iterations) {
  const double real = emscripten_get_now() * 1e-3;
  const double cpu = cpu_seconds();
  for (std::int64_t i = 0; i < iterations; ++i) run();
  return {cpu_seconds() - cpu, emscripten_get_now() * 1e-3 - real};
}

void report(const Workload& workload, double min_time, bool first) {
  const Run run = workload.make();
  warm_up(run, kWarmUpSeconds);
  std::int64_t iterations = 1;
  Times times = time_batches(run, iterations);
  while (times.cpu < min_time) {
    const double wanted = min_time * 1.4 / std::max(times.cpu, 1e-9);
    const double factor = times.cpu / min_time > 0.1 ? wanted : std::min(10.0, wanted);
    iterations = std::max(iterations + 1, std::llround(factor * static_cast<double>(iterations)));
    times = time_batches(run, iterations);
  }
  const double per_iteration = 1e9 / static_cast<double>(iterations);
  std::printf(
      "%s\n    {\"name\": \"%s\", \"iterations\": %lld, \"real_time\": %.6e, \"cpu_time\": %.6e, "
      "\"time_unit\": \"ns\", \"items\": %.17g}",
      first ? "" : ",", workload.name.c_str(), static_cast<long long>(iterations),
      times.real * per_iteration, times.cpu * per_iteration, workload.items);
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view filter;
  double min_time = 0.5;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    constexpr std::string_view kFilter = "--benchmark_filter=";
    constexpr std::string_view kMinTime = "--benchmark_min_time=";
    if (argument.starts_with(kFilter)) {
      filter = argument.substr(kFilter.size());
    } else if (argument.starts_with(kMinTime)) {
      min_time = std::atof(argv[i] + kMinTime.size());
    } else {
      std::fprintf(stderr, "dpftrl_bench_wasm: unknown argument %s\n", argv[i]);
      return 2;
    }
  }
  std::printf(
      "{\n  \"context\": {\"compiler\": \"Emscripten %d.%d.%d, Clang %s\", \"flags\": \"%s\"},\n"
      "  \"benchmarks\": [",
      __EMSCRIPTEN_major__, __EMSCRIPTEN_minor__, __EMSCRIPTEN_tiny__, __clang_version__,
      DPFTRL_BENCH_FLAGS);
  bool first = true;
  for (const Workload& workload : dpftrl::bench::workloads()) {
    if (!filter.empty() && workload.name != filter) continue;
    report(workload, min_time, first);
    first = false;
  }
  std::printf("\n  ]\n}\n");
}
