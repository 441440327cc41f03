// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Histograms that noisy measurements could come from: post-processing, which costs no privacy.

#include <cstdint>
#include <optional>

#include "dpftrl/queries/query_mechanism.hpp"

namespace dpftrl {

struct ConsistencyOptions {
  bool integer = false;  ///< counts rounded to integers of the same sum
  /// Sum of the counts. Only with replace_one, where the number of records is public; where the
  /// release tells it (QueryFactorization::public_measurements), by default that.
  std::optional<std::int64_t> total = std::nullopt;
};

/// The non-negative histogram x with the least ||M x - y||: answers F x agree with each other.
///
/// @return     one count a value; where measurements leave x open, one of the best.
/// @exactness  projected gradients with momentum, until a step moves no count by 1e-7 of a standard
///             error or 2000 steps are done: an approximation, of noisy numbers. Their error is not
///             that of QueryMechanism::standard_errors(), and they are biased upwards near 0.
/// @throws Error{wrong_length} another number of measurements; Error{invalid_argument} a negative
///         total; Error{unsupported} a total with zero_out, where it would be secret.
/// @cost       4 num_measurements num_values operations a step, for products less.
Vector consistent_histogram(const QueryMechanism& mechanism, const QueryRelease& release,
                            const ConsistencyOptions& options = {});

}  // namespace dpftrl
