// SPDX-License-Identifier: Apache-2.0

/// The stream of a learner, its default settings, and second moments.

#include <emscripten/val.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "convert.hpp"
#include "dpftrl/learn/dp_ftrl.hpp"
#include "dpftrl/learn/examples.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "key.hpp"
#include "learners.hpp"
#include "rows.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;

using Row = std::span<const double>;

/// Examples as the columns of a stream.
class LearnerKind final : public ColumnsKind {
 public:
  explicit LearnerKind(Examples examples) : examples_(std::move(examples)) {}

  Examples& examples() { return examples_; }
  std::int64_t dimension() const override { return examples_.dimension(); }
  std::int64_t record_size() const override { return examples_.record_size(); }
  bool adds() const override { return Examples::adds(); }
  void check(Row record) override { examples_.check(record); }
  ProductRecord write(Row record, std::span<double> row) override {
    return examples_.write(record, row);
  }
  void append_reading(const NoisySums& sums, std::vector<double>& numbers) const override {
    const Vector weights = examples_.read(sums);
    numbers.insert(numbers.end(), weights.begin(), weights.end());
  }
  PrefixSumOptions release_options(PrefixSumOptions options) const override {
    return examples_.release_options(options);
  }
  std::size_t stddev_index() const override { return 0; }
  bool reads_weights() const override { return true; }
  void begin(const PrefixSum& sums) override { examples_.begin(sums); }
  void follow(Row noisy) override { examples_.follow(noisy); }
  void require_going() const override { examples_.require_going(); }
  void seek(std::int64_t step, const Released& released) override {
    examples_.seek(step, released);
  }
  Row identity(Row record, const ProductRecord& row) override {
    return examples_.identity(record, row);
  }

 private:
  Examples examples_;
};

Examples& examples_of(double handle) {
  return static_cast<LearnerKind&>(kind_of_stream(handle)).examples();
}

/// Default settings of a learner; for "unclipped", only the clip norm.
val defaults_of(const val& options) {
  const std::shared_ptr<const VectorLoss> loss = learner_loss(options);
  const std::int64_t dimension = count(options, "dimension");
  const std::string setup = text(options, "setup");
  val object = val::object();
  if (setup == "unclipped") {
    object.set("clip", longest_gradient(loss, dimension));
    return object;
  }
  const LearnerDefaults found = learner_defaults(
      {.loss = loss,
       .dimension = dimension,
       .num_rows = count(options, "numRows"),
       .batch_size = count(options, "batchSize"),
       .target = {.epsilon = number(options, "epsilon"), .delta = number(options, "delta")},
       .neighbours = neighbours_from_string(text(options, "neighbours")),
       .rows_come = setup == "table" ? RowsCome::in_every_step : RowsCome::once});
  object.set("clip", found.clip);
  object.set("lambda", found.lambda);
  object.set("steps", static_cast<double>(found.steps));
  object.set("batchSize", static_cast<double>(found.batch_size));
  if (found.descent) {
    object.set("momentum", found.descent->momentum);
    object.set("rates", owned_array(found.descent->rates));
  }
  return object;
}

/// Budgets of second moments and of the learner after them.
val moments_plan(const val& options) {
  const SecondMomentsPlan plan = plan_second_moments(
      {.target = {.epsilon = number(options, "epsilon"), .delta = number(options, "delta")},
       .neighbours = neighbours_from_string(text(options, "neighbours")),
       .dimension = count(options, "dimension"),
       .num_rows = count(options, "numRows")});
  val object = val::object();
  object.set("momentsEpsilon", plan.moments_epsilon);
  object.set("learnerEpsilon", plan.learner_epsilon);
  object.set("mu", plan.mu);
  object.set("rho", plan.rho);
  object.set("isDefault", plan.come_first);
  object.set("clip", kSecondMomentsClip);
  return object;
}

/// Releases second moments of the features of examples, and overwrites the features with their
/// coordinates. The numbers of each example end with its label.
double moments_create(const val& options, const val& given) {
  std::vector<double> examples = numbers_of(given);
  const std::int64_t dimension = count(options, "dimension");
  const auto width = static_cast<std::size_t>(dimension), size = examples.size() / (width + 1);
  std::vector<double> rows(size * width);
  for (std::size_t i = 0; i < size; ++i)
    std::copy_n(&examples[i * (width + 1)], width, &rows[i * width]);
  auto moments = std::make_unique<SecondMoments>(
      rows, SecondMomentsOptions{.target = {.epsilon = number(options, "epsilon"),
                                            .delta = number(options, "delta")},
                                 .neighbours = neighbours_from_string(text(options, "neighbours")),
                                 .dimension = dimension,
                                 .key = key_of(options)});
  moments->transform(rows);
  for (std::size_t i = 0; i < size; ++i)
    std::copy_n(&rows[i * width], width, &examples[i * (width + 1)]);
  write_to(given, examples);
  return handles().add(std::move(moments));
}

/// Overwrites weights of the coordinates with weights of the features.
void moments_restore(double handle, const val& weights) {
  std::vector<double> restored = numbers_of(weights);
  handles().get<SecondMoments>(handle).restore(restored);
  write_to(weights, restored);
}

/// Overwrites `scores` with the predictions for all rows, without learning.
void learner_scores(double handle, const val& features, const val& scores) {
  const Examples& examples = examples_of(handle);
  const std::vector<double> rows = numbers_of(features);
  const auto width = static_cast<std::size_t>(examples.num_features());
  const auto num_scores = static_cast<std::size_t>(examples.num_scores());
  std::vector<double> predicted(rows.size() / width * num_scores);
  for (std::size_t i = 0; (i + 1) * width <= rows.size(); ++i)
    examples.predict(std::span(rows).subspan(i * width, width),
                     std::span(predicted).subspan(i * num_scores, num_scores));
  write_to(scores, predicted);
}

/// Overwrites `last` and `average` with the weights.
void learner_weights(double handle, const val& last, const val& average) {
  const Examples& examples = examples_of(handle);
  write_to(last, examples.iterate());
  write_to(average, examples.average());
}

double learner_lambda(double handle) {
  return examples_of(handle).lambda();
}

/// Overwrites `values`, one per label, with the losses of the scores.
void learner_losses(double handle, const val& scores, const val& labels, const val& values) {
  const VectorLoss& loss = examples_of(handle).loss();
  const auto width = static_cast<std::size_t>(loss.num_scores());
  const std::vector<double> predicted = numbers_of(scores);
  std::vector<double> known = numbers_of(labels);
  std::vector<double> slopes(width);
  for (std::size_t i = 0; i < known.size(); ++i)
    known[i] =
        loss.evaluate(std::span(predicted).subspan(i * width, width), loss.label(known[i]), slopes);
  write_to(values, known);
}

}  // namespace

MadeColumns make_learner(const val& options) {
  ExampleOptions given;
  given.has_slopes = text(options, "loss") == "function";
  auto mechanism = Mechanism::make(learner_mechanism(options));
  return {.kind = std::make_shared<LearnerKind>(Examples(with_rule(given, options))),
          .mechanism = std::move(mechanism)};
}

EMSCRIPTEN_BINDINGS(dpftrl_learner) {
  bind<&moments_plan>("momentsPlan");
  bind<&moments_create>("momentsCreate");
  bind<&moments_restore>("momentsRestore");
  bind<&defaults_of>("learnerDefaults");
  bind<&learner_scores>("learnerScores");
  bind<&learner_weights>("learnerWeights");
  bind<&learner_losses>("learnerLosses");
  bind<&learner_lambda>("learnerLambda");
}

}  // namespace dpftrl::wasm
