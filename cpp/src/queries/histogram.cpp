// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/queries/query_workload.hpp"

#include "dpftrl/base/error.hpp"

namespace dpftrl {
namespace {

constexpr const char* kDomainFunction = "query_domain";

}  // namespace

QueryDomain::QueryDomain(std::vector<std::string> labels, std::optional<std::string> other)
    : labels_(std::move(labels)) {
  require_count(kDomainFunction, "labels", "entries", std::ssize(labels_), 1, kMaxProductSize);
  for (const std::string& label : labels_)
    if (!indices_.emplace(label, std::ssize(indices_)).second)
      fail_argument(kDomainFunction, "value", "declared once", "'" + label + "' twice");
  if (!other) return;
  const auto found = indices_.find(*other);
  if (found == indices_.end())
    fail_argument(kDomainFunction, "other", "one of the values", "'" + *other + "'");
  other_ = found->second;
}

QueryDomain QueryDomain::categories(std::vector<std::string> labels,
                                    std::optional<std::string> other) {
  return {std::move(labels), std::move(other)};
}

QueryDomain QueryDomain::integers(std::int64_t first, std::int64_t last, bool with_other) {
  require_between(kDomainFunction, "first", first, -(std::int64_t{1} << 53), std::int64_t{1} << 53);
  require_between(kDomainFunction, "last", last, first, first + kMaxProductSize - 1);
  std::vector<std::string> labels;
  for (std::int64_t value = first; value <= last; ++value) labels.push_back(to_text(value));
  if (!with_other) return {std::move(labels), std::nullopt};
  labels.emplace_back("other");
  return {std::move(labels), "other"};
}

std::int64_t QueryDomain::index_of(std::string_view text) const {
  const auto found = indices_.find(text);
  if (found != indices_.end()) return found->second;
  if (other_) return *other_;
  fail_argument(kDomainFunction, "value", "in the declared domain", "'" + std::string(text) + "'");
}

std::vector<std::int64_t> QueryDomain::histogram(std::span<const std::string> texts) const {
  std::vector<std::int64_t> counts(labels_.size(), 0);
  for (const std::string& text : texts) ++counts[static_cast<std::size_t>(index_of(text))];
  return counts;
}

}  // namespace dpftrl
