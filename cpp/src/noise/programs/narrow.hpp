// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Runs windows of streams with few coordinates. SIMD vectors would be nearly empty there, so one
/// coordinate after the other goes through all steps, with the same operations in the same order.

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "base/double_double.hpp"
#include "noise/programs/step_operations.hpp"

namespace dpftrl::noise {

class Window;

/// Largest number of coordinates of a narrow stream.
inline constexpr std::size_t kNarrow = 4;

template <class Number>
class Narrow {
 public:
  using Value = std::conditional_t<std::is_same_v<Number, float>, float, double>;

  /// Rows of the window, contiguous; valid until the next call.
  /// @param state  for each slot, the values of the coordinates, or for DoubleDouble two rows, the
  ///               second with the low parts. Updated to the state after the window.
  std::span<const Value> run(const Window& window, std::vector<std::vector<Value>>& state);

 private:
  /// A term with the parts of its factor that exact products need.
  struct PairTerm {
    double high, low;
    double half_high, half_low;  ///< high in two parts, for exact products
    bool is_exact;
    std::int32_t row;
  };
  struct PlainTerm {
    Value factor;
    std::int32_t row;
  };
  using Term = std::conditional_t<std::is_same_v<Number, DoubleDouble>, PairTerm, PlainTerm>;

  static std::int32_t row_of(Slot slot) { return slot.is_scratch ? -1 - slot.index : slot.index; }
  static Term make_term(const noise::Term& term);
  static Number combine(const Term* terms, std::size_t num_terms, const Number* rows);
  void lay_out(const Window& window);
  /// Draws all normals of the window, generated in the type Drawn.
  template <class Drawn>
  void draw(const Window& window);
  void run_coordinate(const Window& window, std::size_t coordinate, Number* rows);

  std::vector<Term> terms_;    ///< terms of the operations
  std::vector<Number> rows_;   ///< slots of one coordinate: scratch in reverse order, then state
  std::vector<Value> made_;    ///< rows of the steps
  std::vector<Number> drawn_;  ///< normals, one coordinate after the other
  std::vector<std::int64_t> measurements_;
};

extern template class Narrow<float>;
extern template class Narrow<double>;
extern template class Narrow<DoubleDouble>;

}  // namespace dpftrl::noise
