// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Simulations: true and private sums, and learners on both, side by side.
///
/// FOR DEMONSTRATION AND STUDY: a Simulation holds and shows the true sums and everything computed
/// from them, which a deployment must keep secret. In the rest of the library, only
/// NonprivateMemory shows true sums.
///
/// ```cpp
/// dpftrl::SimulationOptions options;
/// options.mechanism = {
///     .strategy = "honaker", .steps = 32, .target = {.epsilon = 1, .delta = 1e-6}};
/// options.dimension = 2;
/// dpftrl::Simulation simulation(options);
/// const dpftrl::SimulationChunk chunk = simulation.advance(/*max_steps=*/32);
/// assert(simulation.finished() && chunk.noisy_sums.rows() == 32);
/// ```

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/base/types.hpp"
#include "dpftrl/learn/losses/loss.hpp"
#include "dpftrl/learn/regret.hpp"
#include "dpftrl/learn/rules/domain.hpp"
#include "dpftrl/random/random.hpp"

namespace dpftrl {

class UpdateRule;

// Streams of examples (features, label), addressed by step.

/// Example `step` is a pure function of the stream, so two learners see the same examples, and any
/// step can be reproduced.
class ExampleStream {
 public:
  virtual ~ExampleStream() = default;
  virtual std::int64_t dimension() const = 0;
  /// Empty if the stream is infinite.
  virtual std::optional<std::int64_t> num_examples() const = 0;
  /// Writes the features of example `step` (0-based) and returns its label.
  /// @throws Error{wrong_length} features; Error{invalid_argument} step not in the stream.
  virtual double example(std::int64_t step, std::span<double> features) const = 0;
};

/// How the true parameter moves, and how features are distributed.
enum class StreamKind {
  stationary,    ///< fixed
  drifting,      ///< the direction moves around a square in a random plane in `period` steps
  switching,     ///< changes sign every `period` / 2 steps, without label noise: a model learned in
                 ///< one interval is as wrong as possible in the next
  heavy_tailed,  ///< stationary, but features and linear labels are multiplied by u^(-1/2), u
                 ///< uniform in (0, 1); infinite variance makes clipping matter
  sparse,        ///< stationary, but about 7 in 8 features are 0, never all of them
};

std::string_view to_string(StreamKind kind);
/// Parses "stationary", "drifting", "switching", "heavy-tailed" or "sparse".
/// @throws Error{invalid_argument} any other name.
StreamKind stream_kind_from_string(std::string_view name);

/// Law of a label given the margin m = <true parameter, x>, |m| <= 1.
enum class LabelModel {
  logistic,  ///< +1 with probability 1 / (1 + exp(-signal m)), else -1
  linear,    ///< m + label_noise N(0, 1), clamped to [-1, 1]
};

struct SyntheticStreamOptions {
  StreamKind kind = StreamKind::stationary;
  LabelModel model = LabelModel::logistic;
  std::int64_t dimension = 4;  ///< 1 .. 2^20
  std::uint64_t seed = 1;
  std::int64_t period = 1024;  ///< >= 2; drifting and switching
  double signal = 10;          ///< > 0, at most 100; logistic
  double label_noise = 0.1;    ///< >= 0; linear
};

/// Random examples with ||x|| = 1 (slightly less, never more, except with heavy tails), uniform on
/// the sphere or, for sparse examples, on the sphere in their nonzero coordinates.
///
/// @exactness  the same bits on every platform: the arithmetic is +, -, *, / and sqrt, and the
///             logistic model has its own polynomial for the exponential instead of libm's.
/// @checked-by streams_test
class SyntheticStream final : public ExampleStream {
 public:
  /// @throws Error{invalid_argument} an option out of range.
  explicit SyntheticStream(const SyntheticStreamOptions& options);
  std::int64_t dimension() const override { return options_.dimension; }
  std::optional<std::int64_t> num_examples() const override { return std::nullopt; }
  double example(std::int64_t step, std::span<double> features) const override;
  /// The unit vector that the labels at `step` follow (one coordinate of it if dimension is 1).
  Vector true_parameter(std::int64_t step) const;

 private:
  SyntheticStreamOptions options_;
  Key key_;
  Vector direction_;  ///< two orthonormal directions; the second is 0 in dimension 1
  Vector second_;
};

/// A table of examples, n x d, with one label each or without labels.
struct Table {
  Matrix features;
  std::optional<Vector> labels;
};

class TableStream final : public ExampleStream {
 public:
  /// @throws Error{invalid_argument} no rows, no columns, or an entry that is not finite (named);
  ///         Error{wrong_length} not one label per row.
  explicit TableStream(Table table);
  std::int64_t dimension() const override { return table_.features.cols(); }
  std::optional<std::int64_t> num_examples() const override { return table_.features.rows(); }
  bool has_labels() const { return table_.labels.has_value(); }
  /// The label is 0 if the table has no labels.
  double example(std::int64_t step, std::span<double> features) const override;

 private:
  Table table_;
};

// Noise-free twin of a learner: NOT private.

struct TwinOptions {
  std::int64_t steps = 1;  ///< horizon, for the default lambda only
  double clip = 1;
  std::int64_t dimension = 1;  ///< features of an example
  std::shared_ptr<const VectorLoss> loss = {};
  std::shared_ptr<const Domain> domain = {};
  double radius = 1;                  ///< this and the following members as in DpFtrlOptions
  std::optional<double> lambda = {};  ///< default: from the theorem, without noise
  std::optional<DescentSchedule> descent = {};
  bool doubling = false;
  Penalty penalty = {};
  std::int64_t batch_size = 1;
};

/// The non-private twin: DpFtrl on exact sums of its own clipped gradients. None of its outputs is
/// private.
/// @checked-by twin_test, simulation_test
class TwinLearner {
 public:
  /// @throws Error{invalid_argument} a missing part or an option out of range.
  explicit TwinLearner(const TwinOptions& options);
  ~TwinLearner();
  TwinLearner(TwinLearner&&) noexcept;
  TwinLearner& operator=(TwinLearner&&) noexcept;

  /// Predicts, then learns from the example; the last example of a batch ends the step.
  /// @param label   as the loss defines it.
  /// @param scores  num_scores() entries: W x, with W from before this batch.
  /// @throws Error{wrong_length, invalid_argument} the example is refused and nothing changes.
  void step(std::span<const double> features, double label, std::span<double> scores);
  /// Ends the step before the batch is full.
  void end_batch();

  std::int64_t dimension() const { return dimension_; }
  std::int64_t num_scores() const { return loss_->num_scores(); }
  const UpdateRule& rule() const { return *rule_; }
  /// Weights used for the next batch, one row per score; valid until the next step.
  const Vector& iterate() const;

 private:
  std::shared_ptr<const VectorLoss> loss_;
  std::int64_t dimension_;
  std::int64_t batch_size_;
  double clip_;
  std::unique_ptr<UpdateRule> rule_;  ///< on sums of gradients, hence with lambda * batch_size_
  std::int64_t num_waiting_ = 0;
  std::vector<double> slopes_;
  std::vector<double> gradient_;
  std::vector<double> sums_;
};

struct SimulationOptions {
  MechanismOptions mechanism;

  /// Features of an example. With a table, its number of columns is the default and the only valid
  /// value.
  std::optional<std::int64_t> dimension;  ///< for synthetic streams, default 4
  /// Fixed seed of the noise, which anyone can then recompute. Default: operating system entropy.
  std::optional<std::uint64_t> insecure_noise_seed;
  /// Spacing of the releases, a power of two; default: see PrefixSumOptions.
  std::optional<double> grid;

  /// Data to use instead of a synthetic stream. Without labels, only sums are simulated, no
  /// learner.
  std::optional<Table> table;
  /// A StreamKind, or "adversarial": see Adversary, which reacts to the private learner's iterates.
  std::string stream = "stationary";
  std::uint64_t stream_seed = 1;
  /// In examples. Default: those of the horizon for "drifting", a quarter of them for "switching",
  /// at least 2.
  std::optional<std::int64_t> stream_period;

  std::string loss = "logistic";   ///< see make_loss
  LossParameters loss_parameters;  ///< of losses that have parameters
  std::string domain = "ball";     ///< see make_domain; if bounded, also the set of comparators
  double radius = 1;               ///< of the domain, or of the comparators
  std::optional<double> lambda;    ///< for both learners; default: each learner's theorem
  std::optional<DescentSchedule> descent = {};  ///< for both learners, instead of FTRL
  bool doubling = false;                        ///< for both learners, see DpFtrlOptions
  /// Examples or records per step, 1 .. 2^20; an incomplete batch at the end of a table is omitted.
  std::int64_t batch_size = 1;
  std::int64_t num_regret_prefixes = 64;  ///< 0 .. 65536; 0 measures no regret
  double comparator_gap_tolerance = 1e-6;
};

/// Average regret after `steps` steps against the best fixed point of the domain, or of
/// norm <= radius if the domain is the whole space.
struct RegretPoint {
  std::int64_t steps;
  double private_regret;
  double twin_regret;
  double comparator_gap;  ///< the true regrets exceed these values by at most this
};

/// Results of k consecutive steps of b = batch_size examples. Row i belongs to step first_step + i.
///
/// noisy - true is the noise of the release, described by `stddev`, plus the truncation of each
/// record toward zero to the grid, at most b (step + 1) * grid per coordinate, which `stddev` does
/// not include.
struct SimulationChunk {
  std::int64_t first_step = 0;
  std::int64_t steps = 0;  ///< k
  Matrix true_sums;        ///< k x d. SECRET in a deployment.
  Matrix noisy_sums;       ///< k x d, the releases
  Vector stddev;           ///< k: predicted std of the noise of each coordinate of a release
  // Everything below is empty without a learner, and SECRET in a deployment.
  Vector private_loss;  ///< k: mean loss of the predictions made before learning
  Vector twin_loss;     ///< k
  /// k b entries, each 0 or 1, step by step; empty if there are no classes.
  std::vector<std::uint8_t> private_correct;
  std::vector<std::uint8_t> twin_correct;
  std::vector<RegretPoint> regret;  ///< each measured at the end of one of these steps
};

/// Average loss of fixed models of this run on held-out examples.
struct HeldOutRisk {
  double private_average;  ///< of the average of the points played (online-to-batch)
  double private_last;     ///< of the latest point
  double twin_average;
  double twin_last;
};

/// The regret theorems applied to the learners of a simulation.
struct SimulationTheory {
  double private_lambda;  ///< of the private learner; with doubling, the first
  double twin_lambda;     ///< of the twin; with doubling, the first
  /// Bounds on the expected average regret after the last step. Empty for descent with rates or
  /// momentum; the first also for descent with correlated noise.
  std::optional<RegretBound> private_bound;
  std::optional<RegretBound> twin_bound;
  /// True if no gradient of this run can exceed the clip norm, which the theorems assume. If false,
  /// the bounds are those of the clipped problem and may be exceeded.
  bool clipping_impossible;
};

/// Runs DpFtrl and its non-private twin (the same algorithm on exact sums of its own clipped
/// gradients, with its own lambda) on the same stream. The sums shown are those of the private
/// learner's clipped gradients. For a table without labels there is no learner, and the sums shown
/// are those of its clipped records.
///
/// Ends at the horizon, or earlier at the end of the table.
class Simulation {
 public:
  /// @throws Error{invalid_argument, wrong_length} any option out of range, a table that is empty,
  ///         not finite, or has a label that the loss does not accept; the message names it.
  explicit Simulation(const SimulationOptions& options);
  ~Simulation();
  Simulation(Simulation&&) noexcept;
  Simulation& operator=(Simulation&&) noexcept;

  /// Runs at most `max_steps` steps, fewer if a matrix or list of the chunk would have more than
  /// 2^26 entries. Returns an empty chunk when finished. The results do not depend on how a run is
  /// divided into chunks.
  /// @throws Error{invalid_argument} max_steps < 1.
  SimulationChunk advance(std::int64_t max_steps);

  /// Steps done.
  std::int64_t step() const;
  /// Steps of the whole simulation: the horizon, or the number of batches in the table if that is
  /// smaller.
  std::int64_t steps() const;
  bool finished() const { return step() == steps(); }
  bool learns() const;
  bool classifies() const;
  std::int64_t dimension() const;
  double grid() const;
  const Mechanism& mechanism() const;
  /// The regret theory; empty without a learner.
  const std::optional<SimulationTheory>& theory() const;
  /// The learners' next points to play; empty without a learner.
  Vector private_iterate() const;
  Vector twin_iterate() const;
  /// Risk of the current models on the `num_examples` examples of the stream after the horizon. For
  /// a stream of independent examples (stationary, heavy-tailed, sparse) the expected excess risk
  /// of the average over any fixed point is at most the expected average regret against it: w_t is
  /// independent of example t, and the loss is convex.
  /// @throws Error{invalid_argument} num_examples outside 1 .. 2^20; Error{unsupported} without a
  ///         learner, or for a table or the adversary, which have no examples after the horizon.
  /// @checked-by simulation_test
  HeldOutRisk held_out_risk(std::int64_t num_examples) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace dpftrl
