// SPDX-License-Identifier: Apache-2.0
// Laws that every strategy in the catalogue obeys, for all parameters and workloads.
#include "catalogue.hpp"

#include <algorithm>
#include <numeric>

#include "dense_algebra.hpp"
#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "strategy/laws.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::awkward_horizons;
using testing::relatively_close;
using testing::Variant;

/// Runs a law over all variants for prefix sums at every awkward horizon, and over all other
/// workloads at some horizons.
template <class Law>
void for_every_variant(Law&& law) {
  const auto run = [&](const Variant& variant) {
    SCOPED_TRACE(variant.title);
    law(*testing::strategy_of(variant));
  };
  for (const std::int64_t n : awkward_horizons())
    for (const Variant& variant : testing::prefix_variants(n)) run(variant);
  for (const std::int64_t n : testing::sizes({.full = {1, 2, 7, 13}, .elsewhere = {1, 7}}))
    for (const Variant& variant : testing::workload_variants(n)) run(variant);
}

// Predicates that decide whether a strategy is correct. They take only matrices and claims, so that
// the tests can pass wrong ones.

bool factorizes_matrix(const Matrix& decoder, const Matrix& encoder, const Matrix& workload) {
  const double scale = std::max(1.0, workload.cwiseAbs().maxCoeff());
  return (decoder * encoder - workload).cwiseAbs().maxCoeff() <= 1e-11 * scale;
}

bool are_row_variances(std::span<const double> claimed, const Matrix& decoder) {
  for (Eigen::Index t = 0; t < decoder.rows(); ++t)
    if (!relatively_close(claimed[static_cast<std::size_t>(t)], decoder.row(t).squaredNorm(),
                          1e-11))
      return false;
  return true;
}

bool is_sensitivity(const Sensitivity& claimed, const Matrix& encoder,
                    const Participation& participation) {
  const Sensitivity brute = brute_force_sensitivity(encoder, participation);
  const double scalar = brute_force_scalar_sensitivity(encoder, participation);
  if (claimed.value < scalar * (1 - 1e-12)) return false;
  if (brute.exactness == Exactness::exact && claimed.value < brute.value * (1 - 1e-12))
    return false;
  return claimed.exactness == Exactness::upper_bound ||
         relatively_close(claimed.value, brute.value, 1e-12);
}

bool is_noise(const Matrix& rows, const Matrix& decoder, const Matrix& z) {
  const double scale = std::max(1.0, decoder.cwiseAbs().maxCoeff());
  return (rows - decoder * z.topRows(decoder.cols())).cwiseAbs().maxCoeff() <= 1e-10 * scale;
}

std::vector<double> row_variances(const Strategy& strategy) {
  std::vector<double> variances;
  for (std::int64_t t = 0; t < strategy.steps(); ++t)
    variances.push_back(strategy.row_norm_squared(t));
  return variances;
}

NoiseStreamOptions noise_options(std::int64_t dimension, std::int64_t first_coordinate = 0) {
  return {.key = Key::insecure_from_seed(3),
          .dimension = dimension,
          .first_coordinate = first_coordinate};
}

Matrix streamed(const Strategy& strategy, const NoiseStreamOptions& options) {
  NoiseStream stream(strategy, options);
  Matrix rows(testing::index_of(strategy.steps()), testing::index_of(options.dimension));
  for (Eigen::Index t = 0; t < rows.rows(); ++t)
    stream.next({rows.row(t).data(), static_cast<std::size_t>(options.dimension)});
  return rows;
}

TEST(Catalogue, decoder_times_encoder_is_the_workload) {
  for_every_variant([](const Strategy& s) {
    EXPECT_EQ(s.encoder().rows(), s.num_measurements());
    EXPECT_TRUE(factorizes_matrix(s.decoder(), s.encoder(), s.workload().matrix()));
  });
}

TEST(Catalogue, column_norms_are_those_of_the_encoder_or_of_its_longer_horizon) {
  for_every_variant([](const Strategy& s) {
    const Matrix encoder = s.encoder();
    for (std::int64_t j = 0; j < s.steps(); ++j) {
      const double dense = encoder.col(testing::index_of(j)).squaredNorm();
      EXPECT_GE(s.max_column_norm_squared(), dense * (1 - 1e-12)) << j;
      if (s.name() == "log-perturbed") continue;  // it claims the columns of the capped horizon
      EXPECT_TRUE(relatively_close(s.column_norm_squared(j), dense, 1e-11)) << j;
    }
  });
}

TEST(Catalogue, row_norms_are_those_of_the_decoder) {
  for_every_variant([](const Strategy& s) {
    const Matrix decoder = s.decoder();
    EXPECT_TRUE(are_row_variances(row_variances(s), decoder));
    const Vector rows = decoder.rowwise().squaredNorm();
    EXPECT_TRUE(relatively_close(s.row_norms().min_squared, rows.minCoeff(), 1e-11));
    EXPECT_TRUE(relatively_close(s.row_norms().max_squared, rows.maxCoeff(), 1e-11));
    EXPECT_TRUE(relatively_close(s.row_norms().mean_squared, rows.mean(), 1e-11));
  });
}

TEST(Catalogue, sensitivity_is_never_below_brute_force_and_equal_where_called_exact) {
  const auto check = [](const Variant& variant) {
    SCOPED_TRACE(variant.title);
    const auto strategy = testing::strategy_of(variant);
    const Matrix encoder = strategy->encoder();
    for (const Participation& who : testing::participations(strategy->steps())) {
      // There are too many signed subsets.
      if (strategy->steps() > 13 && who.apart() == 1 && who.times() > 4) continue;
      Sensitivity claimed = sensitivity(*strategy, who);
      // log-perturbed claims the sensitivity at a longer horizon, an upper bound at this one.
      if (strategy->name() == "log-perturbed") claimed.exactness = Exactness::upper_bound;
      EXPECT_TRUE(is_sensitivity(claimed, encoder, who)) << who.description();
    }
  };
  for (const std::int64_t n : {1, 2, 3, 5, 7, 8, 13, 16}) {
    // Subsets of more steps run the same code for minutes, so only `native` checks their values.
    if (!testing::is_full_size() && n > 8) continue;
    for (const Variant& variant : testing::prefix_variants(n)) check(variant);
  }
  for (const Variant& variant : testing::workload_variants(testing::is_full_size() ? 8 : 7))
    check(variant);
}

TEST(Catalogue, sensitivity_to_one_row_and_to_epochs_is_that_of_brute_force_at_64_steps) {
  const std::int64_t steps = testing::is_full_size() ? 64 : 8;
  std::vector<Participation> few{Participation::single()};
  for (const std::int64_t k : {2, 4, 8})
    few.push_back(Participation::fixed_epoch({.epochs = k, .epoch_length = steps / k}));
  for (const Variant& variant : testing::prefix_variants(steps)) {
    SCOPED_TRACE(variant.title);
    const auto strategy = testing::strategy_of(variant);
    const Matrix encoder = strategy->encoder();
    for (const Participation& who : few) {
      Sensitivity claimed = sensitivity(*strategy, who);
      if (strategy->name() == "log-perturbed") claimed.exactness = Exactness::upper_bound;
      EXPECT_TRUE(is_sensitivity(claimed, encoder, who)) << who.description();
    }
  }
}

TEST(Catalogue, streamed_rows_are_the_decoder_times_the_same_z) {
  for_every_variant([](const Strategy& s) {
    const Matrix z = noise_matrix(noise_options(3), s.num_measurements());
    EXPECT_TRUE(is_noise(streamed(s, noise_options(3)), s.decoder(), z));
  });
}

/// B z for prefix sums; computed as prefix sums of C^-1 z if the decoder would require an inverse.
Vector dense_noise(const Strategy& strategy, const Vector& z) {
  if (!strategy.name().starts_with("normalized")) return strategy.decoder() * z;
  Vector noise = strategy.encoder().triangularView<Eigen::Lower>().solve(z);
  std::partial_sum(noise.begin(), noise.end(), noise.begin());
  return noise;
}

TEST(Catalogue, streamed_rows_are_right_across_blocks_and_transforms) {
  for (const std::int64_t horizon : {4095, 4096})
    for (const StrategyInfo& info : strategy_catalogue()) {
      // A quarter of the horizon suffices if parameters are searched for and streams have no
      // blocks.
      const bool is_solved = testing::is_optimised(info);
      // Only transforms are tested at 4095 steps; other strategies make the same rows as for 4096.
      const bool has_transforms = info.step_cost.find("FFT") != std::string_view::npos;
      if (horizon == 4095 && !has_transforms) continue;
      const std::int64_t in_full = is_solved ? horizon / 4 : horizon;
      const std::int64_t n = testing::is_full_size() ? in_full
                             : has_transforms        ? horizon / 4
                                                     : horizon / 16;
      if (n > testing::within_reach(info, n)) continue;
      SCOPED_TRACE(std::string(info.name) + ", n = " + std::to_string(n));
      const auto strategy = make_strategy({.name = std::string(info.name), .steps = n});
      const Matrix rows = streamed(*strategy, noise_options(1));
      const Matrix z = noise_matrix(noise_options(1), strategy->num_measurements());
      const Vector noise = dense_noise(*strategy, z.col(0));
      for (const Eigen::Index t : {Eigen::Index{0}, Eigen::Index{1022}, Eigen::Index{2047},
                                   Eigen::Index{2048}, testing::index_of(n) - 1}) {
        if (t >= rows.rows()) continue;
        EXPECT_NEAR(rows(t, 0), noise(t), 1e-9) << t;
      }
    }
}

TEST(Catalogue, beyond_the_matrices_rows_are_those_of_a_longer_run_or_of_their_own_recomputation) {
  // 4097 steps are one more than dense matrices may have, and cross every smaller power of two.
  // Families that require a search have no blocks, so a few hundred steps suffice.
  constexpr double kScale = 1024;
  const std::int64_t few_steps = testing::is_full_size() ? 257 : 65;
  for (const StrategyInfo& info : strategy_catalogue()) {
    const std::int64_t n = testing::is_optimised(info) ? few_steps : 4097;
    if (n > testing::within_reach(info, n)) continue;
    SCOPED_TRACE(std::string(info.name));
    NoiseStream stream(*testing::make_known(info.name, n), noise_options(1));
    std::vector<double> row(1);
    for (std::int64_t t = 0; t < n; ++t) {
      stream.next(row);
      if (t > 0 && t < n - 3) continue;
      const double rounded = static_cast<double>(stream.rounded(0, kScale));
      EXPECT_LE(std::abs(row[0] * kScale - rounded), 0.5 + 1e-6) << t;
    }
  }
}

TEST(Catalogue, recomputed_entries_agree_with_the_rows) {
  const auto check = [](const Variant& variant) {
    SCOPED_TRACE(variant.title);
    const auto strategy = testing::strategy_of(variant);
    NoiseStream stream(*strategy, noise_options(2, 31));
    std::vector<double> row(2);
    constexpr double kScale = 0x1p26;
    for (std::int64_t t = 0; t < strategy->steps(); ++t) {
      stream.next(row);
      const RowErrorBound bound = stream.row_error_bound();
      for (std::int64_t i = 0; i < 2; ++i) {
        const double value = row[static_cast<std::size_t>(i)];
        const double exact = static_cast<double>(stream.rounded(i, kScale));
        const double allowed = kScale * (bound.absolute + bound.relative * std::abs(value));
        ASSERT_LE(std::abs(value * kScale - exact), 0.5 + allowed + 1e-6) << t;
        ASSERT_LE(allowed, 0.01) << "the bound says nothing";
      }
    }
  };
  for (const std::int64_t n : testing::sizes({.full = {1, 3, 13, 16}, .elsewhere = {1, 3, 13}}))
    for (const Variant& variant : testing::prefix_variants(n)) check(variant);
  for (const Variant& variant : testing::workload_variants(7)) check(variant);
}

TEST(Catalogue, a_shard_has_the_same_bits_as_the_whole) {
  for (const Variant& variant : testing::prefix_variants(13)) {
    SCOPED_TRACE(variant.title);
    const auto strategy = testing::strategy_of(variant);
    const Matrix whole = streamed(*strategy, noise_options(9));
    EXPECT_EQ(whole.middleCols(3, 4), streamed(*strategy, noise_options(4, 3)));
  }
}

TEST(Catalogue, noise_past_the_horizon_is_refused) {
  for (const Variant& variant : testing::prefix_variants(3)) {
    SCOPED_TRACE(variant.title);
    NoiseStream stream(*testing::strategy_of(variant), noise_options(1));
    std::vector<double> row(1);
    for (int t = 0; t < 3; ++t) stream.next(row);
    EXPECT_ERROR(stream.next(row), "past_horizon", "step must be below the horizon 3, got 3");
  }
}

/// Lower triangular C~ with C~^T C~ = C^T C: the Cholesky factor of the flipped Gram matrix.
Matrix lower_triangular_form(const Matrix& encoder) {
  const Matrix flipped = (encoder.transpose() * encoder).reverse();
  const Matrix factor = testing::upper_cholesky(flipped);
  return factor.transpose().reverse().transpose();
}

TEST(Catalogue, a_lower_triangular_encoder_with_the_same_gram_matrix_gives_the_same_noise) {
  // The proof for adaptive streams requires this of encoders that read later steps.
  for (const std::int64_t n : testing::sizes({.full = {1, 2, 7, 13, 16}, .elsewhere = {1, 2, 13}}))
    for (const Variant& variant : testing::prefix_variants(n)) {
      SCOPED_TRACE(variant.title);
      const auto s = testing::strategy_of(variant);
      const Matrix encoder = s->encoder(), decoder = s->decoder();
      const Matrix triangular = lower_triangular_form(encoder);
      for (Eigen::Index row = 0; row < triangular.rows(); ++row)
        for (Eigen::Index column = row + 1; column < triangular.cols(); ++column)
          ASSERT_EQ(triangular(row, column), 0);
      const Matrix gram = encoder.transpose() * encoder;
      ASSERT_LE((triangular.transpose() * triangular - gram).cwiseAbs().maxCoeff(), 1e-10);
      const Matrix other = s->workload().matrix() * testing::inverse(triangular);
      const Matrix covariance = decoder * decoder.transpose();
      // Equality holds for B = A C^+; any other decoder of the same measurements has more noise.
      const double least_excess =
          testing::symmetric_eigen(covariance - other * other.transpose()).values.minCoeff();
      EXPECT_GE(least_excess, -1e-9);
    }
}

TEST(Catalogue, causal_measurements_use_no_later_step_than_the_one_that_makes_them) {
  bool some_are_not = false;
  for_every_variant([&](const Strategy& s) {
    const bool causal = testing::waits_for_its_measurements(s);
    if (s.is_causal()) {
      EXPECT_TRUE(causal);
    } else if (s.steps() >= 13) {
      EXPECT_FALSE(causal) << "and may be called so";
    }
    some_are_not = some_are_not || !causal;
  });
  EXPECT_TRUE(some_are_not) << "the check tells nothing apart";
}

TEST(Catalogue, parameters_that_a_family_chose_make_the_same_strategy) {
  // Every parameter of a family is reported, with a value that reproduces the same norms.
  const auto given = [](const std::vector<PlanNumbers>& numbers, const StrategyInfo& info) {
    StrategyParameters parameters;
    const auto number = [&](std::string_view name) -> std::optional<double> {
      for (const auto& [known, values] : numbers)
        if (known == name) return values.at(0);
      return std::nullopt;
    };
    const auto count = [&](std::string_view name) -> std::optional<std::int64_t> {
      const std::optional<double> value = number(name);
      return value ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
    };
    parameters.arity = count("arity");
    if (parameters.arity) parameters.subtractive = number("subtractive") != 0;
    parameters.nu = number("nu");
    parameters.lambda = number("lambda");
    parameters.alpha = number("alpha");
    parameters.loglog_power = number("loglog_power");
    parameters.horizon_cap = count("horizon_cap");
    parameters.bands = count("bands");
    if (info.name == "blt") {
      for (const auto& [name, values] : numbers) {
        if (name == "decays") parameters.decays = values;
        if (name == "weights") parameters.weights = values;
      }
    } else {
      parameters.buffers = count("buffers");
    }
    for (const auto& [name, values] : numbers) {
      const ParameterInfo* const known = find_parameter(name);
      if (known != nullptr && !known->is_list() && name != "buffers") {
        EXPECT_TRUE(known->is_given(parameters)) << "set " << name << " here";
      }
    }
    return parameters;
  };
  const std::int64_t steps = testing::is_full_size() ? 40 : 13;
  for (const StrategyInfo& info : strategy_catalogue()) {
    SCOPED_TRACE(info.name);
    const auto chosen = testing::make_known(info.name, steps);
    const std::vector<PlanNumbers> numbers = chosen->parameters();
    EXPECT_EQ(numbers.empty(), info.parameters.empty());
    const auto again = make_strategy(
        {.name = std::string(info.name), .steps = steps, .parameters = given(numbers, info)});
    EXPECT_EQ(again->max_column_norm_squared(), chosen->max_column_norm_squared());
    EXPECT_EQ(again->row_norms().mean_squared, chosen->row_norms().mean_squared);
  }
  // Wrapped strategies report the parameters of the inner one.
  const auto wrapped = make_strategy(
      {.name = "lambda-cgd",
       .steps = 40,
       .workload = Workload::sliding_window({.steps = 40, .window = 3}),
       .parameters = {.lambda = 0.25, .epoch_length = 10, .normalize_columns = true}});
  const std::vector<PlanNumbers> inside = wrapped->parameters();
  ASSERT_EQ(inside.size(), 2u);
  EXPECT_EQ(inside[0].values, std::vector<double>{0.25});
  EXPECT_EQ(inside[1].name, "epoch_length");
  EXPECT_EQ(inside[1].values, std::vector<double>{10});
}

TEST(Catalogue, a_mechanism_can_be_made_of_everything_and_its_certificate_adds_up) {
  const std::int64_t steps = testing::is_full_size() ? 16 : 6;
  for (const Variant& variant : testing::prefix_variants(steps)) {
    SCOPED_TRACE(variant.title);
    for (const Participation& who : testing::participations(steps)) {
      const bool is_searched = variant.options.name.starts_with("blt");
      if (is_searched && who != Participation::single()) continue;
      const auto mechanism = Mechanism::make({.strategy = variant.options.name,
                                              .steps = steps,
                                              .target = {.epsilon = 1, .delta = 1e-6},
                                              .participation = who,
                                              .parameters = variant.options.parameters});
      const Certificate& c = mechanism->certificate();
      const Proof proof = mechanism->proof();
      EXPECT_LE(proof.residual.value, 1e-11);
      EXPECT_GE(c.noise_stddev, c.noise_multiplier * c.sensitivity);
      EXPECT_TRUE(relatively_close(c.noise_stddev, c.noise_multiplier * c.sensitivity, 1e-6));
      EXPECT_FALSE(c.sensitivity_method.empty());
      ASSERT_TRUE(proof.lower_bound.has_value());
      const double own = c.objective == Objective::max ? c.max_error : c.mean_error;
      EXPECT_GE(own, proof.lower_bound->value);
      EXPECT_GE(c.max_error, c.mean_error * (1 - 1e-12));
    }
  }
}

// Intentionally faulty mechanisms: every predicate above must reject its kind of fault.

TEST(CatalogueFalsified, a_transposed_factor_does_not_factorize) {
  const auto s = make_strategy({.name = "square-root", .steps = 8});
  EXPECT_FALSE(factorizes_matrix(s->decoder(), s->encoder().transpose(), s->workload().matrix()));
}

TEST(CatalogueFalsified, variances_are_not_standard_deviations) {
  const auto s = make_strategy({.name = "square-root", .steps = 8});
  std::vector<double> deviations = row_variances(*s);
  for (double& value : deviations) value = std::sqrt(value);
  EXPECT_FALSE(are_row_variances(deviations, s->decoder()));
}

TEST(CatalogueFalsified, row_norms_and_short_coefficients_are_no_sensitivity) {
  const auto s = make_strategy({.name = "square-root", .steps = 8});
  const Matrix encoder = s->encoder();
  const Participation twice = Participation::min_separation({.times = 2, .apart = 2});
  const std::vector<double> truncated(4, 0.5);
  EXPECT_FALSE(is_sensitivity({encoder.row(0).norm(), Exactness::exact, ""}, encoder,
                              Participation::single()));
  EXPECT_FALSE(
      is_sensitivity(toeplitz_sensitivity(s->toeplitz_encoder().first(4), twice), encoder, twice));
  EXPECT_TRUE(is_sensitivity(toeplitz_sensitivity(s->toeplitz_encoder(), twice), encoder, twice));
}

TEST(CatalogueFalsified, columns_that_are_not_normalised_do_not_have_sensitivity_one) {
  const auto s = make_strategy({.name = "square-root", .steps = 8});
  EXPECT_FALSE(
      is_sensitivity({1, Exactness::upper_bound, ""}, s->encoder(), Participation::single()));
}

TEST(CatalogueFalsified, noise_that_forgets_its_buffers_is_not_that_of_the_decoder) {
  const auto s = testing::make_known("blt", 16);
  const Matrix z = noise_matrix(noise_options(3), s->num_measurements());
  const Matrix rows = streamed(*s, noise_options(3));
  const Matrix forgetful = Workload::prefix_sums(16).matrix() * z;
  EXPECT_TRUE(is_noise(rows, s->decoder(), z));
  EXPECT_FALSE(is_noise(forgetful, s->decoder(), z));
  EXPECT_FALSE(is_noise(rows * 1.001, s->decoder(), z));
}

}  // namespace
}  // namespace dpftrl
