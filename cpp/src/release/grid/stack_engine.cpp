// SPDX-License-Identifier: Apache-2.0
// Sums of several workloads in mode grid: with shared noise (docs/math/stacks.md), or of several
// parts with noise of their own (docs/math/active.md).
#include <algorithm>
#include <limits>
#include <utility>

#include "dpftrl/base/error.hpp"
#include "release/grid/grid_engine.hpp"

namespace dpftrl {
namespace {

/// Number of entries that one reader takes from a record.
std::int64_t width_of(const Mechanism& mechanism, std::int64_t dimension) {
  require_between("prefix_sum", "dimension", dimension, 1, kMaxDimension);
  if (dimension % mechanism.num_readers() != 0)
    fail_argument("prefix_sum", "dimension",
                  "a multiple of the number of workloads, " + to_text(mechanism.num_readers()),
                  to_text(dimension));
  return dimension / mechanism.num_readers();
}

/// The finest of the default grids of the workloads.
double finest_grid(const Mechanism& mechanism, std::int64_t record_size) {
  double grid = std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < mechanism.num_readers(); ++i)
    grid = std::min(grid, default_grid(*mechanism.reader(i), record_size));
  return grid;
}

/// Makes the engine for one workload.
/// @param first_coordinate  first coordinate of the noise, for prefix sums.
std::unique_ptr<detail::GridReleases> make_reader(const Mechanism& mechanism,
                                                  const PrefixSumOptions& options,
                                                  std::int64_t first_coordinate = 0) {
  const Workload& workload = mechanism.strategy().workload();
  if (workload.is_prefix()) return detail::make_grid_engine(mechanism, options, first_coordinate);
  if (workload.kind() == Workload::Kind::window)
    return detail::make_window_engine(mechanism, options);
  return detail::make_weighted_engine(mechanism, options);
}

/// Forwards the coordinates of one workload, placed after the coordinates of the workloads before
/// it.
class Shifted final : public ReleaseSink {
 public:
  Shifted(ReleaseSink& sink, std::size_t begin) : sink_(sink), begin_(begin) {}
  void take(std::size_t first, std::span<const double> block) override {
    sink_.take(begin_ + first, block);
  }

 private:
  ReleaseSink& sink_;
  std::size_t begin_;
};

/// One engine for each workload (a reader), all on one grid and with one key. Noise is drawn by
/// address, so that all of them use the same z.
///
///     record | x |      release | A_1 x + B_1 z | A_2 x + B_2 z | A_3 x + B_3 z |
///
/// Parts have coordinates of their own, of records and of z:
///
///     record | x_1 | x_2 | x_3 |      release | A x_1 + B_1 z_1 | A x_2 + B_2 z_2 | ...
class StackEngine final : public detail::ReleaseEngine {
 public:
  StackEngine(const Mechanism& mechanism, const PrefixSumOptions& options)
      : width_(static_cast<std::size_t>(width_of(mechanism, options.dimension))),
        has_parts_(mechanism.has_parts()) {
    PrefixSumOptions own = options;
    own.dimension = static_cast<std::int64_t>(width_);
    for (std::int64_t i = 0; i < mechanism.num_readers(); ++i)
      mechanisms_.push_back(mechanism.reader(i));
    // All readers share the integers of records: the proof requires it.
    if (!own.grid) own.grid = finest_grid(mechanism, own.dimension);
    for (const auto& reader : mechanisms_) {
      const std::int64_t first = has_parts_ ? std::ssize(readers_) * own.dimension : 0;
      readers_.push_back(make_reader(*reader, own, first));
    }
  }

  double grid() const override { return readers_.front()->grid(); }

  std::int64_t max_contributions() const override {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const auto& reader : readers_) least = std::min(least, reader->max_contributions());
    return least;
  }

  detail::GridRecord quantised(const ProductRecord& record) const override {
    return readers_.front()->quantised(record);
  }
  detail::GridRecord unclipped(const CountChanges& changes) const override {
    return readers_.front()->unclipped(changes);
  }

  void add(const detail::GridRecord& record) override {
    const std::vector<detail::GridRecord> own = split(record);
    for (std::size_t i = 0; i < readers_.size(); ++i) readers_[i]->add(of_reader(own, i));
  }

  void release(std::int64_t step, const detail::GridRecord& record, std::span<double> noisy,
               ReleaseSink* sink) override {
    const std::vector<detail::GridRecord> own = split(record);
    // Throws before any reader has ended its step, so that all readers release the same record, or
    // none.
    for (std::size_t i = 0; i < readers_.size(); ++i) readers_[i]->prepare(step, of_reader(own, i));
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      const std::span<double> part = noisy.subspan(i * width_, width_);
      if (sink == nullptr) {
        readers_[i]->release(step, of_reader(own, i), part, nullptr);
        continue;
      }
      Shifted shifted(*sink, i * width_);
      readers_[i]->release(step, of_reader(own, i), part, &shifted);
    }
  }

  std::int64_t num_recomputed() const override {
    std::int64_t sum = 0;
    for (const auto& reader : readers_) sum += reader->num_recomputed();
    return sum;
  }

  double release_stddev(std::int64_t step) const override {
    return readers_.front()->release_stddev(step);
  }
  double release_stddev_of(const ReleaseEntry& entry) const override {
    return readers_[static_cast<std::size_t>(entry.coordinate) / width_]->release_stddev(
        entry.step);
  }

  double half_width(const ReleaseEntry& entry, double probability) const override {
    return readers_[static_cast<std::size_t>(entry.coordinate) / width_]->half_width(entry,
                                                                                     probability);
  }
  double simultaneous_half_width(double probability) const override {
    double largest = 0;
    const double each = probability / static_cast<double>(readers_.size());
    for (const auto& reader : readers_)
      largest = std::max(largest, reader->simultaneous_half_width(each));
    return largest;
  }

  detail::CheckpointKind kind() const override { return detail::CheckpointKind::stacked_sum; }

  void append_fingerprint(detail::Sha256& hash) const override {
    hash.append(static_cast<std::int64_t>(readers_.size()));
    for (const auto& reader : readers_) {
      hash.append(static_cast<std::int64_t>(reader->kind()));
      reader->append_fingerprint(hash);
    }
    if (!has_parts_) return;
    for (const auto& part : mechanisms_) hash.append(part->noise_stddev());
  }

  /// Writes for each reader the length of its state, the step of its noise, and the state.
  std::int64_t write_state(std::int64_t step, std::vector<std::byte>& out) override {
    for (const auto& reader : readers_) {
      const std::size_t head = out.size();
      detail::append_word(out, 0);
      detail::append_word(out, 0);
      const std::int64_t state_step = reader->write_state(step, out);
      write_word(out, head, out.size() - head - kHead);
      write_word(out, head + 8, static_cast<std::uint64_t>(state_step));
    }
    return step;
  }

  void restore_state(std::int64_t /*state_step*/, std::span<const std::byte> state,
                     std::int64_t step) override {
    std::vector<Part> parts;
    for (std::size_t i = 0; i < readers_.size(); ++i) parts.push_back(next_part(state, step));
    if (!state.empty()) refuse(state.size());
    for (std::size_t i = 0; i < readers_.size(); ++i)
      readers_[i]->restore_state(parts[i].state_step, parts[i].state, step);
  }

 private:
  struct Part {
    std::int64_t state_step;
    std::span<const std::byte> state;
  };

  /// Returns the integers of a record: once for all workloads, or separately for each part.
  std::vector<detail::GridRecord> split(const detail::GridRecord& record) const {
    std::vector<std::int64_t> integers(has_parts_ ? width_ * readers_.size() : width_);
    record.add_to(integers);
    std::vector<detail::GridRecord> own;
    for (auto begin = integers.begin(); begin != integers.end();) {
      const auto end = begin + static_cast<std::ptrdiff_t>(width_);
      own.emplace_back(std::vector<std::int64_t>(begin, end));
      begin = end;
    }
    return own;
  }
  const detail::GridRecord& of_reader(const std::vector<detail::GridRecord>& own,
                                      std::size_t index) const {
    return own[has_parts_ ? index : 0];
  }

  /// Bytes before the state of a reader.
  static constexpr std::size_t kHead = 16;

  static void write_word(std::vector<std::byte>& out, std::size_t begin, std::uint64_t word) {
    for (std::size_t i = 0; i < 8; ++i) out[begin + i] = static_cast<std::byte>(word >> (8 * i));
  }

  [[noreturn]] static void refuse(std::size_t num_bytes) {
    fail(ErrorCode::bad_state, "prefix_sum", "checkpoint",
         "must contain the states of all workloads",
         to_text(static_cast<std::int64_t>(num_bytes)) + " bytes");
  }

  /// Removes the part of one reader from the front.
  static Part next_part(std::span<const std::byte>& state, std::int64_t step) {
    if (state.size() < kHead) refuse(state.size());
    const std::uint64_t size = detail::word_at(state, 0);
    const std::uint64_t state_step = detail::word_at(state, 8);
    if (size > state.size() - kHead || state_step > static_cast<std::uint64_t>(step))
      refuse(state.size());
    const auto length = static_cast<std::size_t>(size);
    const Part part{static_cast<std::int64_t>(state_step), state.subspan(kHead, length)};
    state = state.subspan(kHead + length);
    return part;
  }

  std::size_t width_;
  bool has_parts_;
  std::vector<std::shared_ptr<const Mechanism>> mechanisms_;  ///< kept alive for the engines
  std::vector<std::unique_ptr<detail::GridReleases>> readers_;
};

}  // namespace

std::unique_ptr<detail::ReleaseEngine> detail::make_sums_engine(const Mechanism& mechanism,
                                                                const PrefixSumOptions& options) {
  if (mechanism.num_readers() > 1) return std::make_unique<StackEngine>(mechanism, options);
  return make_reader(mechanism, options);
}

}  // namespace dpftrl
