// SPDX-License-Identifier: Apache-2.0
// Sums of the latest steps in mode grid: docs/math/windows.md.
#include <algorithm>

#include "dpftrl/base/error.hpp"
#include "release/grid/grid_engine.hpp"

namespace dpftrl {
namespace {

constexpr std::int64_t kMaxRingBytes = std::int64_t{1} << 30;

std::size_t ring_size(const Mechanism& mechanism, std::int64_t dimension) {
  const std::int64_t width = mechanism.strategy().workload().window();
  // Divides, because a product may overflow.
  if (width > kMaxRingBytes / 8 / dimension)
    fail(ErrorCode::resource_exhausted, "prefix_sum", "workload",
         "must be a window so short that {dimension} integers of 8 bytes for each of its steps fit "
         "1 GiB",
         mechanism.strategy().workload().name());
  return static_cast<std::size_t>(width * dimension);
}

/// Keeps the integers of the last W steps, including the open one, in a ring buffer. When a step
/// ends, its integers are added to the sums, and the integers of the step W - 1 steps earlier are
/// subtracted.
///
///     ring    | q_8 | q_9 | open | q_6 | q_7 |       W = 5, step 10 is open
///     sums      q_6 + q_7 + q_8 + q_9
class WindowEngine final : public detail::GridEngine {
 public:
  WindowEngine(const Mechanism& mechanism, const PrefixSumOptions& options)
      : GridEngine(mechanism, options),
        width_(mechanism.strategy().workload().window()),
        ring_(ring_size(mechanism, options.dimension)) {}

  void add(const detail::GridRecord& record) override { record.add_to(row(open_)); }

  void release(std::int64_t step, const detail::GridRecord& record, std::span<double> noisy,
               ReleaseSink* sink) override {
    // Throws only before anything changes.
    const std::span<const std::int64_t> rounded = noise()(step);
    const std::size_t next = after(open_);
    for (std::size_t begin = 0; begin < sums().size(); begin += ReleaseSink::kBlock) {
      const std::size_t count = std::min(ReleaseSink::kBlock, sums().size() - begin);
      const std::span<std::int64_t> block = sums().subspan(begin, count);
      const std::span<std::int64_t> added = row(open_).subspan(begin, count);
      record.add_to(added, begin);
      for (std::size_t i = 0; i < count; ++i) block[i] += added[i];
      hand_out({begin, count}, rounded, noisy, sink);
      // The next open step reuses the row of the step that leaves the window.
      const std::span<std::int64_t> leaving = row(next).subspan(begin, count);
      for (std::size_t i = 0; i < count; ++i) block[i] -= leaving[i];
      std::ranges::fill(leaving, 0);
    }
    open_ = next;
  }

  std::int64_t release_numbers(std::int64_t step, std::span<const double> records,
                               std::span<double> noisy) override {
    const std::span<const std::int64_t> rounded =
        noise().several(step, static_cast<std::int64_t>(records.size()));
    std::int64_t sum = sums()[0];
    for (std::size_t i = 0; i < rounded.size(); ++i) {
      ring_[open_] += integer_of(records[i]);
      sum += ring_[open_];
      noisy[i] = static_cast<double>(sum + rounded[i]) * grid();
      open_ = after(open_);
      sum -= ring_[open_];
      ring_[open_] = 0;
    }
    sums()[0] = sum;
    return static_cast<std::int64_t>(rounded.size());
  }

  detail::CheckpointKind kind() const override { return detail::CheckpointKind::window_sum; }

  /// Two widths may share B and the noise std but differ in C.
  void append_fingerprint(detail::Sha256& hash) const override {
    GridEngine::append_fingerprint(hash);
    hash.append(width_);
  }

  /// Writes rows from the oldest to the open row; the sums follow from them.
  std::int64_t write_state(std::int64_t step, std::vector<std::byte>& out) override {
    const std::size_t count = num_rows(step);
    const auto width = static_cast<std::size_t>(width_);
    for (std::size_t k = count; k-- > 0;)
      for (const std::int64_t integer : row((open_ + width - k) % width))
        detail::append_word(out, static_cast<std::uint64_t>(integer));
    return noise().write_state(step, out);
  }

  void restore_state(std::int64_t state_step, std::span<const std::byte> state,
                     std::int64_t step) override {
    const std::size_t count = num_rows(step), dimension = sums().size();
    const std::size_t size = 8 * count * dimension;
    if (state.size() < size)
      fail(ErrorCode::bad_state, "prefix_sum", "checkpoint",
           "must contain the integers of " + to_text(static_cast<std::int64_t>(count)) + " steps",
           to_text(static_cast<std::int64_t>(state.size())) + " bytes");
    noise().restore_state(state_step, state.subspan(size), step);
    std::ranges::fill(ring_, 0);
    std::ranges::fill(sums(), 0);
    detail::read_integers(state, std::span(ring_).first(count * dimension));
    open_ = count - 1;
    for (std::size_t k = 0; k < open_; ++k)
      for (std::size_t i = 0; i < dimension; ++i) sums()[i] += row(k)[i];
  }

 private:
  std::span<std::int64_t> row(std::size_t index) {
    return std::span(ring_).subspan(index * sums().size(), sums().size());
  }
  std::size_t after(std::size_t index) const {
    return index + 1 == static_cast<std::size_t>(width_) ? 0 : index + 1;
  }
  /// Steps whose integers are kept while a step is open; fewer than W at first.
  std::size_t num_rows(std::int64_t step) const {
    return static_cast<std::size_t>(std::min(step, width_ - 1) + 1);
  }

  std::int64_t width_;
  std::vector<std::int64_t> ring_;
  std::size_t open_ = 0;  ///< row of the open step; the next rows belong to the oldest steps
};

}  // namespace

std::unique_ptr<detail::GridReleases> detail::make_window_engine(const Mechanism& mechanism,
                                                                 const PrefixSumOptions& options) {
  return std::make_unique<WindowEngine>(mechanism, options);
}

}  // namespace dpftrl
