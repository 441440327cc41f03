// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Penalties of a composite loss, and the shrinking of a leader that they require.

#include <span>
#include <string_view>

#include "dpftrl/learn/rules/domain.hpp"

namespace dpftrl {

/// @throws Error{invalid_argument} strength, groups or num_unpenalised.
void require_penalty(std::string_view where, const Penalty& penalty, const ModelShape& shape);

/// @throws Error{unsupported} a penalty on a domain for which projecting after shrinking does not
///         give the leader.
void require_domain_for(std::string_view where, const Penalty& penalty, const Domain& domain);

/// Overwrites the weights v with argmin_w ||w - v||^2 / 2 + times * psi(w): with alpha the strength
/// of psi, entries of magnitude at most times * alpha, or groups of at most that norm, become 0;
/// all others become shorter by times * alpha. Neither throws nor allocates.
/// @param times  >= 0; may be so large that times * alpha is infinite.
void shrink(const Penalty& penalty, double times, const ModelShape& shape,
            std::span<double> weights);

}  // namespace dpftrl
