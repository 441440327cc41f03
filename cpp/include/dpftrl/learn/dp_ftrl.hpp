// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Private online learning: clipped gradients into a private prefix sum, its releases into FTRL or
/// into gradient descent.
///
/// ```cpp
/// const auto mechanism = dpftrl::Mechanism::make(
///     {.strategy = "honaker", .num_steps = 100, .target = {.epsilon = 1, .delta = 1e-6}});
/// dpftrl::DpFtrl learner({.mechanism = mechanism,
///                         .key = dpftrl::Key::from_entropy(),
///                         .dimension = 2,
///                         .loss = dpftrl::make_loss("logistic"),
///                         .domain = dpftrl::make_domain("ball", 1)});
/// const double score = learner.step(std::array{0.6, 0.8}, /*label=*/1);
/// assert(score == 0);  // from before the example was learned
/// assert(learner.steps_done() == 1 && learner.iterate().norm() <= 1 + 1e-9);
/// ```

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dpftrl/analysis/mechanism.hpp"
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
  double radius = 1;  ///< D of the regret theorem where the domain has no diameter, > 0
  std::optional<double> lambda = {};  ///< > 0; default: that of the theorem
  /// Gradient descent instead of FTRL.
  std::optional<DescentSchedule> descent = {};
  /// FTRL only: lambda grows with the square root of the steps, by doubling, to about its value
  /// without doubling.
  bool doubling = false;
  /// FTRL on whole space, ball and, without groups, box: added to the mean loss of every step.
  Penalty penalty = {};
  /// Examples of a step, 1 .. 2^31: each gradient is clipped by itself.
  std::int64_t batch_size = 1;
  std::optional<double> grid = {};  ///< see PrefixSumOptions, as the following
  ReleaseMode mode = ReleaseMode::grid;
  LatticeNoise lattice_noise = LatticeNoise::discrete_gaussian;
  std::optional<int> precision_bits = {};
};

/// A learner that is private for the whole stream of examples.
///
///     example -> predict W x -> clipped gradient -> PrefixSum -> release -> next iterate
///
/// The model is a row of weights for each score of the loss, one after the other. A step is a
/// batch: its examples meet the same iterate, and their clipped gradients one row of noise. The
/// leader follows release / batch_size, so that lambda, penalty and regret are those of the average
/// loss.
///
/// The iterates are a function of the releases alone, so everything this object shows except
/// scores (which use the example they are given) and counts of examples (which are public) has the
/// privacy of the releases. It never
/// holds a true sum outside its PrefixSum and has no way to ask for one.
class DpFtrl {
 public:
  /// @throws Error{invalid_argument} a missing part or an option out of range; Error{unsupported} a
  ///         pure mechanism, or a penalty with descent or on a domain that has none.
  explicit DpFtrl(const DpFtrlOptions& options);
  ~DpFtrl();
  DpFtrl(DpFtrl&&) noexcept;
  DpFtrl& operator=(DpFtrl&&) noexcept;

  /// Predicts, then learns from the example; the last one of a batch ends the step.
  ///
  /// @param features  x, dimension() entries, finite, of finite norm.
  /// @param label     as the loss knows it; 0 is taken as -1 by losses of two classes.
  /// @param scores    num_scores() entries: W x with the W from before this batch.
  /// @guarantee       examples are contributions of the mechanism's steps, one person's at most one
  ///                  in a batch: see PrefixSum::contribute. Clipping bounds what an example can
  ///                  change, whatever loss, domain, lambda and batch size.
  /// A refused example leaves no gap: continuing with the next one shifts all later examples, and
  /// that shift is not protected. Pass an example with features 0 in its place.
  /// @throws Error{wrong_length, invalid_argument} the example is refused and nothing changes;
  ///         Error{past_horizon} after num_steps() batches; Error{bad_state} once an iterate left
  ///         the doubles (its examples were learned from).
  void step(std::span<const double> features, double label, std::span<double> scores);
  /// The same for losses of one score, which it returns.
  double step(std::span<const double> features, double label);

  /// Learns from the slopes of any loss at the scores of `predict`, in place of those of loss():
  /// the loss of a caller who works on many examples at once.
  /// @param slopes  num_scores() entries, finite.
  /// @guarantee     that of `step` if the slopes depend on this example and earlier releases only:
  ///                not on other examples of the batch, such as their mean, and not on earlier
  ///                ones.
  /// @throws as `step`.
  /// @checked-by dp_ftrl_test "slopes of a caller teach what the loss teaches"
  void step_along(std::span<const double> features, std::span<const double> slopes);

  /// Ends the step before the batch is full; with no example in it, the step has none. The sum is
  /// divided by batch_size() all the same, so that nothing depends on how many there were.
  /// @throws Error{past_horizon} after num_steps() batches.
  void end_batch();

  /// W x with the current W. Learns nothing.
  void predict(std::span<const double> features, std::span<double> scores) const;
  /// The same for losses of one score.
  double predict(std::span<const double> features) const;

  /// Bytes from which `restore_without_ledger` goes on, also between two examples of a batch. They
  /// contain the TRUE sums of gradients: as secret as the examples. Not the key.
  /// @throws std::bad_alloc.
  std::vector<std::byte> checkpoint();

  /// Continues where `checkpoint` was called, on a learner of the same options. Examples learned
  /// from since then would meet the same noise again, and two releases of one step with different
  /// examples reveal the difference of their gradients: restore only the newest bytes, and only if
  /// no later model was shown.
  /// @throws Error{bad_state} truncated, damaged, or of another mechanism, key, dimension, loss,
  ///         domain, lambda, descent, penalty or batch size; nothing changes. A function that is
  ///         the loss is not known, only that it is one. std::bad_alloc.
  /// @checked-by learner_checkpoint_test
  void restore_without_ledger(std::span<const std::byte> bytes);

  /// Valid until the next step.
  const Vector& iterate() const;
  /// Average of the points already played.
  Vector average() const;
  /// Release of the last completed step; zeros before the first.
  std::span<const double> release() const { return release_; }

  const Mechanism& mechanism() const { return sums_.mechanism(); }
  /// The same as PrefixSum::release_stddev.
  double release_stddev(std::int64_t step) const { return sums_.release_stddev(step); }
  const LatticeMechanism* lattice() const { return sums_.lattice(); }
  const VectorLoss& loss() const { return *loss_; }
  std::int64_t dimension() const { return dimension_; }
  /// Weights of the model: dimension() times num_scores().
  std::int64_t model_size() const { return sums_.dimension(); }
  std::int64_t num_scores() const { return loss_->num_scores(); }
  std::int64_t batch_size() const { return batch_size_; }
  std::int64_t num_steps() const { return sums_.num_steps(); }
  /// Batches learned from.
  std::int64_t steps_done() const { return sums_.step(); }
  /// Examples learned from, those of the open batch included.
  std::int64_t num_examples() const { return num_examples_; }
  /// Examples in the batch that is not ended yet.
  std::int64_t num_waiting() const { return num_waiting_; }
  /// Regularisation of the point to play next; for descent the inverse of the next rate.
  double lambda() const;
  double grid() const { return sums_.grid(); }

 private:
  /// Adds one more example, whose slopes are `scales_`.
  void take_gradient(std::span<const double> features);
  /// Ends the batch by a release.
  template <class Release>
  void end_step(Release&& release);
  void require_going();

  std::shared_ptr<const VectorLoss> loss_;
  std::int64_t dimension_;
  std::int64_t batch_size_;
  PrefixSum sums_;
  double lambda_;                          ///< the first
  std::unique_ptr<UpdateRule> rule_;       ///< on sums, of lambda_ * batch_size_
  bool follows_at_once_;                   ///< no release can make an iterate leave the doubles
  std::array<std::byte, 16> fingerprint_;  ///< of what the sums do not know
  std::array<std::byte, 16> commitment_;   ///< to the key
  std::int64_t num_waiting_ = 0;
  std::int64_t num_examples_ = 0;
  bool has_left_doubles_ = false;
  std::vector<double> scales_;  ///< of a gradient: its row for score k is scales_[k] x
  std::vector<double> release_;
};

/// How often a row reaches a learner whose settings nobody chose.
enum class RowsCome {
  in_every_step,  ///< a whole table, in each of kNumTableSteps steps
  once,           ///< in one step each
};

/// Steps over a whole table.
inline constexpr std::int64_t kNumTableSteps = 120;

/// Public numbers from which the settings of a learner follow.
struct LearnerFacts {
  std::shared_ptr<const VectorLoss> loss;  ///< with slopes that have a bound
  std::int64_t dimension = 1;              ///< features, each in [-1, 1], and one for an intercept
  std::int64_t num_rows = 1;               ///< of the table or the horizon, >= 1
  std::int64_t batch_size = 1;             ///< rows of a step, where they come once
  ApproximateDp target{};
  Neighbours neighbours = Neighbours::zero_out;
  RowsCome rows_come = RowsCome::in_every_step;
};

/// Settings of a learner over the whole space.
struct LearnerDefaults {
  double clip_norm;
  double lambda;  ///< of the mean gradient of a step
  std::optional<DescentSchedule> descent;
  std::int64_t num_steps;
  std::int64_t batch_size;
  /// For rows in every step the best mechanism there is, independent noise; else to be chosen.
  std::optional<std::string> strategy;
  Participation participation;
};

/// Largest norm of a gradient for features in [-1, 1], from above.
/// @throws Error{invalid_argument} no loss, or one with slopes of any size; dimension.
double longest_gradient(const std::shared_ptr<const VectorLoss>& loss, std::int64_t dimension);

/// Settings that learn well, as measured on tables that were not used to find them.
///
/// @exactness   no theorem says how good they are; none looks at a row, so none costs privacy.
/// @throws Error{invalid_argument} a fact out of range.
/// @source      docs/math/learning.md, section 10.
/// @checked-by  defaults_test
LearnerDefaults learner_defaults(const LearnerFacts& facts);

/// Features of a row of which second moments can be released.
inline constexpr std::int64_t kMaxSecondMomentsDimension = 512;

/// Public numbers of a table, from which the price of second moments of its features follows.
struct SecondMomentsFacts {
  ApproximateDp target{};  ///< of the moments and the learner after them together
  Neighbours neighbours = Neighbours::zero_out;
  std::int64_t dimension = 1;  ///< features of a row, and one for an intercept
  std::int64_t num_rows = 1;
};

/// Budgets of second moments and of the learner after them, at the target's delta.
struct SecondMomentsPlan {
  double moments_epsilon;  ///< 0 where the parts of so large a delta have no epsilon
  double learner_epsilon;
  double mu;   ///< Gaussian DP of both together, which an account is charged
  double rho;  ///< zero-concentrated DP of both together
  /// Whether learning gains by them: their noise is at most half of what they are in the mean.
  bool come_first;
};

/// Plans second moments with a tenth of the squared mu, and the learner with the rest.
///
/// @guarantee   Gaussian mechanisms of the two epsilons are (epsilon, delta)-DP together.
/// @exactness   mu falls short of the target's by a part in 10^9. That learning gains was measured,
///              and is no theorem.
/// @throws Error{invalid_argument} a fact out of range.
/// @source      docs/math/learning.md, section 14.
/// @checked-by  second_moments_test
SecondMomentsPlan plan_second_moments(const SecondMomentsFacts& facts);

struct SecondMomentsOptions {
  ApproximateDp target{};  ///< of the moments alone
  Neighbours neighbours = Neighbours::zero_out;
  std::int64_t dimension = 1;  ///< 1 .. kMaxSecondMomentsDimension
  Key key;                     ///< for these moments only
};

/// Private coordinates in which second moments of features are alike: those of x are y with
/// L y = x / sqrt(dimension), where L L^T is the private mean of their products, raised by its
/// noise.
class SecondMoments {
 public:
  /// Releases the second moments of all rows.
  /// @param features  row after row; of an entry outside [-1, 1] the nearer end counts.
  /// @guarantee   the coordinates are private as `target` says, for one row.
  /// @throws Error{invalid_argument, wrong_length} an option, or a feature that is not finite.
  /// @cost        O(dimension^2) a row, O(dimension^3) once.
  /// @checked-by  second_moments_test
  SecondMoments(std::span<const double> features, const SecondMomentsOptions& options);

  /// Overwrites rows of features with their coordinates.
  /// @throws Error{wrong_length} entries that are no whole rows.
  void transform(std::span<double> rows) const;
  /// Overwrites weights of coordinates, a row for each score, with those of the features.
  /// @throws Error{wrong_length} entries that are no whole rows.
  void restore(std::span<double> weights) const;

 private:
  std::size_t width_;
  std::vector<double> factor_;  ///< row after row
};

/// A table to learn from at once.
struct TableOptions {
  std::span<const double> features;  ///< row after row, entries in [-1, 1]
  std::span<const double> labels;    ///< one a row, as the loss knows it
  std::shared_ptr<const VectorLoss> loss;
  ApproximateDp target{};
  Neighbours neighbours = Neighbours::zero_out;
  Key key;  ///< for this table only
  /// Whether second moments come first, of at most kMaxSecondMomentsDimension features a row.
  /// Default: SecondMomentsPlan::come_first.
  std::optional<bool> precondition = {};
};

struct TableModel {
  Vector weights;  ///< a row for each score of the loss
  Certificate certificate;
  std::optional<SecondMomentsPlan> moments;  ///< present where they came first
};

/// Factor on the clip norm of `learner_defaults` after second moments.
inline constexpr double kSecondMomentsClip = 10.0 / 3;

/// Learns by `learner_defaults`, after second moments or without: the latest weights.
///
/// @guarantee   the weights are private as the certificate says, for one row of the table.
/// @throws Error{invalid_argument, wrong_length} an option, a feature or a label.
/// @cost        kNumTableSteps passes over the features.
/// @checked-by  defaults_test, second_moments_test
TableModel learn_table(const TableOptions& options);

}  // namespace dpftrl
