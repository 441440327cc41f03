// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Proofs about the optimum of one factor of a workload (internal header).

#include <optional>

#include "dpftrl/queries/query_mechanism.hpp"

namespace dpftrl::detail {

/// Facts about a factor, proved by weights u of queries and v of values, both of sum 1.
struct QueryProof {
  double lower_bound;    ///< ||D_u^(1/2) F D_v^(1/2)||_*
  double mean;           ///< ||D_u^(1/2) F v||
  double concentration;  ///< sum v^2
};

/// @param u, v  positive or 0; they are scaled to sum 1.
QueryProof query_proof(const Matrix& f, double lower_bound, const Vector& u, const Vector& v);

/// Proof with equal weights (Lemma 1). Needs no eigendecomposition if columns or rows are
/// orthogonal.
QueryProof schatten_proof(const Matrix& f);

/// An optimum known in closed form, and what to measure for it: identity or queries.
struct KnownOptimum {
  QueryStrategy measured;
  QueryProof proof;
};

/// For orthogonal columns M = I, which is best in the l1 norm, too. For orthogonal rows of equal
/// norm, with columns of equal norm, M = F.
/// @guarantee   assumes nothing about F: the proof holds for any F, and an optimum is returned only
///              if the proof meets the error of the measurements, to 2^-29.
/// @cost        O(rows columns); two matrix products if there is likely to be an optimum.
/// @checked-by  query_factorization_test "lemma 48 ...", "known optima"
std::optional<KnownOptimum> known_optimum(const Matrix& f, Objective objective);

}  // namespace dpftrl::detail
