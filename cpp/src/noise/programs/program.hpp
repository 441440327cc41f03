// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Programs that make the rows of one DecoderForm in order: one class a form, which emits the
/// operations of a step and bounds their error. docs/math/grid.md derives every bound.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "base/variant_index.hpp"
#include "dpftrl/random/random.hpp"
#include "dpftrl/strategy/decoder_form.hpp"
#include "noise/programs/step_operations.hpp"
#include "random/gaussian.hpp"
#include "random/gaussian_extended.hpp"

namespace dpftrl::noise {

/// Numbers that rows are made of.
enum class Precision {
  single,    ///< float, for simulation
  plain,     ///< double
  extended,  ///< unevaluated sums of two doubles
  refined,   ///< the same, and normals that are such sums
};

inline bool is_extended(Precision precision) {
  return precision == Precision::extended || precision == Precision::refined;
}

struct ProgramOptions {
  Key key;
  std::int64_t dimension;
  std::int64_t first_coordinate;
  std::int64_t num_rows;               ///< rows that may be asked for
  std::int64_t first_measurement = 0;  ///< address of the form's measurement 0
  Precision precision = Precision::plain;
  Stream float_stream = Stream::noise_float;  ///< of the normals if precision is single
};

/// Bounds of one row: |computed - ideal| <= error and |ideal| <= magnitude, except for events of
/// probability below 2^-280 an entry.
struct Bound {
  double error = 0;
  double magnitude = 0;
};

/// A step that draws z, makes a w of it and adds w to the total, which is its row; simd.hpp tells
/// how. There are at most simd::kMaxBuffers states or simd::kMaxLags lags.
struct StepShape {
  enum class Kind {
    buffers,       ///< simd::Buffers
    bands,         ///< simd::Bands over the last w
    inverse_bands  ///< simd::Bands over the last z
  };
  Kind kind;
  std::vector<double> weights;  ///< of the states; of bands: the factors
  std::vector<double> decays;   ///< of buffers
  std::vector<Slot> states;     ///< of bands: step t keeps its own in number t mod size
  Slot total;
};

class Program {
 public:
  virtual ~Program() = default;
  /// Appends what step `step` does, without StepOperations::finish; returns the slot of its row.
  /// Steps in order, each once, from 0 or from where `resume` went. State slots are 0 before step
  /// 0.
  virtual Slot emit(std::int64_t step, StepOperations& operations) = 0;
  /// Bound of the row of that step, steps in order. Trees of arity k, the smooth mechanism, blocks
  /// and matrices need it to be called after emit; all others do not.
  virtual Bound bound(std::int64_t step) = 0;
  /// Goes to `step` > 0, which resume_point gave, from wherever the program is: appends what makes
  /// the state slots those after step - 1. A form whose resume_point is 0 needs none.
  virtual void resume(std::int64_t /*step*/, StepOperations& /*operations*/) {}
  /// p > 0: step t + p does what step t does, with measurements p later. 0: steps differ.
  virtual std::int64_t period() const { return 0; }
  /// Shape of every step, if the steps have one.
  virtual std::optional<StepShape> shape() const { return std::nullopt; }
};

using ProgramPointer = std::unique_ptr<Program>;

inline constexpr double kUnitRoundoff = 0x1p-53;
/// Magnitudes are tracked in floating point themselves; this covers their own rounding.
inline constexpr double kSlack = 1 + 0x1p-24;
/// Coefficients, weights and scales of a form; keeps rows within the range of exact_entry.
inline constexpr double kMaxCoefficient = 0x1p20;
inline constexpr double kMaxPregeneratedBytes = 0x1p30;
/// Number of standard deviations that is exceeded with probability below 2^-280.
inline constexpr double kTail = 20;

/// Rounding of one StepOperations::combine, relative to the sum of the magnitudes of its terms.
inline double combine_error(Precision precision, double num_terms) {
  if (is_extended(precision)) return (num_terms + 3) * (num_terms + 3) * 0x1p-103;
  return (num_terms + 1) * kUnitRoundoff;
}

/// a + f b is off by at most this times |f b| + |a + f b|, and a + b by this times |a| + |b|.
inline double step_error(Precision precision) {
  return is_extended(precision) ? 0x1p-97 : kUnitRoundoff;
}

/// Bound on the error of a normal that was drawn.
inline double normal_error(Precision precision) {
  return precision == Precision::refined ? kExtendedNormalErrorBound : kNormalErrorBound;
}

/// The larger of two errors; NaN, an unknown error, counts as the largest.
inline double larger_error(double a, double b) {
  return a > b || std::isnan(a) ? a : b;
}

inline std::size_t width_of(const ProgramOptions& options) {
  return static_cast<std::size_t>(options.dimension);
}

/// Normals of one measurement of the form.
void fill_measurement(const ProgramOptions& options, std::int64_t measurement,
                      std::span<double> out);

/// Checks that a form can make `options.num_rows` rows.
/// @throws Error{invalid_argument} a part of the form out of range, too short or missing;
///         Error{resource_exhausted} its program would need more than 1 GiB of state.
void require_form(const ProgramOptions& options, const DecoderForm& form);

/// @throws Error{resource_exhausted} noise generated in advance would need more than 1 GiB.
void require_memory(const ProgramOptions& options, const ToeplitzDecoder& decoder);

/// The program of a form that passed require_form. The form must outlive the program.
ProgramPointer make_program(const ProgramOptions& options, const DecoderForm& form,
                            SlotAllocator& slots);

/// Forms whose rows are made of the normals of nearly all steps before them, and are no
/// convolutions.
bool adds_up(const DecoderForm& form);

/// The last step, at most `step`, that a program of the form reaches without those before it.
std::int64_t resume_point(const DecoderForm& form, std::int64_t step);

/// Row `step` of a stream of one coordinate as a plain sum of refined terms: more accurate than the
/// convolution that makes all rows, and as much work for one of them as that for a few.
struct RefinedEntry {
  double value;
  double error;  ///< beside the rounding of `value`
};
RefinedEntry refined_entry(const ProgramOptions& options, const ToeplitzDecoder& decoder,
                           std::int64_t step);

struct PrecisionChoice {
  Precision precision;
  std::vector<Bound> bounds;  ///< of all rows, where the choice took them
};

/// plain where its error bound is small enough for the rounding test to leave few entries open,
/// extended elsewhere, refined at long horizons (docs/math/grid.md, section 3).
PrecisionChoice choose_precision(const ProgramOptions& options, const DecoderForm& form);

ProgramPointer make(const ProgramOptions&, const IdentityDecoder&, SlotAllocator&);
ProgramPointer make(const ProgramOptions&, const RunningSumDecoder&, SlotAllocator&);
ProgramPointer make(const ProgramOptions&, const DyadicDecoder&, SlotAllocator&);
ProgramPointer make(const ProgramOptions&, const KaryDecoder&, SlotAllocator&);
ProgramPointer make(const ProgramOptions&, const SmoothDecoder&, SlotAllocator&);
ProgramPointer make(const ProgramOptions&, const HaarDecoder&, SlotAllocator&);
ProgramPointer make(const ProgramOptions&, const ToeplitzDecoder&, SlotAllocator&);
ProgramPointer make(const ProgramOptions&, const BandedDecoder&, SlotAllocator&);
ProgramPointer make(const ProgramOptions&, const BandedInverseDecoder&, SlotAllocator&);
ProgramPointer make(const ProgramOptions&, const MovingSumDecoder&, SlotAllocator&);
ProgramPointer make(const ProgramOptions&, const BufferedDecoder&, SlotAllocator&);
ProgramPointer make(const ProgramOptions&, const VaryingBufferedDecoder&, SlotAllocator&);
ProgramPointer make(const ProgramOptions&, const VaryingBandedDecoder&, SlotAllocator&);
ProgramPointer make(const ProgramOptions&, const BlockDecoder&, SlotAllocator&);
ProgramPointer make(const ProgramOptions&, const FilteredDecoder&, SlotAllocator&);

/// Makes the program of one form.
using ProgramMaker = ProgramPointer (*)(const ProgramOptions&, const DecoderForm&, SlotAllocator&);
/// By DecoderForm::index(); nullptr for a form that this program never has.
using ProgramMakers = std::array<ProgramMaker, std::variant_size_v<DecoderForm::variant>>;

/// Makers for all forms. A module with fewer families links a definition with fewer forms, which
/// takes the place of the library's, noise/forms.cpp.
const ProgramMakers& program_makers();

/// The makers for the alternatives of a variant.
template <class... Forms>
constexpr ProgramMakers program_makers_of(Alternatives<std::variant<Forms...>>) {
  ProgramMakers makers{};
  ((makers[index_in<Forms>(Alternatives<DecoderForm::variant>{})] =
        [](const ProgramOptions& options, const DecoderForm& form, SlotAllocator& slots) {
          return make(options, *std::get_if<Forms>(&form), slots);
        }),
   ...);
  return makers;
}

}  // namespace dpftrl::noise
