// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Linear queries on a histogram.
///
///     answers = F h,    h_v the number of records with value v,    F = F_1 x F_2 x ...
///
/// A Kronecker product is stored by its factors: value (v_1, v_2, ...) of a table with several
/// attributes has index (v_1 m_2 + v_2) m_3 + ..., with the first attribute varying slowest;
/// queries have the same order.
///
/// ```cpp
/// const auto domain = dpftrl::QueryDomain::categories({"red", "green", "blue"});
/// const std::vector<std::string> seen{"blue", "red", "red"};
/// const std::vector<std::int64_t> histogram = domain.histogram(seen);
/// assert(histogram == std::vector<std::int64_t>({2, 0, 1}));
/// const auto at_most = dpftrl::QueryWorkload::prefix(3);
/// assert(at_most.answers(std::vector<double>{2, 0, 1})[2] == 3);
/// ```

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "dpftrl/base/types.hpp"

namespace dpftrl {

/// Limits of one factor; its optimum takes an eigendecomposition of a matrix with that many
/// columns.
inline constexpr std::int64_t kMaxQueryValues = 2048;
inline constexpr std::int64_t kMaxQueryRows = std::int64_t{1} << 16;
/// Limits on the entries of a factor, and on the values and the queries of a product.
inline constexpr std::int64_t kMaxQueryEntries = std::int64_t{1} << 25;
inline constexpr std::int64_t kMaxProductSize = std::int64_t{1} << 24;

/// A yes-or-no question about a value.
struct QueryPredicate {
  std::string label;
  std::function<bool(std::int64_t value)> holds;
};

struct MarginalsOptions {
  std::vector<std::int64_t> attribute_sizes;  ///< number of values of each attribute
  std::int64_t order;                         ///< k; one table of counts per set of k attributes
};

struct ParitiesOptions {
  std::int64_t num_bits;
  std::int64_t order;              ///< number of bits of each parity
  bool with_lower_orders = false;  ///< also parities of fewer bits, down to none
};

class QueryWorkload {
 public:
  /// One query per row, with a label for its answer. All ranges are stored as prefixes: row j minus
  /// row i - 1 is the query for values i .. j.
  struct Factor {
    Matrix queries;
    std::vector<std::string> labels;  ///< empty for ranges
    bool is_ranges = false;

    std::int64_t num_queries() const;
    std::string label(std::int64_t query) const;
    /// Materialises the matrix, one row per query.
    /// @throws Error{resource_exhausted} more than kMaxQueryEntries numbers.
    Matrix matrix() const;
  };

  /// Number of records with value v, for every v: F = I.
  static QueryWorkload identity(std::int64_t num_values);
  /// Number of records with a value of at most v, for every v.
  static QueryWorkload prefix(std::int64_t num_values);
  /// Number of records with a value from i to j, for all i <= j: num_values (num_values + 1) / 2
  /// queries, stored as num_values prefixes.
  static QueryWorkload all_ranges(std::int64_t num_values);
  /// All marginals of `order` attributes: one table of counts for each set of them.
  static QueryWorkload marginals(const MarginalsOptions& options);
  /// Sum of (-1)^(x_i + x_j + ...) over the records, where x_i is bit i of the value, bit 0 the
  /// lowest: rows of the Hadamard matrix.
  static QueryWorkload parities(const ParitiesOptions& options);
  /// Any matrix, with one query per row.
  /// @param labels  one per row; default "0", "1", ...
  static QueryWorkload matrix(Matrix queries, std::vector<std::string> labels = {});
  /// Truth tables of the predicates over values 0 .. num_values - 1.
  static QueryWorkload predicates(std::int64_t num_values,
                                  std::span<const QueryPredicate> predicates);
  /// Kronecker product of the parts, each on its own attribute, stored implicitly.
  static QueryWorkload kronecker(std::span<const QueryWorkload> parts);
  /// The queries of all parts, over the same values.
  static QueryWorkload union_of(std::span<const QueryWorkload> parts);

  // All factory functions:
  // @throws Error{invalid_argument} a number out of range, an entry that is not finite, a query
  //         that is 0 for every value; Error{wrong_length} labels or parts of the wrong size.

  std::int64_t num_queries() const { return num_queries_; }
  std::int64_t num_values() const { return num_values_; }
  const std::vector<Factor>& factors() const { return factors_; }
  std::string label(std::int64_t query) const;

  /// F as one matrix.
  /// @throws Error{resource_exhausted} more than kMaxQueryEntries numbers.
  Matrix to_matrix() const;

  /// F h, factor by factor.
  /// @throws Error{wrong_length} not num_values() counts.
  Vector answers(std::span<const double> histogram) const;

 private:
  explicit QueryWorkload(std::vector<Factor> factors);

  std::vector<Factor> factors_;
  std::int64_t num_queries_ = 1;
  std::int64_t num_values_ = 1;
};

// Histograms of values over a domain that is declared in advance. A domain derived from the data
// would itself reveal something about them.

/// Ordered list of the possible values.
class QueryDomain {
 public:
  /// Values given by their texts.
  /// @param other  the label that stands for every other text. If unset, other texts are refused.
  /// @throws Error{invalid_argument} no labels, a repeated label, or `other` not among them.
  static QueryDomain categories(std::vector<std::string> labels,
                                std::optional<std::string> other = std::nullopt);
  /// The integers first .. last as decimal texts, followed by "other" if requested.
  /// @throws Error{invalid_argument} last < first, or more than 2^24 values.
  static QueryDomain integers(std::int64_t first, std::int64_t last, bool with_other = false);

  std::int64_t num_values() const { return static_cast<std::int64_t>(labels_.size()); }
  const std::vector<std::string>& labels() const { return labels_; }

  /// @throws Error{invalid_argument} a text outside the domain, if no value stands for other texts.
  std::int64_t index_of(std::string_view text) const;

  /// Counts the texts with each value. Every text is counted once or refused.
  std::vector<std::int64_t> histogram(std::span<const std::string> texts) const;

 private:
  QueryDomain(std::vector<std::string> labels, std::optional<std::string> other);

  std::vector<std::string> labels_;
  std::map<std::string, std::int64_t, std::less<>> indices_;
  std::optional<std::int64_t> other_;
};

}  // namespace dpftrl
