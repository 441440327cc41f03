// SPDX-License-Identifier: Apache-2.0
// Another workload on top of a decoder for prefix sums: w_t = D_t (r_t - r_{t-1}), row = A w.
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "noise/programs/program.hpp"
#include "random/gaussian.hpp"

namespace dpftrl::noise {
namespace {

/// Bounds over all rows of the base so far.
class BaseBounds {
 public:
  void append(const Bound& bound) {
    magnitude_ = std::max(magnitude_, bound.magnitude);
    error_ = larger_error(error_, bound.error);
  }
  double magnitude() const { return magnitude_; }
  double error() const { return error_; }

 private:
  double magnitude_ = 0;
  double error_ = 0;
};

/// Tracks the largest magnitude and the total variation of a sequence.
class Variation {
 public:
  void append(double value) {
    if (!is_empty_) total_ = add(total_, std::abs(value - last_));
    largest_ = std::max(largest_, std::abs(value));
    last_ = value;
    is_empty_ = false;
  }
  double largest() const { return largest_; }
  double total() const { return total_.high; }
  double last() const { return std::abs(last_); }

 private:
  bool is_empty_ = true;
  double last_ = 0;
  double largest_ = 0;
  DoubleDouble total_;
};

double column_scale(const FilteredDecoder& decoder, std::int64_t step) {
  return decoder.column_scales.empty() ? 1 : decoder.column_scales[static_cast<std::size_t>(step)];
}

/// Workloads computed by a short recursion. The base is created last, because blocks allocate slots
/// as they run.
class FilteredProgram final : public Program {
 public:
  FilteredProgram(const ProgramOptions& options, const FilteredDecoder& decoder,
                  SlotAllocator& slots)
      : precision_(options.precision),
        decoder_(decoder),
        workload_(decoder.workload),
        difference_(slots.scratch()),
        previous_(slots.state()),
        average_(slots.state()),
        total_(slots.state()) {
    if (workload_.kind() == Workload::Kind::window)
      window_ =
          slots.states(static_cast<std::size_t>(std::min(workload_.window(), options.num_rows)));
    base_ = make_program(options, *decoder.base, slots);
  }

  Slot emit(std::int64_t step, StepOperations& operations) override {
    const Slot row = base_->emit(step, operations);
    operations.combine(difference_, {Term{{1, 0}, row}, Term{{-1, 0}, previous_}});
    operations.copy(previous_, row);
    apply_workload(step, {column_scale(decoder_, step), 0}, operations);
    return total_;
  }

  Bound bound(std::int64_t step) override {
    bounds_.append(base_->bound(step));
    scales_.append(column_scale(decoder_, step));
    if (workload_.kind() == Workload::Kind::rates)
      rates_.append(workload_.rates()[static_cast<std::size_t>(step)]);
    const double steps = static_cast<double>(step + 1);
    const Entries entries = bound_entries(steps);
    const double partial = 2 * scales_.largest() + scales_.total();
    const double rounding =
        steps * step_error(precision_) * bounds_.magnitude() *
        (roundings() * std::max(1.0, entries.largest) * partial + 2 * entries.variation);
    return {bounds_.error() * entries.variation + rounding,
            bounds_.magnitude() * entries.variation};
  }

 private:
  /// Bounds over the rows of A so far: on |A_ti|, and on sum_i |A_ti D_i - A_t,i+1 D_{i+1}|.
  struct Entries {
    double largest;
    double variation;
  };

  void apply_workload(std::int64_t step, const DoubleDouble& scale, StepOperations& operations) {
    const DoubleDouble momentum{workload_.momentum(), 0};
    const Term old_average{momentum, average_};
    switch (workload_.kind()) {
      case Workload::Kind::momentum:
        operations.combine(average_, {old_average, Term{scale, difference_}});
        operations.combine(total_, {Term{{workload_.decay(), 0}, total_}, Term{{1, 0}, average_}});
        break;
      case Workload::Kind::window: {
        const Slot oldest = window_[static_cast<std::size_t>(step % std::ssize(window_))];
        operations.combine(total_, {Term{{1, 0}, total_}, Term{{-1, 0}, oldest}});
        operations.combine(oldest, {Term{scale, difference_}});
        operations.add(total_, total_, oldest);
        break;
      }
      case Workload::Kind::rates: {
        const double rate = workload_.rates()[static_cast<std::size_t>(step)];
        operations.combine(average_, {old_average, Term{scale, difference_}});
        operations.combine(total_, {Term{{1, 0}, total_}, Term{{rate, 0}, average_}});
        break;
      }
      case Workload::Kind::prefix:
      case Workload::Kind::matrix:  // MatrixFilteredProgram
        operations.combine(total_, {Term{{1, 0}, total_}, Term{scale, difference_}});
        break;
    }
  }

  /// Roundings of a step, in units of the largest partial result.
  double roundings() const { return workload_.is_prefix() ? 2 : 8; }

  Entries bound_entries(double steps) const {
    // Bound on the sum of the powers of the momentum.
    const double memory = std::min(steps, 1 / (1 - workload_.momentum()));
    switch (workload_.kind()) {
      case Workload::Kind::momentum: {
        const double largest =
            workload_.decay() < 1 ? std::min(memory, 1 / (1 - workload_.decay())) : memory;
        return {largest, largest * (2 * scales_.largest() + scales_.total())};
      }
      case Workload::Kind::window:
        return {1, 2 * scales_.largest() + scales_.total()};
      case Workload::Kind::rates: {
        const double largest = memory * rates_.largest();
        return {largest, memory * scales_.largest() * (rates_.total() + rates_.largest()) +
                             largest * scales_.total()};
      }
      case Workload::Kind::prefix:
      case Workload::Kind::matrix:
        break;
    }
    return {1, scales_.last() + scales_.total()};
  }

  Precision precision_;
  const FilteredDecoder& decoder_;
  const Workload& workload_;
  Slot difference_;
  Slot previous_;
  Slot average_;
  Slot total_;
  std::vector<Slot> window_;
  ProgramPointer base_;
  BaseBounds bounds_;
  Variation scales_;
  Variation rates_;
};

/// Any matrix: row t = sum_i (A_ti D_i - A_t,i+1 D_{i+1}) r_i over all rows of the base.
class MatrixFilteredProgram final : public Program {
 public:
  MatrixFilteredProgram(const ProgramOptions& options, const FilteredDecoder& decoder,
                        SlotAllocator& slots)
      : precision_(options.precision),
        decoder_(decoder),
        matrix_(decoder.workload.matrix()),
        history_(slots.states(static_cast<std::size_t>(options.num_rows))),
        row_(slots.scratch()),
        base_(make_program(options, *decoder.base, slots)) {}

  Slot emit(std::int64_t step, StepOperations& operations) override {
    operations.copy(history_[static_cast<std::size_t>(step)], base_->emit(step, operations));
    variation_ = largest_ = 0;
    terms_.clear();
    DoubleDouble next;  // A_t,i+1 D_{i+1}
    for (std::int64_t i = step; i >= 0; --i) {
      const double entry = matrix_(static_cast<Eigen::Index>(step), static_cast<Eigen::Index>(i));
      const DoubleDouble own = two_product(entry, column_scale(decoder_, i));
      const DoubleDouble difference = add(add(own, -next.high), -next.low);
      terms_.push_back({difference, history_[static_cast<std::size_t>(i)]});
      variation_ += std::abs(difference.high);
      largest_ += std::abs(own.high);
      next = own;
    }
    operations.combine(row_, terms_);
    return row_;
  }

  Bound bound(std::int64_t step) override {
    bounds_.append(base_->bound(step));
    const double rounding =
        combine_error(precision_, static_cast<double>(step + 1)) * variation_ + 0x1p-101 * largest_;
    return {bounds_.error() * variation_ + bounds_.magnitude() * rounding,
            bounds_.magnitude() * variation_};
  }

 private:
  Precision precision_;
  const FilteredDecoder& decoder_;
  Matrix matrix_;
  std::vector<Slot> history_;
  Slot row_;
  ProgramPointer base_;
  BaseBounds bounds_;
  std::vector<Term> terms_;
  double variation_ = 0;
  double largest_ = 0;  ///< sum of |A_ti| D_i
};

}  // namespace

ProgramPointer make(const ProgramOptions& options, const FilteredDecoder& decoder,
                    SlotAllocator& slots) {
  if (decoder.workload.is_prefix() && decoder.column_scales.empty())
    return make_program(options, *decoder.base, slots);
  if (decoder.workload.kind() == Workload::Kind::matrix)
    return std::make_unique<MatrixFilteredProgram>(options, decoder, slots);
  return std::make_unique<FilteredProgram>(options, decoder, slots);
}

}  // namespace dpftrl::noise
