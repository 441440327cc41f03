// SPDX-License-Identifier: Apache-2.0
// Lower bounds lie below the error of every factorization, upper bounds above the error they bound.
#include "dpftrl/analysis/unit_error.hpp"

#include <numbers>
#include <random>

#include "dense_algebra.hpp"
#include "dpftrl/strategy/catalogue.hpp"
#include "golden/bounds_golden.hpp"
#include "golden/certificates_golden.hpp"
#include "long_doubles.hpp"
#include "math/toeplitz.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::index_of;
using testing::relatively_close;
using testing::square_root;

struct Errors {
  double max;
  double mean;
};

/// Errors of the factorization A = (A C^-1) C under single participation.
Errors errors_of_encoder(const Workload& workload, const Matrix& encoder) {
  const Matrix decoder = testing::divide_by_lower(workload.matrix(), encoder);
  const double sensitivity = encoder.colwise().norm().maxCoeff();
  return {sensitivity * decoder.rowwise().norm().maxCoeff(),
          sensitivity * decoder.norm() / std::sqrt(static_cast<double>(workload.steps()))};
}

std::vector<Workload> bounded_workloads(std::int64_t n) {
  std::vector<double> rates(static_cast<std::size_t>(n));
  for (std::size_t t = 0; t < rates.size(); ++t) rates[t] = t % 3 == 2 ? -0.25 : 1.5;
  Matrix matrix = Matrix::Identity(index_of(n), index_of(n));
  matrix.row(index_of(n - 1)).setConstant(-2);
  return {Workload::prefix_sums(n),
          Workload::momentum({.steps = n, .momentum = 0.9, .decay = 0.99}),
          Workload::sliding_window({.steps = n, .window = 3}),
          Workload::learning_rates({.rates = rates, .momentum = 0.5}),
          Workload::lower_triangular(matrix)};
}

std::vector<double> spread_random_weights(std::int64_t n, std::mt19937& bits, double spread) {
  std::vector<double> weights(static_cast<std::size_t>(n));
  for (double& weight : weights)
    weight = std::exp(spread * (static_cast<double>(bits()) / 4294967296.0 - 0.5));
  return weights;
}

std::vector<double> ones(std::int64_t n) {
  return std::vector<double>(static_cast<std::size_t>(n), 1.0);
}

UnitError catalogue_error(std::string_view name, std::int64_t steps) {
  return unit_error(*make_strategy({.name = std::string(name), .steps = steps}),
                    Participation::single());
}

TEST(Bounds, no_strategy_is_below_the_lower_bound) {
  const std::int64_t longest = testing::is_sanitized() ? 64 : 300;
  for (const std::int64_t n : {1, 2, 3, 5, 8, 64, 300, 4096}) {
    const double bound = schatten_lower_bound(n);
    for (const StrategyInfo& info : strategy_catalogue()) {
      // The tests of the searches compare with sharper bounds, also at long horizons.
      if (testing::is_optimised(info) && n > testing::within_reach(info, longest)) continue;
      const UnitError error =
          unit_error(*testing::make_known(info.name, n), Participation::single());
      EXPECT_GE(error.mean_error, bound * (1 - 1e-14)) << info.name << " " << n;
      EXPECT_GE(error.max_error, error.mean_error * (1 - 1e-14));
    }
  }
}

TEST(Bounds, golden_table) {
  for (const golden::bounds::Table& golden : golden::bounds::table) {
    EXPECT_TRUE(relatively_close(schatten_lower_bound(golden.n), golden.schatten, 1e-13));
    EXPECT_LE(schatten_lower_bound(golden.n), golden.schatten);
    EXPECT_TRUE(
        relatively_close(square_root_max_error_bound(golden.n), golden.fixed_upper_max, 1e-14));
    EXPECT_TRUE(
        relatively_close(square_root_mean_error_bound(golden.n), golden.fixed_upper_rmse, 1e-14));
    EXPECT_TRUE(
        relatively_close(published_max_error_bound(golden.n).value, golden.huu_upper, 1e-14));
    EXPECT_TRUE(
        relatively_close(published_mean_error_bound(golden.n).value, golden.huu_upper, 1e-14));
    EXPECT_TRUE(relatively_close(published_lower_bound(golden.n).value, golden.huu5, 1e-14));
  }
}

TEST(Bounds, square_root_stays_below_its_corrected_bounds) {
  for (std::int64_t n = 1; n <= 1024; ++n) {
    const UnitError error = catalogue_error("square-root", n);
    ASSERT_LE(error.max_error, square_root_max_error_bound(n));
    ASSERT_LE(error.mean_error, square_root_mean_error_bound(n));
    ASSERT_GE(error.max_error, square_root_max_error_bound(n) - 0.0253) << "bound is this tight";
  }
}

TEST(Bounds, errors_of_the_square_root_in_closed_form_are_those_of_its_matrices) {
  for (const std::int64_t n : {1, 2, 3, 7, 64, 1000, 4096}) {
    const UnitError error = catalogue_error("square-root", n);
    const SquareRootErrors found = square_root_errors(n);
    EXPECT_TRUE(relatively_close(found.max, error.max_error, 1e-11)) << n;
    EXPECT_TRUE(relatively_close(found.mean_squared, std::pow(error.mean_error, 2), 1e-11)) << n;
  }
  // At the longest horizon that is summed, the sum meets the expansion used for longer ones.
  constexpr std::int64_t kSummed = std::int64_t{1} << 22;
  const SquareRootErrors last = square_root_errors(kSummed), next = square_root_errors(kSummed + 1);
  EXPECT_GT(next.max, last.max);
  EXPECT_TRUE(relatively_close(next.max, last.max, 1e-7));
  EXPECT_TRUE(relatively_close(next.mean_squared, last.mean_squared, 1e-7));
}

TEST(Bounds, published_bounds_hold_exactly_where_they_say_so) {
  const std::vector<double> f = square_root_coefficients(4096);
  long double row = 0, total = 0;
  for (std::int64_t n = 1; n <= 4096; ++n) {
    const long double last = f[static_cast<std::size_t>(n - 1)];
    row += last * last;
    total += row;
    const auto max_error = static_cast<double>(row);
    const auto mean_error =
        static_cast<double>(square_root(row * total / static_cast<long double>(n)));
    const PublishedBound max_bound = published_max_error_bound(n);
    const PublishedBound mean_bound = published_mean_error_bound(n);
    const PublishedBound lower = published_lower_bound(n);
    ASSERT_EQ(max_bound.holds, max_error <= max_bound.value) << n;
    ASSERT_EQ(mean_bound.holds, mean_error <= mean_bound.value) << n;
    ASSERT_EQ(lower.holds, lower.value <= schatten_lower_bound(n)) << n;
    ASSERT_TRUE(lower.holds);
    ASSERT_FALSE(max_bound.holds);
  }
}

TEST(Bounds, published_bounds_claim_nothing_beyond_what_was_checked) {
  const std::int64_t checked = std::int64_t{1} << 22;
  EXPECT_TRUE(published_mean_error_bound(checked).holds);
  EXPECT_EQ(published_mean_error_bound(checked).checked_to, checked);
  EXPECT_EQ(published_max_error_bound(1).holds_from, 0);
  EXPECT_EQ(published_lower_bound(1).holds_from, 1);
  EXPECT_TRUE(published_lower_bound(checked).holds);
  EXPECT_FALSE(published_mean_error_bound(checked + 1).holds);
  EXPECT_FALSE(published_lower_bound(checked + 1).holds);
}

TEST(Certificate, equal_weights_give_the_closed_form_for_prefix_sums) {
  for (const std::int64_t n : {1, 2, 3, 8, 64, 200}) {
    const double certified = mean_error_certificate(Workload::prefix_sums(n), ones(n));
    EXPECT_TRUE(relatively_close(certified, schatten_lower_bound(n), 1e-10)) << n;
    EXPECT_LE(certified, schatten_lower_bound(n)) << "rounded down";
  }
}

using ExtendedMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;

/// Sum of the singular values, by Jacobi rotations that orthogonalise the columns.
long double nuclear_norm(ExtendedMatrix w) {
  const long double epsilon = 64 * std::numeric_limits<long double>::epsilon();
  for (bool has_rotated = true; has_rotated;) {
    has_rotated = false;
    for (Eigen::Index q = 1; q < w.cols(); ++q)
      for (Eigen::Index p = 0; p < q; ++p) {
        const long double pp = w.col(p).squaredNorm(), qq = w.col(q).squaredNorm();
        const long double pq = w.col(p).dot(w.col(q));
        if (pq * pq <= epsilon * epsilon * pp * qq) continue;
        has_rotated = true;
        const long double ratio = (qq - pp) / (2 * pq), root = square_root(1 + ratio * ratio);
        const long double tangent = 1 / (ratio + (ratio < 0 ? -root : root));
        const long double cosine = 1 / square_root(1 + tangent * tangent);
        const ExtendedMatrix rotated = cosine * (w.col(p) - tangent * w.col(q));
        w.col(q) = cosine * (w.col(q) + tangent * w.col(p));
        w.col(p) = rotated;
      }
  }
  long double sum = 0;
  for (Eigen::Index j = 0; j < w.cols(); ++j) sum += square_root(w.col(j).squaredNorm());
  return sum;
}

TEST(Certificate, the_nuclear_norm_that_it_is_compared_with_is_that_of_an_svd) {
  std::mt19937 bits(13);
  for (const std::int64_t n : {1, 2, 7, 20})
    for (const Workload& workload : bounded_workloads(n)) {
      const std::vector<double> weights = spread_random_weights(n, bits, 10);
      const Matrix w =
          Eigen::Map<const Vector>(weights.data(), index_of(n)).asDiagonal() * workload.matrix();
      const double expected = testing::singular_values(w).sum();
      const auto norm = static_cast<double>(nuclear_norm(w.cast<long double>()));
      EXPECT_TRUE(relatively_close(norm, expected, 1e-13)) << workload.name() << " " << n;
    }
}

/// ||D_u^(1/2) A D_v^(1/2)||_* / sqrt(sum u sum v) in extended precision.
long double nuclear_bound(const Workload& workload, const std::vector<double>& u,
                          const std::vector<double>& v) {
  ExtendedMatrix w = workload.matrix().cast<long double>();
  long double row_sum = 0, column_sum = 0;
  for (Eigen::Index i = 0; i < w.rows(); ++i) {
    const long double row = u[static_cast<std::size_t>(i)], column = v[static_cast<std::size_t>(i)];
    w.row(i) *= square_root(row);
    w.col(i) *= square_root(column);
    row_sum += row;
    column_sum += column;
  }
  return nuclear_norm(w) / square_root(row_sum * column_sum);
}

TEST(Certificate, is_the_nuclear_norm_never_above_it_and_hardly_below) {
  std::mt19937 bits(12);
  for (const std::int64_t n : {1, 4, 20})
    for (const Workload& workload : bounded_workloads(n))
      for (const double spread : {0.0, 2.0, 10.0, 60.0}) {
        const std::vector<double> u = spread_random_weights(n, bits, spread);
        const std::vector<double> v = spread_random_weights(n, bits, spread);
        const auto certified = static_cast<long double>(max_error_certificate(workload, u, v));
        const long double exact = nuclear_bound(workload, u, v);
        EXPECT_LE(certified, exact) << workload.name() << " " << n << " " << spread;
        EXPECT_GE(certified, exact * (spread > 10 ? 0.9L : 1 - 1e-11L));
      }
}

TEST(Certificate, certificates_hold_for_any_weights) {
  std::mt19937 bits(11);
  for (const std::int64_t n : {1, 2, 5, 12, 33})
    for (const Workload& workload : bounded_workloads(n))
      for (const double spread : {0.0, 2.0, 30.0}) {
        const std::vector<double> u = spread_random_weights(n, bits, spread);
        const std::vector<double> v = spread_random_weights(n, bits, spread);
        const double mean = mean_error_certificate(workload, v);
        const double max = max_error_certificate(workload, u, v);
        EXPECT_GT(max, 0);
        Matrix encoder = Matrix::Identity(index_of(n), index_of(n));
        for (const double weight : {0.0, 0.2, 0.5}) {
          encoder.triangularView<Eigen::StrictlyLower>().setConstant(weight);
          const Errors errors = errors_of_encoder(workload, encoder);
          EXPECT_LE(mean, errors.mean * (1 + 1e-14)) << workload.name() << " " << n;
          EXPECT_LE(max, errors.max * (1 + 1e-14)) << workload.name() << " " << n;
        }
      }
}

TEST(Certificate, is_attained_by_the_optimum) {
  for (const auto& optimum : golden::certificates::optima) {
    const std::string_view objective = optimum.objective;
    std::vector<double> v;
    for (const auto& row : golden::certificates::weights)
      if (row.objective == objective && row.n == optimum.n) v.push_back(row.column_weight);
    ASSERT_EQ(std::ssize(v), optimum.n);
    // For a Toeplitz workload the best row weights are the best column weights reversed.
    const std::vector<double> u(v.rbegin(), v.rend());
    const Workload workload = Workload::prefix_sums(optimum.n);
    const double certified = objective == "mean" ? mean_error_certificate(workload, v)
                                                 : max_error_certificate(workload, u, v);
    EXPECT_TRUE(relatively_close(certified, optimum.optimum, 1e-12)) << objective << optimum.n;
    EXPECT_LE(certified, optimum.optimum * (1 + 1e-14));
    // Weights in the table sum to 1; doubling them exposes a certificate without the division by
    // sqrt(sum v).
    std::vector<double> doubled = v;
    for (double& weight : doubled) weight *= 2;
    EXPECT_TRUE(relatively_close(mean_error_certificate(workload, doubled),
                                 mean_error_certificate(workload, v), 1e-14));
  }
}

TEST(Certificate, the_nuclear_norm_itself_is_no_bound_on_the_error_of_one_step) {
  // A certificate that forgets sqrt(n) claims more than the optimum attains, and must be rejected.
  const double certified = mean_error_certificate(Workload::prefix_sums(8), ones(8));
  EXPECT_GT(certified * std::sqrt(8.0), catalogue_error("square-root", 8).mean_error);
  EXPECT_LT(certified, catalogue_error("square-root", 8).mean_error);
}

TEST(Certificate, is_attained_by_a_diagonal_workload) {
  // For a diagonal A, C = I and B = A have mean error ||A||_F / sqrt(n); v_i = a_i^2 certifies it.
  Matrix diagonal = Matrix::Zero(4, 4);
  diagonal.diagonal() << 1, -2, 0.5, 3;
  const Workload workload = Workload::lower_triangular(diagonal);
  const std::vector<double> squares = {1, 4, 0.25, 9};
  EXPECT_TRUE(
      relatively_close(mean_error_certificate(workload, squares), diagonal.norm() / 2, 1e-13));
  // The largest error is 3: all weight is on the last row, and irrelevant columns get almost none.
  const std::vector<double> last = {0, 0, 0, 1}, columns = {1e-30, 1e-30, 1e-30, 1};
  EXPECT_TRUE(relatively_close(max_error_certificate(workload, last, columns), 3, 1e-12));
}

TEST(Certificate, extreme_scales_stay_valid) {
  Matrix matrix = Matrix::Zero(3, 3);
  matrix.diagonal() << 1e200, 1e-200, 1;
  matrix(2, 0) = 1e150;
  const Workload workload = Workload::lower_triangular(matrix);
  const double certified = mean_error_certificate(workload, ones(3));
  EXPECT_GT(certified, 0);
  EXPECT_LE(certified, errors_of_encoder(workload, Matrix::Identity(3, 3)).max);
  EXPECT_LE(certified, 1e200);
  const std::vector<double> tiny = {1e-300, 1e300, 1};
  EXPECT_LE(mean_error_certificate(Workload::prefix_sums(3), tiny), 1.2393360653241812);
}

TEST(ErrorLowerBound, closed_form_or_certificate) {
  EXPECT_TRUE(relatively_close(error_lower_bound(Workload::prefix_sums(4096)),
                               schatten_lower_bound(4096), 1e-14));
  const Workload momentum = Workload::momentum({.steps = 100, .momentum = 0.9, .decay = 0.999});
  EXPECT_TRUE(relatively_close(error_lower_bound(momentum),
                               mean_error_certificate(momentum, ones(100)), 1e-14));
}

TEST(ErrorLowerBound, blocks_bound_the_whole) {
  std::vector<double> rates;
  for (int i = 0; i < 300; ++i) rates.push_back((i % 3 == 1 ? -1 : 1) / (1 + 0.1 * i));
  const Workload window = Workload::sliding_window({.steps = 300, .window = 4});
  for (const Workload& workload :
       {window, Workload::learning_rates({.rates = rates, .momentum = 0.5}),
        Workload::lower_triangular(window.matrix())}) {
    const double whole = mean_error_certificate(workload, ones(300));
    const double bound = error_lower_bound(workload);
    EXPECT_LE(bound, whole) << workload.name();
    EXPECT_GE(bound, whole * 0.8) << workload.name();
  }
  // Largest horizons, and workloads whose blocks are single steps.
  const double far = error_lower_bound(
      Workload::momentum({.steps = std::int64_t{1} << 40, .momentum = 0.9, .decay = 0.9}));
  EXPECT_GE(far,
            error_lower_bound(Workload::momentum({.steps = 128, .momentum = 0.9, .decay = 0.9})) *
                (1 - 1e-8));
  EXPECT_LE(far, 6);
  rates.assign(5000, -0.25);
  EXPECT_NEAR(error_lower_bound(Workload::learning_rates({.rates = rates})), 0.25, 1e-8);
}

TEST(Bounds, beyond_the_sum_it_is_below_it_and_grows_as_it_does) {
  const std::int64_t last = std::int64_t{1} << 22;
  const double summed = schatten_lower_bound(last), truncated = schatten_lower_bound(last + 1);
  EXPECT_LT(truncated, summed) << "one step more adds 10^-7";
  EXPECT_GT(truncated, summed * (1 - 5e-4));
  // The sum is ln n / pi + 0.7019... + o(1).
  const double constant = summed - std::log(static_cast<double>(last)) / std::numbers::pi;
  for (const int bits : {23, 30, 40}) {
    const double limit = bits * std::numbers::ln2 / std::numbers::pi + constant;
    EXPECT_LT(schatten_lower_bound(std::int64_t{1} << bits), limit * (1 + 1e-6));
    EXPECT_GT(schatten_lower_bound(std::int64_t{1} << bits), limit * (1 - 5e-4));
  }
}

TEST(ErrorLowerBound, the_fewest_patterns_that_cover_all_steps_are_counted) {
  const auto apart = [](std::int64_t k, std::int64_t b) {
    return Participation::min_separation({.times = k, .apart = b});
  };
  for (std::int64_t n = 1; n <= 12; ++n) {
    EXPECT_EQ(num_patterns_to_cover(n, Participation::single()), n);
    for (std::int64_t k = 1; k <= 5; ++k)
      for (std::int64_t b = 1; b <= 14; ++b) {
        // Partitions the steps into patterns: every b-th step, at most k of them, until no step is
        // left.
        std::vector<bool> is_covered(static_cast<std::size_t>(n));
        std::int64_t count = 0;
        for (std::int64_t first = 0; first < n; ++first) {
          if (is_covered[static_cast<std::size_t>(first)]) continue;
          ++count;
          for (std::int64_t i = 0; i < k && first + i * b < n; ++i)
            is_covered[static_cast<std::size_t>(first + i * b)] = true;
        }
        EXPECT_EQ(num_patterns_to_cover(n, apart(k, b)), count) << n << " " << k << " " << b;
      }
  }
  const Participation epochs = Participation::fixed_epoch({.epochs = 4, .epoch_length = 6});
  EXPECT_EQ(num_patterns_to_cover(24, epochs), 6);
  EXPECT_ERROR((void)num_patterns_to_cover(23, epochs), "invalid_argument", "");
}

TEST(ErrorLowerBound, repeats_raise_it_as_far_as_the_optimum_for_epochs_allows) {
  // Least mean errors at 64 steps.
  for (const auto& [k, least] : {std::pair{2, 2.973025}, {4, 4.407853}, {8, 7.008548}}) {
    const Participation epochs = Participation::fixed_epoch({.epochs = k, .epoch_length = 64 / k});
    const double bound = error_lower_bound(Workload::prefix_sums(64), epochs);
    EXPECT_LE(bound, least * (1 + 1e-6));
    EXPECT_GE(bound, least * 0.8);
  }
}

TEST(ErrorLowerBound, lies_below_factorizations_of_every_workload) {
  for (const std::int64_t n : {1, 2, 3, 7, 40})
    for (const Workload& workload : bounded_workloads(n)) {
      const double bound = error_lower_bound(workload);
      const Matrix identity = Matrix::Identity(index_of(n), index_of(n));
      EXPECT_LE(bound, errors_of_encoder(workload, identity).mean * (1 + 1e-14)) << workload.name();
      EXPECT_LE(bound, errors_of_encoder(workload, workload.matrix()).mean * (1 + 1e-14));
    }
}

TEST(Bounds, bad_input_is_refused_by_name) {
  EXPECT_ERROR((void)schatten_lower_bound(0), "invalid_argument", "steps must be between");
  EXPECT_ERROR((void)published_lower_bound(0), "invalid_argument",
               "published_lower_bound: steps must be between");
  const Workload three = Workload::prefix_sums(3);
  EXPECT_ERROR((void)mean_error_certificate(three, ones(2)), "wrong_length", "column_weights");
  EXPECT_ERROR((void)mean_error_certificate(three, std::vector<double>{1, 0, 1}),
               "invalid_argument", "column_weights[1] must be positive");
  EXPECT_ERROR((void)mean_error_certificate(three, std::vector<double>{1, 1, std::nan("")}),
               "invalid_argument", "column_weights[2]");
  EXPECT_ERROR((void)max_error_certificate(three, std::vector<double>{0, 0, 0}, ones(3)),
               "invalid_argument", "row_weights must be non-negative and not all zero, got 0");
  EXPECT_ERROR((void)max_error_certificate(three, std::vector<double>{1, -1, 1}, ones(3)),
               "invalid_argument", "row_weights[1] must be non-negative");
  EXPECT_ERROR((void)mean_error_certificate(Workload::prefix_sums(1025), ones(1025)), "unsupported",
               "mean_error_certificate: steps must be at most 1024, got 1025");
}

}  // namespace
}  // namespace dpftrl
