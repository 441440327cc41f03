// SPDX-License-Identifier: Apache-2.0
// Mode lattice: integer measurements plus integer noise, decoded afterwards.
#include <algorithm>
#include <cmath>
#include <utility>

#include "dpftrl/base/error.hpp"
#include "noise/rounded_rows.hpp"
#include "random/discrete_gaussian.hpp"
#include "release/lattice/coder.hpp"
#include "release/release_engine.hpp"

namespace dpftrl::detail {
namespace {

/// Integer noise of measurements, the same on every call.
class IntegerNoise {
 public:
  virtual ~IntegerNoise() = default;
  /// Writes the noise of measurements first, first + 1, ..., one row of `dimension` integers each.
  virtual void fill(std::int64_t first, std::span<std::int64_t> out) = 0;
  virtual std::int64_t num_recomputed() const { return 0; }
};

class DiscreteNoise final : public IntegerNoise {
 public:
  DiscreteNoise(double variance, std::int64_t dimension, const Key& key)
      : law_(variance), dimension_(static_cast<std::size_t>(dimension)), key_(key) {}

  void fill(std::int64_t first, std::span<std::int64_t> out) override {
    auto row = static_cast<std::uint64_t>(first);
    for (; !out.empty(); out = out.subspan(dimension_))
      law_.fill(key_, {.row = row++, .coordinate = 0}, out.first(dimension_));
  }

 private:
  DiscreteGaussian law_;
  std::size_t dimension_;
  Key key_;
};

/// floor(sigma z + 1/2) of the ideal normals z, by the rounding test of mode grid, for the strategy
/// whose decoder is the identity.
class RoundedNoise final : public IntegerNoise {
 public:
  RoundedNoise(double variance, std::int64_t num_measurements, const NoiseStreamOptions& options)
      // Rounded up, so at least the root.
      : rows_(*make_strategy({.name = "output", .steps = num_measurements}), options,
              std::sqrt(variance) * (1 + 0x1p-50)),
        dimension_(static_cast<std::size_t>(options.dimension)) {}

  void fill(std::int64_t first, std::span<std::int64_t> out) override {
    for (; !out.empty(); out = out.subspan(dimension_)) {
      const std::span<const std::int64_t> row = rows_(first++);
      std::copy(row.begin(), row.end(), out.begin());
    }
  }
  std::int64_t num_recomputed() const override { return rows_.num_recomputed(); }

 private:
  RoundedRows rows_;
  std::size_t dimension_;
};

std::unique_ptr<IntegerNoise> make_noise(const LatticeMechanism& lattice,
                                         const PrefixSumOptions& options) {
  const LatticeCertificate& claim = lattice.certificate();
  if (claim.noise == LatticeNoise::discrete_gaussian)
    return std::make_unique<DiscreteNoise>(claim.noise_variance, claim.dimension, options.key);
  return std::make_unique<RoundedNoise>(
      claim.noise_variance, lattice.encoder().num_measurements(),
      NoiseStreamOptions{
          .key = options.key, .dimension = claim.dimension, .exact_only = options.exact_only});
}

class LatticeEngine final : public ReleaseEngine {
 public:
  LatticeEngine(std::shared_ptr<const LatticeMechanism> lattice, const PrefixSumOptions& options)
      : lattice_(std::move(lattice)),
        coder_(lattice::make_coder(lattice_->encoder(), lattice_->certificate().dimension)),
        noise_(make_noise(*lattice_, options)),
        open_(static_cast<std::size_t>(lattice_->certificate().dimension)) {}

  double grid() const override { return lattice_->certificate().grid; }
  std::int64_t max_contributions() const override {
    return lattice_->certificate().max_contributions;
  }
  std::int64_t num_recomputed() const override { return noise_->num_recomputed(); }
  double release_stddev(std::int64_t step) const override { return lattice_->release_stddev(step); }
  double half_width(const ReleaseEntry& entry, double probability) const override {
    return lattice_->release_half_width(entry.step, probability);
  }
  double simultaneous_half_width(double probability) const override {
    return lattice_->simultaneous_half_width(probability);
  }
  std::span<const std::int64_t> measurements() const override { return measurements_; }

  GridRecord quantised(const ProductRecord& record) const override {
    return {record, lattice_->certificate().clip, grid()};
  }
  void add(const GridRecord& record) override { record.add_to(open_); }

  void release(std::int64_t step, const GridRecord& record, std::span<double> noisy,
               ReleaseSink* sink) override {
    const auto num_rows = static_cast<std::size_t>(coder_->num_measurements(step));
    noise_row_.resize(num_rows * open_.size());
    noise_->fill(lattice_->encoder().num_measurements_before(step), noise_row_);
    measurements_.resize(noise_row_.size());
    // Nothing below throws, so a record counts once.
    add(record);
    coder_->measure(step, open_, measurements_);
    std::ranges::fill(open_, 0);
    for (std::size_t i = 0; i < measurements_.size(); ++i) measurements_[i] += noise_row_[i];
    coder_->decode(step, measurements_, noisy);
    for (double& total : noisy) total *= grid();
    if (sink != nullptr) sink->take(0, noisy);
  }

  CheckpointKind kind() const override { return CheckpointKind::lattice_sum; }

  void append_fingerprint(Sha256& hash) const override {
    const LatticeCertificate& claim = lattice_->certificate();
    hash.append(claim.steps);
    hash.append(claim.dimension);
    hash.append(static_cast<std::int64_t>(claim.noise));
    hash.append(claim.noise_variance);
    hash.append(static_cast<std::int64_t>(claim.precision_bits));
    lattice::append_encoder(hash, lattice_->encoder());
  }

  std::int64_t write_state(std::int64_t step, std::vector<std::byte>& out) override {
    for (const std::int64_t sum : open_) append_word(out, static_cast<std::uint64_t>(sum));
    coder_->write_state(step, out);
    return step;
  }

  void restore_state(std::int64_t state_step, std::span<const std::byte> state,
                     std::int64_t step) override {
    const std::size_t size = 8 * open_.size() + coder_->state_size(step);
    if (state.size() != size || state_step != step)
      fail(ErrorCode::bad_state, "prefix_sum", "checkpoint",
           "must contain " + to_text(static_cast<std::int64_t>(size)) + " bytes of state",
           to_text(static_cast<std::int64_t>(state.size())));
    read_integers(state, open_);
    coder_->read_state(step, state.subspan(8 * open_.size()));
    measurements_.clear();
  }

 private:
  std::shared_ptr<const LatticeMechanism> lattice_;
  std::unique_ptr<lattice::Coder> coder_;
  std::unique_ptr<IntegerNoise> noise_;
  std::vector<std::int64_t> open_;  ///< contributions to the open step, in grid units
  std::vector<std::int64_t> noise_row_;
  std::vector<std::int64_t> measurements_;
};

}  // namespace

std::unique_ptr<ReleaseEngine> make_lattice_engine(std::shared_ptr<const LatticeMechanism> lattice,
                                                   const PrefixSumOptions& options) {
  return std::make_unique<LatticeEngine>(std::move(lattice), options);
}

}  // namespace dpftrl::detail
