// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Runs the operations of many steps on blocks of coordinates that stay in the level-1 cache.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "base/double_double.hpp"
#include "noise/programs/narrow.hpp"
#include "noise/programs/program.hpp"
#include "simd/simd.hpp"

namespace dpftrl::noise {

/// The steps of a window and what they do.
class Window {
 public:
  /// If the options say plain, choose_precision decides.
  /// @throws Error{resource_exhausted} noise generated in advance would need more than 1 GiB.
  Window(const ProgramOptions& options, const DecoderForm& form);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  Precision precision() const { return options_.precision; }
  const ProgramOptions& options() const { return options_; }

  /// Steps first_step .. first_step + num_steps - 1; windows follow each other without a gap.
  void prepare(std::int64_t first_step, std::int64_t num_steps);
  /// The next window begins at `step`: 0, or one that resume_point gave. At 0 every state slot is
  /// to be 0. To be called again if memory ran out, here or in `prepare`.
  void resume(std::int64_t step);
  std::int64_t num_steps() const { return num_steps_; }
  std::span<const Operation> operations(std::int64_t i) const { return plan_.step(in_plan(i)); }
  /// The measurements drawn, without the shift.
  std::span<const std::int64_t> draws(std::int64_t i) const { return plan_.draws(in_plan(i)); }
  std::span<const Term> terms(const Operation& operation) const { return plan_.terms(operation); }
  /// Shift to be added to the measurements of these operations.
  std::int64_t measurement_shift(std::int64_t i) const;
  const Bound& bound(std::int64_t i) const {
    return all_bounds_.empty() ? bounds_[static_cast<std::size_t>(i)]
                               : all_bounds_[static_cast<std::size_t>(first_step_ + i)];
  }
  const Plan& plan() const { return plan_; }
  std::int64_t first_step() const { return first_step_; }
  /// See Program::shape.
  const std::optional<StepShape>& shape() const { return shape_; }
  /// The plan only grows then: steps come again.
  bool is_periodic() const { return period_ > 0; }
  /// Slots that the operations name.
  std::size_t num_state() const { return num_state_; }
  std::size_t num_scratch() const { return num_scratch_; }
  /// State slots that steps from here on may read. It follows from the last prepared step alone;
  /// num_state() may also count those of longer blocks before it.
  std::size_t num_slots_in_use() const {
    return std::min(num_state_, static_cast<std::size_t>(slots_.num_state()));
  }

 private:
  void emit(std::int64_t step);
  void append_bound(std::int64_t step);
  /// Index in the plan of step i of the window.
  std::size_t in_plan(std::int64_t i) const {
    if (period_ == 1) return 0;
    return static_cast<std::size_t>(period_ == 0 ? i : (first_step_ + i) % period_);
  }

  ProgramOptions options_;
  const DecoderForm& form_;
  SlotAllocator slots_;
  ProgramPointer program_;
  std::optional<StepShape> shape_;
  std::int64_t period_ = 0;  ///< of the program
  std::int64_t first_step_ = 0;
  std::int64_t num_steps_ = 0;
  std::int64_t num_planned_ = 0;
  bool has_resumed_ = false;  ///< the plan begins with what Program::resume appended
  Plan plan_;
  std::vector<Bound> all_bounds_;  ///< of every row, where they are known beforehand
  std::vector<Bound> bounds_;      ///< of the window, where not
  std::size_t num_state_ = 0;
  std::size_t num_scratch_ = 0;
};

/// Asks for memory that is written soon to come to the level-2 cache while normals are made.
inline void fetch(const void* begin, std::size_t num_bytes) {
  constexpr std::size_t kLine = 64;
  for (std::size_t i = 0; i < num_bytes; i += kLine)
    __builtin_prefetch(static_cast<const char*>(begin) + i, 0, 2);
}

/// Takes the rows of a window, block by block: coordinates first .. of row `i` of the window, or
/// whole rows from row `i` on.
template <class Value>
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void take(std::int64_t i, std::size_t first, std::span<const Value> values) = 0;
  /// The same entries will be taken soon: a hint to fetch what they are written to.
  virtual void expect(std::int64_t, std::size_t, std::size_t) {}
  /// Destination of the rows, one after the other, if their maker may write them there directly.
  virtual Value* rows() { return nullptr; }
};

/// Memory and arithmetic for rows of float, double or DoubleDouble.
template <class Number>
class Machine {
 public:
  using Value = std::conditional_t<std::is_same_v<Number, float>, float, double>;

  explicit Machine(const ProgramOptions& options) : options_(options) {}

  /// Runs the window, which follows the one before.
  void run(const Window& window, Sink<Value>& sink);
  /// Every state slot is 0.
  void clear() { state_.clear(); }
  /// Appends the first state slots, little-endian.
  void write_state(std::size_t num_slots, std::vector<std::byte>& out) const;
  /// Reads what write_state appended, of streams with the same options.
  void read_state(std::span<const std::byte> bytes);

 private:
  static constexpr std::size_t kParts = std::is_same_v<Number, DoubleDouble> ? 2 : 1;
  static constexpr std::size_t kPadding = simd::kPaddedBytes / sizeof(Value);
  using Factor = std::conditional_t<kParts == 2, simd::PairFactor, simd::Factor<Value>>;

  struct Block {
    std::size_t first;
    std::size_t width;
    std::size_t padded;
  };

  void allocate(const Window& window);
  Stream stream() const { return sizeof(Value) == 4 ? options_.float_stream : Stream::noise; }
  /// The steps of Window::shape.
  void run_tiles(const Window& window, Sink<Value>& sink)
    requires(!std::is_same_v<Number, DoubleDouble>);
  void run_step(const Window& window, std::int64_t i, const Block& block, Sink<Value>& sink);
  /// Into row `out`, and their low parts into `low` if that is not null.
  void draw(std::int64_t measurement, const Block& block, Value* out, Value* low);
  void combine(std::span<const Term> terms, Slot target, const Block& block);
  /// Part 0 or 1 (the low parts) of a slot's coordinates in the block.
  Value* part(Slot slot, const Block& block, std::size_t number) {
    const std::size_t index = static_cast<std::size_t>(slot.index) * kParts + number;
    return slot.is_scratch ? scratch_[index].data() : state_[index].data() + block.first;
  }

  ProgramOptions options_;
  const simd::Kernels& kernels_ = simd::kernels();
  std::size_t block_width_ = 0;
  std::vector<std::vector<Value>> state_;
  std::vector<std::vector<Value>> scratch_;
  std::vector<Factor> factors_;
  std::vector<DoubleDouble> refined_;
  Narrow<Number> narrow_;
  std::vector<Value> tile_;
};

extern template class Machine<float>;
extern template class Machine<double>;
extern template class Machine<DoubleDouble>;

}  // namespace dpftrl::noise
