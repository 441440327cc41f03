// SPDX-License-Identifier: Apache-2.0
// What memory that runs out in the middle of a release leaves behind. Replaces the global operator
// new of this test program by one that can be told to fail.
#include <cstdlib>
#include <new>

#include "dpftrl/learn/dp_ftrl.hpp"
#include "dpftrl/prefix_sum.hpp"
#include "support.hpp"

namespace {

constexpr std::int64_t kNever = -1;
/// Allocations that still succeed; kNever: all of them.
std::int64_t allocations_left = kNever;

}  // namespace

// Not inlined: GCC would see malloc and delete side by side, and warn.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace dpftrl {
namespace {

constexpr std::int64_t kSteps = 24, kDimension = 6;

PrefixSumOptions with_grid(double grid, ReleaseMode mode = ReleaseMode::grid) {
  return {.key = Key::insecure_from_seed(5),
          .dimension = kDimension,
          .mode = mode,
          .grid = grid,
          .lattice_noise = LatticeNoise::rounded_gaussian};
}

std::vector<double> record_at(std::int64_t step) {
  return std::vector<double>(kDimension, 0.05 * static_cast<double>(1 + step % 5));
}

/// Releases by step; a step that was spent without a release has none.
using Releases = std::vector<std::vector<double>>;

struct Interrupted {
  Releases releases = Releases(kSteps);
  std::vector<std::int64_t> records;  ///< by step: which one was counted there, or -1
  bool has_failed = false;
};

/// A run in which allocation number `failing` throws; the record is then offered again.
Interrupted run_with_failure(const std::shared_ptr<const Mechanism>& how,
                             const PrefixSumOptions& options, std::int64_t failing) {
  PrefixSum sums(how, options);
  Interrupted run{.records = std::vector<std::int64_t>(kSteps, -1)};
  std::vector<double> noisy(kDimension);
  std::int64_t next_record = 0, allowed = failing;
  while (sums.step() < kSteps) {
    const std::vector<double> record = record_at(next_record);
    const std::int64_t step = sums.step();
    allocations_left = allowed;
    try {
      sums.release(record, noisy);
      allowed = std::exchange(allocations_left, kNever);
    } catch (const std::bad_alloc&) {
      allowed = allocations_left = kNever;
      run.has_failed = true;
      continue;
    }
    run.releases[static_cast<std::size_t>(step)] = noisy;
    run.records[static_cast<std::size_t>(step)] = next_record++;
  }
  return run;
}

void expect_repeatable(const char* name, const PrefixSumOptions& options) {
  const auto how = Mechanism::make(
      {.strategy = name, .num_steps = kSteps, .target = {.epsilon = 0.02, .delta = 1e-6}});
  std::int64_t num_failures = 0;
  for (std::int64_t failing = 0;; ++failing) {
    const Interrupted run = run_with_failure(how, options, failing);
    if (!run.has_failed) break;
    ++num_failures;
    // Undisturbed, the records at the steps at which they were counted, zeros where none was.
    PrefixSum undisturbed(how, options);
    std::vector<double> expected(kDimension);
    for (std::size_t t = 0; t < run.records.size(); ++t) {
      const std::int64_t counted = run.records[t];
      undisturbed.release(counted < 0 ? std::vector<double>(kDimension, 0.0) : record_at(counted),
                          expected);
      if (counted >= 0) {
        ASSERT_EQ(run.releases[t], expected) << name << ", allocation " << failing;
      }
    }
  }
  EXPECT_GE(num_failures, 1) << name;
}

TEST(Allocation, a_release_that_lacks_memory_can_be_repeated_and_counts_its_record_once) {
  // So fine beside the noise that many entries are recomputed, which takes memory.
  for (const char* name : {"independent", "tree", "square-root", "hybrid", "blt-rational"})
    expect_repeatable(name, with_grid(0x1p-28));
  for (const char* name : {"honaker", "square-root", "blt-rational"})
    expect_repeatable(name, with_grid(0x1p-16, ReleaseMode::lattice));
}

/// A learner of which allocation number `failing` throws; the example is then offered again.
struct LearnerRun {
  std::vector<double> iterates;  ///< after every step
  bool has_failed = false;
};

LearnerRun learn_with_failure(const DpFtrlOptions& options, std::int64_t failing) {
  DpFtrl learner(options);
  LearnerRun run;
  std::int64_t allowed = failing;
  while (learner.steps_done() < kSteps) {
    const std::vector<double> features = record_at(learner.num_examples());
    allocations_left = allowed;
    try {
      learner.step(features, 1);
      allowed = std::exchange(allocations_left, kNever);
    } catch (const std::bad_alloc&) {
      allowed = allocations_left = kNever;
      run.has_failed = true;
      continue;
    }
    run.iterates.insert(run.iterates.end(), learner.iterate().begin(), learner.iterate().end());
  }
  return run;
}

TEST(Allocation, an_example_whose_step_lacked_memory_is_learned_from_once) {
  for (const char* domain : {"whole-space", "ball", "box", "simplex", "simplex-entropic"}) {
    const DpFtrlOptions options{
        .mechanism = Mechanism::make({.strategy = "blt-rational",
                                      .num_steps = kSteps,
                                      .target = {.epsilon = 0.02, .delta = 1e-6}}),
        .key = Key::insecure_from_seed(5),
        .dimension = kDimension,
        .loss = make_loss("logistic"),
        .domain = make_domain(domain, 1),
        .grid = 0x1p-28};
    const LearnerRun undisturbed = learn_with_failure(options, kNever);
    std::int64_t num_failures = 0;
    for (std::int64_t failing = 0;; ++failing) {
      const LearnerRun run = learn_with_failure(options, failing);
      if (!run.has_failed) break;
      ++num_failures;
      ASSERT_EQ(run.iterates, undisturbed.iterates) << domain << ", allocation " << failing;
    }
    EXPECT_GE(num_failures, 1) << domain;
  }
}

}  // namespace
}  // namespace dpftrl
