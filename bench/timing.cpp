// SPDX-License-Identifier: Apache-2.0
// Measures what running time reveals about a record or about noise: runs two classes of inputs,
// interleaved at random, and applies Welch's t-test to their times, cropped at several percentiles
// (Reparaz, Balasch, Verbauwhede, "Dude, is my code constant time?", DATE 2017). timing.mjs runs it
// and counts instructions.
//
//     dpftrl_timing [RUNS]          name, t, and medians and 10th percentiles of both classes (ns)
//     dpftrl_timing --each RUNS     runs each class RUNS times, to count instructions
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "dpftrl/release/prefix_sum.hpp"
#include "random/discrete_gaussian.hpp"
#include "random/gaussian.hpp"
#include "release/grid/quantiser.hpp"

/// Not inlined and with a known name, so that callgrind can count from its entry to its return.
extern "C" [[gnu::noinline]] void dpftrl_measured(const std::function<void()>& run) {
  run();
}

namespace {

using dpftrl::Key;

constexpr std::size_t kWidth = 64;
constexpr double kClip = 1, kGrid = 0x1p-20;
/// Inputs per class, equal so that both classes use the same amount of memory.
constexpr std::size_t kPool = 512;
constexpr int kDefaultRuns = 400000;

using Record = std::array<double, kWidth>;
using Generator = std::mt19937_64;
using MakeRecord = Record (*)(Generator&);

const Key& key() {
  static const Key made = Key::insecure_from_seed(16);
  return made;
}

Record of_norm(Generator& generator, double norm) {
  std::normal_distribution<double> normal;
  Record record;
  for (double& x : record) x = normal(generator);
  const double squares = std::inner_product(record.begin(), record.end(), record.begin(), 0.0);
  for (double& x : record) x *= norm / std::sqrt(squares);
  return record;
}

double between(Generator& generator, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(generator);
}

Record inside(Generator& generator) {
  return of_norm(generator, between(generator, 0.1, 0.9) * kClip);
}
Record outside(Generator& generator) {
  return of_norm(generator, between(generator, 1.5, 10) * kClip);
}
/// Record whose norm is within rounding of the clip norm, on either side.
Record at_the_norm(Generator& generator) {
  return of_norm(generator, kClip);
}
Record subnormal(Generator& generator) {
  return of_norm(generator, 1e-310);
}

/// One measurement, in which `run` is timed and `prepare` is not.
struct Comparison {
  std::string name;
  std::function<void(int input_class, Generator& generator)> prepare;
  std::function<void()> run;
};

/// Records of two classes, copied to the same place before each run.
class Records {
 public:
  Records(MakeRecord fixed, MakeRecord random) : pools_{pool(fixed, true), pool(random, false)} {}

  void prepare(int input_class, Generator& generator) {
    current_ = pools_[static_cast<std::size_t>(input_class)][generator() % kPool];
  }
  Record& current() { return current_; }

 private:
  static std::vector<Record> pool(MakeRecord make, bool is_fixed) {
    Generator generator(is_fixed ? 1 : 2);
    std::vector<Record> records(kPool, make(generator));
    for (std::size_t i = 1; !is_fixed && i < kPool; ++i) records[i] = make(generator);
    return records;
  }

  std::array<std::vector<Record>, 2> pools_;
  Record current_{};
};

using Use = std::function<void(Record&)>;

Comparison of_records(const std::string& name, MakeRecord fixed, MakeRecord random, Use use) {
  const auto records = std::make_shared<Records>(fixed, random);
  return {name, [=](int c, Generator& generator) { records->prepare(c, generator); },
          [=] { use(records->current()); }};
}

Use releases(dpftrl::ReleaseMode mode) {
  const auto how = dpftrl::Mechanism::make({.strategy = "independent",
                                            .steps = std::int64_t{1} << 24,
                                            .target = {.epsilon = 1, .delta = 1e-6},
                                            .clip = kClip});
  const auto sums = std::make_shared<dpftrl::PrefixSum>(
      how, dpftrl::PrefixSumOptions{.key = key(), .dimension = kWidth, .mode = mode});
  const auto noisy = std::make_shared<Record>();
  return [=](Record& record) { sums->release(record, *noisy); };
}

/// Compares draws at addresses from two sets, such as one fixed address and many others.
template <class Draw>
Comparison of_addresses(const std::string& name, std::vector<std::uint64_t> fixed,
                        std::vector<std::uint64_t> random, Draw draw) {
  const auto row = std::make_shared<std::uint64_t>();
  return {name,
          [=](int c, Generator& generator) {
            const std::vector<std::uint64_t>& rows = c == 0 ? fixed : random;
            *row = rows[generator() % rows.size()];
          },
          [=] { draw(*row); }};
}

std::vector<std::uint64_t> rows_from(std::uint64_t first, std::size_t count) {
  std::vector<std::uint64_t> rows(count);
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

volatile std::int64_t sink;

void add_sampling(std::vector<Comparison>& all) {
  constexpr double kStddev = 1000;
  const auto law = std::make_shared<dpftrl::DiscreteGaussian>(kStddev * kStddev);
  const auto draw = [law](std::uint64_t row) { sink = law->sample(key(), {row, 0}); };
  all.push_back(of_addresses("sampler: one sample / others", {7}, rows_from(1000, 4096), draw));
  std::vector<std::uint64_t> small, large;
  for (const std::uint64_t row : rows_from(100000, 20000)) {
    const auto size = static_cast<double>(std::abs(law->sample(key(), {row, 0})));
    if (size <= 0.5 * kStddev && small.size() < kPool) small.push_back(row);
    if (size >= 2 * kStddev && large.size() < kPool) large.push_back(row);
  }
  all.push_back(of_addresses("sampler: noise below 1/2 std / above 2", small, large, draw));
  const auto row_of_normals = std::make_shared<Record>();
  const auto fill = [=](std::uint64_t row) {
    fill_normals(key(), dpftrl::Stream::noise, row, 0, std::span<double>(*row_of_normals));
  };
  all.push_back(of_addresses("normals: one row of 64 / others", {7}, rows_from(0, 4096), fill));
}

void add_records(std::vector<Comparison>& all, const std::string& name, const Use& use) {
  all.push_back(of_records(name + ": inside / inside", inside, inside, use));
  all.push_back(of_records(name + ": outside / outside", outside, outside, use));
  all.push_back(of_records(name + ": inside / outside", inside, outside, use));
  all.push_back(of_records(name + ": inside / at the clip norm", inside, at_the_norm, use));
  all.push_back(of_records(name + ": inside / subnormal", inside, subnormal, use));
}

std::vector<Comparison> comparisons() {
  std::vector<Comparison> all;
  const auto same = [](Generator&) {
    Generator fixed(3);
    return inside(fixed);
  };
  const Use clip = [](Record& record) { dpftrl::clip_to_norm(record, kClip); };
  all.push_back(of_records("control: one record / the same", same, same, clip));
  add_records(all, "clip", clip);
  const auto sums = std::make_shared<std::array<std::int64_t, kWidth>>();
  add_records(all, "quantiser", [=](Record& record) {
    constexpr std::array<double, 1> kOne = {1};
    dpftrl::detail::GridRecord({kOne, record}, kClip, kGrid).add_to(*sums);
  });
  add_records(all, "release, grid", releases(dpftrl::ReleaseMode::grid));
  add_records(all, "release, lattice", releases(dpftrl::ReleaseMode::lattice));
  add_sampling(all);
  return all;
}

double nanoseconds(const Comparison& comparison) {
  const auto start = std::chrono::steady_clock::now();
  dpftrl_measured(comparison.run);
  const auto end = std::chrono::steady_clock::now();
  return std::chrono::duration<double, std::nano>(end - start).count();
}

/// Welch's t statistic of the times up to a limit; 0 if a class has fewer than 1000 of these.
double welch_t(const std::array<std::vector<double>, 2>& sorted, double limit) {
  std::array<double, 2> mean{}, variance_of_mean{};
  for (std::size_t c = 0; c < 2; ++c) {
    const auto end = std::upper_bound(sorted[c].begin(), sorted[c].end(), limit);
    const auto count = static_cast<double>(end - sorted[c].begin());
    if (count < 1000) return 0;
    mean[c] = std::accumulate(sorted[c].begin(), end, 0.0) / count;
    double squares = 0;
    for (auto it = sorted[c].begin(); it != end; ++it) squares += (*it - mean[c]) * (*it - mean[c]);
    variance_of_mean[c] = squares / (count * (count - 1));
  }
  const double variance = variance_of_mean[0] + variance_of_mean[1];
  return variance > 0 ? (mean[1] - mean[0]) / std::sqrt(variance) : 0;
}

double at_fraction(const std::vector<double>& sorted, double fraction) {
  return sorted[static_cast<std::size_t>(fraction * static_cast<double>(sorted.size() - 1))];
}

void measure(const Comparison& comparison, int num_runs) {
  Generator generator(4);
  std::array<std::vector<double>, 2> times;
  for (int i = -num_runs / 20; i < num_runs; ++i) {
    const int input_class = static_cast<int>(generator() >> 63);
    comparison.prepare(input_class, generator);
    const double time = nanoseconds(comparison);
    if (i >= 0) times[static_cast<std::size_t>(input_class)].push_back(time);
  }
  std::vector<double> pooled = times[0];
  pooled.insert(pooled.end(), times[1].begin(), times[1].end());
  for (std::vector<double>* const values : {&pooled, &times[0], &times[1]})
    std::sort(values->begin(), values->end());
  double largest = 0;
  for (const double fraction : {0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0}) {
    const double t = welch_t(times, at_fraction(pooled, fraction));
    if (std::abs(t) > std::abs(largest)) largest = t;
  }
  std::printf("%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\n", comparison.name.c_str(), largest,
              at_fraction(times[0], 0.5), at_fraction(times[1], 0.5), at_fraction(times[0], 0.1),
              at_fraction(times[1], 0.1));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const bool counts = argc == 3 && std::string(argv[1]) == "--each";
  const int num_runs = argc == 1 ? kDefaultRuns : std::atoi(argv[argc - 1]);
  if (num_runs < 1 || (argc > 2 && !counts)) {
    std::fprintf(stderr, "usage: dpftrl_timing [--each] [RUNS]\n");
    return 2;
  }
  for (const Comparison& comparison : comparisons()) {
    if (!counts) {
      measure(comparison, num_runs);
      continue;
    }
    Generator generator(5);
    for (const int input_class : {0, 1})
      for (int i = 0; i < num_runs; ++i) {
        comparison.prepare(input_class, generator);
        dpftrl_measured(comparison.run);
      }
  }
}
