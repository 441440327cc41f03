// SPDX-License-Identifier: Apache-2.0
// Running out of memory in the middle of a release leaves everything unchanged. Replaces the global
// operators new of this test program by versions that can be made to fail.
#include <cstdint>
#include <cstdlib>
#include <new>

#include "dpftrl/learn/dp_ftrl.hpp"
#include "dpftrl/release/prefix_sum.hpp"
#include "support.hpp"

namespace {

constexpr std::int64_t kNever = -1;
/// Allocations that still succeed; kNever means all of them.
std::int64_t allocations_left = kNever;

constexpr auto kDefaultAlignment = std::align_val_t{__STDCPP_DEFAULT_NEW_ALIGNMENT__};

/// Allocates memory to be freed by `give_back`, or returns null. Neither function is inlined,
/// because GCC would see an operator next to `free` and warn.
[[gnu::noinline]] void* take(std::size_t size, std::align_val_t align) noexcept {
  if (allocations_left == 0) return nullptr;
  if (allocations_left > 0) --allocations_left;
  const auto unit = static_cast<std::size_t>(align);
  const std::size_t num_units = size / unit + 1;  // aligned_alloc requires whole units
  if (num_units > SIZE_MAX / unit) return nullptr;
  return std::aligned_alloc(unit, num_units * unit);
}
[[gnu::noinline]] void give_back(void* memory) noexcept {
  std::free(memory);
}

void* take_or_throw(std::size_t size, std::align_val_t align) {
  if (void* memory = take(size, align)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// All forms are replaced: under a sanitizer, memory from a form that is not could not be passed to
// `free`.
// clang-format off
using Size = std::size_t;
using Align = std::align_val_t;
using NoThrow = std::nothrow_t;
void* operator new(Size size) { return take_or_throw(size, kDefaultAlignment); }
void* operator new[](Size size) { return take_or_throw(size, kDefaultAlignment); }
void* operator new(Size size, Align align) { return take_or_throw(size, align); }
void* operator new[](Size size, Align align) { return take_or_throw(size, align); }
void* operator new(Size size, const NoThrow&) noexcept { return take(size, kDefaultAlignment); }
void* operator new[](Size size, const NoThrow&) noexcept { return take(size, kDefaultAlignment); }
void* operator new(Size size, Align align, const NoThrow&) noexcept { return take(size, align); }
void* operator new[](Size size, Align align, const NoThrow&) noexcept { return take(size, align); }
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, Size) noexcept { give_back(memory); }
void operator delete[](void* memory, Size) noexcept { give_back(memory); }
void operator delete(void* memory, Align) noexcept { give_back(memory); }
void operator delete[](void* memory, Align) noexcept { give_back(memory); }
void operator delete(void* memory, Size, Align) noexcept { give_back(memory); }
void operator delete[](void* memory, Size, Align) noexcept { give_back(memory); }
void operator delete(void* memory, const NoThrow&) noexcept { give_back(memory); }
void operator delete[](void* memory, const NoThrow&) noexcept { give_back(memory); }
void operator delete(void* memory, Align, const NoThrow&) noexcept { give_back(memory); }
void operator delete[](void* memory, Align, const NoThrow&) noexcept { give_back(memory); }
// clang-format on

namespace dpftrl {
namespace {

/// A pair of operators as functions, since a compiler may omit new expressions.
struct Form {
  const char* name;
  void* (*make)();
  void (*drop)(void*);
};

constexpr std::size_t kAllocatedSize = 40;
constexpr auto kLine = std::align_val_t{64};

// clang-format off
constexpr Form kForms[] = {
    {"new", [] { return operator new(kAllocatedSize); },
     [](void* memory) { operator delete(memory); }},
    {"new[]", [] { return operator new[](kAllocatedSize); },
     [](void* memory) { operator delete[](memory); }},
    {"nothrow new", [] { return operator new(kAllocatedSize, std::nothrow); },
     [](void* memory) { operator delete(memory, std::nothrow); }},
    {"nothrow new[]", [] { return operator new[](kAllocatedSize, std::nothrow); },
     [](void* memory) { operator delete[](memory, std::nothrow); }},
    {"aligned new", [] { return operator new(kAllocatedSize, kLine); },
     [](void* memory) { operator delete(memory, kLine); }},
    {"aligned new[]", [] { return operator new[](kAllocatedSize, kLine); },
     [](void* memory) { operator delete[](memory, kLine); }},
    {"aligned nothrow new", [] { return operator new(kAllocatedSize, kLine, std::nothrow); },
     [](void* memory) { operator delete(memory, kLine, std::nothrow); }},
    {"aligned nothrow new[]", [] { return operator new[](kAllocatedSize, kLine, std::nothrow); },
     [](void* memory) { operator delete[](memory, kLine, std::nothrow); }},
};
// clang-format on

TEST(Allocation, every_form_of_new_can_be_told_to_fail) {
  for (const Form& form : kForms) {
    const std::string name = form.name;
    allocations_left = 1;
    void* const memory = form.make();
    const std::int64_t left = std::exchange(allocations_left, 0);
    bool has_thrown = false;
    void* second = nullptr;
    try {
      second = form.make();
    } catch (const std::bad_alloc&) {
      has_thrown = true;
    }
    allocations_left = kNever;
    EXPECT_EQ(left, 0) << name;
    EXPECT_EQ(second, nullptr) << name;
    EXPECT_EQ(has_thrown, name.find("nothrow") == std::string::npos) << name;
    ASSERT_NE(memory, nullptr) << name;
    if (name.starts_with("aligned")) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % static_cast<std::size_t>(kLine), 0u);
    }
    form.drop(memory);
  }
}

constexpr std::int64_t kAllocatedSteps = 24, kAllocatedDimension = 6;

PrefixSumOptions with_grid(double grid, ReleaseMode mode = ReleaseMode::grid) {
  return {.key = Key::insecure_from_seed(5),
          .dimension = kAllocatedDimension,
          .mode = mode,
          .grid = grid,
          .lattice_noise = LatticeNoise::rounded_gaussian};
}

std::vector<double> allocation_record(std::int64_t step, std::int64_t size = kAllocatedDimension) {
  return std::vector<double>(static_cast<std::size_t>(size),
                             0.05 * static_cast<double>(1 + step % 5));
}

/// Releases by step; a step spent without a release is empty.
using Releases = std::vector<std::vector<double>>;

struct Interrupted {
  Releases releases = Releases(kAllocatedSteps);
  std::vector<std::int64_t> records;  ///< index of the record counted at each step, or -1
  bool has_failed = false;
};

/// Runs with allocation number `failing` throwing, then offers the same record again.
Interrupted run_with_failure(const std::shared_ptr<const Mechanism>& how,
                             const PrefixSumOptions& options, std::int64_t failing) {
  PrefixSum sums(how, options);
  Interrupted run{.records = std::vector<std::int64_t>(kAllocatedSteps, -1)};
  std::vector<double> noisy(kAllocatedDimension);
  std::int64_t next_record = 0, allowed = failing;
  while (sums.step() < kAllocatedSteps) {
    const std::vector<double> record = allocation_record(next_record, sums.record_size());
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

/// Makes each allocation fail in turn, or every `stride`-th.
void expect_repeatable(const std::shared_ptr<const Mechanism>& how, const PrefixSumOptions& options,
                       std::int64_t stride = 1) {
  const std::string& name = how->certificate().strategy;
  std::int64_t num_failures = 0;
  for (std::int64_t failing = 0;; failing += stride) {
    const Interrupted run = run_with_failure(how, options, failing);
    if (!run.has_failed) break;
    ++num_failures;
    // An undisturbed run over the records at the steps where they were counted, with none
    // elsewhere.
    PrefixSum undisturbed(how, options);
    std::vector<double> expected(kAllocatedDimension);
    for (std::size_t t = 0; t < run.records.size(); ++t) {
      const std::int64_t counted = run.records[t];
      if (counted < 0) {
        undisturbed.release(expected);
      } else {
        undisturbed.release(allocation_record(counted, undisturbed.record_size()), expected);
        ASSERT_EQ(run.releases[t], expected) << name << ", allocation " << failing;
      }
    }
  }
  EXPECT_GE(num_failures, 1) << name;
}

MechanismOptions named(const char* name) {
  return {.strategy = name, .steps = kAllocatedSteps, .target = {.epsilon = 0.02, .delta = 1e-6}};
}

void expect_repeatable(const char* name, const PrefixSumOptions& options,
                       const Workload& workload = Workload::prefix_sums(kAllocatedSteps)) {
  MechanismOptions how = named(name);
  how.workload = workload;
  expect_repeatable(Mechanism::make(how), options);
}

TEST(Allocation, a_release_that_lacks_memory_can_be_repeated_and_counts_its_record_once) {
  // The grid is so fine compared with the noise that many entries are recomputed, which allocates
  // memory.
  for (const char* name : {"independent", "tree", "square-root", "haar", "blt-rational"})
    expect_repeatable(name, with_grid(0x1p-28));
  for (const char* name : {"independent", "square-root", "banded-square-root"})
    expect_repeatable(name, with_grid(0x1p-28), Workload::sliding_window({kAllocatedSteps, 3}));
  const auto fading =
      Workload::momentum({.steps = kAllocatedSteps, .momentum = 0.5, .decay = 0.75});
  for (const char* name : {"output", "square-root"})
    expect_repeatable(name, with_grid(0x1p-28), fading);
  for (const char* name : {"honaker", "square-root", "blt-rational"})
    expect_repeatable(name, with_grid(0x1p-16, ReleaseMode::lattice));
}

TEST(Allocation, a_release_of_several_workloads_that_lacks_memory_leaves_none_ahead_of_the_others) {
  const StackOptions stack = {
      .workloads = {
          Workload::prefix_sums(kAllocatedSteps), Workload::sliding_window({kAllocatedSteps, 3}),
          Workload::momentum({.steps = kAllocatedSteps, .momentum = 0.5, .decay = 0.75})}};
  for (const char* name : {"independent", "square-root"})
    expect_repeatable(Mechanism::make_stack(named(name), stack), with_grid(0x1p-28),
                      testing::is_full_size() ? 1 : 5);
}

/// A learner in which allocation number `failing` throws; the example is then offered again.
struct LearnerRun {
  std::vector<double> iterates;  ///< after every step
  bool has_failed = false;
};

LearnerRun learn_with_failure(const DpFtrlOptions& options, std::int64_t failing) {
  DpFtrl learner(options);
  LearnerRun run;
  std::int64_t allowed = failing;
  while (learner.steps_done() < kAllocatedSteps) {
    const std::vector<double> features = allocation_record(learner.num_examples());
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
                                      .steps = kAllocatedSteps,
                                      .target = {.epsilon = 0.02, .delta = 1e-6}}),
        .key = Key::insecure_from_seed(5),
        .dimension = kAllocatedDimension,
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
