// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The workload: the linear map A of the stream that is released.
///
/// ```cpp
/// #include <Eigen/Core>
/// const auto workload = dpftrl::Workload::momentum({.steps = 3, .momentum = 0.5});
/// assert(workload.apply({1, 0, 0}) == std::vector<double>({1, 1.5, 1.75}));
/// assert(workload.matrix()(2, 0) == 1.75);
/// ```

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "dpftrl/base/types.hpp"

namespace dpftrl {

/// Row t of A maps the records w_0, ..., w_t to out_t, the output after step t, so A is lower
/// triangular:
///
///     prefix      out_t = w_0 + ... + w_t
///     momentum    m_t = beta m_{t-1} + w_t,   out_t = alpha out_{t-1} + m_t
///     window      out_t = w_{t-W+1} + ... + w_t
///     rates       m_t = beta m_{t-1} + w_t,   out_t = out_{t-1} + chi_t m_t
///     matrix      any lower-triangular matrix with a non-zero diagonal
///
/// All but `rates` and `matrix` are Toeplitz. A is invertible in every case.
class Workload {
 public:
  enum class Kind { prefix, momentum, window, rates, matrix };
  struct Momentum {
    std::int64_t steps;
    double momentum = 0;  ///< beta, 0 <= beta < 1
    double decay = 1;     ///< alpha, 0 < alpha <= 1
  };
  struct Window {
    std::int64_t steps;
    std::int64_t window;  ///< W >= 1
  };
  struct Rates {
    std::vector<double> rates;  ///< chi, one per step, non-zero and finite
    double momentum = 0;        ///< beta, 0 <= beta < 1
  };

  /// @throws Error{invalid_argument} steps outside 1..kMaxNumSteps.
  static Workload prefix_sums(std::int64_t steps);
  /// Momentum 0 and decay 1 give the prefix sums.
  static Workload momentum(const Momentum& options);
  /// A window of at least `steps` steps gives the prefix sums.
  static Workload sliding_window(const Window& options);
  /// The number of steps is the number of rates.
  static Workload learning_rates(Rates options);
  /// @throws Error{invalid_argument} not square, not lower triangular, a zero on the diagonal, an
  ///         entry that is not finite; Error{unsupported} more than kMaxDenseSteps steps.
  static Workload lower_triangular(Matrix matrix);

  Kind kind() const { return kind_; }
  /// "prefix", "momentum=0.9,decay=0.99", "window=8", "rates", "rates,momentum=0.9", "matrix".
  std::string name() const;
  std::int64_t steps() const { return steps_; }
  bool is_prefix() const { return kind_ == Kind::prefix; }
  /// True if A = I by definition: every release covers its own step alone.
  bool is_single_step() const { return kind_ == Kind::window && width_ == 1; }
  bool is_toeplitz() const { return kind_ != Kind::rates && kind_ != Kind::matrix; }
  /// True for kind `matrix` if the entries depend only on step - column.
  bool has_toeplitz_matrix() const { return has_toeplitz_matrix_; }

  double momentum() const { return momentum_; }
  double decay() const { return decay_; }
  std::int64_t window() const { return width_; }
  const std::vector<double>& rates() const { return rates_; }
  /// A(step, column) of a workload of kind `matrix`, without a copy.
  double entry(std::int64_t step, std::int64_t column) const;

  /// First column of a Toeplitz workload, one entry per step.
  /// @throws Error{unsupported} not Toeplitz, or more than 2^26 steps.
  std::vector<double> coefficients() const;
  /// The matrix A.
  /// @throws Error{unsupported} more than kMaxDenseSteps steps.
  Matrix matrix() const;
  /// The workload over the first `steps` steps: the leading block of A.
  Workload leading(std::int64_t steps) const { return block(0, steps); }
  /// The diagonal block of A for `steps` steps, starting at `first`.
  Workload block(std::int64_t first, std::int64_t steps) const;
  /// A w for a sequence w of one number per step (a column), in O(steps) except for `matrix`.
  std::vector<double> apply(std::vector<double> sequence) const;

 private:
  Workload(Kind kind, std::int64_t steps) : kind_(kind), steps_(steps) {}
  static Workload window_of(std::int64_t steps, std::int64_t width);

  std::vector<double> apply_matrix(std::vector<double> sequence) const;

  Kind kind_;
  std::int64_t steps_;
  double momentum_ = 0;
  double decay_ = 1;
  std::int64_t width_ = 0;
  std::vector<double> rates_;
  std::shared_ptr<const Matrix> matrix_;  ///< of kind `matrix`
  bool has_toeplitz_matrix_ = false;
};

}  // namespace dpftrl
