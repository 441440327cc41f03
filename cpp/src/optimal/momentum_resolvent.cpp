// SPDX-License-Identifier: Apache-2.0
#include "optimal/momentum_resolvent.hpp"

#include <algorithm>
#include <array>

#include "base/double_double.hpp"

namespace dpftrl::detail {
namespace {

using Wide = DoubleDouble;

Wide subtract(const Wide& a, const Wide& b) {
  return add(a, negative(b));
}

/// K = A^-1 D_u^-1 A^-T by diagonals: K_ii, K_{i,i-1}, K_{i,i-2}.
struct Row {
  Wide diagonal, first, second;
};

double rate_of(const MomentumWeights& problem, std::size_t step) {
  return problem.rates.empty() ? 1 : problem.rates[step];
}

/// Row i of A^-1: 1 / chi_i, then -decay / chi_i - momentum / chi_{i-1}, decay momentum /
/// chi_{i-1}.
Row inverse_row(const MomentumWeights& problem, std::size_t i) {
  const double decay = problem.weights.decay, momentum = problem.momentum;
  const Wide here = divide(Wide{1}, rate_of(problem, i));
  if (i == 0) return {here, {}, {}};
  const Wide before = divide(Wide{1}, rate_of(problem, i - 1));
  Row row{here, negative(add(multiply(here, decay), multiply(before, momentum))), {}};
  if (i >= 2) row.second = multiply(multiply(before, momentum), decay);
  return row;
}

std::vector<Row> inverse_gram(const MomentumWeights& problem) {
  const std::vector<double>& u = problem.weights.rows;
  std::vector<Row> rows(u.size());
  Row before{}, before_that{};
  for (std::size_t i = 0; i < u.size(); ++i) {
    const Row row = inverse_row(problem, i);
    rows[i].diagonal = divide(multiply(row.diagonal, row.diagonal), u[i]);
    if (i >= 1) {
      const Wide weighted = divide(row.first, u[i - 1]);
      rows[i].first = multiply(weighted, before.diagonal);
      rows[i].diagonal = add(rows[i].diagonal, multiply(weighted, row.first));
    }
    if (i >= 2) {
      const Wide weighted = divide(row.second, u[i - 2]);
      rows[i].second = multiply(weighted, before_that.diagonal);
      rows[i].first = add(rows[i].first, multiply(weighted, before.first));
      rows[i].diagonal = add(rows[i].diagonal, multiply(weighted, row.second));
    }
    before_that = before;
    before = row;
  }
  return rows;
}

/// Row of L and pivot of K + s D_v = L D L^T.
struct FactorRow {
  Wide pivot, first, second;
};

constexpr std::size_t kNodes = 8;
using FactorRows = std::array<FactorRow, kNodes>;

FactorRow next_factor(const Row& row, double shifted, const FactorRow& before,
                      const FactorRow& before_that) {
  FactorRow factor;
  Wide first = row.first;
  Wide pivot = add(row.diagonal, shifted);
  if (before_that.pivot.high > 0) {
    factor.second = divide(row.second, before_that.pivot);
    first = subtract(first, multiply(row.second, before.first));
    pivot = subtract(pivot, multiply(factor.second, row.second));
  }
  if (before.pivot.high > 0) {
    factor.first = divide(first, before.pivot);
    pivot = subtract(pivot, multiply(factor.first, first));
  }
  factor.pivot = pivot;
  return factor;
}

/// Entries of G = (K + s D_v)^-1 on the square of two neighbouring steps.
struct Corner {
  Wide here, across, next;
};

/// One step up: G_ij = delta_ij / D_i - sum_{k > i} L_ki G_kj for j >= i.
/// @param first, second  L_{i+1,i} and L_{i+2,i}.
Corner step_up(const Corner& g, const Wide& pivot, const Wide& first, const Wide& second) {
  const Wide across = negative(add(multiply(first, g.here), multiply(second, g.across)));
  const Wide far = negative(add(multiply(first, g.across), multiply(second, g.next)));
  const Wide own =
      subtract(divide(Wide{1}, pivot), add(multiply(first, across), multiply(second, far)));
  return {own, across, g.here};
}

/// Adds w_k v_i ((K + s_k D_v)^-1)_ii for at most 8 nodes from `begin` on.
void add_nodes(const InverseRoot& root, std::size_t begin, const std::vector<Row>& rows,
               const std::vector<double>& v, std::vector<FactorRows>& factors,
               std::vector<double>& sum) {
  const std::size_t n = rows.size(), count = std::min(kNodes, root.shifts.size() - begin);
  const FactorRow none{};
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < count; ++k)
      factors[i][k] =
          next_factor(rows[i], root.shifts[begin + k] * v[i], i >= 1 ? factors[i - 1][k] : none,
                      i >= 2 ? factors[i - 2][k] : none);
  std::array<Corner, kNodes> corners{};
  for (std::size_t i = n; i-- > 0;)
    for (std::size_t k = 0; k < count; ++k) {
      corners[k] =
          step_up(corners[k], factors[i][k].pivot, i + 1 < n ? factors[i + 1][k].first : Wide{},
                  i + 2 < n ? factors[i + 2][k].second : Wide{});
      sum[i] += root.weights[begin + k] * v[i] * corners[k].here.high;
    }
}

}  // namespace

SpectralInterval momentum_spectrum(const MomentumWeights& problem) {
  const std::vector<double>&u = problem.weights.rows, &v = problem.weights.columns;
  const double a = problem.weights.decay, b = problem.momentum;
  const std::vector<Row> rows = inverse_gram(problem);
  const std::size_t n = u.size();
  double largest = 0, trace = 0;
  // Second moments of the momentum m and the output, when step j adds variance v_j.
  double m_m = 0, m_out = 0, out_out = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double nearby = 0;
    for (std::size_t j = i >= 2 ? i - 2 : 0; j < std::min(n, i + 3); ++j)
      nearby += rows[j].diagonal.high / v[j];
    largest = std::max(largest, nearby);
    const double next_m = b * b * m_m + v[i];
    const double rate = rate_of(problem, i);
    const double next_across = a * b * m_out + rate * next_m;
    out_out = a * a * out_out + 2 * a * b * rate * m_out + rate * rate * next_m;
    m_out = next_across;
    m_m = next_m;
    trace += u[i] * out_out;
  }
  constexpr double kSlack = 1 + 0x1p-26;
  return {1 / (trace * kSlack), largest * kSlack};
}

RootDiagonal momentum_root_diagonal(const InverseRoot& root, const SpectralInterval& spectrum,
                                    const MomentumWeights& problem) {
  const std::vector<double>& v = problem.weights.columns;
  const std::vector<Row> rows = inverse_gram(problem);
  std::vector<FactorRows> factors(rows.size());
  RootDiagonal result{std::vector<double>(rows.size(), root.direct), 0};
  for (std::size_t begin = 0; begin < root.shifts.size(); begin += kNodes)
    add_nodes(root, begin, rows, v, factors, result.values);
  result.rounding_error =
      0x1p-53 * (static_cast<double>(root.shifts.size()) + 8) +
      0x1p-96 * static_cast<double>(rows.size()) * (spectrum.high / spectrum.low);
  return result;
}

}  // namespace dpftrl::detail
