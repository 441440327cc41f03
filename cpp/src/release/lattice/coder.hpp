// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Encodes records as measurements, and decodes noisy measurements to running totals (internal
/// header).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/sha256.hpp"
#include "dpftrl/release/lattice/lattice.hpp"

namespace dpftrl::lattice {

/// A step measures the record, gets its noise elsewhere, and decodes the result. The measuring half
/// reads records and never noise; the decoding half reads noisy measurements and nothing else.
class Coder {
 public:
  virtual ~Coder() = default;

  virtual std::int64_t num_measurements(std::int64_t step) const = 0;
  /// Writes the measurements of the step, one after the other, `dimension` integers each. Integer
  /// arithmetic only.
  virtual void measure(std::int64_t step, std::span<const std::int64_t> record,
                       std::span<std::int64_t> measurements) = 0;
  /// Writes the estimated running total, in the unit of the record entries.
  virtual void decode(std::int64_t step, std::span<const std::int64_t> noisy,
                      std::span<double> total) = 0;

  /// Size in bytes of the state carried over to the step: the numbers of `carried`, little-endian.
  std::size_t state_size(std::int64_t step);
  void write_state(std::int64_t step, std::vector<std::byte>& out);
  /// @param bytes  state_size(step) bytes.
  void read_state(std::int64_t step, std::span<const std::byte> bytes);

 protected:
  struct Carried {
    std::span<std::int64_t> integers;  ///< state of the measuring half
    std::span<double> reals;           ///< state of the decoding half
    std::span<double> totals;          ///< running totals of the decoding half
  };
  /// Everything that the steps from `step` on read from earlier steps.
  virtual Carried carried(std::int64_t step) = 0;
};

/// @throws Error{resource_exhausted} the state would take more than 1 GiB.
std::unique_ptr<Coder> make_coder(const IntegerEncoder& encoder, std::int64_t dimension);

/// Appends every number that defines the encoder.
void append_encoder(detail::Sha256& hash, const IntegerEncoder& encoder);

}  // namespace dpftrl::lattice
