// SPDX-License-Identifier: Apache-2.0

/// Linear queries on histograms, winners and quantiles.

#include <emscripten/val.h>
#include <Eigen/Core>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "convert.hpp"
#include "dpftrl/queries/exponential_mechanism.hpp"
#include "dpftrl/queries/query_mechanism.hpp"
#include "dpftrl/queries/query_workload.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "key.hpp"
#include "rows.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;

struct Queries {
  QueryWorkload workload;
  QueryMechanism mechanism;
};

struct QuerySearch {
  QueryFactorizer factorizer;
  QueryPrivacy privacy;
};

std::vector<std::int64_t> counts_of(const std::vector<double>& values) {
  std::vector<std::int64_t> counts;
  for (const double value : values) counts.push_back(count_of(value));
  return counts;
}

Matrix matrix_of(const val& given, const char* name = "matrix") {
  const std::vector<double> values = numbers(given, "values");
  const std::int64_t rows =
      require_count("queries", name, "rows", count(given, "size"), 1, kMaxQueryRows);
  const std::int64_t columns = std::ssize(values) / rows;
  require_length("queries", name, std::ssize(values), rows * columns);
  return Eigen::Map<const Matrix>(values.data(), static_cast<Eigen::Index>(rows),
                                  static_cast<Eigen::Index>(columns));
}

QueryWorkload workload_of(const val& given) {
  const std::string kind = text(given, "kind");
  if (kind == "product" || kind == "union") {
    std::vector<QueryWorkload> parts;
    const auto size = given["parts"]["length"].as<unsigned>();
    for (unsigned i = 0; i < size; ++i) parts.push_back(workload_of(given["parts"][i]));
    return kind == "product" ? QueryWorkload::kronecker(parts) : QueryWorkload::union_of(parts);
  }
  const std::int64_t size = count(given, "size");
  if (kind == "identity") return QueryWorkload::identity(size);
  if (kind == "prefix") return QueryWorkload::prefix(size);
  if (kind == "ranges") return QueryWorkload::all_ranges(size);
  if (kind == "marginals")
    return QueryWorkload::marginals(
        {.attribute_sizes = counts_of(numbers(given, "values")), .order = count(given, "order")});
  if (kind == "parities")
    return QueryWorkload::parities({.num_bits = size,
                                    .order = count(given, "order"),
                                    .with_lower_orders = given["withLowerOrders"].as<bool>()});
  if (kind != "matrix") throw std::logic_error("no such workload");
  return QueryWorkload::matrix(matrix_of(given));
}

/// The caller's M and, if given, R.
std::optional<OwnMeasurements> own_measurements(const val& options) {
  const val measure = options["measure"], reconstruct = options["reconstruct"];
  if (measure.isUndefined()) return std::nullopt;
  OwnMeasurements own{.measure = matrix_of(measure, "measure")};
  if (!reconstruct.isUndefined()) own.reconstruct = matrix_of(reconstruct, "reconstruct");
  return own;
}

QueryStrategy strategy_named(const std::string& name) {
  if (name == "identity") return QueryStrategy::identity;
  return name == "queries" ? QueryStrategy::queries : QueryStrategy::optimal;
}

/// Describes a mechanism in units of counts, because the integer scale of M is arbitrary.
val describe(const Queries& queries) {
  const QueryMechanism& mechanism = queries.mechanism;
  const QueryFactorization& factorization = mechanism.factorization();
  const Vector errors = mechanism.standard_errors();
  val object = val::object();
  object.set("numQueries", static_cast<double>(queries.workload.num_queries()));
  object.set("numValues", static_cast<double>(queries.workload.num_values()));
  object.set("numMeasurements", static_cast<double>(factorization.num_measurements()));
  object.set("noise", mechanism.noise() == QueryNoise::gaussian ? "gaussian" : "laplace");
  object.set("mu", mechanism.mu());
  object.set("unitError", mechanism.unit_error());
  object.set("lowerBound", mechanism.lower_bound());
  object.set("ratio", mechanism.unit_error() / mechanism.lower_bound());
  object.set("textbookRatio", mechanism.textbook_sensitivity() / mechanism.sensitivity());
  object.set("standardErrors", owned_eigen(errors));
  return object;
}

/// Bounds on mechanisms of any kind; null if there are none.
val queries_bounds(double handle) {
  const Queries& queries = handles().get<Queries>(handle);
  const QueryBounds bounds = any_mechanism_bounds(queries.workload, queries.mechanism);
  const auto or_null = [](const std::optional<double>& bound) {
    return bound ? val(*bound) : val::null();
  };
  val object = val::object();
  object.set("addedNoise", bounds.added_noise);
  object.set("unbiased", or_null(bounds.unbiased));
  object.set("every", or_null(bounds.every));
  return object;
}

double queries_search(const val& options) {
  const QueryPrivacy privacy{.epsilon = number(options, "epsilon"),
                             .delta = number(options, "delta"),
                             .neighbours = neighbours_from_string(text(options, "neighbours")),
                             .max_contributions = count(options, "maxContributions")};
  privacy.require_sound();
  const Objective objective = objective_named(text(options, "objective"));
  // For the largest error, a smaller gap would take most of the time.
  const double gap = objective == Objective::max ? kBarrierGap : 1e-6;
  QueryFactorizer factorizer(workload_of(options["workload"]),
                             {.strategy = strategy_named(text(options, "strategy")),
                              .own = own_measurements(options),
                              .noise = privacy.noise(),
                              .neighbours = privacy.neighbours,
                              .objective = objective,
                              .solver = {.gap = gap}});
  return handles().add(std::make_unique<QuerySearch>(QuerySearch{std::move(factorizer), privacy}));
}

val queries_advance(double handle) {
  return advanced(handles().get<QuerySearch>(handle).factorizer);
}

/// Describes the result of the search of `handle`, with a handle of its own.
val queries_result(double handle) {
  QuerySearch& search = handles().get<QuerySearch>(handle);
  QueryMechanism mechanism(search.factorizer.result(), search.privacy);
  auto queries =
      std::make_unique<Queries>(Queries{search.factorizer.workload(), std::move(mechanism)});
  val object = describe(*queries);
  object.set("id", handles().add(std::move(queries)));
  return object;
}

/// F, and R and M scaled so that a record moves the measurements by at most 1.
val queries_matrices(double handle) {
  const Queries& queries = handles().get<Queries>(handle);
  const QueryFactorization& factorization = queries.mechanism.factorization();
  const double unit = queries.mechanism.sensitivity() /
                      static_cast<double>(queries.mechanism.privacy().max_contributions);
  val object = val::object();
  object.set("queries", owned_eigen(queries.workload.to_matrix()));
  object.set("decoder", owned_eigen(Matrix(factorization.decoder() * unit)));
  object.set("encoder", owned_eigen(Matrix(factorization.encoder().cast<double>() / unit)));
  return object;
}

std::string queries_label(double handle, double query) {
  return handles().get<Queries>(handle).workload.label(count_of(query));
}

/// @param options  histogram, consistent, integer, total, and a key or a seed.
val queries_release(double handle, const val& options) {
  const Queries& queries = handles().get<Queries>(handle);
  const QueryRelease release =
      queries.mechanism.release(counts_of(numbers(options, "histogram")), key_of(options));
  val object = val::object();
  Vector answers = release.answers;
  if (options["consistent"].as<bool>()) {
    const Vector histogram = consistent_histogram(
        queries.mechanism, release,
        {.integer = options["integer"].as<bool>(), .total = optional_count(options, "total")});
    const std::span<const double> counts(histogram.data(),
                                         static_cast<std::size_t>(histogram.size()));
    answers = queries.workload.answers(counts);
    object.set("histogram", owned_array(counts));
  }
  object.set("answers", owned_eigen(answers));
  return object;
}

double queries_choose(const val& options) {
  return static_cast<double>(exponential_mechanism(counts_of(numbers(options, "utilities")),
                                                   {.epsilon = number(options, "epsilon"),
                                                    .sensitivity = count(options, "sensitivity"),
                                                    .is_monotone = options["monotone"].as<bool>()},
                                                   key_of(options)));
}

bool queries_respond(const val& options) {
  return randomized_response(options["bit"].as<bool>(), number(options, "epsilon"),
                             key_of(options));
}

val queries_estimate(double num_ones, double num_reports, double epsilon) {
  const EstimatedCount found = estimate_count(count_of(num_ones), count_of(num_reports), epsilon);
  val object = val::object();
  object.set("count", found.count);
  object.set("stddev", found.stddev);
  return object;
}

double queries_winner(const val& options) {
  return static_cast<double>(
      private_winner(counts_of(numbers(options, "histogram")),
                     {.epsilon = number(options, "epsilon"),
                      .neighbours = neighbours_from_string(text(options, "neighbours")),
                      .max_contributions = count(options, "maxContributions")},
                     key_of(options)));
}

double queries_quantile(const val& options) {
  return static_cast<double>(
      private_quantile(counts_of(numbers(options, "histogram")),
                       {.epsilon = number(options, "epsilon"),
                        .numerator = count(options, "numerator"),
                        .denominator = count(options, "denominator"),
                        .neighbours = neighbours_from_string(text(options, "neighbours")),
                        .max_contributions = count(options, "maxContributions")},
                       key_of(options)));
}

}  // namespace

EMSCRIPTEN_BINDINGS(dpftrl_queries) {
  bind<&queries_search>("queriesSearch");
  bind<&queries_advance>("queriesAdvance");
  bind<&queries_result>("queriesResult");
  bind<&queries_matrices>("queriesMatrices");
  bind<&queries_bounds>("queriesBounds");
  bind<&queries_label>("queriesLabel");
  bind<&queries_release>("queriesRelease");
  bind<&queries_choose>("queriesChoose");
  bind<&queries_respond>("queriesRespond");
  bind<&queries_estimate>("queriesEstimate");
  bind<&queries_winner>("queriesWinner");
  bind<&queries_quantile>("queriesQuantile");
}

}  // namespace dpftrl::wasm
