// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/release/prefix_sum.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "dpftrl/base/error.hpp"
#include "noise/checkpoint.hpp"
#include "release/release_engine.hpp"

namespace dpftrl {
namespace {

/// Checks that counts of people, as integers, fit the mechanism and its grid.
void require_counts(const Mechanism& mechanism, const PrefixSumOptions& options) {
  if (options.mode != ReleaseMode::grid || mechanism.is_pure())
    fail(ErrorCode::unsupported, "prefix_sum", "participation",
         "must not be active in mode lattice, or without a delta");
  if (!(mechanism.clip() >= 1))
    fail_argument("prefix_sum", "clip", "at least 1 for active people, who count as one",
                  to_text(mechanism.clip()));
}

/// Refuses the option clipped_by_caller where it is not supported.
void require_clipped_by_caller(const Mechanism& mechanism, const PrefixSumOptions& options) {
  const std::pair<bool, std::string_view> restricted[] = {
      {options.mode != ReleaseMode::grid, "in mode lattice"},
      {mechanism.is_pure(), "without a delta"},
      {mechanism.num_readers() > 1, "with several workloads"},
      {detail::takes_counts(mechanism), "for active people"},
  };
  for (const auto& [is_given, where] : restricted)
    if (is_given)
      fail(ErrorCode::unsupported, "prefix_sum", "clipped_by_caller",
           "must not be set " + std::string(where));
}

/// Norm of a record of ones.
double root_of(std::int64_t dimension) {
  return std::sqrt(static_cast<double>(dimension));
}

/// Default grid for records clipped by the caller: so fine that truncation adds at most 2^-10 of
/// the clip norm to their norm.
double grid_of_clipped(const Mechanism& promised, std::int64_t dimension) {
  return std::min(default_grid(promised, dimension),
                  detail::power_of_two_at_most(0x1p-10 * promised.clip() / root_of(dimension)));
}

/// Returns the options; if the caller clips records, with the grid, on which the noise then
/// depends.
PrefixSumOptions checked(const std::shared_ptr<const Mechanism>& mechanism,
                         PrefixSumOptions options) {
  if (!mechanism) fail(ErrorCode::invalid_argument, "prefix_sum", "mechanism", "must be given");
  if (detail::takes_counts(*mechanism)) require_counts(*mechanism, options);
  if (!options.clipped_by_caller) return options;
  require_clipped_by_caller(*mechanism, options);
  require_between("prefix_sum", "dimension", options.dimension, 1, kMaxDimension);
  if (!options.grid) options.grid = grid_of_clipped(*mechanism, options.dimension);
  detail::require_grid("prefix_sum", *mechanism, *options.grid);
  return options;
}

/// Returns the mechanism for the norm plus the effect of truncation, which moves the difference of
/// two numbers by less than a grid unit.
std::shared_ptr<const Mechanism> with_truncation(const Mechanism& promised,
                                                 const PrefixSumOptions& options) {
  constexpr double kNormRoundUp = 1 + 0x1p-50;
  const double added = root_of(options.dimension) * *options.grid;
  return promised.with_clip((promised.clip() + added) * kNormRoundUp);
}

/// Chooses the engine; all other code treats engines alike.
std::unique_ptr<detail::ReleaseEngine> make_engine(
    const Mechanism& mechanism, const std::shared_ptr<const LatticeMechanism>& lattice,
    const PrefixSumOptions& options) {
  if (lattice) return detail::make_lattice_engine(lattice, options);
  if (mechanism.is_pure()) return detail::make_laplace_engine(mechanism, options);
  return detail::make_sums_engine(mechanism, options);
}

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
    fail_argument("prefix_sum", "noisy", "the record itself or disjoint from it", "an overlap");
}

}  // namespace

void detail::require_probability(double probability) {
  // Tails are accurate down to 1e-300.
  constexpr double kLeastProbability = 1e-290;
  if (!(probability >= kLeastProbability && probability < 1))
    fail_argument("prefix_sum", "probability", "between 1e-290 and 1", to_text(probability));
}

void detail::require_probability_of_all(double probability) {
  // Compared with it, 2^71 tails below 1e-300 are negligible.
  constexpr double kLeastOfAll = 1e-200;
  if (!(probability >= kLeastOfAll && probability < 1))
    fail_argument("prefix_sum", "probability", "between 1e-200 and 1", to_text(probability));
}

PrefixSum::PrefixSum(std::shared_ptr<const Mechanism> mechanism, const PrefixSumOptions& options)
    : PrefixSum(Checked{}, mechanism, checked(mechanism, options)) {}

PrefixSum::PrefixSum(Checked, const std::shared_ptr<const Mechanism>& mechanism,
                     const PrefixSumOptions& options)
    : mechanism_(options.clipped_by_caller ? with_truncation(*mechanism, options) : mechanism),
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
      is_clipped_by_caller_(options.clipped_by_caller),
      counts_(detail::takes_counts(*mechanism_)),
      max_contributions_(engine_->max_contributions()) {
  if (counts_ && !(grid_ <= 1))
    fail_argument("prefix_sum", "grid", "at most 1 for active people, who count as one",
                  to_text(grid_));
}

PrefixSum::~PrefixSum() = default;
PrefixSum::PrefixSum(PrefixSum&&) noexcept = default;
PrefixSum& PrefixSum::operator=(PrefixSum&&) noexcept = default;

void PrefixSum::release(std::span<const double> record, std::span<double> noisy,
                        ReleaseSink* sink) {
  require_length("prefix_sum", "record", std::ssize(record), record_size());
  require_length("prefix_sum", "noisy", static_cast<std::int64_t>(noisy.size()), dimension());
  require_same_or_apart(record, noisy);
  end_step_with(ProductRecord{kOne, record}, noisy, sink);
}

void PrefixSum::release(const ProductRecord& record, std::span<double> noisy, ReleaseSink* sink) {
  require_length("prefix_sum", "record", record.size(), record_size());
  require_length("prefix_sum", "noisy", static_cast<std::int64_t>(noisy.size()), dimension());
  if (overlap(record.features, noisy) || overlap(record.scales, noisy))
    fail_argument("prefix_sum", "noisy", "disjoint from the record", "an overlap");
  end_step_with(record, noisy, sink);
}

void PrefixSum::release(const CountChanges& changes, std::span<double> noisy, ReleaseSink* sink) {
  require_length("prefix_sum", "noisy", std::ssize(noisy), dimension());
  end_step_with(changes, noisy, sink);
}

template <class Record>
void PrefixSum::end_step_with(const Record& record, std::span<double> noisy, ReleaseSink* sink) {
  require_left(1);
  require_room(1);
  // The record is clipped first. Its integers are computed as they are added to the true sums, and
  // the row of noise is added in the same pass.
  engine_->release(step_, integers_of(record), noisy, sink);
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
  engine_->add(integers_of(contribution));
  ++num_contributions_;
}

void PrefixSum::release(std::span<double> noisy, ReleaseSink* sink) {
  require_length("prefix_sum", "noisy", static_cast<std::int64_t>(noisy.size()), dimension());
  require_left(1);
  engine_->release(step_, {}, noisy, sink);
  end_step();
}

void PrefixSum::check(const ProductRecord& record) const {
  if (is_clipped_by_caller_) static_cast<void>(engine_->quantised(record));
}

void PrefixSum::check(std::span<const double> record) const {
  check(ProductRecord{kOne, record});
}

detail::GridRecord PrefixSum::integers_of(const ProductRecord& record) const {
  if (counts_)
    fail(ErrorCode::unsupported, "prefix_sum", "record",
         "must be changes of counts, because clipping would break the pattern of active people");
  return engine_->quantised(record);
}

detail::GridRecord PrefixSum::integers_of(const CountChanges& changes) const {
  require_length("prefix_sum", "record", std::ssize(changes.counts), record_size());
  if (!counts_)
    fail(ErrorCode::unsupported, "prefix_sum", "record",
         "must not be changes of counts, which only mechanisms for active people protect");
  return engine_->unclipped(changes);
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
  check(records);
  const auto width = static_cast<std::size_t>(record_size());
  std::size_t begin = 0;
  // Records of one number need no norm. Engines with a loop for them process as many as they have
  // noise for, with the same integers and noise as `release`, which halves the time of a step.
  while (dimension() == 1 && !is_clipped_by_caller_ && !counts_ && begin < records.size()) {
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
  // All other streams keep the fingerprints of earlier versions.
  if (is_clipped_by_caller_) hash.append(std::int64_t{1});
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
  detail::require_probability(wanted.probability);
  return engine_->half_width({.step = wanted.step, .coordinate = wanted.coordinate},
                             wanted.probability);
}

double PrefixSum::simultaneous_half_width(double probability) const {
  detail::require_probability_of_all(probability);
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
