// SPDX-License-Identifier: Apache-2.0
#include "optimal/family_optimum.hpp"

#include "base/toeplitz_matrix.hpp"
#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/optimal/optimum.hpp"
#include "families.hpp"
#include "golden/families_golden.hpp"
#include "math/toeplitz.hpp"
#include "optimal/banded/banded_rows.hpp"
#include "optimal/banded/banded_toeplitz.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::dense_errors;
using testing::error_of;
using testing::exhaustive_sensitivity;
using testing::gradient_error;
using testing::objective_named;
using testing::random_vector;
using testing::relatively_close;

Matrix toeplitz_matrix(std::vector<double> coefficients, std::int64_t n) {
  coefficients.resize(static_cast<std::size_t>(n), 0.0);
  return lower_triangular_toeplitz(coefficients);
}

Matrix banded_encoder(const Matrix& columns) {
  Matrix encoder = Matrix::Zero(columns.rows(), columns.rows());
  for (Eigen::Index j = 0; j < columns.rows(); ++j)
    for (Eigen::Index m = 0; m < columns.cols() && j + m < columns.rows(); ++m)
      encoder(j + m, j) = columns(j, m);
  return encoder;
}

const Participation kThriceApart = Participation::min_separation({.times = 3, .apart = 4});

TEST(SeriesProducts, agree_with_direct_products) {
  detail::SeriesProducts products(300);
  const std::vector<double> f = square_root_coefficients(300);
  const std::vector<double> g = inverse_square_root_coefficients(300);
  const std::vector<double> inverse = products.inverse(f);
  const std::vector<double> product = products.multiply(f, g, 300);
  for (std::size_t j = 0; j < f.size(); ++j) {
    EXPECT_NEAR(inverse[j], g[j], 1e-14);
    EXPECT_NEAR(product[j], j == 0 ? 1 : 0, 1e-14);
  }
}

TEST(BandedToeplitzError, gradient_equals_central_differences_with_and_without_transforms) {
  for (const std::int64_t bands : {5, 129}) {
    for (const Objective objective : {Objective::mean, Objective::max}) {
      for (const Participation& participation : {Participation::single(), kThriceApart}) {
        detail::BandedToeplitzError error(
            {.steps = 150, .bands = bands, .objective = objective, .participation = participation});
        std::vector<double> c = square_root_coefficients(bands);
        const Vector noise = random_vector(static_cast<Eigen::Index>(bands), 0.01, 5);
        for (std::size_t j = 0; j < c.size(); ++j) c[j] += noise(static_cast<Eigen::Index>(j));
        const SmoothFunction function = [&](const Vector& x, Vector& gradient) {
          return error({x.data(), static_cast<std::size_t>(x.size())}, gradient);
        };
        const Vector point = Eigen::Map<const Vector>(c.data(), noise.size());
        EXPECT_LT(gradient_error(function, point), 1e-6) << bands;
      }
    }
  }
}

TEST(BandedToeplitzError, gradient_over_epochs_equals_central_differences) {
  for (const std::int64_t bands : {7, 25, 129, 150}) {
    detail::BandedToeplitzError error(
        {.steps = 150,
         .bands = bands,
         .participation = Participation::fixed_epoch({.epochs = 25, .epoch_length = 6})});
    const Vector point = random_vector(bands, 0.1, 7) + Vector::Unit(bands, 0);
    const SmoothFunction function = [&](const Vector& x, Vector& gradient) {
      return error({x.data(), static_cast<std::size_t>(x.size())}, gradient);
    };
    EXPECT_LT(gradient_error(function, point), 1e-5) << bands;
  }
}

/// Values computed independently, by L-BFGS over dense matrices with automatic differentiation:
/// 8.4727 with all bands at 8 epochs of 32, 15.480 at 16 of 64 by the first phase alone, and the
/// certified optimum.
TEST(BandedToeplitzOptimum, bands_beyond_an_epoch_turn_negative_and_gain) {
  struct Case {
    std::int64_t epochs, epoch_length, bands;
    double at_most, bound;
  };
  for (const Case& each : {Case{8, 32, 32, 8.7309, 8.0343}, Case{8, 32, 64, 8.4893, 8.0343},
                           Case{8, 32, 256, 8.4750, 8.0343}, Case{16, 64, 128, 15.6090, 14.6635}}) {
    const Participation participation =
        Participation::fixed_epoch({.epochs = each.epochs, .epoch_length = each.epoch_length});
    const std::int64_t n = each.epochs * each.epoch_length;
    const BandedToeplitzOptimum found = find_banded_toeplitz_optimum(
        {.steps = n, .bands = each.bands, .participation = participation});
    EXPECT_EQ(found.search.status, SolverStatus::converged) << each.bands;
    EXPECT_LE(found.errors.mean_error, each.at_most) << each.bands;
    EXPECT_GE(found.errors.mean_error, each.bound) << each.bands;
    if (each.bands > each.epoch_length) {
      EXPECT_LT(found.coefficients[static_cast<std::size_t>(each.epoch_length)], -0.1);
    }
    std::vector<double> column = found.coefficients;
    column.resize(static_cast<std::size_t>(n));
    const double claimed = toeplitz_sensitivity(column, participation).value;
    EXPECT_TRUE(relatively_close(found.errors.sensitivity, claimed, 1e-14)) << each.bands;
  }
}

/// The tolerance is the cost of smoothing absolute values.
TEST(BandedToeplitzOptimum, bands_beyond_an_epoch_are_never_worse) {
  for (const Objective objective : {Objective::mean, Objective::max}) {
    for (const std::int64_t length : {1, 2, 8, 16}) {
      const std::int64_t n = 48;
      const Participation participation =
          Participation::fixed_epoch({.epochs = n / length, .epoch_length = length});
      const auto error_with = [&](std::int64_t bands) {
        return error_of(find_banded_toeplitz_optimum({.steps = n,
                                                      .bands = bands,
                                                      .objective = objective,
                                                      .participation = participation})
                            .errors,
                        objective);
      };
      const double apart = error_with(length);
      for (const std::int64_t bands : {length + 1, 2 * length, n})
        EXPECT_LE(error_with(bands), apart * (1 + 2e-4)) << length << " " << bands;
      if (length >= 8) {
        EXPECT_LT(error_with(2 * length), 0.995 * apart) << length;
      }
    }
  }
}

TEST(BandedToeplitzOptimum, is_never_above_the_known_values) {
  for (const auto& golden : golden::families::banded_toeplitz_optimum) {
    const Objective objective = objective_named(golden.objective);
    const BandedToeplitzOptimum found = find_banded_toeplitz_optimum(
        {.steps = golden.num_steps, .bands = golden.num_bands, .objective = objective});
    EXPECT_EQ(found.search.status, SolverStatus::converged)
        << golden.num_steps << " " << golden.num_bands << " " << golden.objective;
    const double error = error_of(found.errors, objective);
    EXPECT_LE(error, golden.error * (1 + 1e-9)) << golden.num_steps << " " << golden.num_bands;
    EXPECT_GE(error, golden.error * (1 - 1e-9)) << "below a known minimum";
  }
}

TEST(BandedToeplitzOptimum, all_bands_and_the_largest_row_give_the_square_root) {
  const BandedToeplitzOptimum found =
      find_banded_toeplitz_optimum({.steps = 40, .bands = 40, .objective = Objective::max});
  const std::vector<double> f = square_root_coefficients(40);
  for (std::size_t j = 0; j < f.size(); ++j) EXPECT_NEAR(found.coefficients[j], f[j], 1e-6);
}

TEST(BandedToeplitzOptimum, coefficients_have_the_errors_that_are_stated) {
  const Participation patterns[] = {Participation::single(), kThriceApart,
                                    Participation::min_separation({.times = 12, .apart = 1}),
                                    Participation::fixed_epoch({.epochs = 2, .epoch_length = 6}),
                                    Participation::min_separation({.times = 2, .apart = 11})};
  for (const Participation& participation : patterns) {
    for (const std::int64_t bands : {1, 2, 4, 5, 12}) {
      const BandedToeplitzOptimum found = find_banded_toeplitz_optimum(
          {.steps = 12, .bands = bands, .participation = participation});
      EXPECT_EQ(found.search.status, SolverStatus::converged)
          << participation.description() << " " << bands;
      const Matrix encoder = toeplitz_matrix(found.coefficients, 12);
      const FamilyErrors dense =
          dense_errors(encoder, exhaustive_sensitivity(encoder, participation));
      EXPECT_TRUE(relatively_close(found.errors.sensitivity, dense.sensitivity, 1e-12))
          << participation.description() << " " << bands;
      EXPECT_TRUE(relatively_close(found.errors.max_error, dense.max_error, 1e-12));
      EXPECT_TRUE(relatively_close(found.errors.mean_error, dense.mean_error, 1e-12));
    }
  }
}

TEST(BandedRowErrors, equal_dense_matrices_and_gradient_equals_central_differences) {
  for (const std::int64_t n : {1, 2, 9, 20}) {
    for (const std::int64_t p : {std::int64_t{1}, std::min<std::int64_t>(n, 4), n}) {
      detail::BandedRowErrors rows(n, p);
      const Vector point = random_vector(rows.num_parameters(), 0.3, 11);
      const std::vector<double> values = rows.values(point);
      const Matrix encoder = banded_encoder(rows.columns_at(point));
      const FamilyErrors dense = dense_errors(encoder, 1);
      EXPECT_TRUE(relatively_close(std::sqrt(*std::max_element(values.begin(), values.end())),
                                   dense.max_error, 1e-12));
      for (Eigen::Index j = 0; j < encoder.cols(); ++j)
        EXPECT_NEAR(encoder.col(j).norm(), 1, 1e-14);
      if (point.size() == 0) continue;
      const SmoothFunction weighted = [&](const Vector& x, Vector& gradient) {
        const std::vector<double>& at = rows.values(x);
        std::vector<double> weights(at.size());
        double sum = 0;
        for (std::size_t t = 0; t < at.size(); ++t) {
          weights[t] = 1 + std::cos(static_cast<double>(t));
          sum += weights[t] * at[t];
        }
        rows.pull_back(weights, gradient);
        return sum;
      };
      EXPECT_LT(gradient_error(weighted, point), 1e-6) << n << " " << p;
    }
  }
}

TEST(BandedOptimum, all_bands_reach_the_certified_optimum) {
  for (const Objective objective : {Objective::mean, Objective::max}) {
    const Optimum optimum = find_optimum({.steps = 32, .objective = objective}, {});
    const BandedOptimum found =
        find_banded_optimum({.steps = 32, .bands = 32, .objective = objective});
    EXPECT_EQ(found.search.status, SolverStatus::converged);
    const double error = error_of(found.errors, objective);
    EXPECT_GE(error, optimum.lower_bound * (1 - 1e-12));
    EXPECT_LE(error, optimum.upper_bound * (1 + (objective == Objective::mean ? 1e-9 : 1e-5)));
  }
}

TEST(BandedOptimum, more_bands_are_never_worse_and_free_columns_beat_toeplitz) {
  for (const Objective objective : {Objective::mean, Objective::max}) {
    double last = std::numeric_limits<double>::infinity(), last_toeplitz = last;
    for (const std::int64_t p : {1, 2, 4, 8, 16}) {
      const BandedProblem problem{.steps = 60, .bands = p, .objective = objective};
      const BandedOptimum found = find_banded_optimum(problem);
      const BandedToeplitzOptimum constant = find_banded_toeplitz_optimum(problem);
      EXPECT_EQ(found.search.status, SolverStatus::converged) << p;
      EXPECT_LE(found.search.duality_gap, 1e-5);
      const double error = error_of(found.errors, objective);
      EXPECT_LE(error, last * (1 + 1e-12));
      EXPECT_LE(error_of(constant.errors, objective), last_toeplitz * (1 + 1e-12));
      EXPECT_LE(error, error_of(constant.errors, objective) * (1 + 1e-12));
      last = error;
      last_toeplitz = error_of(constant.errors, objective);
    }
  }
}

TEST(BandedOptimum, columns_have_the_errors_that_are_stated) {
  for (const Participation& participation : {Participation::single(), kThriceApart}) {
    const BandedOptimum found =
        find_banded_optimum({.steps = 12, .bands = 4, .participation = participation});
    const Matrix encoder = banded_encoder(found.columns);
    const FamilyErrors dense =
        dense_errors(encoder, exhaustive_sensitivity(encoder, participation));
    EXPECT_TRUE(relatively_close(found.errors.sensitivity, dense.sensitivity, 1e-13));
    EXPECT_TRUE(relatively_close(found.errors.max_error, dense.max_error, 1e-12));
    EXPECT_TRUE(relatively_close(found.errors.mean_error, dense.mean_error, 1e-12));
  }
}

/// With few bands, a few rows carry nearly all of the weight of the smoothed maximum.
TEST(BandedOptimum, converges_where_few_rows_carry_the_weight) {
  const BandedProblem problem{.steps = 512, .bands = 8, .objective = Objective::max};
  const BandedOptimum found = find_banded_optimum(problem);
  EXPECT_EQ(found.search.status, SolverStatus::converged);
  EXPECT_LE(found.search.duality_gap, 1e-5);
  EXPECT_LE(found.errors.max_error, 8.10234);
  EXPECT_GE(found.errors.max_error, 8.10219) << "below what longer searches end at";
}

/// Errors after `from`, `from + stride`, ... line searches in all. The searches begin identically,
/// so this shows how the next accepted iterates change the result.
struct LineSearches {
  std::int64_t from, stride;
};

template <class Search>
void expect_monotone_improvement(const char* name, Objective objective, LineSearches numbers,
                                 const Search& search) {
  double first = 0, last = std::numeric_limits<double>::infinity(), shown = last;
  std::int64_t evaluations = 0, num_gains = 0;
  FamilyOptions options;
  options.progress = [&](const FamilyProgress& progress) {
    EXPECT_EQ(progress.evaluation, evaluations + 1) << name;
    EXPECT_LE(progress.error, shown) << name;
    evaluations = progress.evaluation;
    shown = progress.error;
    return true;
  };
  for (std::int64_t i = 0; i < 30; ++i) {
    options.max_total_iterations = numbers.from + i * numbers.stride;
    evaluations = 0;
    shown = std::numeric_limits<double>::infinity();
    const double error = error_of(search(options).errors, objective);
    EXPECT_LE(error, last * (1 + 1e-14)) << name << " " << i;
    EXPECT_TRUE(relatively_close(error, shown, 1e-10)) << name << " " << i << " " << shown;
    num_gains += error < last * (1 - 1e-12) ? 1 : 0;
    if (i == 0) first = error;
    last = error;
  }
  EXPECT_GE(num_gains, 2) << name;
  EXPECT_LT(last, first * (1 - 1e-5)) << name;
}

TEST(FamilySearch, more_line_searches_never_raise_the_objective) {
  const Participation thrice = Participation::min_separation({.times = 3, .apart = 20});
  for (const Objective objective : {Objective::mean, Objective::max}) {
    const BandedProblem problem{
        .steps = 60, .bands = 12, .objective = objective, .participation = thrice};
    // The first line searches are those for the best Toeplitz coefficients. Smooth maxima begin far
    // from the largest row, which hardly decreases at first.
    const LineSearches numbers = objective == Objective::mean
                                     ? LineSearches{.from = 4, .stride = 1}
                                     : LineSearches{.from = 7, .stride = 9};
    expect_monotone_improvement("banded", objective, numbers, [&](const FamilyOptions& options) {
      return find_banded_optimum(problem, options);
    });
    for (const Participation& participation : {Participation::single(), thrice}) {
      BandedProblem toeplitz = problem;
      toeplitz.participation = participation;
      expect_monotone_improvement("banded-toeplitz", objective, {.from = 1, .stride = 1},
                                  [&](const FamilyOptions& options) {
                                    return find_banded_toeplitz_optimum(toeplitz, options);
                                  });
      expect_monotone_improvement("blt", objective, {.from = 1, .stride = 1},
                                  [&](const FamilyOptions& options) {
                                    return find_blt_optimum({.steps = 3000,
                                                             .objective = objective,
                                                             .participation = participation,
                                                             .buffers = 2},
                                                            options);
                                  });
    }
  }
}

TEST(BandedOptimum, giving_up_does_not_look_like_convergence) {
  const BandedProblem problem{.steps = 50, .bands = 4};
  const FamilyOptions short_of_time{.max_iterations = 1, .tolerance = 1e-12};
  EXPECT_EQ(find_banded_optimum(problem, short_of_time).search.status, SolverStatus::not_converged);
  const FamilyOptions stopping{.progress = [](const FamilyProgress&) { return false; }};
  const BandedOptimum stopped = find_banded_optimum(problem, stopping);
  EXPECT_EQ(stopped.search.status, SolverStatus::stopped);
  EXPECT_GT(stopped.errors.mean_error, 1);
  EXPECT_EQ(find_banded_toeplitz_optimum(problem, stopping).search.status, SolverStatus::stopped);
}

TEST(BandedOptimum, rejects_bad_input) {
  EXPECT_ERROR((void)find_banded_optimum({.steps = 5, .bands = 6}), "invalid_argument",
               "find_banded_optimum: bands");
  EXPECT_ERROR((void)find_banded_optimum({.steps = 0, .bands = 1}), "invalid_argument", "steps");
  EXPECT_ERROR((void)find_banded_optimum({.steps = 12, .bands = 5, .participation = kThriceApart}),
               "unsupported", "separation of at least bands = 5, got 4");
  EXPECT_ERROR((void)find_banded_optimum({.steps = 65536, .bands = 257}), "invalid_argument",
               "at most 2^24");
  EXPECT_ERROR((void)find_banded_toeplitz_optimum({.steps = 5, .bands = 0}), "invalid_argument",
               "find_banded_toeplitz_optimum: bands");
  EXPECT_ERROR((void)find_banded_toeplitz_optimum({.steps = 5, .bands = 2}, {.tolerance = 1}),
               "invalid_argument", "tolerance");
}

}  // namespace
}  // namespace dpftrl
