// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Operations of a step, on rows of any length and number type: draw normals, combine rows
/// linearly, name the row of the step.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "base/double_double.hpp"

namespace dpftrl::noise {

/// A row that operations refer to. State outlives the step; scratch does not, and is never stored
/// for all coordinates at once.
struct Slot {
  std::int32_t index = 0;
  bool is_scratch = false;
};

/// Hands out slots. Restoring a copy returns the slots handed out since it was made.
class SlotAllocator {
 public:
  Slot state() { return {num_state_++, false}; }
  std::vector<Slot> states(std::size_t count) {
    std::vector<Slot> slots(count);
    for (Slot& slot : slots) slot = state();
    return slots;
  }
  Slot scratch() { return {num_scratch_++, true}; }

  std::int32_t num_state() const { return num_state_; }

 private:
  std::int32_t num_state_ = 0;
  std::int32_t num_scratch_ = 0;
};

struct Term {
  DoubleDouble factor;
  Slot slot;
};

struct Operation {
  enum class Kind : std::uint8_t {
    draw,     ///< target = normals of measurement `number`
    load,     ///< target = source, one double per coordinate
    combine,  ///< target = sum of the terms, from the first to the last
    finish,   ///< target is the row of the step
  };
  Kind kind;
  Slot target;
  std::int64_t number = 0;
  const double* source = nullptr;
  std::size_t first_term = 0;
  std::size_t num_terms = 0;
};

/// The operations of consecutive steps.
class StepOperations {
 public:
  void clear() {
    operations_.clear();
    terms_.clear();
    ends_.clear();
    draws_.clear();
    draw_ends_.clear();
    sources_.clear();
  }
  void draw(Slot target, std::int64_t measurement) {
    operations_.push_back({.kind = Operation::Kind::draw, .target = target, .number = measurement});
    draws_.push_back(measurement);
  }
  /// Keeps the rows alive while these operations need them.
  void load(Slot target, const std::shared_ptr<const std::vector<double>>& rows,
            std::size_t begin) {
    if (sources_.empty() || sources_.back() != rows) sources_.push_back(rows);
    operations_.push_back(
        {.kind = Operation::Kind::load, .target = target, .source = rows->data() + begin});
  }
  void combine(Slot target, std::span<const Term> terms) {
    operations_.push_back({.kind = Operation::Kind::combine,
                           .target = target,
                           .first_term = terms_.size(),
                           .num_terms = terms.size()});
    terms_.insert(terms_.end(), terms.begin(), terms.end());
  }
  void combine(Slot target, std::initializer_list<Term> terms) {
    combine(target, std::span<const Term>(terms.begin(), terms.size()));
  }
  void copy(Slot target, Slot source) { combine(target, {Term{{1, 0}, source}}); }
  void add(Slot target, Slot left, Slot right) {
    combine(target, {Term{{1, 0}, left}, Term{{1, 0}, right}});
  }
  void set_zero(Slot target) { combine(target, {}); }
  /// Ends a step.
  void finish(Slot row) {
    operations_.push_back({.kind = Operation::Kind::finish, .target = row});
    ends_.push_back(operations_.size());
    draw_ends_.push_back(draws_.size());
  }

  std::size_t steps() const { return ends_.size(); }
  std::span<const Operation> step(std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::span(operations_).subspan(begin, ends_[i] - begin);
  }
  std::span<const Operation> all() const { return operations_; }
  /// Measurements that the step draws, in the order of the operations.
  std::span<const std::int64_t> draws(std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : draw_ends_[i - 1];
    return std::span(draws_).subspan(begin, draw_ends_[i] - begin);
  }
  std::span<const Term> all_terms() const { return terms_; }
  std::span<const Term> terms(const Operation& operation) const {
    return std::span(terms_).subspan(operation.first_term, operation.num_terms);
  }

 private:
  std::vector<Operation> operations_;
  std::vector<Term> terms_;
  std::vector<std::size_t> ends_;
  std::vector<std::int64_t> draws_;
  std::vector<std::size_t> draw_ends_;
  std::vector<std::shared_ptr<const std::vector<double>>> sources_;
};

}  // namespace dpftrl::noise
