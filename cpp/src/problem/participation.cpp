// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/problem/participation.hpp"

#include <algorithm>
#include <array>

#include "dpftrl/base/error.hpp"
#include "dpftrl/base/types.hpp"

namespace dpftrl {
namespace {

struct Spelling {
  std::string_view name;
  Neighbours neighbours;
};

/// The first two are the names this library uses.
constexpr std::array<Spelling, 8> kSpellings = {{
    {"zero-out", Neighbours::zero_out},
    {"replace-one", Neighbours::replace_one},
    {"add-remove", Neighbours::zero_out},
    {"add-or-remove-one", Neighbours::zero_out},
    {"add-or-remove", Neighbours::zero_out},
    {"replace", Neighbours::replace_one},
    {"change-one", Neighbours::replace_one},
    {"substitution", Neighbours::replace_one},
}};

Neighbours find(std::string_view name, std::span<const Spelling> spellings) {
  std::string known;
  for (const Spelling& spelling : spellings) {
    if (spelling.name == name) return spelling.neighbours;
    known.append(known.empty() ? "" : ", ").append(spelling.name);
  }
  fail_argument("participation", "neighbours", "one of " + known, "\"" + std::string(name) + "\"");
}

/// True if runs that begin and end at these steps, in turn, form a pattern.
bool are_changes(const ActivePattern& pattern, std::span<const std::int64_t> changes,
                 std::int64_t steps) {
  for (std::size_t i = 0; i < changes.size(); i += 2) {
    const bool is_last = i + 1 == changes.size();  // the end of the stream may cut it short
    const bool may_be_cut = is_last || (changes[i] == 0 && pattern.has_open_start);
    const std::int64_t end = is_last ? steps : changes[i + 1];
    if (!may_be_cut && end - changes[i] < pattern.window) return false;
  }
  return true;
}

}  // namespace

std::string_view to_string(Neighbours neighbours) {
  return neighbours == Neighbours::zero_out ? "zero-out" : "replace-one";
}

Neighbours neighbours_from_string(std::string_view name) {
  return find(name, std::span(kSpellings).first(2));
}

Neighbours neighbours_from_convention(std::string_view name) {
  return find(name, kSpellings);
}

double neighbour_distance(Neighbours neighbours) {
  return neighbours == Neighbours::zero_out ? 1 : 2;
}

Participation Participation::fixed_epoch(const FixedEpoch& schema) {
  const std::int64_t k = require_between("fixed_epoch", "epochs", schema.epochs, 1, kMaxNumSteps);
  const std::int64_t b =
      require_between("fixed_epoch", "epoch_length", schema.epoch_length, 1, kMaxNumSteps);
  if (k > kMaxNumSteps / b)
    fail_argument("fixed_epoch", "epoch_length", "at most 2^40 / {epochs}",
                  to_text(k) + " * " + to_text(b));
  return {Kind::fixed_epoch, k, b};
}

Participation Participation::min_separation(const MinSeparation& schema) {
  return {Kind::min_separation,
          require_between("min_separation", "times", schema.times, 1, kMaxNumSteps),
          require_between("min_separation", "apart", schema.apart, 1, kMaxNumSteps)};
}

Participation Participation::active(const ActivePattern& pattern) {
  require_between("active", "window", pattern.window, 1, kMaxNumSteps);
  if (pattern.runs) require_between("active", "runs", *pattern.runs, 1, kMaxNumSteps);
  const std::int64_t most = kMaxNumSteps / 2;
  Participation active(Kind::active, 2 * std::min(pattern.runs.value_or(most), most), 1);
  active.pattern_ = pattern;
  return active;
}

std::string_view Participation::name() const {
  switch (kind_) {
    case Kind::single:
      return "single";
    case Kind::fixed_epoch:
      return "fixed-epoch";
    case Kind::min_separation:
      return "min-separation";
    case Kind::active:
      return "active";
  }
  return "unknown";
}

std::string Participation::description() const {
  switch (kind_) {
    case Kind::single:
      return "at most one step";
    case Kind::fixed_epoch:
      return "once in each of " + to_text(times_) + " epochs of " + to_text(apart_) +
             " steps, always at the same place";
    case Kind::min_separation:
      return "at most " + to_text(times_) + " steps, at least " + to_text(apart_) + " apart";
    case Kind::active:
      return "active in runs of at least " + to_text(pattern_->window) + " steps" +
             (pattern_->runs ? ", at most " + to_text(*pattern_->runs) + " of them" : "");
  }
  return "unknown";
}

std::int64_t Participation::times_within(std::int64_t steps) const {
  require_between("participation", "steps", steps, 1, kMaxNumSteps);
  return std::min(times_, (steps - 1) / apart_ + 1);
}

void Participation::require_horizon(std::int64_t steps) const {
  if (kind_ == Kind::fixed_epoch && times_ * apart_ != steps)
    fail_argument("participation", "steps",
                  "{epochs} * {epoch_length} = " + to_text(times_ * apart_), to_text(steps));
}

bool Participation::allows(std::span<const std::int64_t> chosen, std::int64_t steps) const {
  require_horizon(steps);
  const auto inside = [&](std::int64_t step) { return step >= 0 && step < steps; };
  if (!std::ranges::all_of(chosen, inside) || std::ssize(chosen) > times_) return false;
  for (std::size_t i = 1; i < chosen.size(); ++i) {
    const std::int64_t distance = chosen[i] - chosen[i - 1];
    if (distance <= 0) return false;
    if (kind_ == Kind::fixed_epoch ? distance % apart_ != 0 : distance < apart_) return false;
  }
  return kind_ != Kind::active || are_changes(*pattern_, chosen, steps);
}

std::int64_t apart_from_steps_between(std::int64_t steps_between) {
  return require_between("apart_from_steps_between", "steps_between", steps_between, 0,
                         kMaxNumSteps - 1) +
         1;
}

std::int64_t bands_from_off_diagonals(std::int64_t num_off_diagonals) {
  return require_between("bands_from_off_diagonals", "num_off_diagonals", num_off_diagonals, 0,
                         kMaxNumSteps - 1) +
         1;
}

}  // namespace dpftrl
