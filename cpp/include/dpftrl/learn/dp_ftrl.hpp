// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Private online learning: clipped gradients are summed privately, and FTRL or gradient descent
/// follows the released sums.
///
/// ```cpp
/// const auto mechanism = dpftrl::Mechanism::make(
///     {.strategy = "honaker", .steps = 100, .target = {.epsilon = 1, .delta = 1e-6}});
/// dpftrl::DpFtrl learner({.mechanism = mechanism,
///                         .key = dpftrl::Key::from_entropy(),
///                         .dimension = 2,
///                         .loss = dpftrl::make_loss("logistic"),
///                         .domain = dpftrl::make_domain("ball", 1)});
/// const double score = learner.step(std::array{0.6, 0.8}, /*label=*/1);
/// assert(score == 0);  // from before the example was learned
/// assert(learner.steps_done() == 1 && learner.iterate().norm() <= 1 + 1e-9);
/// ```

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/learn/losses/loss.hpp"
#include "dpftrl/learn/rules/domain.hpp"
#include "dpftrl/random/random.hpp"
#include "dpftrl/release/prefix_sum.hpp"

namespace dpftrl {

class UpdateRule;

struct DpFtrlOptions {
  std::shared_ptr<const Mechanism> mechanism;
  Key key;                     ///< of the noise
  std::int64_t dimension = 1;  ///< features of an example
  std::shared_ptr<const VectorLoss> loss = {};
  std::shared_ptr<const Domain> domain = {};
  double radius = 1;  ///< D of the regret theorem if the domain has no diameter, > 0
  std::optional<double> lambda = {};  ///< > 0; default: from the regret theorem
  /// Gradient descent instead of FTRL.
  std::optional<DescentSchedule> descent = {};
  /// FTRL only: lambda grows with the square root of the number of steps, in jumps at powers of
  /// two. A given `lambda` applies to the first step; by default, lambda at the last step is near
  /// the default without doubling.
  bool doubling = false;
  /// Added to the mean loss of every step. FTRL only, on the whole space, the ball and, without
  /// groups, the box.
  Penalty penalty = {};
  /// Examples per step, 1 .. 2^31; each gradient is clipped separately.
  std::int64_t batch_size = 1;
  std::optional<double> grid = {};  ///< this and the following members: see PrefixSumOptions
  ReleaseMode mode = ReleaseMode::grid;
  LatticeNoise lattice_noise = LatticeNoise::discrete_gaussian;
  std::optional<int> precision_bits = {};
};

/// A learner whose outputs over the whole stream of examples are private.
///
///     example -> predict W x -> clipped gradient -> PrefixSum -> release -> next iterate
///
/// The model is a row of weights for each score of the loss, one after the other. A step is a
/// batch: its examples are evaluated at the same iterate, and the sum of their clipped gradients
/// gets one row of noise. The leader follows release / batch_size, so lambda, penalty and regret
/// refer to the average loss.
///
/// The iterates are a function of the releases alone, so every output of this object has the
/// privacy of the releases, except for scores (which use the example passed in) and counts of
/// examples (which are public). It never holds a true sum outside its PrefixSum and cannot read one
/// from it.
class DpFtrl {
 public:
  /// @throws Error{invalid_argument} a missing part or an option out of range; Error{unsupported} a
  ///         pure mechanism, or a penalty with descent or on a domain that does not support it.
  explicit DpFtrl(const DpFtrlOptions& options);
  ~DpFtrl();
  DpFtrl(DpFtrl&&) noexcept;
  DpFtrl& operator=(DpFtrl&&) noexcept;

  /// Predicts, then learns from the example; the last example of a batch ends the step.
  ///
  /// @param features  x, dimension() entries, finite, of finite norm.
  /// @param label     as the loss defines it; logistic and hinge treat 0 as -1.
  /// @param scores    num_scores() entries: W x, with W from before this batch.
  /// @guarantee       as PrefixSum::contribute: examples are contributions to the mechanism's
  ///                  steps, at most one per person in a batch. Clipping bounds what an example can
  ///                  change, for any loss, domain, lambda and batch size. A refused example leaves
  ///                  no gap, so continuing with the next one shifts all later examples, and that
  ///                  shift is not protected. Pass an example with features 0 in its place.
  /// @throws Error{wrong_length, invalid_argument} the example is refused and nothing changes;
  ///         Error{past_horizon} after steps() batches; Error{bad_state} once an iterate
  ///         overflowed (its examples were learned from).
  /// @checked-by dp_ftrl_test "one example moves no sum by more than the clip norm whatever the
  ///             batch", "refused examples change nothing"
  void step(std::span<const double> features, double label, std::span<double> scores);
  /// `step` for losses with one score; returns the score.
  double step(std::span<const double> features, double label);

  /// Learns from given slopes at the scores of `predict`, instead of those of loss(). For callers
  /// that evaluate their own loss on many examples at once.
  /// @param slopes  num_scores() entries, finite.
  /// @guarantee     as `step` if the slopes depend only on this example and earlier releases,
  ///                not on other examples of the batch (for example through their mean) or on
  ///                earlier examples.
  /// @throws as `step`.
  /// @checked-by dp_ftrl_test "slopes of a caller teach what the loss teaches"
  void step_along(std::span<const double> features, std::span<const double> slopes);

  /// Ends the step before the batch is full, or without any example. The sum is still divided by
  /// batch_size(), so nothing depends on how many examples there were.
  /// @throws Error{past_horizon} after steps() batches; Error{bad_state} as `step`.
  void end_batch();

  /// Computes W x with the current W, without learning.
  void predict(std::span<const double> features, std::span<double> scores) const;
  /// `predict` for losses with one score.
  double predict(std::span<const double> features) const;

  /// The current iterate, the weights W; valid until the next step.
  const Vector& iterate() const;
  /// Average of the points played so far.
  Vector average() const;
  /// Release of the last completed step; zeros before the first.
  std::span<const double> release() const { return release_; }

  const Mechanism& mechanism() const { return sums_.mechanism(); }
  /// As PrefixSum::release_stddev.
  double release_stddev(std::int64_t step) const { return sums_.release_stddev(step); }
  const LatticeMechanism* lattice() const { return sums_.lattice(); }
  const VectorLoss& loss() const { return *loss_; }
  std::int64_t dimension() const { return dimension_; }
  /// dimension() times num_scores() weights.
  std::int64_t model_size() const { return sums_.dimension(); }
  std::int64_t num_scores() const { return loss_->num_scores(); }
  std::int64_t batch_size() const { return batch_size_; }
  std::int64_t steps() const { return sums_.steps(); }
  /// Batches learned from.
  std::int64_t steps_done() const { return sums_.step(); }
  /// Examples learned from, the open batch included.
  std::int64_t num_examples() const { return num_examples_; }
  /// Examples in the open batch.
  std::int64_t num_waiting() const { return num_waiting_; }
  /// lambda of the point to play next; for descent, the inverse of the next rate.
  double lambda() const;
  double grid() const { return sums_.grid(); }

 private:
  /// Adds the gradient of one more example, whose slopes are `scales_`.
  void take_gradient(std::span<const double> features);
  /// Ends the batch with a release.
  template <class Release>
  void end_step(Release&& release);
  void require_going();

  std::shared_ptr<const VectorLoss> loss_;
  std::int64_t dimension_;
  std::int64_t batch_size_;
  PrefixSum sums_;
  std::unique_ptr<UpdateRule> rule_;  ///< on sums of gradients, hence with lambda() * batch_size_
  bool follows_at_once_;              ///< true if no release can make an iterate overflow
  std::int64_t num_waiting_ = 0;
  std::int64_t num_examples_ = 0;
  bool has_left_doubles_ = false;
  std::vector<double> scales_;  ///< of a gradient, whose row for score k is scales_[k] x
  std::vector<double> release_;
};

/// How often each row reaches a learner with default settings.
enum class RowsCome {
  in_every_step,  ///< each of kNumTableSteps steps uses the whole table
  once,           ///< each row is used in one step
};

/// Number of steps of a learner whose steps each use the whole table.
inline constexpr std::int64_t kNumTableSteps = 120;

/// Public numbers that determine the default settings of a learner.
struct LearnerFacts {
  std::shared_ptr<const VectorLoss> loss;  ///< with bounded slopes
  std::int64_t dimension = 1;              ///< features in [-1, 1], counting any intercept
  std::int64_t num_rows = 1;               ///< of the table or the horizon, >= 1
  std::int64_t batch_size = 1;             ///< rows per step, for rows that are used once
  ApproximateDp target{};
  Neighbours neighbours = Neighbours::zero_out;
  RowsCome rows_come = RowsCome::in_every_step;
};

/// Settings of a learner over the whole space.
struct LearnerDefaults {
  double clip;
  double lambda;  ///< for the mean gradient of a step
  std::optional<DescentSchedule> descent;
  std::int64_t steps;
  std::int64_t batch_size;
  /// `independent` for rows that every step uses, for which it is best; else empty, and the caller
  /// chooses.
  std::optional<std::string> strategy;
  Participation participation;
};

/// Upper bound on the norm of a gradient for features in [-1, 1].
/// @throws Error{invalid_argument} no loss, or one with unbounded slopes; dimension.
double longest_gradient(const std::shared_ptr<const VectorLoss>& loss, std::int64_t dimension);

/// Default settings, which worked well on tables that were not used to find them.
///
/// @exactness   no theorem bounds their quality. They do not depend on any row, so they cost no
///              privacy.
/// @throws Error{invalid_argument} a fact out of range.
/// @source      docs/math/learning.md, section 10.
/// @checked-by  defaults_test
LearnerDefaults learner_defaults(const LearnerFacts& facts);

/// Largest number of features of a row whose second moments can be released.
inline constexpr std::int64_t kMaxSecondMomentsDimension = 512;

/// Public numbers of a table, which determine the cost of second moments of its features.
struct SecondMomentsFacts {
  ApproximateDp target{};  ///< of the moments and the subsequent learner together
  Neighbours neighbours = Neighbours::zero_out;
  std::int64_t dimension = 1;  ///< features of a row, counting any intercept
  std::int64_t num_rows = 1;
};

/// Budgets of second moments and of the subsequent learner, at the target's delta.
struct SecondMomentsPlan {
  double moments_epsilon;  ///< both 0 if the parts would meet the delta with epsilon 0
  double learner_epsilon;
  double mu;   ///< Gaussian DP of both together, to charge to a budget account
  double rho;  ///< zero-concentrated DP of both together
  /// True if second moments are expected to improve learning: their noise is at most half their
  /// mean size, and there are at most kMaxSecondMomentsDimension features.
  bool come_first;
};

/// Plans second moments with a tenth of the squared mu, and the learner with the rest.
///
/// @guarantee   Gaussian mechanisms with these two epsilons are together (epsilon, delta)-DP.
/// @exactness   mu is below the target's by one part in 10^9, or equal to it if there are no parts.
///              The benefit for learning was measured, not proved.
/// @throws Error{invalid_argument} a fact out of range.
/// @source      docs/math/learning.md, section 13.
/// @checked-by  second_moments_test
SecondMomentsPlan plan_second_moments(const SecondMomentsFacts& facts);

struct SecondMomentsOptions {
  ApproximateDp target{};  ///< of the moments alone
  Neighbours neighbours = Neighbours::zero_out;
  std::int64_t dimension = 1;  ///< 1 .. kMaxSecondMomentsDimension
  Key key;                     ///< for these moments only
};

/// Private coordinates that equalise the second moments of features. The coordinates y of x satisfy
/// L y = x / sqrt(dimension), where L L^T is the private mean of x x^T / dimension, with about the
/// size of its noise added to the diagonal.
class SecondMoments {
 public:
  /// Releases the second moments of all rows.
  /// @param features  row by row; entries are clamped to [-1, 1].
  /// @guarantee   the coordinates have the privacy of `target` with respect to one row.
  /// @throws Error{invalid_argument, wrong_length} an option, or a feature that is not finite.
  /// @cost        O(dimension^2) per row, O(dimension^3) once.
  /// @checked-by  second_moments_test
  SecondMoments(std::span<const double> features, const SecondMomentsOptions& options);

  /// Overwrites rows of features with their coordinates.
  /// @throws Error{wrong_length} a size that is not a whole number of rows.
  void transform(std::span<double> rows) const;
  /// Overwrites weights of the coordinates, one row per score, with weights of the features.
  /// @throws Error{wrong_length} a size that is not a whole number of rows.
  void restore(std::span<double> weights) const;

 private:
  std::size_t width_;
  std::vector<double> factor_;  ///< row after row
};

/// Options of learn_table.
struct TableOptions {
  std::span<const double> features;  ///< row by row, entries in [-1, 1]
  std::span<const double> labels;    ///< one per row, as the loss defines it
  std::shared_ptr<const VectorLoss> loss;
  ApproximateDp target{};
  Neighbours neighbours = Neighbours::zero_out;
  Key key;  ///< for this table only
  /// Whether to release second moments first, for at most kMaxSecondMomentsDimension features per
  /// row. Default: SecondMomentsPlan::come_first.
  std::optional<bool> precondition = {};
};

struct TableModel {
  Vector weights;  ///< a row for each score of the loss
  Certificate certificate;
  std::optional<SecondMomentsPlan> moments;  ///< set if second moments were released
};

/// Factor by which second moments change the clip norm and lambda of `learner_defaults`.
inline constexpr double kSecondMomentsClip = 10.0 / 3;

/// Learns a table with `learner_defaults`, with or without second moments first, and returns the
/// final weights.
///
/// @guarantee   the weights have the privacy that the certificate states, with respect to one row
///              of the table.
/// @throws Error{invalid_argument, wrong_length} an option, a feature or a label.
/// @cost        kNumTableSteps passes over the features.
/// @checked-by  defaults_test, second_moments_test
TableModel learn_table(const TableOptions& options);

}  // namespace dpftrl
