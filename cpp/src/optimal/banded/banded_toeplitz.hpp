// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dpftrl/base/types.hpp"
#include "math/fft.hpp"
#include "optimal/blt/blt_point.hpp"
#include "optimal/family_optimum.hpp"

namespace dpftrl::detail {

/// Products and inverses of truncated series of one length by fast transforms.
class SeriesProducts {
 public:
  explicit SeriesProducts(std::int64_t length) : length_(static_cast<std::size_t>(length)) {}
  /// First `count` coefficients of a b; both have at most `count`.
  std::vector<double> multiply(std::span<const double> a, std::span<const double> b,
                               std::size_t count);
  /// First `length` coefficients of 1 / a.
  std::vector<double> inverse(std::span<const double> a);

 private:
  const Fft& transform(std::size_t at_least);

  std::size_t length_;
  std::vector<std::unique_ptr<Fft>> transforms_;
};

/// True for fixed epochs in which the columns of one user overlap: there are so few patterns that
/// coefficients may have both signs. False if a user is in all steps, where independent noise is
/// best and smoothing would cost 0.3 %.
bool has_signed_overlaps(const BandedProblem& problem);

/// ln(error) of a banded Toeplitz encoder as a function of all its coefficients, with the gradient.
class BandedToeplitzError {
 public:
  explicit BandedToeplitzError(const BandedProblem& problem);
  /// Overwrites `gradient` (length p). Returns +infinity where the row norms overflow.
  double operator()(std::span<const double> coefficients, Vector& gradient);
  FamilyErrors errors(std::span<const double> coefficients);

 private:
  double sensitivity_squared(std::span<const double> coefficients, Vector* gradient) const;
  double phase_sum(std::span<const double> coefficients, Vector& gradient) const;
  std::vector<double> inverse(std::span<const double> coefficients);
  double row_squared(const std::vector<double>& inverse, Objective objective) const;
  void row_gradient(std::span<const double> coefficients, const std::vector<double>& inverse,
                    Vector& gradient);
  double row_weight(std::int64_t step, Objective objective) const;

  BandedProblem problem_;
  Repeats repeats_;
  bool has_signs_;  ///< inner products of columns count by their absolute values
  bool is_direct_;
  SeriesProducts products_;
};

}  // namespace dpftrl::detail
