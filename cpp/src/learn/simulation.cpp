// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/simulation.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "dpftrl/base/error.hpp"
#include "dpftrl/learn/dp_ftrl.hpp"
#include "dpftrl/learn/regret.hpp"
#include "learn/adversary.hpp"
#include "learn/learner_options.hpp"
#include "learn/losses/average_loss.hpp"
#include "learn/rules/update_rule.hpp"

namespace dpftrl {
namespace {

constexpr std::int64_t kDefaultDimension = 4;

/// Largest number of entries in the sums of one chunk, addressable on 32-bit platforms.
constexpr std::int64_t kMaxChunkEntries = std::int64_t{1} << 26;

std::span<double> row_of(Matrix& matrix, Eigen::Index row) {
  return {matrix.row(row).data(), static_cast<std::size_t>(matrix.cols())};
}

Key noise_key(const SimulationOptions& options) {
  return options.insecure_noise_seed ? Key::insecure_from_seed(*options.insecure_noise_seed)
                                     : Key::from_entropy();
}

bool is_adversarial(const SimulationOptions& options) {
  return options.stream == "adversarial";
}

std::unique_ptr<const ExampleStream> make_stream(const SimulationOptions& options,
                                                 const Loss& loss) {
  const StreamKind kind =
      is_adversarial(options) ? StreamKind::stationary : stream_kind_from_string(options.stream);
  if (options.table) {
    auto stream = std::make_unique<const TableStream>(*options.table);
    if (options.dimension)
      require_length("simulation", "table", stream->dimension(), *options.dimension);
    return stream;
  }
  const std::int64_t horizon = options.mechanism.steps * options.batch_size;
  const std::int64_t period = kind == StreamKind::switching ? horizon / 4 : horizon;
  return std::make_unique<const SyntheticStream>(SyntheticStreamOptions{
      .kind = kind,
      .model = loss.classifies() ? LabelModel::logistic : LabelModel::linear,
      .dimension = options.dimension.value_or(kDefaultDimension),
      .seed = options.stream_seed,
      .period = options.stream_period.value_or(std::max<std::int64_t>(2, period))});
}

/// Checks that the loss accepts all labels; the message names the row.
void require_labels(const Table& table, const Loss& loss) {
  const Vector& labels = *table.labels;
  for (Eigen::Index row = 0; row < labels.size(); ++row) {
    try {
      loss.label(labels(row));
    } catch (const Error& error) {
      fail(error.code(), "simulation", "labels[" + to_text(std::int64_t{row}) + "]",
           error.constraint(), error.value());
    }
  }
}

/// Bound on the norm of every gradient of the run before clipping.
double gradient_bound(const SimulationOptions& options, const Loss& loss, const Domain& domain,
                      std::int64_t dimension) {
  const bool heavy = options.stream == to_string(StreamKind::heavy_tailed);
  double max_features = heavy ? std::numeric_limits<double>::infinity() : 1;
  double max_label = max_features;
  if (options.table) {
    max_features = options.table->features.rowwise().norm().maxCoeff();
    max_label = options.table->labels->cwiseAbs().maxCoeff();
  }
  const double max_prediction =
      domain.max_norm(dimension).value_or(std::numeric_limits<double>::infinity()) * max_features;
  return max_features == 0 ? 0 : loss.max_slope(max_prediction, max_label) * max_features;
}

/// Regret bound of the rule, if a theorem covers it.
std::optional<RegretBound> bound_of(const SimulationOptions& options, const RegretSetting& setting,
                                    const Strategy& strategy, double lambda) {
  const std::optional<DescentSchedule>& descent = options.descent;
  if (!descent)
    return options.doubling ? doubling_regret_bound(setting, lambda)
                            : regret_bound(setting, lambda);
  if (!descent->rates.empty() || descent->momentum != 0) return std::nullopt;
  // Without noise the two theorems agree.
  if (setting.release_noise == 0) return regret_bound(setting, lambda);
  return descent_regret_bound(setting, strategy, lambda);
}

struct Learners {
  std::shared_ptr<const Loss> loss;
  DpFtrl learner;
  TwinLearner twin;
  ComparatorSolver comparator;
  std::optional<Adversary> adversary;
  std::vector<std::int64_t> prefixes;
  std::size_t next_prefix = 0;
  double private_total = 0;
  double twin_total = 0;
};

}  // namespace

class Simulation::State {
 public:
  explicit State(const SimulationOptions& options);
  SimulationChunk advance(std::int64_t max_steps);
  HeldOutRisk held_out_risk(std::int64_t num_examples) const;

  std::shared_ptr<const Mechanism> mechanism;
  std::unique_ptr<const ExampleStream> stream;
  std::int64_t batch_size;
  std::int64_t steps = 0;
  std::int64_t steps_done = 0;
  std::unique_ptr<PrefixSum> sums;     ///< form (b)
  std::unique_ptr<Learners> learners;  ///< form (a)
  std::optional<SimulationTheory> theory;

 private:
  SimulationTheory theory_of(const SimulationOptions& options, const Loss& loss,
                             const Domain& domain) const;
  void make_learners(const SimulationOptions& options, std::shared_ptr<const Loss> loss);
  void run_step(SimulationChunk& chunk, Eigen::Index row);
  void take_example(SimulationChunk& chunk, Eigen::Index row, std::int64_t place);
  void learn(SimulationChunk& chunk, Eigen::Index row, std::int64_t place, double label);
  void measure_regret(SimulationChunk& chunk);

  std::vector<double> features_;
  std::vector<double> record_;  ///< clipped, as added to the true sum
  std::vector<double> true_sum_;
};

Simulation::State::State(const SimulationOptions& options)
    : batch_size(require_between("simulation", "batch_size", options.batch_size, 1,
                                 std::int64_t{1} << 20)) {
  require_between("simulation", "num_regret_prefixes", options.num_regret_prefixes, 0, 65536);
  require_positive("simulation", "radius", options.radius);
  require_positive("simulation", "comparator_gap_tolerance", options.comparator_gap_tolerance);
  if (options.lambda) require_positive("simulation", "lambda", *options.lambda);
  if (options.dimension)
    require_between("simulation", "dimension", *options.dimension, 1, std::int64_t{1} << 20);
  std::shared_ptr<const Loss> loss = make_loss(options.loss, options.loss_parameters);
  make_domain(options.domain, options.radius);
  stream = make_stream(options, *loss);
  mechanism = Mechanism::make(options.mechanism);
  detail::require_prefix("simulation", *mechanism);
  steps = mechanism->steps();
  if (const std::optional<std::int64_t> num_rows = stream->num_examples()) {
    if (*num_rows < batch_size)
      fail_argument("simulation", "batch_size",
                    "at most the rows of the table, " + to_text(*num_rows), to_text(batch_size));
    steps = std::min(steps, *num_rows / batch_size);
  }
  features_.resize(static_cast<std::size_t>(stream->dimension()));
  record_.resize(features_.size());
  true_sum_.resize(features_.size());
  if (options.table && !options.table->labels) {
    sums = std::make_unique<PrefixSum>(mechanism, PrefixSumOptions{.key = noise_key(options),
                                                                   .dimension = stream->dimension(),
                                                                   .grid = options.grid});
  } else {
    if (options.table) require_labels(*options.table, *loss);
    make_learners(options, std::move(loss));
  }
}

SimulationTheory Simulation::State::theory_of(const SimulationOptions& options, const Loss& loss,
                                              const Domain& domain) const {
  const std::int64_t dimension = stream->dimension();
  RegretSetting setting =
      regret_setting(mechanism->certificate(), dimension, domain, options.radius);
  setting.release_noise /= static_cast<double>(batch_size);
  RegretSetting exact = setting;
  exact.release_noise = 0;
  const Strategy& strategy = mechanism->strategy();
  // Lambda in use; with doubling, the first lambda.
  const auto used = [&](double last) {
    const double own = options.doubling ? first_lambda(last, setting.steps) : last;
    return options.lambda.value_or(own);
  };
  const double private_lambda =
      used(options.descent ? descent_lambda(setting, strategy) : theorem_lambda(setting));
  const double twin_lambda = used(theorem_lambda(exact));

  if (steps < mechanism->steps()) {
    // The table ends before the horizon: lambda is for the horizon, the bound for the shorter run.
    double sum_of_squares = 0;
    for (std::int64_t step = 0; step < steps; ++step) {
      const double stddev = mechanism->release_stddev(step) / mechanism->clip();
      sum_of_squares += stddev * stddev;
    }
    setting.release_noise =
        std::sqrt(sum_of_squares / static_cast<double>(steps)) / static_cast<double>(batch_size);
    setting.steps = exact.steps = steps;
  }
  return {
      .private_lambda = private_lambda,
      .twin_lambda = twin_lambda,
      .private_bound = bound_of(options, setting, strategy, private_lambda),
      .twin_bound = bound_of(options, exact, strategy, twin_lambda),
      .clipping_impossible = gradient_bound(options, loss, domain, dimension) <= mechanism->clip()};
}

void Simulation::State::make_learners(const SimulationOptions& options,
                                      std::shared_ptr<const Loss> loss) {
  const std::int64_t dimension = stream->dimension();
  const std::shared_ptr<const Domain> domain = make_domain(options.domain, options.radius);
  theory = theory_of(options, *loss, *domain);
  learners.reset(new Learners{
      .loss = loss,
      .learner = DpFtrl({.mechanism = mechanism,
                         .key = noise_key(options),
                         .dimension = dimension,
                         .loss = loss,
                         .domain = domain,
                         .radius = options.radius,
                         .lambda = theory->private_lambda,
                         .descent = options.descent,
                         .doubling = options.doubling,
                         .batch_size = batch_size,
                         .grid = options.grid}),
      .twin = TwinLearner({.steps = steps,
                           .clip = mechanism->clip(),
                           .dimension = dimension,
                           .loss = loss,
                           .domain = domain,
                           .radius = options.radius,
                           .lambda = theory->twin_lambda,
                           .descent = options.descent,
                           .doubling = options.doubling,
                           .batch_size = batch_size}),
      .comparator = ComparatorSolver({.loss = loss,
                                      .dimension = dimension,
                                      .radius = options.radius,
                                      .domain = domain,
                                      .gap_tolerance = options.comparator_gap_tolerance}),
      .adversary = std::nullopt,
      .prefixes = regret_prefixes(steps, options.num_regret_prefixes)});
  if (is_adversarial(options) && !options.table)
    learners->adversary.emplace(AdversaryOptions{
        .dimension = dimension,
        .domain = domain->max_norm(dimension) ? domain : make_domain("ball", options.radius),
        .loss = loss,
        .clip = mechanism->clip()});
}

SimulationChunk Simulation::State::advance(std::int64_t max_steps) {
  require_between("simulation", "max_steps", max_steps, 1,
                  std::numeric_limits<std::int64_t>::max());
  const std::int64_t wanted = std::min(
      {max_steps, steps - steps_done,
       std::max<std::int64_t>(1, kMaxChunkEntries / std::max(stream->dimension(), batch_size))});
  const Eigen::Index rows = static_cast<Eigen::Index>(wanted);
  const Eigen::Index dimension = static_cast<Eigen::Index>(stream->dimension());
  const bool classifies = learners && learners->loss->classifies();
  SimulationChunk chunk;
  chunk.first_step = steps_done;
  chunk.true_sums.resize(rows, dimension);
  chunk.noisy_sums.resize(rows, dimension);
  chunk.stddev.resize(rows);
  chunk.private_loss.setZero(learners ? rows : 0);
  chunk.twin_loss.setZero(learners ? rows : 0);
  chunk.private_correct.resize(classifies ? static_cast<std::size_t>(wanted * batch_size) : 0);
  chunk.twin_correct.resize(chunk.private_correct.size());
  for (Eigen::Index row = 0; row < rows; ++row) run_step(chunk, row);
  return chunk;
}

void Simulation::State::run_step(SimulationChunk& chunk, Eigen::Index row) {
  for (std::int64_t place = 0; place < batch_size; ++place) take_example(chunk, row, place);
  const std::span<double> noisy = row_of(chunk.noisy_sums, row);
  if (learners) {
    std::ranges::copy(learners->learner.release(), noisy.begin());
    chunk.private_loss(row) /= static_cast<double>(batch_size);
    chunk.twin_loss(row) /= static_cast<double>(batch_size);
    learners->private_total += chunk.private_loss(row);
    learners->twin_total += chunk.twin_loss(row);
  } else {
    sums->release(noisy);
  }
  std::ranges::copy(true_sum_, row_of(chunk.true_sums, row).begin());
  chunk.stddev(row) =
      learners ? learners->learner.release_stddev(steps_done) : sums->release_stddev(steps_done);
  ++chunk.steps;
  ++steps_done;
  if (learners) measure_regret(chunk);
}

void Simulation::State::take_example(SimulationChunk& chunk, Eigen::Index row, std::int64_t place) {
  const double label = learners && learners->adversary
                           ? learners->adversary->example(learners->learner.iterate(), features_)
                           : stream->example(steps_done * batch_size + place, features_);
  if (learners) {
    learn(chunk, row, place, learners->loss->label(label));
  } else {
    record_ = features_;
    clip_to_norm(record_, mechanism->clip());
    sums->contribute(record_);
  }
  for (std::size_t i = 0; i < true_sum_.size(); ++i) true_sum_[i] += record_[i];
}

void Simulation::State::learn(SimulationChunk& chunk, Eigen::Index row, std::int64_t place,
                              double label) {
  Learners& all = *learners;
  // The learner does not expose its gradient, so it is recomputed by the same few operations.
  const double expected = all.learner.predict(features_);
  clipped_gradient(all.loss->slope(expected, label), features_, mechanism->clip(), record_);
  const double prediction = all.learner.step(features_, label);
  double twin_prediction = 0;
  all.twin.step(features_, label, {&twin_prediction, 1});
  chunk.private_loss(row) += all.loss->value(prediction, label);
  chunk.twin_loss(row) += all.loss->value(twin_prediction, label);
  if (all.loss->classifies()) {
    const std::size_t i = static_cast<std::size_t>(row * batch_size + place);
    chunk.private_correct[i] = all.loss->correct(prediction, label) ? 1 : 0;
    chunk.twin_correct[i] = all.loss->correct(twin_prediction, label) ? 1 : 0;
  }
  if (!all.prefixes.empty()) all.comparator.append(features_, label);
}

void Simulation::State::measure_regret(SimulationChunk& chunk) {
  Learners& all = *learners;
  if (all.next_prefix == all.prefixes.size() || all.prefixes[all.next_prefix] != steps_done) return;
  ++all.next_prefix;
  const Comparator best = all.comparator.solve();
  const double done = static_cast<double>(steps_done);
  chunk.regret.push_back({.steps = steps_done,
                          .private_regret = all.private_total / done - best.value,
                          .twin_regret = all.twin_total / done - best.value,
                          .comparator_gap = best.gap});
}

HeldOutRisk Simulation::State::held_out_risk(std::int64_t num_examples) const {
  require_between("simulation", "num_examples", num_examples, 1, std::int64_t{1} << 20);
  if (!learners || learners->adversary || stream->num_examples())
    fail(ErrorCode::unsupported, "simulation", "stream",
         "must be synthetic, and a learner learn from it, for held-out examples");
  AverageLoss risk(learners->loss, stream->dimension());
  std::vector<double> features(features_.size());
  for (std::int64_t i = 0; i < num_examples; ++i) {
    const double label = stream->example(mechanism->steps() * batch_size + i, features);
    risk.append(features, learners->loss->label(label));
  }
  Vector unused;
  const UpdateRule& twin = learners->twin.rule();
  return {.private_average = risk.at(learners->learner.average(), unused),
          .private_last = risk.at(learners->learner.iterate(), unused),
          .twin_average = risk.at(twin.average(), unused),
          .twin_last = risk.at(twin.iterate(), unused)};
}

Simulation::Simulation(const SimulationOptions& options)
    : state_(std::make_unique<State>(options)) {}
Simulation::~Simulation() = default;
Simulation::Simulation(Simulation&&) noexcept = default;
Simulation& Simulation::operator=(Simulation&&) noexcept = default;

SimulationChunk Simulation::advance(std::int64_t max_steps) {
  return state_->advance(max_steps);
}
std::int64_t Simulation::step() const {
  return state_->steps_done;
}
std::int64_t Simulation::steps() const {
  return state_->steps;
}
bool Simulation::learns() const {
  return state_->learners != nullptr;
}
bool Simulation::classifies() const {
  return learns() && state_->learners->loss->classifies();
}
std::int64_t Simulation::dimension() const {
  return state_->stream->dimension();
}
double Simulation::grid() const {
  return learns() ? state_->learners->learner.grid() : state_->sums->grid();
}
const Mechanism& Simulation::mechanism() const {
  return *state_->mechanism;
}
const std::optional<SimulationTheory>& Simulation::theory() const {
  return state_->theory;
}
Vector Simulation::private_iterate() const {
  return learns() ? state_->learners->learner.iterate() : Vector();
}
Vector Simulation::twin_iterate() const {
  return learns() ? state_->learners->twin.rule().iterate() : Vector();
}
HeldOutRisk Simulation::held_out_risk(std::int64_t num_examples) const {
  return state_->held_out_risk(num_examples);
}

}  // namespace dpftrl
