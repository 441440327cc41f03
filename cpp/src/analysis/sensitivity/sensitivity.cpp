// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/analysis/sensitivity/sensitivity.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "analysis/sensitivity/pair_sensitivity.hpp"
#include "analysis/sensitivity/pattern_search.hpp"
#include "analysis/sensitivity/pattern_sums.hpp"
#include "base/counting.hpp"
#include "base/double_double.hpp"
#include "base/span_of.hpp"
#include "dpftrl/base/error.hpp"
#include "math/toeplitz.hpp"

namespace dpftrl {
namespace {

using detail::fits_pattern_budget;
using detail::is_non_increasing;
using detail::sum_of_squares;
using Kind = Participation::Kind;

/// Largest number of operations for inner products of columns; takes half a second.
constexpr std::int64_t kMostProducts = std::int64_t{1} << 27;

/// Norm over t of sum_{i < k, i b <= t} c_{t - i b}. Uses double-double arithmetic, because terms
/// that leave the window of k terms are subtracted again.
double norm_of_shifts(std::span<const double> coefficients, std::int64_t num_shifts,
                      std::int64_t separation) {
  const std::int64_t n = std::ssize(coefficients);
  std::vector<DoubleDouble> window(index_of(std::min(n, separation)));
  // num_shifts <= ceil(n / b), so the product is below n + b.
  const std::int64_t window_length = num_shifts * separation;
  DoubleDouble squares;
  for (std::int64_t t = 0; t < n; ++t) {
    DoubleDouble& sum = window[index_of(t % separation)];
    sum = add(sum, coefficients[index_of(t)]);
    if (t >= window_length) sum = add(sum, -coefficients[index_of(t - window_length)]);
    squares = add(squares, sum.high * sum.high);
  }
  return std::sqrt(squares.high);
}

std::vector<double> absolute_values(std::span<const double> values) {
  std::vector<double> absolute(values.begin(), values.end());
  for (double& value : absolute) value = std::abs(value);
  return absolute;
}

/// Dynamic program f_k(i) = max(f_k(i+1), x_i + f_{k-1}(i+b)), the best over patterns within steps
/// i, i+1, ...
double best_separated_sum(std::span<const double> values, std::int64_t times,
                          std::int64_t separation) {
  const std::int64_t n = std::ssize(values);
  std::vector<double> fewer(values.size() + 1), best(values.size() + 1);
  for (std::int64_t k = 1; k <= times; ++k) {
    for (std::int64_t i = n - 1; i >= 0; --i) {
      const double with = values[index_of(i)] + fewer[index_of(std::min(i + separation, n))];
      best[index_of(i)] = std::max(best[index_of(i + 1)], with);
    }
    std::swap(fewer, best);
  }
  return fewer[0];
}

double gram_entry(const Matrix& gram, std::int64_t row, std::int64_t column) {
  return gram(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(column));
}

/// Sum of |X_ij| over the pattern first, first + b, ... of at most k steps.
double evenly_spaced_sum(const Matrix& gram, const Participation& participation,
                         std::int64_t first) {
  const std::int64_t n = gram.rows(), b = participation.apart();
  const std::int64_t k = participation.times_within(n);
  DoubleDouble sum;
  for (std::int64_t i = first; i < n && i < first + k * b; i += b)
    for (std::int64_t j = first; j < n && j < first + k * b; j += b)
      sum = add(sum, std::abs(gram_entry(gram, i, j)));
  return sum.high;
}

/// True if no two columns in which one user may participate have a negative inner product.
bool is_nonnegative_on_patterns(const Matrix& gram, const Participation& participation) {
  const std::int64_t n = gram.rows(), b = participation.apart();
  if (participation.times_within(n) == 1) return true;
  const std::int64_t stride = participation.kind() == Kind::fixed_epoch ? b : 1;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = i + b; j < n; j += stride)
      if (gram_entry(gram, i, j) < 0) return false;
  return true;
}

/// True if signed contributions along one line turn every inner product of a pattern into its
/// absolute value. Each step takes the sign that its product with a step of known sign requires.
bool signs_attain(const Matrix& gram, const std::vector<std::int64_t>& steps) {
  std::vector<int> signs(steps.size(), 0);
  for (std::size_t first = 0; first < steps.size(); ++first) {
    if (signs[first] == 0) signs[first] = 1;
    // Signs spread from `first` to all steps connected to it, directly or indirectly.
    for (bool is_spreading = true; is_spreading;) {
      is_spreading = false;
      for (std::size_t i = 0; i < steps.size(); ++i)
        for (std::size_t j = 0; j < steps.size(); ++j) {
          const double product = gram_entry(gram, steps[i], steps[j]);
          if (i == j || product == 0 || signs[i] == 0) continue;
          const int wanted = product > 0 ? signs[i] : -signs[i];
          if (signs[j] == -wanted) return false;
          is_spreading = is_spreading || signs[j] == 0;
          signs[j] = wanted;
        }
    }
  }
  return true;
}

}  // namespace

std::string_view to_string(Exactness exactness) {
  return exactness == Exactness::exact ? "exact" : "upper bound";
}

Sensitivity toeplitz_sensitivity(std::span<const double> coefficients,
                                 const Participation& participation) {
  constexpr const char* kFunction = "toeplitz_sensitivity";
  const std::int64_t n = std::ssize(coefficients);
  if (n == 0) fail_argument(kFunction, "coefficients", "one number per step", "none");
  require_all_finite(kFunction, "coefficients", coefficients);
  participation.require_horizon(n);
  const std::int64_t k = participation.times_within(n);
  const std::int64_t b = participation.apart();
  if (k == 1)
    return {std::sqrt(sum_of_squares(coefficients)), Exactness::exact, "norm of the first column"};

  const bool is_nonnegative =
      std::ranges::all_of(coefficients, [](double value) { return value >= 0; });
  if (participation.kind() == Kind::fixed_epoch) {
    if (is_nonnegative)
      return {norm_of_shifts(coefficients, k, b), Exactness::exact,
              "Toeplitz: norm of the sum of the columns of the first phase"};
    std::int64_t bands = n;
    while (bands > 1 && coefficients[index_of(bands - 1)] == 0) --bands;
    if (cost_of_absolute_products(bands, n, b) <= kMostProducts) {
      const ColumnSum found = sum_of_absolute_products(coefficients, b);
      return {std::sqrt(found.sum), found.has_negative ? Exactness::upper_bound : Exactness::exact,
              "Toeplitz: sum of |X_ij| over the first phase"};
    }
    return {norm_of_shifts(absolute_values(coefficients), k, b), Exactness::upper_bound,
            "Toeplitz: as if the coefficients were their absolute values"};
  }
  if (is_nonnegative && is_non_increasing(coefficients))
    return {norm_of_shifts(coefficients, k, b), Exactness::exact,
            "Toeplitz: norm of the sum of columns 0, b, 2b, ..."};
  return {norm_of_shifts(non_increasing_majorant(coefficients), k, b), Exactness::upper_bound,
          "Toeplitz: as if the coefficients were their non-increasing majorant"};
}

std::vector<double> non_increasing_majorant(std::span<const double> coefficients) {
  std::vector<double> majorant = absolute_values(coefficients);
  for (std::size_t i = majorant.size(); i-- > 1;)
    majorant[i - 1] = std::max(majorant[i - 1], majorant[i]);
  return majorant;
}

double largest_pattern_sum(std::span<const double> values, const Participation& participation) {
  constexpr const char* kFunction = "largest_pattern_sum";
  const std::int64_t n = std::ssize(values);
  if (n == 0) fail_argument(kFunction, "values", "one number per step", "none");
  require_all_finite(kFunction, "values", values);
  for (std::int64_t i = 0; i < n; ++i)
    require_non_negative(kFunction, "values[" + to_text(i) + "]", values[index_of(i)]);
  participation.require_horizon(n);
  const std::int64_t k = participation.times_within(n);
  const std::int64_t b = participation.apart();
  if (k == 1) return std::ranges::max(values);

  // For fixed epochs, every phase is tried. With non-increasing values, the i-th step of any
  // pattern is i b or later, so 0, b, 2b, ... is best.
  const bool is_fixed = participation.kind() == Kind::fixed_epoch;
  if (is_fixed || is_non_increasing(values)) {
    double largest = 0;
    for (std::int64_t first = 0; first < (is_fixed ? b : 1); ++first) {
      DoubleDouble sum;
      for (std::int64_t i = 0; i < k; ++i) sum = add(sum, values[index_of(first + i * b)]);
      largest = std::max(largest, sum.high);
    }
    return largest;
  }
  if (!fits_pattern_budget(n, k))
    fail(ErrorCode::unsupported, "largest_pattern_sum", "participation",
         "must have so few contributions that they times the steps are at most 2^30",
         to_text(n) + " * " + to_text(k));
  return best_separated_sum(values, k, b);
}

double detail::largest_sum_of_rows(const Matrix& entries, const Participation& participation) {
  std::vector<double> rows(index_of(entries.rows()));
  for (std::int64_t i = 0; i < entries.rows(); ++i) {
    const Vector row = entries.row(static_cast<Eigen::Index>(i));
    rows[index_of(i)] = largest_pattern_sum(detail::span_of(row), participation);
  }
  return largest_pattern_sum(rows, participation);
}

Sensitivity gram_sensitivity(const Matrix& gram, const Participation& participation) {
  constexpr const char* kFunction = "gram_sensitivity";
  if (gram.rows() < 1 || gram.rows() != gram.cols())
    fail_argument(kFunction, "gram", "square and not empty",
                  std::to_string(gram.rows()) + " x " + std::to_string(gram.cols()));
  require_all_finite(kFunction, "gram", detail::span_of(gram));
  const std::int64_t n = gram.rows();
  for (std::int64_t i = 0; i < n; ++i)
    require_non_negative(kFunction, "gram(" + to_text(i) + ", " + to_text(i) + ")",
                         gram_entry(gram, i, i));
  participation.require_horizon(n);
  if (participation.times_within(n) == 1)
    return {std::sqrt(gram.diagonal().maxCoeff()), Exactness::exact, "largest diagonal entry"};

  const bool is_nonnegative = is_nonnegative_on_patterns(gram, participation);
  double attained = 0;
  const bool is_fixed = participation.kind() == Kind::fixed_epoch;
  for (std::int64_t first = 0; first < (is_fixed ? participation.apart() : n); ++first)
    attained = std::max(attained, evenly_spaced_sum(gram, participation, first));
  if (is_fixed)
    return is_nonnegative
               ? Sensitivity{std::sqrt(attained), Exactness::exact, "Gram matrix: largest pattern"}
               : Sensitivity{std::sqrt(attained), Exactness::upper_bound,
                             "Gram matrix: largest pattern, absolute values"};
  const double bound = detail::largest_sum_of_rows(gram.cwiseAbs(), participation);
  if (is_nonnegative && attained >= bound * (1 - 0x1p-45))
    return {std::sqrt(bound), Exactness::exact,
            "Gram matrix: bound by row patterns, attained at even distances"};
  if (const auto worst = largest_pattern(gram.cwiseAbs(), participation)) {
    const std::int64_t k = participation.times_within(n);
    const double value = std::sqrt(rounded_up(worst->value, 2 * k * k));
    if (is_nonnegative || signs_attain(gram, worst->steps))
      return {value, Exactness::exact, "Gram matrix: the worst pattern"};
    return {value, Exactness::upper_bound, "Gram matrix: the worst pattern, absolute values"};
  }
  return {std::sqrt(bound), Exactness::upper_bound, "Gram matrix: bound by row patterns"};
}

}  // namespace dpftrl
