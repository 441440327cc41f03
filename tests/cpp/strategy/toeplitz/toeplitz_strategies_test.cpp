// SPDX-License-Identifier: Apache-2.0
// Strategies with Toeplitz encoders, column normalisation, workloads other than prefix sums, and
// the parameters that the catalogue takes.
#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <string_view>

#include "base/toeplitz_matrix.hpp"
#include "catalogue.hpp"
#include "dense_algebra.hpp"
#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "golden/blt_closed_form_golden.hpp"
#include "golden/blt_normalized_golden.hpp"
#include "golden/blt_rational_golden.hpp"
#include "golden/mechanisms_golden.hpp"
#include "golden/momentum_golden.hpp"
#include "long_doubles.hpp"
#include "math/toeplitz.hpp"
#include "strategy/toeplitz/banded.hpp"
#include "strategy/toeplitz/blt.hpp"
#include "strategy/toeplitz/filtered.hpp"
#include "strategy/toeplitz/identity.hpp"
#include "strategy/toeplitz/lambda_cgd.hpp"
#include "strategy/toeplitz/scaled_square_root.hpp"
#include "strategy/toeplitz/scaled_toeplitz.hpp"
#include "strategy/toeplitz/scaled_window.hpp"
#include "strategy/toeplitz/square_root.hpp"
#include "strategy/toeplitz/toeplitz_base.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::awkward_horizons;
using testing::relatively_close;

std::shared_ptr<const Strategy> toeplitz_made(std::string_view name, std::int64_t steps,
                                              StrategyParameters parameters = {}) {
  return make_strategy({.name = std::string(name),
                        .steps = steps,
                        .workload = {},
                        .parameters = std::move(parameters)});
}

UnitError single_error(const Strategy& strategy) {
  return unit_error(strategy, Participation::single());
}

std::vector<Workload> workloads_of(std::int64_t n) {
  std::vector<double> rates(static_cast<std::size_t>(n));
  for (std::size_t t = 0; t < rates.size(); ++t) rates[t] = 1 / (1 + 0.25 * static_cast<double>(t));
  Matrix matrix = Matrix::Zero(testing::index_of(n), testing::index_of(n));
  for (Eigen::Index i = 0; i < matrix.rows(); ++i)
    for (Eigen::Index j = 0; j <= i; ++j)
      matrix(i, j) = i == j ? 1.5 : std::sin(static_cast<double>(3 * i + 5 * j));
  return {Workload::prefix_sums(n),
          Workload::momentum({.steps = n, .momentum = 0.9}),
          Workload::momentum({.steps = n, .momentum = 0.9, .decay = 0.99}),
          Workload::momentum({.steps = n, .momentum = 0, .decay = 0.5}),
          Workload::sliding_window({.steps = n, .window = 3}),
          Workload::sliding_window({.steps = n, .window = 1}),
          Workload::learning_rates({.rates = rates, .momentum = 0}),
          Workload::learning_rates({.rates = rates, .momentum = 0.9}),
          Workload::lower_triangular(matrix),
          Workload::lower_triangular(testing::rough_toeplitz_matrix(n))};
}

/// Runs a law for every family, horizon and workload, with and without column normalisation.
template <class Law>
void for_every_factorization(Law&& law) {
  for (const StrategyInfo& info : strategy_catalogue())
    for (const std::int64_t n : awkward_horizons())
      for (const Workload& workload : workloads_of(n))
        for (const bool normalize : {false, true}) {
          if (normalize && info.name == "optimal" && !workload.is_prefix()) continue;  // refused
          if (testing::is_optimised(info) && n > 3) continue;  // the searches are long
          SCOPED_TRACE(std::string(info.name) + ", n = " + std::to_string(n) + ", " +
                       workload.name() + (normalize ? ", normalised" : ""));
          StrategyParameters parameters;
          parameters.normalize_columns = normalize;
          law(*make_strategy({.name = std::string(info.name),
                              .steps = n,
                              .workload = workload,
                              .parameters = parameters}));
        }
}

bool factorizes_workload(const Matrix& decoder, const Matrix& encoder, const Workload& workload) {
  const Matrix expected = workload.matrix();
  return (decoder * encoder - expected).cwiseAbs().maxCoeff() <=
         1e-12 * std::max(1.0, expected.cwiseAbs().maxCoeff());
}

/// True if the norms that a strategy reports agree with these matrices.
bool has_norms_of(const Strategy& s, const Matrix& decoder, const Matrix& encoder) {
  constexpr double kTolerance = 1e-11;
  const Vector columns = encoder.colwise().squaredNorm().transpose();
  const Vector rows = decoder.rowwise().squaredNorm();
  bool agree = encoder.rows() == s.num_measurements();
  const auto check = [&](double stated, double dense) {
    agree = agree && relatively_close(stated, dense, kTolerance);
  };
  for (Eigen::Index j = 0; j < columns.size(); ++j) {
    check(s.column_norm_squared(j), columns(j));
    check(s.row_norm_squared(j), rows(j));
  }
  check(s.max_column_norm_squared(), columns.maxCoeff());
  const RowNorms norms = s.row_norms();
  check(norms.min_squared, rows.minCoeff());
  check(norms.max_squared, rows.maxCoeff());
  check(norms.mean_squared, rows.mean());
  return agree;
}

TEST(StrategyToeplitz, decoder_times_encoder_is_the_workload_for_every_family) {
  for_every_factorization([](const Strategy& s) {
    EXPECT_TRUE(factorizes_workload(s.decoder(), s.encoder(), s.workload()));
  });
}

TEST(StrategyToeplitz, norms_are_those_of_the_matrices) {
  for_every_factorization(
      [](const Strategy& s) { EXPECT_TRUE(has_norms_of(s, s.decoder(), s.encoder())); });
}

TEST(StrategyToeplitz, wrong_norms_and_factors_are_noticed) {
  const auto s = toeplitz_made("nu", 16);
  const Matrix decoder = s->decoder(), encoder = s->encoder();
  EXPECT_TRUE(has_norms_of(*s, decoder, encoder));
  // Sensitivity with fewer coefficients than steps.
  Matrix shortened = encoder;
  shortened.bottomRows(1).setZero();
  EXPECT_FALSE(has_norms_of(*s, decoder, shortened));
  // Columns that are not normalised.
  StrategyParameters parameters;
  parameters.normalize_columns = true;
  const auto normalized = toeplitz_made("nu", 16, parameters);
  EXPECT_FALSE(has_norms_of(*normalized, normalized->decoder(), encoder));
  // Variances used as standard deviations.
  EXPECT_FALSE(has_norms_of(*s, decoder.cwiseAbs2(), encoder));
  EXPECT_FALSE(factorizes_workload(normalized->decoder(), encoder, s->workload()));
}

/// First column of a lower-triangular Toeplitz matrix; empty if the matrix is not of this kind.
std::vector<double> toeplitz_column(const Matrix& matrix) {
  if (matrix.rows() != matrix.cols()) return {};
  std::vector<double> column(static_cast<std::size_t>(matrix.rows()));
  for (std::size_t i = 0; i < column.size(); ++i)
    column[i] = matrix(static_cast<Eigen::Index>(i), 0);
  return matrix == lower_triangular_toeplitz(column) ? column : std::vector<double>();
}

TEST(StrategyToeplitz, claims_about_the_encoder_are_true) {
  for_every_factorization([](const Strategy& s) {
    const Matrix encoder = s.encoder();
    const std::span<const double> stated = s.toeplitz_encoder();
    if (!stated.empty()) {
      EXPECT_EQ(std::vector<double>(stated.begin(), stated.end()), toeplitz_column(encoder));
    }
    if (s.has_nonnegative_gram()) {
      EXPECT_GE((encoder.transpose() * encoder).minCoeff(), 0);
    }
    if (s.bands() > 0) {
      ASSERT_EQ(encoder.rows(), encoder.cols());
      for (Eigen::Index i = 0; i < encoder.rows(); ++i)
        for (Eigen::Index j = 0; j < encoder.cols(); ++j)
          if (std::abs(i - j) >= s.bands()) {
            EXPECT_EQ(encoder(i, j), 0);
          }
    }
    EXPECT_GE(s.encoder_slack(), 0);
    EXPECT_LE(s.encoder_slack(), 1e-9);
  });
}

TEST(StrategyToeplitz, the_square_root_of_a_matrix_is_its_own) {
  // A matrix of prefix sums is treated as prefix sums.
  const Matrix ones = Workload::prefix_sums(64).matrix();
  const auto plain = toeplitz_made("square-root", 64);
  const auto root_of = [](const Matrix& matrix) {
    return make_strategy({.name = "square-root",
                          .steps = matrix.rows(),
                          .workload = Workload::lower_triangular(matrix)});
  };
  EXPECT_LE((root_of(ones)->encoder() - plain->encoder()).cwiseAbs().maxCoeff(), 1e-15);
  EXPECT_NEAR(single_error(*root_of(ones)).max_error, single_error(*plain).max_error, 1e-12);
  for (const std::int64_t n : awkward_horizons()) {
    const Matrix rough = testing::rough_toeplitz_matrix(n);
    const Matrix root = root_of(rough)->encoder();
    EXPECT_LE((-2 * root * root - rough).cwiseAbs().maxCoeff(), 1e-14) << n;
  }
  // One changed entry breaks the Toeplitz structure: the root of prefix sums is used, as for any
  // matrix.
  Matrix uneven = ones;
  uneven(40, 3) = 1.25;
  EXPECT_LE((root_of(uneven)->encoder() - plain->encoder()).cwiseAbs().maxCoeff(), 1e-15);
}

TEST(StrategyToeplitz, a_root_that_explodes_is_not_taken) {
  constexpr std::int64_t kNumSteps = 64;
  const auto plain = toeplitz_made("square-root", kNumSteps);
  const auto with_column = [&](std::vector<double> column) {
    column.resize(kNumSteps, column.back());
    return make_strategy(
        {.name = "square-root",
         .steps = kNumSteps,
         .workload = Workload::lower_triangular(lower_triangular_toeplitz(column))});
  };
  for (const std::vector<double>& column :
       {std::vector<double>{1e-9, 1}, std::vector<double>{1, 2, 0}, std::vector<double>{1, -30, 0}})
    EXPECT_LE((with_column(column)->encoder() - plain->encoder()).cwiseAbs().maxCoeff(), 1e-15);
  // Rescaling the workload leaves the encoder unchanged, and the noise can be streamed.
  for (const double unit : {1e6, -1e-5}) {
    const auto scaled = with_column({unit, unit});
    EXPECT_LE((scaled->encoder() - plain->encoder()).cwiseAbs().maxCoeff(), 1e-15);
    NoiseStream stream(*scaled, {.key = Key::insecure_from_seed(1), .dimension = 1});
    std::vector<double> row(1);
    EXPECT_NO_THROW(stream.next(row));
  }
}

TEST(StrategyToeplitz, a_negative_coefficient_makes_no_claim_about_the_gram_matrix) {
  const Workload window = Workload::sliding_window({.steps = 16, .window = 3});
  const auto s = make_strategy({.name = "square-root", .steps = 16, .workload = window});
  EXPECT_LT((s->encoder().transpose() * s->encoder()).minCoeff(), 0);
  EXPECT_FALSE(s->has_nonnegative_gram());
}

TEST(StrategyToeplitz, log_perturbed_coefficients_are_known_ones_beyond_a_thousand) {
  // Coefficients of (1-x)^(-1/2) (-ln(1-x) / x)^(-1/2-alpha) with 45 digits, by the recurrence for
  // powers of a series, in mpmath.
  struct Known {
    double alpha;
    std::size_t step;
    double coefficient;
  };
  for (const Known& known :
       {Known{0.01, 1, 0.245}, Known{0.01, 2, 0.1737624999999999999311},
        Known{0.01, 100, 0.02027084895297834919035}, Known{0.01, 1001, 0.005668825841575096028142},
        Known{0.01, 1500, 0.00454089098039534879451}, Known{0.01, 2047, 0.003830379563299388692654},
        Known{0.5, 2, 1.0 / 24}, Known{0.5, 100, 0.00715061377666727071032},
        Known{0.5, 1001, 0.001833910586502865592314}, Known{0.5, 1500, 0.001445761416251331933451},
        Known{0.5, 2047, 0.001204770861719840838568}}) {
    StrategyParameters parameters;
    parameters.alpha = known.alpha;
    const auto strategy = toeplitz_made("log-perturbed", 2048, parameters);
    EXPECT_TRUE(
        relatively_close(strategy->toeplitz_encoder()[known.step], known.coefficient, 1e-13))
        << known.alpha << " " << known.step;
  }
}

/// Largest column norm of the exact encoder of a stored lower-triangular decoder, in long double.
long double exact_column_norm(std::span<const double> decoder, std::span<const double> workload) {
  std::vector<long double> encoder(decoder.size());
  long double sum = 0;
  for (std::size_t t = 0; t < decoder.size(); ++t) {
    long double rest = workload[t];
    for (std::size_t i = 1; i <= t; ++i) rest -= decoder[i] * encoder[t - i];
    encoder[t] = rest / decoder[0];
    sum += encoder[t] * encoder[t];
  }
  return testing::square_root(sum);
}

/// Names of the families whose decoders are stored coefficients, as they are at 8 steps.
std::vector<std::string> families_that_store_decoders() {
  std::vector<std::string> names;
  for (const StrategyInfo& info : strategy_catalogue()) {
    const auto s = make_strategy({.name = std::string(info.name),
                                  .steps = 8,
                                  .parameters = testing::quick_parameters(info)});
    if (std::holds_alternative<ToeplitzDecoder>(s->decoder_form())) names.emplace_back(info.name);
  }
  return names;
}

TEST(StrategyToeplitz, slack_covers_the_exact_encoder_of_the_stored_decoder) {
  const std::int64_t n = 1500;
  const std::vector<Workload> workloads = {
      Workload::prefix_sums(n), Workload::momentum({.steps = n, .momentum = 0.9, .decay = 1}),
      Workload::sliding_window({.steps = n, .window = 7})};
  const std::vector<std::string> names = families_that_store_decoders();
  EXPECT_GE(names.size(), 3U) << "square-root, nu and log-perturbed do";
  for (const std::string& name : names)
    for (const Workload& workload : workloads) {
      const auto s =
          make_strategy({.name = name, .steps = n, .workload = workload, .parameters = {}});
      const DecoderForm form = s->decoder_form();
      const auto* toeplitz = std::get_if<ToeplitzDecoder>(&form);
      const auto* filtered = std::get_if<FilteredDecoder>(&form);
      // A filtered decoder is exact: its encoder is that of prefix sums.
      if (filtered != nullptr) toeplitz = std::get_if<ToeplitzDecoder>(filtered->base.get());
      ASSERT_NE(toeplitz, nullptr) << name;
      const Workload decoded = filtered != nullptr ? Workload::prefix_sums(n) : workload;
      const long double exact = exact_column_norm(toeplitz->coefficients, decoded.coefficients());
      const double stated = std::sqrt(s->max_column_norm_squared());
      const double rounding = 1e-15;  // rounding of the reported norm
      EXPECT_LE(static_cast<double>(exact / stated - 1), s->encoder_slack() + rounding) << name;
      // The check can fail: it rejects a decoder with a coefficient off by 1e-9.
      std::vector<double> wrong = toeplitz->coefficients;
      wrong[1] *= 1 - 1e-9;
      EXPECT_GT(static_cast<double>(exact_column_norm(wrong, decoded.coefficients()) / stated - 1),
                1e-11);
    }
}

TEST(StrategyToeplitz, norms_of_encoders_given_by_their_inverse_are_exact_to_2_to_the_minus_40) {
  // No slack is claimed here, because the stored bands, decays and weights define C. Expected norms
  // are computed in long double.
  const std::int64_t n = 100000;
  const auto banded = toeplitz_made("banded-inverse-square-root", n);
  const auto bands = std::get<BandedInverseDecoder>(banded->decoder_form()).coefficients;
  std::vector<long double> c(static_cast<std::size_t>(n));
  long double sum = 0;
  for (std::size_t t = 0; t < c.size(); ++t) {
    long double rest = t == 0 ? 1 : 0;
    for (std::size_t i = 1; i < bands.size() && i <= t; ++i) rest -= bands[i] * c[t - i];
    c[t] = rest / bands[0];
    sum += c[t] * c[t];
  }
  EXPECT_TRUE(
      relatively_close(banded->max_column_norm_squared(), static_cast<double>(sum), 0x1p-40));

  const auto buffered = toeplitz_made("blt-rational", n);
  const auto form = std::get<BufferedDecoder>(buffered->decoder_form());
  std::vector<long double> terms(form.weights.begin(), form.weights.end());
  sum = 1;
  for (std::int64_t j = 1; j < n; ++j) {
    long double coefficient = 0;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      coefficient += terms[i];
      terms[i] *= form.decays[i];
    }
    sum += coefficient * coefficient;
  }
  EXPECT_TRUE(
      relatively_close(buffered->max_column_norm_squared(), static_cast<double>(sum), 0x1p-40));
}

TEST(StrategyToeplitz, golden_errors_with_parameters) {
  for (const auto& golden : golden::mechanisms::parametrised) {
    SCOPED_TRACE(std::string(golden.name) + ", n = " + std::to_string(golden.num_steps) + ", " +
                 std::to_string(golden.parameter));
    StrategyParameters parameters;
    if (std::string_view(golden.name) == "lambda-cgd") {
      parameters.lambda = golden.parameter;
    } else if (std::string_view(golden.name) == "nu") {
      parameters.nu = golden.parameter;
    } else if (std::string_view(golden.name).starts_with("banded-")) {
      parameters.bands = static_cast<std::int64_t>(golden.parameter);
    } else {
      ADD_FAILURE() << "add a branch for the parameter of this family";
      continue;
    }
    const UnitError error = single_error(*toeplitz_made(golden.name, golden.num_steps, parameters));
    EXPECT_TRUE(relatively_close(error.sensitivity.value, golden.sensitivity, 1e-12));
    EXPECT_TRUE(relatively_close(error.max_error, golden.max_error, 1e-12));
    EXPECT_TRUE(relatively_close(error.mean_error, golden.mean_error, 1e-12));
    if (golden.is_best_max) {
      const double found = single_error(*toeplitz_made("lambda-cgd", golden.num_steps)).max_error;
      EXPECT_TRUE(relatively_close(found, golden.max_error, 1e-13));
    }
  }
}

TEST(StrategyToeplitz, golden_momentum) {
  for (const auto& golden : golden::momentum::square_root) {
    const Workload workload = Workload::momentum(
        {.steps = golden.num_steps, .momentum = golden.momentum, .decay = golden.decay});
    const auto s = make_strategy(
        {.name = "square-root", .steps = golden.num_steps, .workload = workload, .parameters = {}});
    const UnitError error = single_error(*s);
    EXPECT_TRUE(relatively_close(error.sensitivity.value, golden.sensitivity, 1e-12));
    EXPECT_TRUE(relatively_close(error.max_error, golden.max_error, 1e-12));
    EXPECT_TRUE(relatively_close(error.mean_error, golden.mean_error, 1e-12));
    EXPECT_TRUE(relatively_close(s->toeplitz_encoder()[1], golden.second, 1e-15));
  }
}

template <class Buffers>
StrategyParameters parameters_of(const Buffers& golden, double buffers) {
  const auto size = static_cast<std::size_t>(buffers);
  StrategyParameters parameters;
  parameters.decays.assign(golden.theta, golden.theta + size);
  const std::vector<double> inverse(golden.theta_hat, golden.theta_hat + size);
  parameters.weights = buffer_weights(parameters.decays, inverse);
  return parameters;
}

TEST(StrategyToeplitz, golden_buffers) {
  for (const auto& golden : golden::blt_closed_form::buffers) {
    SCOPED_TRACE(std::to_string(golden.n) + ", " + std::to_string(golden.d));
    const auto n = static_cast<std::int64_t>(golden.n);
    const StrategyParameters parameters = parameters_of(golden, golden.d);
    for (std::size_t i = 0; i < parameters.weights.size(); ++i)
      EXPECT_TRUE(relatively_close(parameters.weights[i], golden.omega[i], 1e-11));
    const UnitError error = single_error(*toeplitz_made("blt", n, parameters));
    EXPECT_TRUE(relatively_close(error.sensitivity.value, golden.sens, 1e-12));
    EXPECT_TRUE(relatively_close(error.max_error, golden.maxerr, 1e-12));
    EXPECT_TRUE(relatively_close(error.mean_error, golden.rmse, 1e-12));
  }
}

TEST(StrategyToeplitz, golden_normalised_buffers) {
  for (const auto& golden : golden::blt_normalized::buffers) {
    SCOPED_TRACE(std::to_string(golden.n) + ", " + std::to_string(golden.buffers));
    StrategyParameters parameters = parameters_of(golden, golden.buffers);
    parameters.normalize_columns = true;
    const auto s = toeplitz_made("blt", static_cast<std::int64_t>(golden.n), parameters);
    const UnitError error = single_error(*s);
    EXPECT_TRUE(relatively_close(error.max_error, golden.maxerr, 1e-12));
    EXPECT_TRUE(relatively_close(error.mean_error, golden.rmse, 1e-12));
    EXPECT_NEAR(error.sensitivity.value, 1, 1e-15);
  }
}

TEST(StrategyToeplitz, golden_rational_approximation) {
  for (const auto& golden : golden::blt_rational::errors) {
    SCOPED_TRACE(std::string(golden.variant) + ", " + std::to_string(golden.d) +
                 " buffers, n = " + std::to_string(golden.n));
    const bool published = std::string_view(golden.variant) == "paper";
    const BufferParameters buffers =
        rational_buffers(golden.d, published ? RationalNodes::published : RationalNodes::shifted);
    StrategyParameters parameters;
    parameters.decays = buffers.decays;
    parameters.weights = buffers.weights;
    const UnitError error = single_error(*toeplitz_made("blt", golden.n, parameters));
    EXPECT_TRUE(relatively_close(error.max_error, golden.maxerr, 1e-12));
  }
}

TEST(StrategyToeplitz, shifted_nodes_are_better_at_long_horizons) {
  for (const std::int64_t d : {2, 3, 5, 10}) {
    const BufferParameters published = rational_buffers(d, RationalNodes::published);
    StrategyParameters parameters, shifted;
    parameters.decays = published.decays;
    parameters.weights = published.weights;
    shifted.buffers = d;
    EXPECT_LT(single_error(*toeplitz_made("blt-rational", 10000, shifted)).max_error,
              single_error(*toeplitz_made("blt", 10000, parameters)).max_error);
  }
}

TEST(StrategyToeplitz, log_perturbed_norms_at_2048_steps_and_capped_horizons) {
  const auto norm = [](double delta, std::int64_t steps) {
    StrategyParameters parameters;
    parameters.loglog_power = delta;
    parameters.horizon_cap = 2048;
    return toeplitz_made("log-perturbed", steps, parameters)->max_column_norm_squared();
  };
  // The norm is that of the cap, independently of steps.
  for (const std::int64_t n : {1, 100, 2048}) {
    EXPECT_NEAR(norm(0, n), 1.38, 5e-3);
    EXPECT_NEAR(norm(0.51, n), 2.54, 5e-3);
    EXPECT_NEAR(norm(0.612, n), 2.99, 5e-3);
  }
  const auto uncapped = toeplitz_made("log-perturbed", 100);
  EXPECT_LT(uncapped->max_column_norm_squared(), norm(0, 100));
}

TEST(StrategyToeplitz, lambda_closed_forms_hold_at_any_horizon) {
  // Compared with the sum of powers in long double.
  for (const double lambda : {0.0, 0.5, 0.999, 1 - 0x1p-30}) {
    const std::int64_t n = 100000;
    StrategyParameters parameters;
    parameters.lambda = lambda;
    const auto s = toeplitz_made("lambda-cgd", n, parameters);
    long double sum = 0, power = 1;
    for (std::int64_t j = 0; j < n; ++j) {
      sum += power;
      power *= static_cast<long double>(lambda) * lambda;
    }
    EXPECT_TRUE(relatively_close(s->max_column_norm_squared(), static_cast<double>(sum), 1e-14));
  }
  // Computes 1 - q^n at n = 2^40 by expm1 and log1p, with q = (1 - 2^-41)^2.
  StrategyParameters parameters;
  parameters.lambda = 1 - 0x1p-41;
  const auto s = toeplitz_made("lambda-cgd", kMaxNumSteps, parameters);
  const long double log_lambda = std::log1p(testing::opaque(-0x1p-41L));
  const long double expected = std::expm1(2 * log_lambda * 0x1p40L) / std::expm1(2 * log_lambda);
  EXPECT_TRUE(relatively_close(s->max_column_norm_squared(), static_cast<double>(expected), 1e-14));
}

TEST(StrategyToeplitz, best_lambda_is_a_minimum) {
  for (const std::int64_t n : {2, 3, 10, 1000, 1000000}) {
    const auto max_error = [n](double lambda) {
      return single_error(LambdaCgdStrategy(n, lambda)).max_error;
    };
    const double best = best_lambda(n), least = max_error(best);
    const double ratio = testing::is_full_size() ? 1.1 : 1.9;
    for (double e = 1e-4; e < 1; e *= ratio) EXPECT_LE(least, max_error(1 - e) * (1 + 1e-15)) << n;
  }
}

TEST(StrategyToeplitz, nu_zero_is_the_square_root_and_the_default_has_less_mean_error) {
  StrategyParameters zero;
  zero.nu = 0;
  const UnitError root = single_error(*toeplitz_made("square-root", 1000));
  EXPECT_TRUE(relatively_close(single_error(*toeplitz_made("nu", 1000, zero)).max_error,
                               root.max_error, 1e-14));
  const UnitError damped = single_error(*toeplitz_made("nu", 1000));
  EXPECT_NEAR(damped.mean_error, 3.0588, 5e-5);
  EXPECT_LT(damped.mean_error, root.mean_error);
  EXPECT_GT(damped.max_error, root.max_error);
}

TEST(StrategyToeplitz, all_bands_are_the_square_root) {
  StrategyParameters parameters;
  parameters.bands = 100;
  for (const char* name : {"banded-square-root", "banded-inverse-square-root"})
    for (const std::int64_t n : {1, 5, 100}) {
      const Matrix difference = toeplitz_made(name, n, parameters)->encoder() -
                                toeplitz_made("square-root", n)->encoder();
      EXPECT_LE(difference.cwiseAbs().maxCoeff(), 1e-14) << name << " " << n;
    }
}

std::shared_ptr<const Strategy> random_toeplitz(std::int64_t n, std::mt19937_64& bits) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> encoder(static_cast<std::size_t>(n));
  for (double& c : encoder) c = uniform(bits);
  encoder[0] = 1 + uniform(bits) / 2;
  const Workload workload = Workload::prefix_sums(n);
  return std::make_shared<const ToeplitzStrategy>(
      workload, ToeplitzStrategy::Parts{.name = "random",
                                        .encoder = encoder,
                                        .decoder = workload.apply(reciprocal_series(encoder, n)),
                                        .form = BandedDecoder{encoder}});
}

/// True if normalising the columns increases the error at no step.
bool normalising_helps(const std::shared_ptr<const Strategy>& base, const Workload& workload) {
  const auto before = decoded_strategy(base, workload);
  const auto after = normalized_strategy(base, workload);
  const std::vector<double> old_errors = unit_error_per_step(*before, Participation::single());
  const std::vector<double> new_errors = unit_error_per_step(*after, Participation::single());
  bool helps = true;
  for (std::size_t t = 0; t < old_errors.size(); ++t)
    helps = helps && new_errors[t] <= old_errors[t] * (1 + 1e-12);
  return helps;
}

TEST(StrategyToeplitz, normalising_a_toeplitz_encoder_raises_no_error) {
  std::mt19937_64 bits(7);
  for (int trial = 0; trial < 500; ++trial) {
    const std::int64_t n = 1 + trial % 64;
    EXPECT_TRUE(normalising_helps(random_toeplitz(n, bits), Workload::prefix_sums(n))) << trial;
  }
}

TEST(StrategyToeplitz, normalising_may_raise_an_error_elsewhere) {
  // The law holds only for prefix sums: with momentum the same encoders give counterexamples.
  std::mt19937_64 bits(7);
  int raised = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const Workload momentum = Workload::momentum({.steps = 8, .momentum = 0.9});
    raised += normalising_helps(random_toeplitz(8, bits), momentum) ? 0 : 1;
  }
  EXPECT_GT(raised, 0);
}

TEST(StrategyToeplitz, normalised_columns_have_norm_one_to_rounding_and_say_so) {
  StrategyParameters parameters;
  parameters.normalize_columns = true;
  for (const char* name : {"square-root", "tree", "honaker", "lambda-cgd", "haar"}) {
    const auto base = toeplitz_made(name, 100), s = toeplitz_made(name, 100, parameters);
    EXPECT_EQ(s->name(), "normalized-" + std::string(name));
    const auto form = std::get<FilteredDecoder>(s->decoder_form());
    for (std::int64_t j = 0; j < 100; ++j) {
      EXPECT_NEAR(s->column_norm_squared(j), 1, 1e-15);
      const double scale = form.column_scales[static_cast<std::size_t>(j)];
      EXPECT_EQ(s->column_norm_squared(j), base->column_norm_squared(j) / scale / scale);
    }
  }
  EXPECT_EQ(toeplitz_made("normalized-square-root", 100)->row_norms().max_squared,
            toeplitz_made("square-root", 100, parameters)->row_norms().max_squared);
}

TEST(StrategyToeplitz, one_pass_over_four_rows_is_the_stream_of_single_rows) {
  // Compares the general recursion at momentum 0 with the fast path; rates of 1 give prefix sums.
  const std::int64_t n = 203;
  const auto base = toeplitz_made("nu", n);
  const Workload rates = Workload::learning_rates({.rates = std::vector<double>(203, 1.0)});
  const auto fast = normalized_strategy(base, Workload::prefix_sums(n));
  const auto with_rates = normalized_strategy(base, rates);
  const Vector dense = fast->decoder().rowwise().squaredNorm();
  for (std::int64_t t = 0; t < n; ++t) {
    EXPECT_TRUE(relatively_close(fast->row_norm_squared(t), dense(testing::index_of(t)), 1e-13));
    EXPECT_EQ(fast->row_norm_squared(t), with_rates->row_norm_squared(t));
  }
}

TEST(StrategyToeplitz, norms_of_scaled_square_roots_are_those_of_their_rows) {
  const auto expect_rows = [](const std::vector<double>& rows, const FilteredStrategy& expected) {
    for (std::size_t t = 0; t < rows.size(); ++t)
      EXPECT_TRUE(relatively_close(rows[t], expected.row_norm_squared(static_cast<std::int64_t>(t)),
                                   1e-12));
  };
  // Rates of 1 give prefix sums, row by row; other rates give another diagonal.
  for (const std::int64_t n : {1, 2, 3, 7, 64, 1000}) {
    const auto base = toeplitz_made("square-root", n);
    std::vector<double> ones(static_cast<std::size_t>(n), 1.0), waves;
    for (std::int64_t t = 0; t < n; ++t) waves.push_back(2 + std::sin(static_cast<double>(t)));
    for (const std::vector<double>& rates : {ones, waves}) {
      const Workload workload = Workload::learning_rates({.rates = rates});
      const auto rows = normalized_strategy(base, workload);
      std::vector<double> scales = std::get<FilteredDecoder>(rows->decoder_form()).column_scales;
      for (std::size_t t = 0; t < scales.size(); ++t) scales[t] *= rates[t];
      expect_rows(scaled_square_root_rows(scales), dynamic_cast<const FilteredStrategy&>(*rows));
    }
  }
  // Beyond the recursion's limit, the last row of B D G is the product of two series, reversed.
  const std::int64_t n = (1 << 16) + 1;
  const auto normalized = toeplitz_made("normalized-square-root", n);
  std::vector<double> scales = std::get<FilteredDecoder>(normalized->decoder_form()).column_scales;
  std::ranges::reverse(scales);
  // Factors of similar norm, 2^9, for which the product by FFT is most accurate.
  std::vector<double> inverse = inverse_square_root_coefficients(n);
  for (double& coefficient : inverse) coefficient *= 0x1p9;
  const std::vector<double> last = multiply_by_fft(scales, inverse).terms;
  double norm_squared = 0;
  for (std::size_t j = 0; j < scales.size(); ++j) norm_squared += last[j] * last[j] * 0x1p-18;
  EXPECT_TRUE(relatively_close(normalized->row_norm_squared(n - 1), norm_squared, 1e-10));
}

TEST(StrategyToeplitz, norms_of_scaled_toeplitz_rows_are_those_of_the_recursion) {
  for (const std::int64_t n : {1, 2, 128, 129, 1000}) {
    std::vector<double> rates;
    for (std::int64_t t = 0; t < n; ++t) rates.push_back(2 + std::sin(static_cast<double>(t)));
    const std::vector<Workload> workloads = {
        Workload::prefix_sums(n), Workload::learning_rates({.rates = rates}),
        Workload::momentum({.steps = n, .momentum = 0, .decay = 0.99}),
        Workload::momentum({.steps = n, .momentum = 0.9}),
        Workload::momentum({.steps = n, .momentum = 0.9, .decay = 0.95})};
    for (const char* name : {"square-root", "banded-square-root", "banded-inverse-square-root"})
      for (const Workload& workload : workloads) {
        const auto base = toeplitz_made(name, n);
        const auto expected = normalized_strategy(base, workload);
        const std::vector<double> rows =
            scaled_toeplitz_rows(workload, reciprocal_series(base->toeplitz_encoder(), n),
                                 std::get<FilteredDecoder>(expected->decoder_form()).column_scales);
        for (std::int64_t t = 0; t < n; ++t)
          ASSERT_TRUE(relatively_close(rows[static_cast<std::size_t>(t)],
                                       expected->row_norm_squared(t), 1e-12))
              << name << " " << workload.name() << " " << n << " " << t;
      }
  }
  // Beyond the recursion's limit.
  const std::int64_t n = (1 << 16) + 1;
  const auto root = toeplitz_made("normalized-square-root", n);
  const std::vector<double> rows =
      scaled_toeplitz_rows(Workload::prefix_sums(n), inverse_square_root_coefficients(n),
                           std::get<FilteredDecoder>(root->decoder_form()).column_scales);
  for (std::int64_t t = 0; t < n; t += 97)
    EXPECT_TRUE(
        relatively_close(rows[static_cast<std::size_t>(t)], root->row_norm_squared(t), 1e-10));
  StrategyParameters parameters;
  parameters.normalize_columns = true;
  for (const char* name : {"nu", "banded-square-root", "banded-inverse-square-root"}) {
    const auto plain = toeplitz_made(name, n), normalized = toeplitz_made(name, n, parameters);
    EXPECT_LT(normalized->row_norms().max_squared,
              plain->max_column_norm_squared() * plain->row_norms().max_squared);
  }
}

/// Squared norm of row t of A D G, A a window, from the definition.
double window_norm_squared(std::int64_t width, std::span<const double> inverse,
                           std::span<const double> scales, std::size_t t) {
  const std::size_t steps = std::min(static_cast<std::size_t>(width), t + 1);
  double norm_squared = 0;
  for (std::size_t j = 0; j <= t; ++j) {
    double entry = 0;
    for (std::size_t s = std::max(j, t + 1 - steps); s <= t; ++s)
      entry += scales[s] * inverse[s - j];
    norm_squared += entry * entry;
  }
  return norm_squared;
}

TEST(StrategyToeplitz, norms_of_scaled_windows_are_those_of_their_rows) {
  for (const std::size_t n : {1U, 2U, 3U, 7U, 8U, 300U}) {
    std::vector<double> waves;
    for (std::size_t t = 0; t < n; ++t) waves.push_back(2 + std::sin(static_cast<double>(t)));
    const std::vector<double> g = inverse_square_root_coefficients(static_cast<std::int64_t>(n));
    for (const std::int64_t width : {1, 2, 3, 5, 7, 64, 300, 1000}) {
      const std::vector<double> rows = scaled_window_rows(width, g, waves);
      for (std::size_t t = 0; t < n; ++t)
        ASSERT_TRUE(relatively_close(rows[t], window_norm_squared(width, g, waves, t), 1e-12))
            << width << " of " << n << ", step " << t;
    }
  }
}

TEST(StrategyToeplitz, norms_of_scaled_windows_are_those_of_the_dense_decoder) {
  // Windows up to a width of 9 are computed lag by lag here, and others row by row.
  const std::int64_t n = 300;
  for (const std::int64_t width : {1, 9, 10, 64, 299})
    for (const char* name : {"square-root", "nu", "banded-square-root"}) {
      const auto strategy = normalized_strategy(
          toeplitz_made(name, n), Workload::sliding_window({.steps = n, .window = width}));
      const Vector dense = strategy->decoder().rowwise().squaredNorm();
      for (std::int64_t t = 0; t < n; ++t)
        ASSERT_TRUE(
            relatively_close(strategy->row_norm_squared(t), dense(testing::index_of(t)), 1e-12))
            << name << " " << width << ", step " << t;
    }
}

TEST(StrategyToeplitz, norms_of_scaled_windows_lose_nothing_to_what_has_left) {
  // In doubles an error of 2^-53 times the largest scale squared, 10^-4, would stay.
  const std::size_t n = 4096;
  std::vector<double> scales;
  for (std::size_t t = 0; t < n; ++t)
    scales.push_back(std::pow(1e6, 1 - static_cast<double>(t) / static_cast<double>(n - 1)));
  const std::vector<double> g = inverse_square_root_coefficients(n);
  const std::vector<double> rows = scaled_window_rows(7, g, scales);
  for (const std::size_t t : {n / 4, n / 2, n - 1})
    EXPECT_TRUE(relatively_close(rows[t], window_norm_squared(7, g, scales, t), 1e-12)) << t;
}

TEST(StrategyToeplitz, norms_of_scaled_windows_are_known_at_long_horizons) {
  const std::int64_t n = 1 << 20, width = 3;
  const auto window = normalized_strategy(toeplitz_made("square-root", n),
                                          Workload::sliding_window({.steps = n, .window = width}));
  const auto scales = std::get<FilteredDecoder>(window->decoder_form()).column_scales;
  const std::vector<double> g = inverse_square_root_coefficients(n);
  for (const std::int64_t t : {n / 2, n - 1}) {
    const double expected = window_norm_squared(width, g, scales, static_cast<std::size_t>(t));
    EXPECT_TRUE(relatively_close(window->row_norm_squared(t), expected, 1e-10)) << t;
  }
}

TEST(StrategyToeplitz, buffered_recursion_agrees_with_the_toeplitz_rows) {
  StrategyParameters parameters;
  parameters.decays = {0.999, 0.9};
  parameters.weights = {0.05, 0.3};
  const std::int64_t n = 5000;
  const auto base = toeplitz_made("blt", n, parameters);
  const auto normalized = normalized_strategy(base, Workload::prefix_sums(n));
  // The encoder as a Toeplitz form instead of buffers.
  const std::span<const double> c = base->toeplitz_encoder();
  const std::vector<double> encoder(c.begin(), c.end());
  const Workload prefix = Workload::prefix_sums(n);
  const auto plain = std::make_shared<const ToeplitzStrategy>(
      prefix, ToeplitzStrategy::Parts{.name = "plain",
                                      .encoder = encoder,
                                      .decoder = prefix.apply(reciprocal_series(encoder, n)),
                                      .form = ToeplitzDecoder{.coefficients = encoder}});
  const auto expected = normalized_strategy(plain, prefix);
  for (std::int64_t t = 0; t < n; t += 37)
    EXPECT_TRUE(
        relatively_close(normalized->row_norm_squared(t), expected->row_norm_squared(t), 1e-11));
}

TEST(Catalogue, every_parameter_a_family_lists_is_taken_and_every_other_refused) {
  StrategyParameters all;
  all.bands = 2;
  EXPECT_ERROR(toeplitz_made("tree", 8, all), "invalid_argument",
               "make_strategy: bands is not a parameter of tree");
  EXPECT_EQ(toeplitz_made("banded-square-root", 8, all)->bands(), 2);
  StrategyParameters arity;
  arity.arity = 3;
  EXPECT_ERROR(toeplitz_made("blt", 8, arity), "invalid_argument",
               "arity is not a parameter of blt");
  StrategyParameters cap;
  cap.horizon_cap = 8;
  EXPECT_NO_THROW(toeplitz_made("log-perturbed", 8, cap));
  EXPECT_ERROR(toeplitz_made("nu", 8, cap), "invalid_argument",
               "horizon_cap is not a parameter of nu");
  StrategyParameters complete;
  complete.complete_epochs = true;
  EXPECT_ERROR(toeplitz_made("tree", 8, complete), "invalid_argument",
               "complete_epochs must be given together with epoch_length");
}

TEST(Catalogue, families_obey_what_they_say_about_themselves) {
  for (const StrategyInfo& info : strategy_catalogue()) {
    SCOPED_TRACE(info.name);
    const auto s = testing::make_known(info.name, 8);
    EXPECT_EQ(s->name(), info.name);
    EXPECT_EQ(s->is_causal(), info.is_causal);
    if (info.max_steps < kMaxNumSteps) {
      EXPECT_NE(testing::error_text(
                    [&] { (void)testing::make_known(info.name, info.max_steps + 1)->row_norms(); }),
                "");
    }
  }
}

TEST(Catalogue, workload_and_horizon_must_agree) {
  EXPECT_ERROR(
      make_strategy(
          {.name = "tree", .steps = 8, .workload = Workload::prefix_sums(9), .parameters = {}}),
      "invalid_argument", "make_strategy: workload must be of steps = 8 steps, got 9");
}

TEST(Catalogue, families_serve_workloads_as_they_say) {
  // Adapted strategies have another encoder than for prefix sums, decoded ones the same.
  const std::int64_t n = 16;
  for (const StrategyInfo& info : strategy_catalogue()) {
    if (info.name == IndependentStrategy::kName) continue;  // C = I suits every workload
    // Without momentum, the optimum takes linear time.
    const double momentum = info.name == "optimal" ? 0 : 0.9;
    const Workload workload = Workload::momentum({.steps = n, .momentum = momentum, .decay = 0.95});
    const auto s = make_strategy({.name = std::string(info.name),
                                  .steps = n,
                                  .workload = workload,
                                  .parameters = testing::quick_parameters(info)});
    const bool is_same = s->encoder() == testing::make_known(info.name, n)->encoder();
    EXPECT_EQ(is_same, info.workloads == WorkloadSupport::decoded) << info.name;
  }
}

TEST(Catalogue, bad_parameters_are_refused_by_name) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto with = [](auto member, auto value) {
    StrategyParameters parameters;
    parameters.*member = value;
    return parameters;
  };
  using P = StrategyParameters;
  EXPECT_ERROR(toeplitz_made("banded-square-root", 8, with(&P::bands, 0)), "invalid_argument",
               "banded-square-root: bands must be between 1 and 4096, got 0");
  EXPECT_ERROR(toeplitz_made("lambda-cgd", 8, with(&P::lambda, 1.0)), "invalid_argument",
               "lambda-cgd: lambda must be at least 0 and below 1, got 1");
  EXPECT_ERROR(toeplitz_made("lambda-cgd", 8, with(&P::lambda, nan)), "invalid_argument",
               "got NaN");
  EXPECT_ERROR(toeplitz_made("nu", 8, with(&P::nu, -0.1)), "invalid_argument",
               "nu: nu must be at least 0 and below 1, got -0.1");
  EXPECT_ERROR(toeplitz_made("log-perturbed", 8, with(&P::alpha, 0.0)), "invalid_argument",
               "log-perturbed: alpha must be above 0 and at most 1, got 0");
  EXPECT_ERROR(toeplitz_made("log-perturbed", 8, with(&P::loglog_power, nan)), "invalid_argument",
               "loglog_power must be between 0 and 1, got NaN");
  EXPECT_ERROR(toeplitz_made("log-perturbed", 8, with(&P::horizon_cap, 7)), "invalid_argument",
               "horizon_cap must be between 8 and 1048576, got 7");
  EXPECT_ERROR(toeplitz_made("blt-rational", 8, with(&P::buffers, 33)), "invalid_argument",
               "blt-rational: buffers must be between 1 and 32, got 33");
  StrategyParameters buffers;
  buffers.weights = {0.1};
  EXPECT_ERROR(toeplitz_made("blt", 8, buffers), "invalid_argument",
               "blt: decays must have between 1 and 32 entries, got 0");
  buffers.decays = {0.5, 1.0};
  buffers.weights = {0.1, 0.1};
  EXPECT_ERROR(toeplitz_made("blt", 8, buffers), "invalid_argument",
               "blt: decays[1] must be at least 0 and below 1, got 1");
  buffers.decays = {0.5, 0.6};
  buffers.weights = {0.1, nan};
  EXPECT_ERROR(toeplitz_made("blt", 8, buffers), "invalid_argument",
               "blt: weights[1] must be between -2^20 and 2^20, got NaN");
  buffers.weights = {0.1};
  EXPECT_ERROR(toeplitz_made("blt", 8, buffers), "wrong_length",
               "weights must have 2 entries, got 1");
  buffers.weights = {1e5, 1e5};
  EXPECT_ERROR(toeplitz_made("blt", 1000, buffers), "invalid_argument",
               "blt: parameters must be such that B and C have finite norms");
}

TEST(Catalogue, row_norms_without_a_formula_are_refused_with_the_limit) {
  StrategyParameters parameters;
  parameters.normalize_columns = true;
  const auto tree = toeplitz_made("tree", 2049, parameters);
  EXPECT_ERROR((void)tree->row_norms(), "unsupported",
               "normalized-tree: steps must be at most 2048 for row norms for prefix, got 2049");
  EXPECT_NEAR(tree->max_column_norm_squared(), 1, 1e-15);
  const auto window = normalized_strategy(
      toeplitz_made("nu", 65537), Workload::sliding_window({.steps = 65537, .window = 65536}));
  EXPECT_ERROR((void)window->row_norm_squared(0), "unsupported", "steps must be at most 65536");
  const auto narrower = normalized_strategy(
      toeplitz_made("nu", 131073), Workload::sliding_window({.steps = 131073, .window = 2048}));
  EXPECT_ERROR((void)narrower->row_norm_squared(0), "unsupported", "steps must be at most 131072");
}

TEST(LongBlt, closed_forms_of_buffers_are_the_sums_of_their_coefficients) {
  std::vector<BufferParameters> all = {
      {{0.9}, {0.1}}, {{1 - 1e-13, 0.5}, {1e-3, 0.2}}, {{0.99, 0.3, 0.01}, {0.01, 0.1, 0.001}}};
  for (const std::int64_t d : {1, 4}) all.push_back(optimal_buffers({.steps = 5000, .buffers = d}));
  for (const BufferParameters& buffers : all)
    for (const std::int64_t n : {1, 2, 7, 640, 5000}) {
      const Workload prefix = Workload::prefix_sums(n);
      const auto sums = blt_strategy({.designed_for = prefix, .workload = prefix}, buffers);
      const auto closed = long_blt_strategy(n, buffers);
      const RowNorms expected = sums->row_norms(), got = closed->row_norms();
      EXPECT_TRUE(relatively_close(got.min_squared, expected.min_squared, 1e-12)) << n;
      EXPECT_TRUE(relatively_close(got.max_squared, expected.max_squared, 1e-11)) << n;
      EXPECT_TRUE(relatively_close(got.mean_squared, expected.mean_squared, 1e-11)) << n;
      for (const std::int64_t step : {std::int64_t{0}, n / 3, n - 1}) {
        EXPECT_TRUE(relatively_close(closed->column_norm_squared(step),
                                     sums->column_norm_squared(step), 1e-13));
        EXPECT_TRUE(
            relatively_close(closed->row_norm_squared(step), sums->row_norm_squared(step), 1e-11));
      }
      for (const Participation& often :
           {Participation::min_separation({.times = 3, .apart = 5}),
            Participation::min_separation({.times = n, .apart = 1}),
            Participation::fixed_epoch({.epochs = 1, .epoch_length = n})}) {
        const Sensitivity exact = sensitivity(*sums, often), found = sensitivity(*closed, often);
        EXPECT_TRUE(relatively_close(found.value, exact.value, 1e-12)) << n;
        EXPECT_EQ(found.exactness, Exactness::exact);
      }
      if (n > 640) continue;
      EXPECT_LT((closed->encoder() - sums->encoder()).cwiseAbs().maxCoeff(), 1e-14);
      EXPECT_LT((closed->decoder() - sums->decoder()).cwiseAbs().maxCoeff(), 1e-13);
    }
}

TEST(LongBlt, a_thousand_million_steps_have_errors_and_make_no_noise) {
  const std::int64_t n = 1000000000;
  const auto strategy = toeplitz_made("blt", n, {.buffers = 4});
  const BltOptimum found = find_blt_optimum({.steps = n, .buffers = 4});
  const UnitError error = unit_error(*strategy, Participation::single());
  EXPECT_TRUE(relatively_close(error.max_error, found.errors.max_error, 1e-9));
  EXPECT_TRUE(relatively_close(error.mean_error, found.errors.mean_error, 1e-9));
  const Participation often = Participation::min_separation({.times = 100, .apart = 1000000});
  EXPECT_EQ(sensitivity(*strategy, often).exactness, Exactness::exact);
  EXPECT_EQ(
      sensitivity(*strategy, Participation::min_separation({.times = n, .apart = 1})).exactness,
      Exactness::upper_bound)
      << "more participations than are added up";
  EXPECT_ERROR((void)strategy->decoder_form(), "unsupported",
               "steps must be at most 16777216 for noise, got 1000000000");
  EXPECT_ERROR((void)toeplitz_made("blt", n, {.decays = {0.5, 0.9}, .weights = {0.1, 0.1}}),
               "invalid_argument", "decays and weights must interlace");
  EXPECT_ERROR((void)toeplitz_made("blt", n, {.decays = {0.9}, .weights = {-0.1}}),
               "invalid_argument", "must interlace");
  EXPECT_ERROR((void)toeplitz_made("blt", n, {.decays = {0.9}, .weights = {1}}), "invalid_argument",
               "must interlace");
  EXPECT_ERROR((void)make_strategy({.name = "blt",
                                    .steps = n,
                                    .workload = Workload::momentum({.steps = n, .momentum = 0.5})}),
               "invalid_argument", "steps must be between 1 and 16777216");
  EXPECT_ERROR((void)make_strategy({.name = "tree",
                                    .steps = n,
                                    .workload = Workload::momentum({.steps = n, .momentum = 0.5})}),
               "invalid_argument",
               "steps must be at most 2048 for errors, 16777216 for noise, got");
}

TEST(Parameters, buffers_are_as_many_as_decays) {
  EXPECT_ERROR((void)toeplitz_made("blt", 8, {.buffers = 3, .decays = {0.5}, .weights = {0.1}}),
               "invalid_argument", "buffers cannot be given together with decays");
}

}  // namespace
}  // namespace dpftrl
