// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Rows of B Z at one coordinate as enclosures, for every form of B (internal header;
/// docs/math/grid.md section 4 has the sums and proves the bounds).

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "base/variant_index.hpp"
#include "dpftrl/random/random.hpp"
#include "dpftrl/strategy/decoder_form.hpp"
#include "math/fixed_point.hpp"

namespace dpftrl::detail {

/// The part of NoiseStreamOptions that entries depend on.
struct NoiseShard {
  Key key;
  std::int64_t dimension = 1;
  std::int64_t first_coordinate = 0;
};

/// Normals of one coordinate, with one digit for each plane of their uniforms that is read.
class Normals {
 public:
  Normals(const NoiseShard& shard, std::int64_t coordinate_in_row, std::size_t num_planes);

  const FixedPoint& fixed() const { return fixed_; }

  /// Encloses z of a measurement for every continuation of the bits.
  Enclosure draw(std::int64_t measurement) const;

  /// `draw` with a cache: keeps the normal if `remember` was called and memory allows.
  Enclosure recall(std::int64_t measurement);
  void remember() { remembers_ = true; }

 private:
  FixedPoint fixed_;
  Key key_;
  std::uint64_t coordinate_;
  bool remembers_ = false;
  std::vector<Enclosure> known_;  ///< normals by measurement; a negative error if not drawn yet
};

/// The rows of a form. Their `error` is a sum of products of non-negative doubles; doubling it
/// covers the rounding of its own computation.
class ExactRows {
 public:
  virtual ~ExactRows() = default;
  /// Row of a step. Steps may come in any order; a recursion restarts from step 0 when an earlier
  /// step is requested.
  virtual Enclosure row(std::int64_t step) = 0;
  /// Announces requests for many rows, up to last_step.
  virtual void prepare([[maybe_unused]] std::int64_t last_step) {}
};

/// @param form  must outlive the rows, as must the normals. NoiseStream's constructor has checked
///              its preconditions: no null pointers or empty vectors (Haar scales, column_scales
///              may be empty); arity >= 2, odd if subtractive; at most 40 Haar levels; as many
///              weights as decays; a column scale for every step; blocks whose form has as many
///              rows as the block needs. Numbers that are out of range lead to infinite errors,
///              never to wrong ones.
/// @param first_measurement  index of the form's first measurement.
std::unique_ptr<ExactRows> make_exact_rows(const DecoderForm& form, Normals& normals,
                                           std::int64_t first_measurement);

/// Rows of one form, instantiated for every form.
template <class Form>
std::unique_ptr<ExactRows> exact_rows_of(const Form& form, Normals& normals,
                                         std::int64_t first_measurement);

/// Makes the rows of one form; see make_exact_rows.
using ExactRowsMaker = std::unique_ptr<ExactRows> (*)(const DecoderForm&, Normals&, std::int64_t);
/// Indexed by DecoderForm::index(); nullptr for a form that this program never uses.
using ExactRowsMakers = std::array<ExactRowsMaker, std::variant_size_v<DecoderForm::variant>>;

/// Makers for all forms. A module with fewer families links a definition with fewer forms in place
/// of the library's, noise/forms.cpp.
const ExactRowsMakers& exact_rows_makers();

/// The makers for the alternatives of a variant.
template <class... Forms>
constexpr ExactRowsMakers exact_rows_makers_of(Alternatives<std::variant<Forms...>>) {
  ExactRowsMakers makers{};
  ((makers[index_in<Forms>(Alternatives<DecoderForm::variant>{})] =
        [](const DecoderForm& form, Normals& normals, std::int64_t first_measurement) {
          return exact_rows_of(*std::get_if<Forms>(&form), normals, first_measurement);
        }),
   ...);
  return makers;
}

/// Rows defined by the form, at most kMaxNumSteps.
std::int64_t num_exact_rows(const DecoderForm& form);

}  // namespace dpftrl::detail
