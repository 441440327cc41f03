// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Columns of the stream of a linear model that learns. A record is an example, its row is the
/// gradient at the current weights, and the reading of a step is the weights after it.
///
///     example --> W x --> slopes --> gradient --> sums + noise --> rule --> W
///                  ^                                                        |
///                  '--------------------------------------------------------'
///
/// ```cpp
/// const auto mechanism = dpftrl::Mechanism::make(
///     {.strategy = "honaker", .steps = 100, .target = {.epsilon = 1, .delta = 1e-6}});
/// using Learner = dpftrl::RecordStream<dpftrl::Examples, dpftrl::People, dpftrl::Journal>;
/// Learner learner(dpftrl::Examples({.dimension = 2,
///                                   .loss = dpftrl::make_loss("logistic"),
///                                   .domain = dpftrl::make_domain("ball", 1)}),
///                 mechanism, {.key = dpftrl::Key::from_entropy()});
/// learner.add("ann", std::array{0.6, 0.8, /*label=*/1.0});
/// const std::int64_t step = learner.end();
/// const std::vector<std::byte> bytes = learner.state();  // store them, then:
/// learner.acknowledge(learner.step());
/// assert(learner.at(step).norm() <= 1 + 1e-9);
/// ```

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/learn/losses/loss.hpp"
#include "dpftrl/learn/rules/domain.hpp"
#include "dpftrl/release/stream.hpp"

namespace dpftrl {

class UpdateRule;

/// See DpFtrlOptions.
struct ExampleOptions {
  std::int64_t dimension = 1;  ///< features of an example
  std::shared_ptr<const VectorLoss> loss = {};
  std::shared_ptr<const Domain> domain = {};
  double radius = 1;
  std::optional<double> lambda = {};
  std::optional<DescentSchedule> descent = {};
  bool doubling = false;
  Penalty penalty = {};
  /// Divisor of a step's sum of gradients, however many examples the step has.
  std::int64_t batch_size = 1;
  /// Whether records end with the slopes at their scores, which then replace the loss's own: see
  /// DpFtrl::step_along.
  bool has_slopes = false;
};

/// Columns of examples. Unlike other columns, they have a state: the weights. These are a function
/// of the noisy sums alone, so the stream has the privacy of its sums.
class Examples {
 public:
  /// Features, followed by the label and, if given, the slopes.
  using Record = std::span<const double>;
  /// The weights after a step: a row for each score, one after the other.
  using Reading = Vector;
  static constexpr bool kClips = true;

  /// @throws Error{invalid_argument, unsupported} as DpFtrl.
  explicit Examples(ExampleOptions options);
  ~Examples();
  Examples(Examples&&) noexcept;
  Examples& operator=(Examples&&) noexcept;

  std::int64_t dimension() const;
  std::int64_t record_size() const;
  /// Only the first example of a person in a step counts: a sum of gradients could not be clipped
  /// as one gradient.
  static constexpr bool adds() { return false; }
  /// @throws Error{wrong_length, invalid_argument} an example that `write` would refuse.
  void check(std::span<const double> record);
  /// @return  the clipped gradient, valid until the next call.
  ProductRecord write(std::span<const double> record, std::span<double> row);
  /// The part of a record that identifies it: the example, because two examples may share a
  /// gradient.
  std::span<const double> identity(std::span<const double> record, const ProductRecord&) const;
  std::shared_ptr<const Mechanism> mechanism(const MechanismOptions& options) const {
    return Mechanism::make(options);
  }
  PrefixSumOptions release_options(PrefixSumOptions options) const;

  /// Begins before the first step of these sums.
  /// @throws Error{unsupported} a pure mechanism; Error{invalid_argument} a mechanism for another
  ///         workload, or a lambda so small that weights may overflow.
  void begin(const PrefixSum& sums);
  /// Moves the weights by the noisy sums of the next step. If the new weights would overflow, the
  /// weights stay and no further step is possible.
  void follow(std::span<const double> noisy);
  /// @throws Error{bad_state} the last step made the weights overflow.
  void require_going() const;
  /// Prepares to `read` a step of a journal. `released` returns the noisy sums of an earlier step.
  void seek(std::int64_t step,
            const std::function<std::span<const double>(std::int64_t)>& released) const;
  /// @param sums  of the latest step, or of the one passed to seek().
  Vector read(const NoisySums& sums) const;

  /// Computes W x. @throws as check.
  void predict(std::span<const double> features, std::span<double> scores) const;
  /// The current weights, valid until the next step.
  const Vector& iterate() const;
  /// Average of the weights played so far.
  Vector average() const;
  /// lambda of the point to play next; for descent, the inverse of the next rate.
  double lambda() const;
  const VectorLoss& loss() const { return *options_.loss; }
  std::int64_t num_features() const { return options_.dimension; }
  std::int64_t num_scores() const { return options_.loss->num_scores(); }

 private:
  struct Course;

  ExampleOptions options_;
  double lambda_ = 0;
  double clip_ = 0;
  std::unique_ptr<Course> course_;
  mutable std::unique_ptr<Course> earlier_;  ///< weights of an earlier step, to read them again
  std::vector<double> scores_;
  std::vector<double> scales_;  ///< of a gradient, whose row for score k is scales_[k] x
};

}  // namespace dpftrl
