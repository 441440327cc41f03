// SPDX-License-Identifier: Apache-2.0
#include "math/toeplitz.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/counting.hpp"
#include "base/double_double.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/base/types.hpp"
#include "math/fft.hpp"
#include "math/online_product.hpp"

namespace dpftrl {
namespace {

/// Coefficients below this become 0, because products of smaller doubles are not error-free.
constexpr double kNegligible = 0x1p-800;

DoubleDouble add_both(const DoubleDouble& sum, const DoubleDouble& x) {
  return add(add(sum, x.high), x.low);
}

DoubleDouble flushed(const DoubleDouble& x) {
  return std::abs(x.high) < kNegligible ? DoubleDouble{} : x;
}

/// Stores a sequence, or its prefix sums, with one rounding.
class RowRecorder {
 public:
  RowRecorder(std::int64_t size, bool summed) : summed_(summed) {
    values_.reserve(static_cast<std::size_t>(size));
  }
  void record(const DoubleDouble& value) {
    total_ = summed_ ? add_both(total_, value) : value;
    values_.push_back(total_.high);
  }
  std::vector<double> take() { return std::move(values_); }

 private:
  bool summed_;
  DoubleDouble total_;
  std::vector<double> values_;
};

double norm_squared(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

/// Cyclic square of a + i b, of the length of the transform, from one transform in each direction.
/// Its imaginary part is 2 a b.
struct Square {
  std::vector<double> real;
  std::vector<double> imaginary;
};
Square transformed_square(const Fft& fft, std::span<const double> a, std::span<const double> b) {
  Square square{.real = {a.begin(), a.end()}, .imaginary = {b.begin(), b.end()}};
  auto& [real, imaginary] = square;
  real.resize(fft.size());
  imaginary.resize(fft.size());
  fft.forward(real, imaginary);
  for (std::size_t k = 0; k < fft.size(); ++k) {
    const double re = real[k], im = imaginary[k];
    real[k] = re * re - im * im;
    imaginary[k] = 2 * re * im;
  }
  fft.inverse(real, imaginary);
  return square;
}

}  // namespace

std::vector<double> square_root_coefficients(std::int64_t num_coefficients) {
  require_between("square_root_coefficients", "num_coefficients", num_coefficients, 1,
                  kMaxNumSteps);
  std::vector<double> coefficients(static_cast<std::size_t>(num_coefficients));
  DoubleDouble current{1, 0};
  coefficients[0] = 1;
  for (std::size_t j = 1; j < coefficients.size(); ++j) {
    const double twice = 2 * static_cast<double>(j);
    current = divide(multiply(current, twice - 1), twice);
    coefficients[j] = current.high;
  }
  return coefficients;
}

std::vector<double> inverse_square_root_coefficients(std::int64_t num_coefficients) {
  std::vector<double> coefficients = square_root_coefficients(num_coefficients);
  for (std::size_t j = 1; j < coefficients.size(); ++j)
    coefficients[j] /= 1 - 2 * static_cast<double>(j);
  return coefficients;
}

std::vector<double> quadratic_root_coefficients(const QuadraticRoot& root,
                                                std::int64_t num_coefficients) {
  require_between("quadratic_root_coefficients", "num_coefficients", num_coefficients, 1,
                  kMaxNumSteps);
  // With P = (1 - alpha x)(1 - beta x), y = P^e obeys P y' = e P' y; coefficient by coefficient
  // (j+1) y_{j+1} = (alpha + beta)(j - e) y_j - alpha beta (j - 1 - 2e) y_{j-1}.
  const double e = root.inverse ? 0.5 : -0.5;
  RowRecorder coefficients(num_coefficients, root.summed);
  DoubleDouble previous, current{1, 0};
  for (std::int64_t i = 0; i < num_coefficients; ++i) {
    coefficients.record(current);
    const double j = static_cast<double>(i);
    const DoubleDouble scaled = multiply(current, j - e);
    DoubleDouble next = multiply(scaled, root.alpha);
    if (root.beta != 0) {
      next = add_both(next, multiply(scaled, root.beta));
      const DoubleDouble pair = multiply(multiply(previous, root.alpha), -root.beta);
      next = add_both(next, multiply(pair, j - 1 - 2 * e));
    }
    previous = current;
    current = flushed(divide(next, j + 1));
  }
  return coefficients.take();
}

std::vector<double> window_root_coefficients(const WindowRoot& root,
                                             std::int64_t num_coefficients) {
  require_between("window_root_coefficients", "num_coefficients", num_coefficients, 1,
                  kMaxNumSteps);
  require_between("window_root_coefficients", "width", root.width, 1, kMaxNumSteps);
  // y = (1 - x^W)^(h/2) (1 - x)^(-h/2), h = 1 or -1 for the inverse, obeys
  // (1-x)(1-x^W) y' = (h/2) ((1 - x^W) - W x^(W-1) (1-x)) y; coefficient by coefficient:
  const double half = root.inverse ? -0.5 : 0.5;
  const double width = static_cast<double>(root.width);
  const std::int64_t period = std::min(root.width, num_coefficients) + 1;
  std::vector<DoubleDouble> recent(static_cast<std::size_t>(period));
  const auto at = [&](std::int64_t i) { return recent[static_cast<std::size_t>(i % period)]; };
  RowRecorder coefficients(num_coefficients, root.summed);
  recent[0] = {1, 0};
  for (std::int64_t j = 0; j < num_coefficients; ++j) {
    coefficients.record(at(j));
    const double steps = static_cast<double>(j);
    DoubleDouble next = multiply(at(j), steps + half);
    if (const std::int64_t i = j + 1 - root.width; i >= 0)
      next = add_both(next, multiply(at(i), steps + 1 - width - half * width));
    if (const std::int64_t i = j - root.width; i >= 0)
      next = add_both(next, multiply(at(i), half * (width - 1) - (steps - width)));
    recent[static_cast<std::size_t>((j + 1) % period)] = flushed(divide(next, steps + 1));
  }
  return coefficients.take();
}

std::vector<double> reciprocal_series(std::span<const double> divisor,
                                      std::int64_t num_coefficients) {
  require_between("reciprocal_series", "num_coefficients", num_coefficients, 1, kMaxNumSteps);
  std::vector<double> reciprocal(static_cast<std::size_t>(num_coefficients));
  for (std::size_t j = 0; j < reciprocal.size(); ++j) {
    double rest = j == 0 ? 1 : 0;
    for (std::size_t i = 1; i < divisor.size() && i <= j; ++i)
      rest -= divisor[i] * reciprocal[j - i];
    reciprocal[j] = rest / divisor[0];
  }
  return reciprocal;
}

std::vector<double> square_root_of_series(std::span<const double> series) {
  if (series.empty() || !(series[0] > 0) || !std::isfinite(series[0]))
    fail_argument("square_root_of_series", "series", "of a positive first coefficient",
                  series.empty() ? "none" : to_text(series[0]));
  // r r = s, coefficient by coefficient: 2 r_0 r_j = s_j - sum_{0 < k < j} r_k r_{j-k}.
  std::vector<double> root{std::sqrt(series[0])};
  for (std::size_t j = 1; j < series.size(); ++j) {
    DoubleDouble rest{series[j], 0};
    for (std::size_t k = 1; k < j; ++k) rest = add(rest, two_product(-root[k], root[j - k]));
    root.push_back(rest.high / (2 * root[0]));
  }
  return root;
}

std::vector<double> logarithm_of_series(std::span<const double> series) {
  // y = ln s: j y_j = j s_j - sum_{0 < k < j} (k y_k) s_{j-k}.
  std::vector<double> logarithm(series.size()), known(series.size());
  OnlineProduct(known, series, [&](std::size_t j, double sum) {
    const double steps = static_cast<double>(j);
    known[j] = j == 0 ? 0 : steps * series[j] - sum;
    if (j > 0) logarithm[j] = known[j] / steps;
  });
  return logarithm;
}

std::vector<double> exponential_of_series(std::span<const double> series) {
  // y = exp s: j y_j = sum_{k < j} y_k (j-k) s_{j-k}.
  std::vector<double> exponential(series.size()), kernel(series.size());
  for (std::size_t j = 0; j < series.size(); ++j) kernel[j] = static_cast<double>(j) * series[j];
  OnlineProduct(exponential, kernel, [&](std::size_t j, double sum) {
    exponential[j] = j == 0 ? 1 : sum / static_cast<double>(j);
  });
  return exponential;
}

BoundedProduct multiply_by_fft(std::span<const double> a, std::span<const double> b) {
  const std::size_t num_terms = a.size() + b.size() - 1;
  const Fft fft(static_cast<int>(std::bit_width(num_terms - 1)));
  auto [real, imaginary] = transformed_square(fft, a, b);
  const double norm_of_inputs = norm_squared(a) + norm_squared(b);
  const double norm_of_square = std::sqrt(norm_squared(real) + norm_squared(imaginary));
  const double eps = fft.relative_error_bound();
  const double transforms = norm_of_inputs * (2 * eps + eps * eps + 4 * 0x1p-53);
  const double last = eps * norm_of_square / (1 - eps);
  for (double& term : imaginary) term /= 2;
  imaginary.resize(num_terms);
  return {std::move(imaginary), (transforms + last) / 2 * (1 + 0x1p-24)};
}

std::vector<double> reciprocal_series_by_fft(std::span<const double> divisor,
                                             std::int64_t num_coefficients) {
  constexpr std::int64_t kFirst = 256;
  std::vector<double> reciprocal = reciprocal_series(divisor, std::min(num_coefficients, kFirst));
  // x (2 - divisor x) doubles the number of correct coefficients and keeps them.
  while (std::ssize(reciprocal) < num_coefficients) {
    const std::size_t known = reciprocal.size();
    const std::size_t size = std::min(2 * known, static_cast<std::size_t>(num_coefficients));
    const std::vector<double> product =
        multiply_by_fft(divisor.first(std::min(divisor.size(), size)), reciprocal).terms;
    std::vector<double> rest(size - known);
    for (std::size_t i = 0; i < rest.size() && known + i < product.size(); ++i)
      rest[i] = -product[known + i];
    const std::vector<double> more = multiply_by_fft(rest, reciprocal).terms;
    reciprocal.insert(reciprocal.end(), more.begin(),
                      more.begin() + static_cast<std::ptrdiff_t>(size - known));
  }
  return reciprocal;
}

std::vector<double> multiply_series(std::span<const double> a, std::span<const double> b) {
  const std::size_t size = std::min(a.size(), b.size());
  std::vector<double> product(size, 0.0);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; i + j < size; ++j) product[i + j] += a[i] * b[j];
  return product;
}

ColumnSum sum_of_absolute_products(std::span<const double> coefficients, std::int64_t separation) {
  const std::int64_t n = std::ssize(coefficients);
  require_between("sum_of_absolute_products", "separation", separation, 1, kMaxNumSteps);
  std::int64_t bands = n;
  while (bands > 1 && coefficients[index_of(bands - 1)] == 0) --bands;
  DoubleDouble sum;
  bool has_negative = false;
  for (std::int64_t lag = 0; lag < bands; lag += separation) {
    const double times = lag == 0 ? 1 : 2;  // either order
    DoubleDouble product;
    std::int64_t row = 0;
    // Columns `column` and `column - lag`, starting with the last, which has the fewest rows.
    for (std::int64_t column = (n - 1) / separation * separation; column >= lag;
         column -= separation) {
      for (; row < std::min(n - column, bands - lag); ++row)
        product = add(product,
                      two_product(coefficients[index_of(row)], coefficients[index_of(row + lag)]));
      has_negative = has_negative || product.high < 0;
      sum = add(sum, times * std::abs(product.high));
    }
  }
  return {sum.high, has_negative};
}

std::int64_t cost_of_absolute_products(std::int64_t bands, std::int64_t steps,
                                       std::int64_t separation) {
  const std::int64_t num_overlaps = 1 + (bands - 1) / separation;
  return num_overlaps * (bands + steps / separation);
}

}  // namespace dpftrl
