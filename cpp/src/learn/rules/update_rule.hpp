// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Maps prefix sums of gradients to the next point to play.

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dpftrl/base/types.hpp"
#include "dpftrl/learn/rules/domain.hpp"

namespace dpftrl {

/// Largest number of coordinates of a model; it fits into a signed index of 32 bits.
inline constexpr std::int64_t kMaxModelDimension = std::int64_t{1} << 30;

/// Plays w_1, w_2, ..., each a function of the sums of the gradients so far, exact or noisy, and of
/// nothing else. Only the iterate is projected, never a sum.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;

  /// Marks the current iterate as played and computes the next one from s_t, the sum of the first t
  /// gradients.
  /// @throws Error{wrong_length, invalid_argument} prefix_sum of another length or not finite, or a
  ///         next iterate that is not finite. After any of these nothing has changed.
  void update(std::span<const double> prefix_sum);

  /// True if no prefix sum with entries up to this magnitude can make `update` throw.
  virtual bool is_finite_for(double largest_entry) const = 0;
  /// Switches to updates in parts, from sums that cannot make `update` throw. `prefix_sum` has
  /// dimension() numbers at a fixed address, now 0 and afterwards the latest sum. If the iterate is
  /// a simple function of that sum, it is computed only on demand. Must be called before the first
  /// update.
  void follow(std::span<const double> prefix_sum);
  /// Makes one update: call `advance` once with each block of the prefix sum, in order, while the
  /// block is in the cache and not yet written to the latest sum, then `finish` when all are
  /// written. All blocks but the last have ReleaseSink::kBlock coordinates.
  void advance(std::size_t first, std::span<const double> block);
  void finish();

  /// w_{t+1} after t updates: the point to play next. Valid until the next update.
  const Vector& iterate() const;
  /// Address of the numbers of iterate(), whether or not they have been written.
  const double* place_of_iterate() const { return iterate_.data(); }
  /// <v, x>, where v are the coordinates of the iterate from `first` on. The bits are the same as
  /// with iterate(), without a second pass over memory.
  double score(std::size_t first, std::span<const double> features) const;
  /// (w_1 + ... + w_t) / t over the points already played; w_1 before the first update.
  Vector average() const;
  std::int64_t num_updates() const { return num_updates_; }
  std::int64_t dimension() const { return iterate_.size(); }
  /// Regularisation of the point to play next: 1 / lambda is the size of a step.
  virtual double lambda() const = 0;

 protected:
  struct Options {
    std::int64_t dimension;
    std::shared_ptr<const Domain> domain;
    Vector start;  ///< a point of K; empty: the domain's start
  };
  /// @throws Error{invalid_argument} dimension out of range, no domain, start outside K;
  ///         Error{wrong_length} start. The messages begin with `where`.
  UpdateRule(std::string_view where, const Options& options);

  const Domain& domain() const { return *domain_; }

  /// start - rate * sum, for every coordinate.
  struct Line {
    double start;
    double rate;
    double operator()(double sum) const { return start - rate * sum; }
  };

 private:
  /// Throws, before anything changes, if an entry is not finite or `next` would leave the range of
  /// doubles.
  virtual void require_finite_step(std::span<const double> prefix_sum) const = 0;
  /// Overwrites w_t with w_{t+1}, from coordinate `first` on, as far as these sums determine it;
  /// finish_next does what needs the sums of all coordinates. Neither throws nor allocates, because
  /// the release is spent.
  virtual void next(std::size_t first, std::span<const double> sums, std::span<double> iterate) = 0;
  /// @param sum_of_squares  sum of the squares of `iterate`.
  /// @return  as Domain::project_up_to_factor.
  virtual double finish_next(std::span<const double> prefix_sum, std::span<double> iterate,
                             double sum_of_squares) = 0;
  /// The line by which `next` maps a sum to a coordinate, if there is one and only the domain's
  /// factor remains to be applied.
  virtual std::optional<Line> next_line() const { return std::nullopt; }
  void advance_along(const std::optional<Line>& line, std::size_t first,
                     std::span<const double> block);
  void finish_along(const std::optional<Line>& line, std::span<const double> prefix_sum);

  std::shared_ptr<const Domain> domain_;
  /// The iterate is factor_ * iterate_, so that a projection needs no second pass over memory.
  /// Until iterate_ is written, the iterate is factor_ * line_(latest sum).
  mutable Vector iterate_;
  mutable double factor_ = 1;
  mutable bool is_written_ = true;
  Line line_{};
  std::span<const double> latest_sum_;  ///< set by `follow`
  double sum_of_squares_ = 0;           ///< sum over the blocks of the next iterate so far
  Vector played_sum_;
  std::int64_t num_updates_ = 0;
};

}  // namespace dpftrl
