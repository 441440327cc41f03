// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Histograms of values over a domain that is declared beforehand. A domain read off the data would
/// itself tell something about them.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dpftrl {

/// Which values there are, in which order.
class QueryDomain {
 public:
  /// Texts, each a value.
  /// @param other  one of them, for every text that is none of them; none: those are refused.
  /// @throws Error{invalid_argument} no texts, one twice, or `other` not among them.
  static QueryDomain categories(std::vector<std::string> labels,
                                std::optional<std::string> other = std::nullopt);
  /// The integers first .. last as decimal texts, and "other" after them if declared.
  /// @throws Error{invalid_argument} last < first, or more than 2^24 values.
  static QueryDomain integers(std::int64_t first, std::int64_t last, bool with_other = false);

  std::int64_t num_values() const { return static_cast<std::int64_t>(labels_.size()); }
  const std::vector<std::string>& labels() const { return labels_; }

  /// @throws Error{invalid_argument} a text outside the domain, where no value is declared for it.
  std::int64_t index_of(std::string_view text) const;

  /// How many of the texts have each value: every text is counted once or refused.
  std::vector<std::int64_t> histogram(std::span<const std::string> texts) const;

 private:
  QueryDomain(std::vector<std::string> labels, std::optional<std::string> other);

  std::vector<std::string> labels_;
  std::map<std::string, std::int64_t, std::less<>> indices_;
  std::optional<std::int64_t> other_;
};

}  // namespace dpftrl
