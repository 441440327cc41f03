// SPDX-License-Identifier: Apache-2.0
#include "strategy/trees/haar.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cmath>

#include "dpftrl/base/error.hpp"
#include "strategy/family_row.hpp"

namespace dpftrl {
namespace {

std::size_t num_levels(std::int64_t steps) {
  require_between("strategy", "steps", steps, 1, kMaxNumSteps);
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(steps - 1)));
}

std::int64_t power_of_two(std::size_t exponent) {
  return std::int64_t{1} << exponent;
}

double square(double value) {
  return value * value;
}

/// Sum of the first `count` values of the Haar functions of a level, which are 1 and -1 on the
/// halves of their supports.
std::int64_t height_at(std::int64_t count, std::size_t level) {
  const std::int64_t support = power_of_two(level), inside = count % support;
  return std::min(inside, support - inside);
}

/// 1^2 + 2^2 + ... + last^2.
double sum_of_squares(std::int64_t last) {
  const double n = static_cast<double>(last);
  return n * (n + 1) * (2 * n + 1) / 6;
}

/// Sum over count = 1 .. num_rows of height_at(count, level)^2.
double sum_of_squared_heights(std::int64_t num_rows, std::size_t level) {
  const std::int64_t support = power_of_two(level), half = support / 2;
  const std::int64_t rest = num_rows % support;
  const double width = static_cast<double>(support);
  const double whole = width * (square(width) + 2) / 12;
  const double partial =
      rest <= half ? sum_of_squares(rest) : whole - sum_of_squares(support - 1 - rest);
  return static_cast<double>(num_rows / support) * whole + partial;
}

/// g_0, g_1, ..., g_k. With m_0 the mean of T^2 and m_l the mean of the squared heights, the mean
/// squared error is the sum of m_l / (4^l g_l) (with N in place of 2^l at l = 0). For a given sum
/// of g, it is least if g_l is proportional to sqrt(m_l) / 2^l.
std::vector<double> weights_of_least_mean_error(std::int64_t steps) {
  const std::size_t top = num_levels(steps);
  const double n = static_cast<double>(steps);
  std::vector<double> weights = {std::sqrt(sum_of_squares(steps) / n) /
                                 static_cast<double>(power_of_two(top))};
  double total = weights[0];
  for (std::size_t level = 1; level <= top; ++level) {
    const double root = std::sqrt(sum_of_squared_heights(steps, level) / n);
    weights.push_back(root / static_cast<double>(power_of_two(level)));
    total += weights.back();
  }
  for (double& weight : weights) weight /= total;
  return weights;
}

/// Eigenvalues of the Gram matrix of the complete tree, divided by the squared norms of the Haar
/// functions: (2 N - 1) / N and (2^l - 1) / 2^l.
std::vector<double> weights_of_the_tree(std::int64_t steps) {
  const std::size_t top = num_levels(steps);
  std::vector<double> weights = {2 - 1 / static_cast<double>(power_of_two(top))};
  for (std::size_t level = 1; level <= top; ++level)
    weights.push_back(1 - 1 / static_cast<double>(power_of_two(level)));
  return weights;
}

/// Finds the row of largest or smallest norm among rows T = t + 1 <= last.
///
/// On a dyadic interval first .. first + 2^m - 1 the levels above m are linear in s = T - first, so
///     norm^2(T) = alpha s^2 + (beta s + gamma) + (levels up to m, functions of s alone),
/// where alpha is the same for all intervals of that length. Intervals of equal length differ only
/// in their lines beta s + gamma, so an interval whose line is nowhere on the envelope of the lines
/// cannot contain the extreme. All intervals are halved together, from the longest to the shortest,
/// and only the envelope is kept.
class ExtremeRow {
 public:
  ExtremeRow(const HaarDecoder& form, bool largest) : sign_(largest ? 1 : -1) {
    const std::size_t top = form.scales.size();
    mean_ = square(form.mean_scale);
    for (const double scale : form.scales) levels_.push_back(square(scale));
    sums_above_.assign(top + 1, mean_);
    for (std::size_t m = top; m-- > 0;) sums_above_[m] = sums_above_[m + 1] + levels_[m];
  }

  /// T of the extreme among 1 .. last - 1; last >= 2.
  std::int64_t find(std::int64_t last) {
    const std::size_t leading =
        static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(last)) - 1);
    std::vector<Line> lines;
    for (std::size_t m = leading + 1; m-- > 0;) {
      if (m < leading) {
        lines = halves(lines, m + 1);
        // Adds the intervals 2^m .. 2^(m+1) - 1, which together make 1 .. 2^leading - 1, and the
        // interval below `last` that belongs to its bit m.
        lines.push_back(line(power_of_two(m), m));
        if ((last >> m & 1) != 0) lines.push_back(line((last >> m << m) - power_of_two(m), m));
      }
      lines = envelope(std::move(lines), static_cast<double>(power_of_two(m) - 1));
    }
    const auto best = std::max_element(
        lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.gamma < b.gamma; });
    return best->first;
  }

 private:
  /// Line multiplied by the sign, so that the search is always for the largest.
  struct Line {
    double beta, gamma;
    std::int64_t first;
  };

  Line line(std::int64_t first, std::size_t m) const {
    const double start = static_cast<double>(first);
    double beta = 2 * mean_ * start, gamma = mean_ * square(start);
    for (std::size_t level = m + 1; level <= levels_.size(); ++level) {
      const double weight = levels_[level - 1];
      const double height = static_cast<double>(height_at(first, level));
      const bool rises = first % power_of_two(level) < power_of_two(level) / 2;
      beta += (rises ? 2 : -2) * weight * height;
      gamma += weight * square(height);
    }
    return {sign_ * beta, sign_ * gamma, first};
  }

  /// Lines of the halves of intervals of length 2^m.
  std::vector<Line> halves(const std::vector<Line>& lines, std::size_t m) const {
    const std::int64_t half = power_of_two(m - 1);
    const double width = static_cast<double>(half);
    const double alpha = sign_ * sums_above_[m], weight = sign_ * levels_[m - 1];
    std::vector<Line> result = lines;  // the left halves
    for (const Line& whole : lines)
      result.push_back({.beta = whole.beta + 2 * (alpha - weight) * width,
                        .gamma = whole.gamma + (whole.beta + (alpha + weight) * width) * width,
                        .first = whole.first + half});
    return result;
  }

  /// Lines that are above all others somewhere in 0 <= s <= end.
  static std::vector<Line> envelope(std::vector<Line> lines, double end) {
    std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
      return a.beta != b.beta ? a.beta < b.beta : a.gamma > b.gamma;
    });
    std::vector<Line> kept;
    // Point at which b, the steeper one, overtakes a.
    const auto meet = [](const Line& a, const Line& b) {
      return (a.gamma - b.gamma) / (b.beta - a.beta);
    };
    for (const Line& next : lines) {
      if (!kept.empty() && kept.back().beta == next.beta) continue;
      while (!kept.empty() && meet(kept.back(), next) <= 0) kept.pop_back();
      while (kept.size() >= 2 &&
             meet(kept.back(), next) <= meet(kept[kept.size() - 2], kept.back()))
        kept.pop_back();
      if (kept.empty() || meet(kept.back(), next) <= end) kept.push_back(next);
    }
    return kept;
  }

  double sign_;
  double mean_;
  std::vector<double> levels_;      ///< weights of the squared heights of levels 1 .. k
  std::vector<double> sums_above_;  ///< alpha for every m
};

}  // namespace

HaarBasisStrategy::HaarBasisStrategy(std::int64_t steps, const std::vector<double>& weights)
    : Strategy(Workload::prefix_sums(steps)) {
  const std::size_t top = weights.size() - 1;
  form_.mean_scale = 1 / (std::sqrt(weights[0]) * static_cast<double>(power_of_two(top)));
  for (std::size_t level = 1; level <= top; ++level)
    form_.scales.push_back(1 /
                           (std::sqrt(weights[level]) * static_cast<double>(power_of_two(level))));

  // Columns whose smallest common support has level m have the inner product g_0 + sum_{l>m} g_l -
  // g_m. The scales define C, so the weights are taken from them.
  double shared = square(1 / (form_.mean_scale * static_cast<double>(power_of_two(top))));
  has_nonnegative_gram_ = true;
  for (std::size_t level = top; level > 0; --level) {
    const double weight =
        square(1 / (form_.scales[level - 1] * static_cast<double>(power_of_two(level))));
    // 2^-46 is more than k + 4 rounding errors.
    if (!(shared * (1 - std::ldexp(1.0, -46)) >= weight)) has_nonnegative_gram_ = false;
    shared += weight;
  }
  column_norm_squared_ = shared;
}

std::int64_t HaarBasisStrategy::num_measurements() const {
  if (form_.scales.empty()) return 1;
  return power_of_two(form_.scales.size() - 1) + (steps() - 1) / 2 + 1;
}

Eigen::Index HaarBasisStrategy::dense_measurements() const {
  (void)dense_size();
  return static_cast<Eigen::Index>(num_measurements());
}

double HaarBasisStrategy::column_norm_squared(std::int64_t step) const {
  require_step(step);
  return column_norm_squared_;
}

double HaarBasisStrategy::row_norm_squared(std::int64_t step) const {
  require_step(step);
  double variance = square(form_.mean_scale * static_cast<double>(step + 1));
  for (std::size_t level = 1; level <= form_.scales.size(); ++level)
    variance += square(form_.scales[level - 1] * static_cast<double>(height_at(step + 1, level)));
  return variance;
}

RowNorms HaarBasisStrategy::row_norms() const {
  const std::int64_t n = steps();
  double total = square(form_.mean_scale) * sum_of_squares(n);
  for (std::size_t level = 1; level <= form_.scales.size(); ++level)
    total += square(form_.scales[level - 1]) * sum_of_squared_heights(n, level);
  double smallest = row_norm_squared(n - 1), largest = smallest;
  if (n > 1) {
    const auto extreme = [&](bool is_largest) {
      return row_norm_squared(ExtremeRow(form_, is_largest).find(n) - 1);
    };
    smallest = std::min(smallest, extreme(false));
    largest = std::max(largest, extreme(true));
  }
  return {smallest, largest, total / static_cast<double>(n)};
}

Matrix HaarBasisStrategy::encoder() const {
  const Eigen::Index columns = dense_size();
  const std::size_t top = form_.scales.size();
  Matrix encoder = Matrix::Zero(dense_measurements(), columns);
  encoder.row(0).setConstant(1 / (form_.mean_scale * static_cast<double>(power_of_two(top))));
  for (std::size_t level = 1; level <= top; ++level) {
    const std::int64_t support = power_of_two(level);
    const double entry = 1 / (form_.scales[level - 1] * static_cast<double>(support));
    for (Eigen::Index j = 0; j < columns; ++j) {
      const std::int64_t row = power_of_two(top - level) + j / support;
      encoder(static_cast<Eigen::Index>(row), j) = j % support < support / 2 ? entry : -entry;
    }
  }
  return encoder;
}

Matrix HaarBasisStrategy::decoder() const {
  const Eigen::Index rows = dense_size();
  const std::size_t top = form_.scales.size();
  Matrix decoder = Matrix::Zero(rows, dense_measurements());
  for (Eigen::Index step = 0; step < rows; ++step) {
    decoder(step, 0) = form_.mean_scale * static_cast<double>(step + 1);
    for (std::size_t level = 1; level <= top; ++level) {
      const std::int64_t column = power_of_two(top - level) + step / power_of_two(level);
      decoder(step, static_cast<Eigen::Index>(column)) =
          form_.scales[level - 1] * static_cast<double>(height_at(step + 1, level));
    }
  }
  return decoder;
}

HaarStrategy::HaarStrategy(std::int64_t steps)
    : HaarBasisStrategy(steps, weights_of_least_mean_error(steps)) {}

HonakerFullStrategy::HonakerFullStrategy(std::int64_t steps)
    : HaarBasisStrategy(steps, weights_of_the_tree(steps)) {}

FamilyRow honaker_full_family() {
  return row_of_tree<HonakerFullStrategy>(
      "binary tree, every step refined from all nodes (least squares)", /*is_causal=*/false);
}

FamilyRow haar_family() {
  return row_of_tree<HaarStrategy>("Haar coefficients, levels weighted for the least mean error",
                                   /*is_causal=*/false);
}

}  // namespace dpftrl
