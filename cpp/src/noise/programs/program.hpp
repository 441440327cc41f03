// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Programs that make the rows of one DecoderForm in order. Each form has a class, which emits the
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

/// Number type of the rows.
enum class Precision {
  single,    ///< float, for simulation
  plain,     ///< double
  extended,  ///< unevaluated sums of two doubles
  refined,   ///< extended, and normals are sums of two doubles as well
};

inline bool is_extended(Precision precision) {
  return precision == Precision::extended || precision == Precision::refined;
}

struct ProgramOptions {
  Key key;
  std::int64_t dimension;
  std::int64_t first_coordinate;
  std::int64_t num_rows;               ///< number of rows that can be requested
  std::int64_t first_measurement = 0;  ///< address of the form's measurement 0
  Precision precision = Precision::plain;
  Stream float_stream = Stream::noise_float;  ///< stream of the normals if precision is single
};

/// Bounds of one row: |computed - ideal| <= error and |ideal| <= magnitude, except for events of
/// probability below 2^-280 per entry.
struct Bound {
  double error = 0;
  double magnitude = 0;
};

/// A step that draws z, computes w from it and adds w to the total, which is its row; see simd.hpp.
/// The recursion has at most simd::kMaxBuffers states or simd::kMaxLags lags.
struct StepShape {
  enum class Kind {
    buffers,       ///< simd::Buffers
    bands,         ///< simd::Bands over the last w
    inverse_bands  ///< simd::Bands over the last z
  };
  Kind kind;
  std::vector<double> weights;  ///< weights of the states; for bands, the factors
  std::vector<double> decays;   ///< decays of buffers; unused for bands
  std::vector<Slot> states;     ///< states; for bands, state t mod size belongs to step t
  Slot total;
};

class Program {
 public:
  virtual ~Program() = default;
  /// Appends the operations of step `step`, without StepOperations::finish, and returns the slot of
  /// its row. Called for each step once, in order, from 0 or from the step passed to `resume`.
  /// State slots are 0 before step 0.
  virtual Slot emit(std::int64_t step, StepOperations& operations) = 0;
  /// Bound of the row of a step; called for steps in order. Trees of arity k, blocks, matrices and
  /// filters over them require that emit was called before; all other forms do not.
  virtual Bound bound(std::int64_t step) = 0;
  /// Moves to `step` > 0, a result of resume_point, from any step: appends operations that set the
  /// state slots to their values after step - 1. Not needed by forms whose resume_point is 0.
  virtual void resume(std::int64_t /*step*/, StepOperations& /*operations*/) {}
  /// p > 0 if step t + p does what step t does, with measurements p later; 0 if steps differ.
  virtual std::int64_t period() const { return 0; }
  /// Shape common to all steps, if any.
  virtual std::optional<StepShape> shape() const { return std::nullopt; }
};

using ProgramPointer = std::unique_ptr<Program>;

inline constexpr double kUnitRoundoff = 0x1p-53;
/// Covers rounding in the bounds, which are computed in floating point themselves.
inline constexpr double kSlack = 1 + 0x1p-24;
/// Largest coefficient, weight or scale of a form; keeps rows within the range of exact_entry.
inline constexpr double kMaxCoefficient = 0x1p20;
inline constexpr double kMaxPregeneratedBytes = 0x1p30;
/// Standard deviations that a normal exceeds with probability below 2^-280.
inline constexpr double kTail = 20;

/// Rounding error of one StepOperations::combine, relative to the sum of the magnitudes of its
/// terms.
inline double combine_error(Precision precision, double num_terms) {
  if (is_extended(precision)) return (num_terms + 3) * (num_terms + 3) * 0x1p-103;
  return (num_terms + 1) * kUnitRoundoff;
}

/// a + f b is off by at most this times |f b| + |a + f b|, and a + b by this times |a| + |b|.
inline double step_error(Precision precision) {
  return is_extended(precision) ? 0x1p-97 : kUnitRoundoff;
}

/// Bound on the error of a drawn normal.
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

/// Writes the normals of one measurement of the form.
void fill_measurement(const ProgramOptions& options, std::int64_t measurement,
                      std::span<double> out);

/// Checks that a form can make `options.num_rows` rows.
/// @throws Error{invalid_argument} a part of the form out of range, too short or missing;
///         Error{resource_exhausted} its program would need more than 1 GiB of state.
void require_form(const ProgramOptions& options, const DecoderForm& form);

/// @throws Error{resource_exhausted} noise generated in advance would need more than 1 GiB.
void require_memory(const ProgramOptions& options);

/// Makes the program of a form that passed require_form. The form must outlive the program.
ProgramPointer make_program(const ProgramOptions& options, const DecoderForm& form,
                            SlotAllocator& slots);

/// True for forms, other than convolutions, whose rows depend on the normals of nearly all earlier
/// steps.
bool adds_up(const DecoderForm& form);

/// Latest step, at most `step`, that a program of the form can reach without running the steps
/// before it.
std::int64_t resume_point(const DecoderForm& form, std::int64_t step);

/// Row `step` of a stream of one coordinate as a plain sum of refined terms. More accurate than the
/// batched convolution, at the cost of a few of its rows.
struct RefinedEntry {
  double value;
  double error;  ///< error bound without the rounding of `value`
};
RefinedEntry refined_entry(const ProgramOptions& options, const ToeplitzDecoder& decoder,
                           std::int64_t step);

struct PrecisionChoice {
  Precision precision;
  std::vector<Bound> bounds;  ///< bounds of all rows, if the choice computed them
};

/// Chooses plain if its error bound is small enough for the rounding test to leave few entries
/// open, otherwise extended, and refined at long horizons (docs/math/grid.md, section 3).
PrecisionChoice choose_precision(const ProgramOptions& options, const DecoderForm& form);

ProgramPointer make(const ProgramOptions&, const IdentityDecoder&, SlotAllocator&);
ProgramPointer make(const ProgramOptions&, const RunningSumDecoder&, SlotAllocator&);
ProgramPointer make(const ProgramOptions&, const DyadicDecoder&, SlotAllocator&);
ProgramPointer make(const ProgramOptions&, const KaryDecoder&, SlotAllocator&);
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
ProgramPointer make(const ProgramOptions&, const AutoregressiveDecoder&, SlotAllocator&);

/// Makes the program of one form.
using ProgramMaker = ProgramPointer (*)(const ProgramOptions&, const DecoderForm&, SlotAllocator&);
/// Indexed by DecoderForm::index(); nullptr for a form that this program never uses.
using ProgramMakers = std::array<ProgramMaker, std::variant_size_v<DecoderForm::variant>>;

/// Makers for all forms. A module with fewer families links a definition with fewer forms in place
/// of the library's, noise/forms.cpp.
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
