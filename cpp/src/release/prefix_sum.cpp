// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/release/prefix_sum.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>

#include "dpftrl/base/error.hpp"
#include "noise/checkpoint.hpp"
#include "release/release_engine.hpp"

namespace dpftrl {
namespace {

std::shared_ptr<const Mechanism> require_given(std::shared_ptr<const Mechanism> mechanism) {
  if (!mechanism) fail(ErrorCode::invalid_argument, "prefix_sum", "mechanism", "must be given");
  return mechanism;
}

/// Chooses the engine; no other code depends on which one it is.
std::unique_ptr<detail::ReleaseEngine> make_engine(
    const Mechanism& mechanism, const std::shared_ptr<const LatticeMechanism>& lattice,
    const PrefixSumOptions& options) {
  if (lattice) return detail::make_lattice_engine(lattice, options);
  if (mechanism.is_pure()) return detail::make_laplace_engine(mechanism, options);
  return detail::make_sums_engine(mechanism, options);
}

/// Least probability of one release; tails are accurate down to 1e-300.
constexpr double kLeastProbability = 1e-290;
/// Least probability of all releases; compared with it, 2^71 tails below 1e-300 are negligible.
constexpr double kLeastOfAll = 1e-200;

/// Factor that turns a plain record into a product.
constexpr std::array<double, 1> kOne = {1};

bool overlap(std::span<const double> a, std::span<const double> b) {
  const std::less<> is_before;
  return is_before(a.data(), b.data() + b.size()) && is_before(b.data(), a.data() + a.size());
}

/// Refuses partial overlap, because a record is read while its release is written.
void require_same_or_apart(std::span<const double> record, std::span<const double> noisy) {
  const bool is_same = record.data() == noisy.data() && record.size() == noisy.size();
  if (overlap(record, noisy) && !is_same)
    fail_argument("prefix_sum", "noisy", "the record itself or apart from it", "a part of it");
}

}  // namespace

PrefixSum::PrefixSum(std::shared_ptr<const Mechanism> mechanism, const PrefixSumOptions& options)
    : mechanism_(require_given(std::move(mechanism))),
      lattice_(
          options.mode == ReleaseMode::grid
              ? nullptr
              : LatticeMechanism::make(mechanism_, {.dimension = options.dimension,
                                                    .noise = options.lattice_noise,
                                                    .grid = options.grid,
                                                    .precision_bits = options.precision_bits})),
      commitment_(detail::key_commitment(options.key)),
      engine_(make_engine(*mechanism_, lattice_, options)),
      dimension_(options.dimension),
      grid_(engine_->grid()),
      max_contributions_(engine_->max_contributions()) {}

PrefixSum::~PrefixSum() = default;
PrefixSum::PrefixSum(PrefixSum&&) noexcept = default;
PrefixSum& PrefixSum::operator=(PrefixSum&&) noexcept = default;

void PrefixSum::release(std::span<const double> record, std::span<double> noisy,
                        ReleaseSink* sink) {
  require_length("prefix_sum", "record", std::ssize(record), record_size());
  require_length("prefix_sum", "noisy", static_cast<std::int64_t>(noisy.size()), dimension());
  require_same_or_apart(record, noisy);
  end_step_with({kOne, record}, noisy, sink);
}

void PrefixSum::release(const ProductRecord& record, std::span<double> noisy, ReleaseSink* sink) {
  require_length("prefix_sum", "record", record.size(), record_size());
  require_length("prefix_sum", "noisy", static_cast<std::int64_t>(noisy.size()), dimension());
  if (overlap(record.features, noisy) || overlap(record.scales, noisy))
    fail_argument("prefix_sum", "noisy", "apart from the record", "a part of it");
  end_step_with(record, noisy, sink);
}

void PrefixSum::end_step_with(const ProductRecord& record, std::span<double> noisy,
                              ReleaseSink* sink) {
  require_left(1);
  require_room(1);
  // The record is clipped first. Its integers are computed as they are added to the true sums, and
  // the row of noise is added in the same pass.
  engine_->release(step_, engine_->quantised(record), noisy, sink);
  ++num_contributions_;
  end_step();
}

void PrefixSum::contribute(std::span<const double> contribution) {
  require_length("prefix_sum", "contribution", std::ssize(contribution), record_size());
  add({kOne, contribution});
}

void PrefixSum::contribute(const ProductRecord& contribution) {
  require_length("prefix_sum", "contribution", contribution.size(), record_size());
  add(contribution);
}

void PrefixSum::add(const ProductRecord& contribution) {
  require_left(1);
  require_room(1);
  engine_->add(engine_->quantised(contribution));
  ++num_contributions_;
}

void PrefixSum::release(std::span<double> noisy, ReleaseSink* sink) {
  require_length("prefix_sum", "noisy", static_cast<std::int64_t>(noisy.size()), dimension());
  require_left(1);
  engine_->release(step_, {}, noisy, sink);
  end_step();
}

void PrefixSum::add_integers_of(const ProductRecord& record, std::span<std::int64_t> sum) const {
  engine_->quantised(record).add_to(sum);
}

void PrefixSum::release_integers(std::vector<std::int64_t> integers, std::int64_t num_contributions,
                                 std::span<double> noisy) {
  require_left(1);
  require_room(num_contributions);
  engine_->release(step_, detail::GridRecord(std::move(integers)), noisy, nullptr);
  num_contributions_ += num_contributions;
  end_step();
}

void PrefixSum::end_step() {
  ++step_;
  // In mode lattice, the limit on contributions applies to each step.
  if (lattice_) num_contributions_ = 0;
}

void PrefixSum::require_room(std::int64_t num_records) const {
  if (num_records > max_contributions_ - num_contributions_)
    fail(ErrorCode::resource_exhausted, "prefix_sum", "grid",
         std::string("must be coarser: the sums are full after ") + to_text(max_contributions_) +
             (lattice_ ? " contributions to a step" : " contributions"));
}

void PrefixSum::release_batch(std::span<const double> records, std::span<double> noisy,
                              std::int64_t num_records) {
  require_between("prefix_sum", "num_records", num_records, 0, steps());
  require_length("prefix_sum", "records", std::ssize(records), num_records * record_size());
  require_length("prefix_sum", "noisy", std::ssize(noisy), num_records * dimension());
  require_same_or_apart(records, noisy);
  require_left(num_records);
  require_room(lattice_ ? std::min<std::int64_t>(num_records, 1) : num_records);
  require_all_finite("prefix_sum", "records", records);
  const auto width = static_cast<std::size_t>(record_size());
  std::size_t begin = 0;
  // Records of one number need no norm. Engines with a loop for them process as many as they have
  // noise for, with the same integers and noise as `release`, which halves the time of a step.
  while (dimension() == 1 && begin < records.size()) {
    const std::int64_t count =
        engine_->release_numbers(step_, records.subspan(begin), noisy.subspan(begin));
    if (count == 0) break;
    num_contributions_ += count;
    step_ += count;
    begin += static_cast<std::size_t>(count);
  }
  const auto size = static_cast<std::size_t>(dimension());
  for (; begin < records.size(); begin += width)
    release(records.subspan(begin, width), noisy.subspan(begin / width * size, size));
}

std::array<std::byte, 16> PrefixSum::fingerprint() const {
  detail::Sha256 hash;
  engine_->append_fingerprint(hash);
  hash.append(mechanism_->clip());
  hash.append(mechanism_->noise_stddev());
  hash.append(grid_);
  return detail::shortened(hash.finish());
}

std::vector<std::byte> PrefixSum::checkpoint() {
  std::vector<std::byte> bytes = detail::begin_checkpoint();
  detail::append_word(bytes, static_cast<std::uint64_t>(num_contributions_));
  const std::int64_t state_step = engine_->write_state(step_, bytes);
  detail::seal_checkpoint({.kind = engine_->kind(),
                           .step = step_,
                           .state_step = state_step,
                           .fingerprint = fingerprint(),
                           .commitment = commitment_},
                          bytes);
  return bytes;
}

void PrefixSum::restore_without_journal(std::span<const std::byte> bytes) {
  restore(bytes);
}

void PrefixSum::restore(std::span<const std::byte> bytes) {
  const detail::CheckpointHeader header = detail::open_checkpoint(
      "prefix_sum",
      {.kind = engine_->kind(), .fingerprint = fingerprint(), .commitment = commitment_}, steps(),
      bytes);
  const std::span<const std::byte> state = bytes.subspan(detail::kCheckpointHeaderSize);
  if (state.size() < 8)
    fail(ErrorCode::bad_state, "prefix_sum", "checkpoint", "must contain sums", "none");
  const std::uint64_t num_contributions = detail::word_at(state, 0);
  if (num_contributions > static_cast<std::uint64_t>(max_contributions_))
    fail(ErrorCode::bad_state, "prefix_sum", "checkpoint",
         "must contain at most " + to_text(max_contributions_) + " contributions", "more");
  engine_->restore_state(header.state_step, state.subspan(8), header.step);
  num_contributions_ = static_cast<std::int64_t>(num_contributions);
  step_ = header.step;
}

double PrefixSum::release_half_width(const StepProbability& wanted) const {
  require_between("prefix_sum", "step", wanted.step, 0, steps() - 1);
  require_between("prefix_sum", "coordinate", wanted.coordinate, 0, dimension() - 1);
  if (!(wanted.probability >= kLeastProbability && wanted.probability < 1))
    fail_argument("prefix_sum", "probability", "between 1e-290 and 1", to_text(wanted.probability));
  return engine_->half_width({.step = wanted.step, .coordinate = wanted.coordinate},
                             wanted.probability);
}

double PrefixSum::simultaneous_half_width(double probability) const {
  if (!(probability >= kLeastOfAll && probability < 1))
    fail_argument("prefix_sum", "probability", "between 1e-200 and 1", to_text(probability));
  return engine_->simultaneous_half_width(probability);
}

double PrefixSum::release_stddev(std::int64_t step) const {
  return engine_->release_stddev(step);
}

double PrefixSum::release_stddev_of(const ReleaseEntry& entry) const {
  require_between("prefix_sum", "coordinate", entry.coordinate, 0, dimension() - 1);
  return engine_->release_stddev_of(entry);
}

std::optional<LaplaceNoise> PrefixSum::laplace() const {
  return engine_->laplace();
}

std::span<const std::int64_t> PrefixSum::measurements() const {
  return engine_->measurements();
}

std::int64_t PrefixSum::num_recomputed() const {
  return engine_->num_recomputed();
}

void PrefixSum::require_left(std::int64_t num_records) const {
  if (num_records > steps() - step_)
    fail(ErrorCode::past_horizon, "prefix_sum", "step",
         "must be below the horizon " + to_text(steps()), to_text(step_ + num_records - 1));
}

}  // namespace dpftrl
