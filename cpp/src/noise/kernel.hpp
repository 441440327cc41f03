// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What makes the rows of one DecoderForm in order: one class a form, behind one interface.
/// docs/math/grid.md derives the error bound of every kernel.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dpftrl/decoder_form.hpp"
#include "dpftrl/noise_stream.hpp"

namespace dpftrl {

class NoiseStream::Kernel {
 public:
  virtual ~Kernel() = default;
  /// Steps 0, 1, ... in order, each once.
  virtual void write_row(std::int64_t step, std::span<double> row) = 0;
  /// For the row last written.
  virtual RowErrorBound error_bound() const = 0;
};

namespace noise {

using Kernel = NoiseStream::Kernel;
using KernelPointer = std::unique_ptr<Kernel>;

struct KernelOptions {
  Key key;
  std::int64_t dimension;
  std::int64_t first_coordinate;
  std::int64_t num_rows;               ///< rows that may be asked for
  std::int64_t first_measurement = 0;  ///< address of the form's measurement 0
};

inline constexpr double kUnitRoundoff = 0x1p-53;
/// Magnitudes are tracked in floating point themselves; this covers their own rounding.
inline constexpr double kSlack = 1 + 0x1p-24;
/// Coefficients, weights and scales of a form; keeps rows within the range of exact_entry.
inline constexpr double kMaxCoefficient = 0x1p20;
inline constexpr double kMaxPregeneratedBytes = 0x1p30;

inline std::size_t width_of(const KernelOptions& options) {
  return static_cast<std::size_t>(options.dimension);
}

/// Normals of one measurement of the form.
void fill_measurement(const KernelOptions& options, std::int64_t measurement,
                      std::span<double> out);

/// Checks a form of which `options.num_rows` rows will be asked for.
/// @throws Error{invalid_argument} a part of the form out of range, too short or missing;
///         Error{resource_exhausted} its kernel would need more than 1 GiB of state.
void require_form(const KernelOptions& options, const DecoderForm& form);

/// @throws Error{resource_exhausted} noise generated in advance would need more than 1 GiB.
void require_memory(const KernelOptions& options, const ToeplitzDecoder& decoder);

/// The kernel of a form that passed require_form. The form must outlive the kernel.
KernelPointer make_kernel(const KernelOptions& options, const DecoderForm& form);

KernelPointer make(const KernelOptions& options, const IdentityDecoder& decoder);
KernelPointer make(const KernelOptions& options, const RunningSumDecoder& decoder);
KernelPointer make(const KernelOptions& options, const DyadicDecoder& decoder);
KernelPointer make(const KernelOptions& options, const KaryDecoder& decoder);
KernelPointer make(const KernelOptions& options, const SmoothDecoder& decoder);
KernelPointer make(const KernelOptions& options, const HaarDecoder& decoder);
KernelPointer make(const KernelOptions& options, const ToeplitzDecoder& decoder);
KernelPointer make(const KernelOptions& options, const BandedDecoder& decoder);
KernelPointer make(const KernelOptions& options, const BandedInverseDecoder& decoder);
KernelPointer make(const KernelOptions& options, const BufferedDecoder& decoder);
KernelPointer make(const KernelOptions& options, const VaryingBufferedDecoder& decoder);
KernelPointer make(const KernelOptions& options, const BlockDecoder& decoder);
KernelPointer make(const KernelOptions& options, const FilteredDecoder& decoder);

}  // namespace noise
}  // namespace dpftrl
