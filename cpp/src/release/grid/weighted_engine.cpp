// SPDX-License-Identifier: Apache-2.0
// Sums with weights in mode grid: docs/math/weights.md.
#include <algorithm>
#include <array>
#include <cmath>

#include "dpftrl/base/error.hpp"
#include "noise/joint_rows.hpp"
#include "release/grid/grid_engine.hpp"
#include "release/grid/weighted_sums.hpp"

namespace dpftrl {
namespace {

/// Largest probability that the rounding of any entry of a stream stays undecided:
/// docs/math/weights.md.
constexpr double kMaxChance = 0x1p-104;

/// Checks that the stored digits of sums decide their rounding: the noise that a step adds, given
/// all noise before it, must be much larger than the errors of sums.
void require_decisions(const Mechanism& mechanism, const PrefixSumOptions& options, double grid) {
  const Workload& workload = mechanism.strategy().workload();
  const double least_weight = detail::least_weight_of_own_step(workload);
  const double least_stddev = least_weight * mechanism.clip() / grid / mechanism.certificate().mu;
  const double num_entries =
      static_cast<double>(mechanism.steps()) * static_cast<double>(options.dimension);
  const double chance =
      4 * detail::error_of_sums(workload) * 0x1p-256 * (1 + 0.4 / least_stddev) * num_entries;
  if (!(chance <= kMaxChance))
    fail_argument("prefix_sum", "workload",
                  "such that each record weighs more in its own step, or sums have no noise that "
                  "decides how they are rounded",
                  to_text(least_weight));
}

/// Checks that the noise spans a grid unit: the stated std of a release assumes that the noise is
/// rounded alone, which is accurate only then.
void require_noise_of_a_grid(const Mechanism& mechanism, double grid) {
  const double smallest =
      mechanism.noise_stddev() * std::sqrt(mechanism.strategy().row_norms().min_squared);
  if (!(smallest >= grid))
    fail_argument("prefix_sum", "grid",
                  "at most the least std of a release, " + to_text(smallest) +
                      ", for a workload with weights",
                  to_text(grid));
}

/// Digest of everything that defines A, because B alone does not tell two workloads apart.
detail::ShortDigest digest_of(const Workload& workload) {
  detail::Sha256 hash;
  detail::append_form(
      hash, FilteredDecoder{.base = std::make_shared<const DecoderForm>(IdentityDecoder{}),
                            .column_scales = {},
                            .workload = workload});
  return detail::shortened(hash.finish());
}

class WeightedEngine final : public detail::GridReleases {
 public:
  WeightedEngine(const Mechanism& mechanism, const PrefixSumOptions& options)
      : GridReleases(mechanism, options),
        workload_(digest_of(mechanism.strategy().workload())),
        sums_(detail::make_weighted_sums(mechanism.strategy().workload(), options.dimension)),
        noise_(
            mechanism.strategy(),
            {.key = options.key, .dimension = options.dimension, .exact_only = options.exact_only},
            mechanism.noise_stddev() / grid(),
            detail::error_of_sums(mechanism.strategy().workload())),
        open_(static_cast<std::size_t>(options.dimension)),
        added_(open_.size()),
        rounded_(open_.size()) {
    // First checks the requirements that no other grid would meet either.
    require_decisions(mechanism, options, grid());
    require_noise_of_a_grid(mechanism, grid());
  }

  std::int64_t num_recomputed() const override { return noise_.num_recomputed(); }

  void add(const detail::GridRecord& record) override { record.add_to(open_); }

  void prepare(std::int64_t step, const detail::GridRecord& record) override {
    std::ranges::copy(open_, added_.begin());
    record.add_to(added_);
    noise_.round(step, sums_->after(step, added_), rounded_);
    is_prepared_ = true;
  }

  void release(std::int64_t step, const detail::GridRecord& record, std::span<double> noisy,
               ReleaseSink* sink) override {
    // Throws only before anything changes.
    if (!is_prepared_) prepare(step, record);
    is_prepared_ = false;
    sums_->accept();
    std::ranges::fill(open_, 0);
    std::array<double, ReleaseSink::kBlock> block;
    for (std::size_t begin = 0; begin < rounded_.size(); begin += block.size()) {
      const std::size_t count = std::min(block.size(), rounded_.size() - begin);
      for (std::size_t i = 0; i < count; ++i)
        block[i] = static_cast<double>(rounded_[begin + i]) * grid();
      if (sink != nullptr) sink->take(begin, std::span(block).first(count));
      std::copy_n(block.begin(), count, &noisy[begin]);
    }
  }

  detail::CheckpointKind kind() const override { return detail::CheckpointKind::weighted_sum; }

  void append_fingerprint(detail::Sha256& hash) const override {
    hash.append(noise_.fingerprint());
    hash.append(workload_);
  }

  /// Writes the open step, then the sums.
  std::int64_t write_state(std::int64_t step, std::vector<std::byte>& out) override {
    for (const std::int64_t integer : open_)
      detail::append_word(out, static_cast<std::uint64_t>(integer));
    sums_->write(step, out);
    return noise_.write_state(step, out);
  }

  void restore_state(std::int64_t state_step, std::span<const std::byte> state,
                     std::int64_t step) override {
    const std::size_t of_step = 8 * open_.size();
    const std::size_t size = of_step + sums_->state_size(step);
    if (state.size() < size)
      fail(ErrorCode::bad_state, "prefix_sum", "checkpoint",
           "must contain sums of " + to_text(static_cast<std::int64_t>(size)) + " bytes",
           to_text(static_cast<std::int64_t>(state.size())) + " bytes");
    noise_.restore_state(state_step, state.subspan(size), step);
    detail::read_integers(state, open_);
    sums_->read(step, state.subspan(of_step));
  }

 private:
  detail::ShortDigest workload_;
  std::unique_ptr<detail::WeightedSums> sums_;
  detail::JointRows noise_;
  std::vector<std::int64_t> open_;             ///< integers of the open step so far
  std::vector<std::int64_t> added_, rounded_;  ///< set by `prepare`
  bool is_prepared_ = false;                   ///< added_ and rounded_ belong to the next release
};

}  // namespace

std::unique_ptr<detail::GridReleases> detail::make_weighted_engine(
    const Mechanism& mechanism, const PrefixSumOptions& options) {
  return std::make_unique<WeightedEngine>(mechanism, options);
}

}  // namespace dpftrl
