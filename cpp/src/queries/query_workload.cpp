// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/queries/query_workload.hpp"

#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/span_of.hpp"
#include "dpftrl/base/error.hpp"
#include "queries/kronecker.hpp"
#include "queries/ranges.hpp"

namespace dpftrl {
namespace {

constexpr const char* kWorkloadFunction = "query_workload";

Eigen::Index require_values(std::int64_t num_values) {
  return static_cast<Eigen::Index>(
      require_count(kWorkloadFunction, "workload", "values", num_values, 1, kMaxQueryValues));
}

void require_entries(std::int64_t rows, std::int64_t columns) {
  if (rows * columns > kMaxQueryEntries)
    fail(ErrorCode::resource_exhausted, kWorkloadFunction, "workload",
         "must have at most " + to_text(kMaxQueryEntries) + " entries as a matrix",
         to_text(rows * columns));
}

/// Makes a factor of zeros, after checking that its size is allowed.
QueryWorkload::Factor zeros(std::int64_t rows, std::int64_t columns) {
  require_count(kWorkloadFunction, "workload", "queries", rows, 1, kMaxQueryRows);
  require_entries(rows, columns);
  return {
      .queries = Matrix::Zero(static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns)),
      .labels = {}};
}

std::vector<std::string> numbered(Eigen::Index count) {
  std::vector<std::string> labels;
  for (Eigen::Index i = 0; i < count; ++i) labels.push_back(to_text(std::int64_t{i}));
  return labels;
}

void require_factor(const QueryWorkload::Factor& factor) {
  const Matrix& f = factor.queries;
  require_count(kWorkloadFunction, "workload", "queries", f.rows(), 1, kMaxQueryRows);
  require_values(f.cols());
  require_length(kWorkloadFunction, "labels", std::ssize(factor.labels),
                 factor.is_ranges ? 0 : f.rows());
  require_all_finite(kWorkloadFunction, "queries", detail::span_of(f));
  // Keeps norms and their products within the range of doubles.
  for (const double entry : f.reshaped())
    if (entry != 0 && !(std::abs(entry) >= 0x1p-60 && std::abs(entry) <= 0x1p60))
      fail_argument(kWorkloadFunction, "queries",
                    "of entries that are 0 or between 2^-60 and 2^60 in magnitude", to_text(entry));
  for (Eigen::Index i = 0; i < f.rows(); ++i)
    if (f.row(i).isZero(0))
      fail_argument(kWorkloadFunction, "queries[" + to_text(std::int64_t{i}) + "]",
                    "other than 0 for some value", "zeros");
}

/// All subsets of `order` out of num_parts items, in lexicographic order.
std::vector<std::vector<std::size_t>> subsets(std::size_t num_parts, std::size_t order) {
  std::vector<std::vector<std::size_t>> all;
  std::vector<std::size_t> chosen(order);
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  for (;;) {
    all.push_back(chosen);
    std::size_t place = order;
    while (place > 0 && chosen[place - 1] == num_parts - order + place - 1) --place;
    if (place == 0) return all;
    ++chosen[place - 1];
    for (std::size_t i = place; i < order; ++i) chosen[i] = chosen[i - 1] + 1;
  }
}

/// Attributes of a value, the first varying slowest.
std::vector<std::int64_t> attributes_of(std::int64_t value, std::span<const std::int64_t> sizes) {
  std::vector<std::int64_t> attributes(sizes.size());
  for (std::size_t a = sizes.size(); a-- > 0; value /= sizes[a]) attributes[a] = value % sizes[a];
  return attributes;
}

}  // namespace

QueryWorkload::QueryWorkload(std::vector<Factor> factors) : factors_(std::move(factors)) {
  for (const Factor& factor : factors_) {
    require_factor(factor);
    num_queries_ *= factor.num_queries();
    num_values_ *= factor.queries.cols();
    require_count(kWorkloadFunction, "workload", "queries", num_queries_, 1, kMaxProductSize);
    require_count(kWorkloadFunction, "workload", "values", num_values_, 1, kMaxProductSize);
  }
}

QueryWorkload QueryWorkload::identity(std::int64_t num_values) {
  const Eigen::Index m = require_values(num_values);
  return matrix(Matrix::Identity(m, m));
}

QueryWorkload QueryWorkload::prefix(std::int64_t num_values) {
  const Eigen::Index m = require_values(num_values);
  std::vector<std::string> labels;
  for (Eigen::Index i = 0; i < m; ++i) labels.push_back("0.." + to_text(std::int64_t{i}));
  return matrix(Matrix::Ones(m, m).triangularView<Eigen::Lower>(), std::move(labels));
}

QueryWorkload QueryWorkload::all_ranges(std::int64_t num_values) {
  const Eigen::Index m = require_values(num_values);
  return QueryWorkload({{.queries = Matrix::Ones(m, m).triangularView<Eigen::Lower>(),
                         .labels = {},
                         .is_ranges = true}});
}

QueryWorkload QueryWorkload::marginals(const MarginalsOptions& options) {
  const std::vector<std::int64_t>& sizes = options.attribute_sizes;
  require_count(kWorkloadFunction, "attribute_sizes", "entries", std::ssize(sizes), 1, 11);
  std::int64_t num_values = 1;
  for (const std::int64_t size : sizes) {
    require_between(kWorkloadFunction, "attribute_sizes", size, 2, kMaxQueryValues);
    require_values(num_values *= size);
  }
  require_between(kWorkloadFunction, "order", options.order, 1, std::ssize(sizes));
  const auto tables = subsets(sizes.size(), static_cast<std::size_t>(options.order));
  std::int64_t num_rows = 0;
  for (const auto& table : tables) {
    std::int64_t cells = 1;
    for (const std::size_t a : table) cells *= sizes[a];
    num_rows += cells;
  }
  Factor factor = zeros(num_rows, num_values);
  factor.labels.resize(static_cast<std::size_t>(num_rows));
  std::int64_t first_row = 0;
  for (const auto& table : tables) {
    std::int64_t cells = 1;
    for (const std::size_t a : table) cells *= sizes[a];
    for (std::int64_t value = 0; value < num_values; ++value) {
      const std::vector<std::int64_t> attributes = attributes_of(value, sizes);
      std::int64_t cell = 0;
      std::string label;
      for (const std::size_t a : table) {
        cell = cell * sizes[a] + attributes[a];
        label += (label.empty() ? "a" : " a") + std::to_string(a) + "=" + to_text(attributes[a]);
      }
      factor.queries(static_cast<Eigen::Index>(first_row + cell),
                     static_cast<Eigen::Index>(value)) = 1;
      factor.labels[static_cast<std::size_t>(first_row + cell)] = label;
    }
    first_row += cells;
  }
  return QueryWorkload({std::move(factor)});
}

QueryWorkload QueryWorkload::parities(const ParitiesOptions& options) {
  const std::int64_t d = require_between(kWorkloadFunction, "num_bits", options.num_bits, 1, 11);
  const std::int64_t order = require_between(kWorkloadFunction, "order", options.order, 0, d);
  std::vector<std::uint32_t> sets;
  for (std::uint32_t set = 0; set < std::uint32_t{1} << d; ++set) {
    const int size = std::popcount(set);
    if (size == order || (options.with_lower_orders && size < order)) sets.push_back(set);
  }
  Factor factor = zeros(std::ssize(sets), std::int64_t{1} << d);
  for (Eigen::Index i = 0; i < factor.queries.rows(); ++i) {
    const std::uint32_t set = sets[static_cast<std::size_t>(i)];
    for (Eigen::Index value = 0; value < factor.queries.cols(); ++value) {
      const bool is_odd = std::popcount(static_cast<std::uint32_t>(value) & set) % 2 == 1;
      factor.queries(i, value) = is_odd ? -1 : 1;
    }
    std::string label;
    for (std::int64_t bit = 0; bit < d; ++bit)
      if ((set >> bit & 1) != 0) label += (label.empty() ? "x" : "+x") + to_text(bit);
    factor.labels.push_back(label.empty() ? "1" : label);
  }
  return QueryWorkload({std::move(factor)});
}

QueryWorkload QueryWorkload::matrix(Matrix queries, std::vector<std::string> labels) {
  if (labels.empty()) labels = numbered(queries.rows());
  return QueryWorkload({{.queries = std::move(queries), .labels = std::move(labels)}});
}

QueryWorkload QueryWorkload::predicates(std::int64_t num_values,
                                        std::span<const QueryPredicate> predicates) {
  require_values(num_values);
  Factor factor = zeros(std::ssize(predicates), num_values);
  for (Eigen::Index i = 0; i < factor.queries.rows(); ++i) {
    const QueryPredicate& predicate = predicates[static_cast<std::size_t>(i)];
    for (Eigen::Index value = 0; value < factor.queries.cols(); ++value)
      factor.queries(i, value) = predicate.holds(value) ? 1 : 0;
    factor.labels.push_back(predicate.label);
  }
  return QueryWorkload({std::move(factor)});
}

QueryWorkload QueryWorkload::kronecker(std::span<const QueryWorkload> parts) {
  require_count(kWorkloadFunction, "parts", "entries", std::ssize(parts), 1, 24);
  std::vector<Factor> factors;
  for (const QueryWorkload& part : parts)
    factors.insert(factors.end(), part.factors_.begin(), part.factors_.end());
  return QueryWorkload(std::move(factors));
}

QueryWorkload QueryWorkload::union_of(std::span<const QueryWorkload> parts) {
  require_count(kWorkloadFunction, "parts", "entries", std::ssize(parts), 1, kMaxQueryRows);
  std::int64_t num_rows = 0;
  for (const QueryWorkload& part : parts) {
    require_length(kWorkloadFunction, "parts", part.num_values(), parts[0].num_values());
    num_rows += part.num_queries();
  }
  require_values(parts[0].num_values());
  Factor factor = zeros(num_rows, parts[0].num_values());
  Eigen::Index row = 0;
  for (const QueryWorkload& part : parts) {
    const Matrix queries = part.to_matrix();
    factor.queries.middleRows(row, queries.rows()) = queries;
    row += queries.rows();
    for (std::int64_t i = 0; i < part.num_queries(); ++i) factor.labels.push_back(part.label(i));
  }
  return QueryWorkload({std::move(factor)});
}

std::int64_t QueryWorkload::Factor::num_queries() const {
  return is_ranges ? detail::num_ranges(queries.rows()) : queries.rows();
}

std::string QueryWorkload::Factor::label(std::int64_t query) const {
  if (!is_ranges) return labels[static_cast<std::size_t>(query)];
  std::int64_t first = 0, rest = query;
  for (std::int64_t size = queries.rows(); rest >= size; --size, ++first) rest -= size;
  return to_text(first) + ".." + to_text(first + rest);
}

Matrix QueryWorkload::Factor::matrix() const {
  require_entries(num_queries(), queries.cols());
  return is_ranges ? detail::ranges_of(queries) : queries;
}

std::string QueryWorkload::label(std::int64_t query) const {
  require_between(kWorkloadFunction, "query", query, 0, num_queries_ - 1);
  std::string text;
  for (std::size_t f = factors_.size(); f-- > 0;) {
    const std::int64_t size = factors_[f].num_queries();
    const std::string part = factors_[f].label(query % size);
    text = text.empty() ? part : part + " x " + text;
    query /= size;
  }
  return text;
}

Matrix QueryWorkload::to_matrix() const {
  require_entries(num_queries_, num_values_);
  Matrix product = Matrix::Ones(1, 1);
  for (const Factor& factor : factors_)
    product = detail::kronecker_product(product, factor.matrix());
  return product;
}

Vector QueryWorkload::answers(std::span<const double> histogram) const {
  require_length(kWorkloadFunction, "histogram", std::ssize(histogram), num_values_);
  std::vector<const Matrix*> matrices;
  std::vector<bool> are_ranges;
  for (const Factor& factor : factors_) {
    matrices.push_back(&factor.queries);
    are_ranges.push_back(factor.is_ranges);
  }
  const std::vector<double> product =
      detail::apply_kronecker<Matrix>(matrices, {histogram.begin(), histogram.end()}, are_ranges);
  return Eigen::Map<const Vector>(product.data(), static_cast<Eigen::Index>(product.size()));
}

}  // namespace dpftrl
