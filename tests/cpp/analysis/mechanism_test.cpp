// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/analysis/mechanism.hpp"

#include <bit>
#include <limits>

#include "dpftrl/analysis/planner.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::relatively_close;

MechanismOptions valid() {
  return {.strategy = "honaker", .steps = 100, .target = {.epsilon = 1, .delta = 1e-6}};
}

/// Distance of neighbouring streams in units of the noise, which is mu by definition, by brute
/// force: one record of norm `clip` is set to zero, or replaced by its opposite.
double brute_force_mu(const Mechanism& mechanism, double noise_stddev) {
  const Matrix encoder = mechanism.strategy().encoder();
  const double change =
      mechanism.clip() * (mechanism.certificate().neighbours == Neighbours::zero_out ? 1 : 2);
  double largest = 0;
  for (Eigen::Index step = 0; step < encoder.cols(); ++step)
    largest = std::max(largest, (encoder.col(step) * change).norm() / noise_stddev);
  return largest;
}

/// Strategy with the identity as encoder and a decoder whose last row is too small: B C - A has one
/// non-zero entry, -1/2.
class Misdecoded final : public Strategy {
 public:
  Misdecoded() : Strategy(Workload::prefix_sums(2)) {}
  std::string_view name() const override { return "misdecoded"; }
  std::int64_t num_measurements() const override { return 2; }
  double column_norm_squared(std::int64_t) const override { return 1; }
  double max_column_norm_squared() const override { return 1; }
  double row_norm_squared(std::int64_t) const override { return 1; }
  RowNorms row_norms() const override { return {1, 1.25, 1.125}; }
  Matrix encoder() const override { return Matrix::Identity(2, 2); }
  Matrix decoder() const override {
    Matrix decoder(2, 2);
    decoder << 1, 0, 1, 0.5;
    return decoder;
  }
  DecoderForm decoder_form() const override { return RunningSumDecoder{}; }
};

TEST(Mechanism, a_wrong_decoder_has_a_residual_in_whatever_row_and_of_whatever_sign) {
  EXPECT_EQ(decoder_residual(Misdecoded(), {.name = "independent", .steps = 2}).value, 0.5);
}

TEST(Mechanism, neighbours_are_never_further_apart_than_mu) {
  for (const StrategyInfo& info : strategy_catalogue())
    for (const std::int64_t n : testing::awkward_horizons())
      for (const Neighbours neighbours : {Neighbours::zero_out, Neighbours::replace_one}) {
        MechanismOptions options = valid();
        options.strategy = info.name;
        options.parameters = testing::quick_parameters(info);
        options.steps = n;
        options.neighbours = neighbours;
        options.clip = 0.3;
        const auto mechanism = Mechanism::make(options);
        const double mu = brute_force_mu(*mechanism, mechanism->noise_stddev());
        EXPECT_LE(mu, mechanism->certificate().mu) << info.name << " " << n;
        EXPECT_GE(mu, mechanism->certificate().mu * (1 - 1e-10)) << "more noise than needed";
        // The check rejects a mechanism with two thirds of the noise.
        EXPECT_GT(brute_force_mu(*mechanism, mechanism->noise_stddev() * 2 / 3),
                  mechanism->certificate().mu);
      }
}

TEST(Mechanism, noise_is_that_of_the_multiplier_and_the_true_sensitivity_rounded_up) {
  // Sensitivities that are square roots of integers (the first column of the sums, the levels of a
  // tree, separate records), in long double, which represents them to 2^-64.
  int num_products_too_small = 0;
  for (const double epsilon : {0.3, 1.0, 3.7})
    for (const double clip : {0.3, 1.0, 17.7})
      for (std::int64_t n = 2; n <= 40; ++n)
        for (const std::string strategy : {"output", "tree", "independent"}) {
          MechanismOptions options = valid();
          options.strategy = strategy;
          options.steps = n;
          options.target.epsilon = epsilon;
          options.clip = clip;
          if (strategy == "independent")
            options.participation = Participation::min_separation({.times = n, .apart = 1});
          const Certificate claim = Mechanism::make(options)->certificate();
          const auto squared = strategy == "tree" ? std::bit_width(static_cast<unsigned>(n)) : n;
          const long double exact = std::sqrt(static_cast<long double>(squared)) *
                                    claim.noise_multiplier * static_cast<long double>(clip);
          const long double noise = claim.noise_stddev;
          EXPECT_GE(noise, exact) << strategy << n;
          EXPECT_LE(noise, exact * (1 + 1e-10L)) << strategy << n;
          num_products_too_small += claim.noise_multiplier * claim.sensitivity * clip < exact;
        }
  EXPECT_GT(num_products_too_small, 10) << "the check can fail";
}

TEST(Mechanism, mu_of_the_certificate_meets_the_target) {
  const auto mechanism = Mechanism::make(valid());
  const Certificate& certificate = mechanism->certificate();
  EXPECT_LE(delta_from_mu({.mu = certificate.mu, .epsilon = 1}), 1e-6 * (1 + 1e-9));
  EXPECT_NEAR(certificate.noise_multiplier, 4.224679, 5e-7);
  EXPECT_TRUE(relatively_close(certificate.mu * certificate.noise_multiplier, 1, 1e-12));
  EXPECT_TRUE(relatively_close(certificate.rho, certificate.mu * certificate.mu / 2, 1e-14));
}

TEST(Mechanism, replace_one_needs_twice_the_noise_and_clip_norm_scales_it) {
  MechanismOptions options = valid();
  const double base = Mechanism::make(options)->noise_stddev();
  options.neighbours = Neighbours::replace_one;
  EXPECT_TRUE(relatively_close(Mechanism::make(options)->noise_stddev(), 2 * base, 1e-15));
  options = valid();
  options.clip = 7;
  EXPECT_TRUE(relatively_close(Mechanism::make(options)->noise_stddev(), 7 * base, 1e-15));
}

TEST(Mechanism, certificate_states_residual_sensitivity_and_errors) {
  for (const StrategyInfo& info : strategy_catalogue()) {
    MechanismOptions options = valid();
    options.strategy = info.name;
    options.parameters = testing::quick_parameters(info);
    const std::int64_t longest = testing::is_optimised(info) ? 300 : 1000;
    options.steps = testing::within_reach(info, testing::is_full_size() ? longest : longest / 4);
    const auto mechanism = Mechanism::make(options);
    const DecoderResidual residual = mechanism->proof().residual;
    EXPECT_LE(residual.value, 1e-13) << info.name;
    EXPECT_EQ(residual.steps, std::min<std::int64_t>(options.steps, 256));
    const Certificate& certificate = mechanism->certificate();
    EXPECT_EQ(certificate.exactness, Exactness::exact);
    EXPECT_EQ(certificate.strategy, info.name);
    EXPECT_EQ(certificate.participation, "single");
    EXPECT_GE(certificate.max_error, certificate.mean_error * (1 - 1e-14));
  }
}

TEST(Mechanism, leading_block_of_a_strategy_is_the_strategy_of_the_shorter_horizon) {
  // If this holds, decoder_residual is valid for the whole horizon. The families below depend on
  // the horizon, by their construction or their default parameters; their residual is that of a
  // shorter member of the family.
  for (const StrategyInfo& info : strategy_catalogue()) {
    const bool depends_on_horizon =
        info.name == "normalized-square-root" || info.name == "nu" || info.name == "lambda-cgd" ||
        info.name == "haar" || info.name == "honaker-full" || info.name == "tree-k" ||
        info.name == "blt" || info.name == "blt-normalized" || info.name == "blt-scaled" ||
        info.name == "banded-toeplitz" || info.name == "banded" || info.name == "optimal";
    if (depends_on_horizon) continue;
    const auto whole = testing::make_known(info.name, 37);
    const auto leading = testing::make_known(info.name, 21);
    const Eigen::Index rows = testing::index_of(leading->num_measurements());
    SCOPED_TRACE(std::string(info.name) + " must be named above if it depends on the horizon");
    EXPECT_EQ(whole->encoder().topLeftCorner(rows, 21), leading->encoder());
    EXPECT_EQ(whole->decoder().topLeftCorner(21, rows), leading->decoder());
  }
}

TEST(Mechanism, slack_of_the_encoder_is_added_for_every_participation) {
  MechanismOptions options = valid();
  options.strategy = "log-perturbed";
  options.steps = 1000;
  const double slack = make_strategy({.name = "log-perturbed", .steps = 1000})->encoder_slack();
  EXPECT_GT(slack, 0);
  for (const std::int64_t k : {1, 10}) {
    options.participation = Participation::min_separation({.times = k, .apart = 100});
    const Certificate c = Mechanism::make(options)->certificate();
    const double added = c.noise_stddev / (c.noise_multiplier * c.sensitivity * c.clip *
                                           neighbour_distance(c.neighbours)) -
                         1;
    EXPECT_GE(added, static_cast<double>(k) * slack);
  }
}

TEST(Mechanism, release_stddev_is_noise_times_row_norm) {
  const auto mechanism = Mechanism::make(valid());
  const Matrix decoder = mechanism->strategy().decoder();
  for (const std::int64_t step : {0, 1, 62, 99})
    EXPECT_TRUE(relatively_close(
        mechanism->release_stddev(step),
        mechanism->noise_stddev() * decoder.row(testing::index_of(step)).norm(), 1e-13));
  EXPECT_ERROR((void)mechanism->release_stddev(100), "invalid_argument",
               "step must be between 0 and 99, got 100");
}

TEST(Mechanism, an_optimum_for_another_participation_says_so) {
  const auto stands_in = [](std::int64_t steps, const Participation& participation,
                            StrategyParameters parameters = {}, std::string strategy = "optimal") {
    MechanismOptions options = valid();
    options.strategy = std::move(strategy);
    options.steps = steps;
    options.participation = participation;
    options.parameters = std::move(parameters);
    const auto mechanism = Mechanism::make(options);
    const Certificate& claim = mechanism->certificate();
    // The sensitivity is still the one for the requested participation.
    EXPECT_EQ(claim.sensitivity, sensitivity(mechanism->strategy(), participation).value);
    return std::string(claim.optimised_for);
  };
  const auto epochs = [](std::int64_t k, std::int64_t b) {
    return Participation::fixed_epoch({.epochs = k, .epoch_length = b});
  };
  const Participation apart = Participation::min_separation({.times = 2, .apart = 4});
  const std::string once = "single participation";
  EXPECT_EQ(stands_in(16, epochs(2, 8)), "");
  EXPECT_EQ(stands_in(16, Participation::single()), "");
  EXPECT_EQ(stands_in(16, epochs(2, 8), {.buffers = 4}), once);
  EXPECT_EQ(stands_in(16, apart), once);
  EXPECT_EQ(stands_in(16, apart, {}, "blt"), "");
  const std::int64_t beyond = kMaxEpochSteps + 2;
  EXPECT_EQ(stands_in(beyond, epochs(2, beyond / 2)), once);
  EXPECT_EQ(stands_in(beyond, epochs(2, beyond / 2), {}, "banded-toeplitz"), "");
  EXPECT_EQ(stands_in(beyond, Participation::single()), "");
  // A saved strategy is used as given.
  const StrategyPlan plan =
      find_plan({.strategy = {.name = "optimal", .steps = 16, .parameters = {.buffers = 4}}}).plan;
  EXPECT_EQ(stands_in(16, epochs(2, 8), {.plan = std::make_shared<const StrategyPlan>(plan)}), "");
}

TEST(Mechanism, bad_options_are_refused_by_name) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, nan, infinity}) {
    MechanismOptions options = valid();
    options.clip = bad;
    EXPECT_ERROR(Mechanism::make(options), "invalid_argument", "clip must be positive");
    options = valid();
    options.target.epsilon = bad;
    EXPECT_ERROR(Mechanism::make(options), "invalid_argument", "epsilon must be");
    options = valid();
    options.target.delta = bad;
    EXPECT_ERROR(Mechanism::make(options), "invalid_argument", "delta must be");
  }
  MechanismOptions options = valid();
  options.target.delta = 1;
  EXPECT_ERROR(Mechanism::make(options), "invalid_argument", "delta must be");
  options = valid();
  options.steps = 0;
  EXPECT_ERROR(Mechanism::make(options), "invalid_argument", "steps must be");
  options = valid();
  options.strategy = "";
  EXPECT_ERROR(Mechanism::make(options), "invalid_argument", "strategy must be one of");
  EXPECT_ERROR((void)neighbours_from_string("add-remove"), "invalid_argument",
               "neighbours must be one of zero-out, replace-one, got \"add-remove\"");
}

}  // namespace
}  // namespace dpftrl
