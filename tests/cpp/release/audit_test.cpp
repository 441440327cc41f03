// SPDX-License-Identifier: Apache-2.0
// Attacks on the releases themselves: the claimed privacy withstands them, but noise 2/3 as large
// does not.
//
// The short form always runs; DPFTRL_LONG=1 in the environment selects the full form, which takes
// minutes.
#include "audit.hpp"

#include <string>
#include <tuple>

#include "dense_algebra.hpp"
#include "dpftrl/release/lattice/lattice.hpp"
#include "dpftrl/release/prefix_sum.hpp"
#include "release/lattice/coder.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::index_of;

/// Claim for one coordinate. d coordinates are attacked in parallel: a record is +-1 in each of
/// them, so its norm is sqrt(d), the clip norm, and the mechanism is made for sqrt(d) times the mu
/// (d times the rho) of the claim. Streams that differ in one coordinate only are at 1 / sqrt(d) of
/// the distance of neighbours, hence have exactly this claim. So one stream provides d independent
/// trials.
///
/// delta is large so that few trials suffice: with mu = 1.37 and noise 2/3 as large, 5800 trials
/// find epsilon > 2 with probability 0.999. epsilon_surely_found confirms this for every audit
/// below, with the actual shift of its attack.
constexpr ApproximateDp kClaim = {.epsilon = 2, .delta = 0.1};

/// A stream with or without a user in the steps of a pattern; the adversary chooses all other
/// records.
struct AuditWorld {
  bool is_with;
  Neighbours neighbours;
  std::vector<bool> pattern;
};

double sign_of(double x) {
  return x < 0 ? -1 : 1;
}

/// Feeds a stream to `release` and accumulates the attack's statistic. Records outside the pattern
/// follow the signs of the last release, as does the sign of the user's contribution, so the
/// adversary is adaptive. It knows its own records and what the user contributes in the world
/// without her.
///
/// @param release  takes a record and the part of it that the adversary knows; writes the release,
///                 and adds to the statistic of every coordinate, up to the sign.
template <class Release>
std::vector<double> statistics_of(const AuditWorld& world, std::size_t num_trials,
                                  Release release) {
  std::vector<double> record(num_trials), known(num_trials), noisy(num_trials, 0.0);
  std::vector<double> sign(num_trials, 0.0), statistic(num_trials, 0.0);
  for (const bool is_hers : world.pattern) {
    for (std::size_t i = 0; i < num_trials; ++i) {
      if (!is_hers) {
        record[i] = known[i] = -sign_of(noisy[i]);
        continue;
      }
      if (sign[i] == 0) sign[i] = sign_of(noisy[i]);
      known[i] = world.neighbours == Neighbours::replace_one ? -sign[i] : 0;
      record[i] = world.is_with ? sign[i] : known[i];
    }
    release(record, known, noisy, statistic);
  }
  for (std::size_t i = 0; i < num_trials; ++i) statistic[i] *= sign[i];
  return statistic;
}

struct Audit {
  MechanismOptions options;
  std::vector<bool> pattern = {};  ///< the user's steps
  std::int64_t side = 0;           ///< d = side^2 trials
  std::uint64_t seed = 0;
};

double num_trials_of(const Audit& audit) {
  return static_cast<double>(audit.side * audit.side);
}

/// Distance by which the user changes her steps: 1, or 2 if she is replaced.
double moved_by(const Audit& audit) {
  return neighbour_distance(audit.options.neighbours);
}

Vector indicator(const std::vector<bool>& pattern) {
  Vector steps(index_of(std::ssize(pattern)));
  for (std::size_t t = 0; t < pattern.size(); ++t)
    steps[static_cast<Eigen::Index>(t)] = pattern[t] ? 1 : 0;
  return steps;
}

/// The most powerful linear test of releases: v = (B B^T)^-1 A e. With unit noise its statistic v .
/// release has standard deviation sqrt(v B B^T v), and shifts by the square of that.
struct Direction {
  Vector weights;
  double length;
};

Direction best_direction(const Strategy& strategy, const std::vector<bool>& pattern) {
  const Matrix decoder = strategy.decoder();
  const Vector moved = strategy.workload().matrix() * indicator(pattern);
  const Matrix covariance = decoder * decoder.transpose();
  const Vector weights = testing::inverse(covariance) * moved;
  return {weights, std::sqrt(weights.dot(moved))};
}

/// Mechanism for `factor` times the mu of the claim in every coordinate; 3/2 gives noise 2/3 as
/// large.
std::shared_ptr<const Mechanism> grid_mechanism(const Audit& audit, double factor) {
  MechanismOptions options = audit.options;
  const double mu = factor * static_cast<double>(audit.side) * mu_from_approximate_dp(kClaim);
  options.clip = static_cast<double>(audit.side);
  options.target = {.epsilon = epsilon_from_mu({.mu = mu, .delta = kClaim.delta}),
                    .delta = kClaim.delta};
  return Mechanism::make(options);
}

double audited_grid(const Audit& audit, double factor, double honest_stddev) {
  const auto mechanism = grid_mechanism(audit, factor);
  const Direction direction = best_direction(mechanism->strategy(), audit.pattern);
  const auto num_trials = static_cast<std::size_t>(audit.side * audit.side);
  const auto statistics = [&](bool is_with, std::uint64_t seed) {
    PrefixSum sums(mechanism,
                   {.key = Key::insecure_from_seed(seed), .dimension = audit.side * audit.side});
    std::vector<double> known_sum(num_trials, 0.0);
    const auto release = [&](const std::vector<double>& record, const std::vector<double>& known,
                             std::vector<double>& noisy, std::vector<double>& statistic) {
      const double weight =
          direction.weights[index_of(sums.step())] / (direction.length * honest_stddev);
      sums.release(record, noisy);
      for (std::size_t i = 0; i < num_trials; ++i) {
        known_sum[i] += known[i];
        statistic[i] += weight * (noisy[i] - known_sum[i]);
      }
    };
    return statistics_of({is_with, audit.options.neighbours, audit.pattern}, num_trials, release);
  };
  return testing::audited_epsilon(statistics(true, 2 * audit.seed),
                                  statistics(false, 2 * audit.seed + 1), kClaim.delta);
}

/// Expects the measured epsilon to stay below the claim, and to exceed it with noise 2/3 as large.
void expect_grid_survives(const Audit& audit, const std::string& title) {
  const auto mechanism = grid_mechanism(audit, 1);
  const double shift = moved_by(audit) *
                       best_direction(mechanism->strategy(), audit.pattern).length /
                       mechanism->noise_stddev();
  const testing::Size size = {
      .shift = shift, .spread = 2.0 / 3, .num_trials = num_trials_of(audit), .delta = kClaim.delta};
  EXPECT_GT(testing::epsilon_surely_found(size), kClaim.epsilon) << title << ": too few trials";
  EXPECT_LT(audited_grid(audit, 1, mechanism->noise_stddev()), kClaim.epsilon) << title;
  EXPECT_GT(audited_grid(audit, 1.5, mechanism->noise_stddev()), kClaim.epsilon) << title;
}

/// Step, or steps one epoch apart, at which the attack shifts the statistic most.
std::vector<bool> worst_pattern(const Strategy& strategy, const Participation& participation) {
  const std::int64_t n = strategy.steps();
  const std::int64_t k = participation.times_within(n);
  const std::int64_t b = k > 1 ? participation.apart() : n;
  std::vector<bool> worst;
  double largest = 0;
  for (std::int64_t first = 0; first < b; ++first) {
    std::vector<bool> pattern(static_cast<std::size_t>(n), false);
    for (std::int64_t i = 0; i < k && first + i * b < n; ++i)
      pattern[static_cast<std::size_t>(first + i * b)] = true;
    const double length = best_direction(strategy, pattern).length;
    if (length > largest) std::tie(largest, worst) = std::tuple(length, pattern);
  }
  return worst;
}

std::vector<Participation> audited_participations() {
  if (!testing::is_long()) return {Participation::single()};
  return {Participation::single(), Participation::fixed_epoch({.epochs = 2, .epoch_length = 4})};
}

constexpr std::int64_t kAuditSteps = 8;
/// Number of steps for which the releases of every family reveal a user nearly as well as the
/// measurements do. With more, those of a tree estimated from below reveal less.
constexpr std::int64_t kFewSteps = 2;

TEST(Audit, grid_releases_of_every_strategy_leak_no_more_than_claimed) {
  std::uint64_t seed = 1000;
  for (const StrategyInfo& info : strategy_catalogue()) {
    for (const Participation& participation : audited_participations()) {
      const std::int64_t n = participation.times() > 1 ? kAuditSteps
                             : testing::is_long()      ? kAuditSteps
                                                       : kFewSteps;
      Audit audit = {.options = {.strategy = std::string(info.name),
                                 .steps = n,
                                 .participation = participation},
                     .side = testing::is_long() ? 512 : 160,
                     .seed = ++seed};
      const auto strategy = make_strategy({.name = audit.options.strategy, .steps = n});
      audit.pattern = worst_pattern(*strategy, participation);
      expect_grid_survives(audit, audit.options.strategy + " " + participation.description());
    }
  }
}

TEST(Audit, grid_releases_with_replaced_records_in_several_epochs_leak_no_more_than_claimed) {
  std::uint64_t seed = 2000;
  for (const char* name : {"tree", "square-root", "banded-square-root"}) {
    Audit audit = {
        .options = {.strategy = name,
                    .steps = kAuditSteps,
                    .neighbours = Neighbours::replace_one,
                    .participation = Participation::fixed_epoch({.epochs = 2, .epoch_length = 4})},
        .side = 160,
        .seed = ++seed};
    const auto strategy = make_strategy({.name = name, .steps = kAuditSteps});
    audit.pattern = worst_pattern(*strategy, audit.options.participation);
    expect_grid_survives(audit, name);
  }
}

TEST(Audit, grid_releases_of_epochs_and_of_normalised_columns_leak_no_more_than_claimed) {
  constexpr std::int64_t kShortEpochs = 4;  // one epoch of three steps, and one step more
  std::uint64_t seed = 2500;
  for (const auto& [name, parameters] :
       {std::pair<const char*, StrategyParameters>{"square-root", {.epoch_length = 3}},
        {"tree", {.epoch_length = 3, .complete_epochs = true}},
        {"banded-square-root", {.bands = 2, .normalize_columns = true}}}) {
    Audit audit = {.options = {.strategy = name, .steps = kShortEpochs, .parameters = parameters},
                   .side = 160,
                   .seed = ++seed};
    const auto strategy =
        make_strategy({.name = name, .steps = kShortEpochs, .parameters = parameters});
    audit.pattern = worst_pattern(*strategy, audit.options.participation);
    expect_grid_survives(audit, name);
  }
}

// --- lattice ---------------------------------------------------------------------------------

/// Counterpart of grid_mechanism for mode lattice; the discrete Gaussian has a rho target.
PrefixSum lattice_sums(const Audit& audit, LatticeNoise noise, double factor, const Key& key) {
  MechanismOptions options = audit.options;
  const double ratio = factor * static_cast<double>(audit.side);
  options.clip = static_cast<double>(audit.side);
  options.target.delta = kClaim.delta;
  options.target.epsilon =
      noise == LatticeNoise::discrete_gaussian
          ? epsilon_from_rho(
                {.rho = ratio * ratio * rho_from_approximate_dp(kClaim), .delta = kClaim.delta})
          : epsilon_from_mu({.mu = ratio * mu_from_approximate_dp(kClaim), .delta = kClaim.delta});
  return {Mechanism::make(options),
          {.key = key,
           .dimension = audit.side * audit.side,
           .mode = ReleaseMode::lattice,
           .lattice_noise = noise}};
}

/// C e as the encoder computes it for the pattern e. The best attack on measurements is the inner
/// product with C e.
std::vector<double> moved_measurements(const IntegerEncoder& encoder,
                                       const std::vector<bool>& pattern) {
  const auto coder = lattice::make_coder(encoder, 1);
  std::vector<double> moved;
  for (std::size_t t = 0; t < pattern.size(); ++t) {
    const auto step = static_cast<std::int64_t>(t);
    // Large enough to make the rounding of buffers negligible.
    const std::int64_t record = pattern[t] ? 1024 : 0;
    std::vector<std::int64_t> row(static_cast<std::size_t>(coder->num_measurements(step)));
    coder->measure(step, {&record, 1}, row);
    for (const std::int64_t y : row) moved.push_back(static_cast<double>(y) / 1024);
  }
  return moved;
}

double record_norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double x : values) sum += x * x;
  return std::sqrt(sum);
}

double audited_lattice(const Audit& audit, LatticeNoise noise, double factor,
                       double honest_stddev) {
  const auto sums_of = [&](std::uint64_t seed) {
    return lattice_sums(audit, noise, factor, Key::insecure_from_seed(seed));
  };
  const PrefixSum any = sums_of(0);
  const IntegerEncoder& encoder = any.lattice()->encoder();
  const std::vector<double> moved = moved_measurements(encoder, audit.pattern);
  const double scale = 1 / (record_norm(moved) * honest_stddev);
  const auto num_trials = static_cast<std::size_t>(audit.side * audit.side);
  const auto statistics = [&](bool is_with, std::uint64_t seed) {
    PrefixSum sums = sums_of(seed);
    const auto known_coder = lattice::make_coder(encoder, audit.side * audit.side);
    std::vector<std::int64_t> known_integers(num_trials), known_measurements;
    std::size_t row = 0;
    const auto release = [&](const std::vector<double>& record, const std::vector<double>& known,
                             std::vector<double>& noisy, std::vector<double>& statistic) {
      const std::int64_t step = sums.step();
      sums.release(record, noisy);
      for (std::size_t i = 0; i < num_trials; ++i)
        known_integers[i] = static_cast<std::int64_t>(known[i] / sums.grid());
      known_measurements.resize(sums.measurements().size());
      known_coder->measure(step, known_integers, known_measurements);
      for (std::size_t i = 0; i < known_measurements.size(); ++i)
        statistic[i % num_trials] +=
            scale * moved[row + i / num_trials] *
            static_cast<double>(sums.measurements()[i] - known_measurements[i]);
      row += known_measurements.size() / num_trials;
    };
    return statistics_of({is_with, audit.options.neighbours, audit.pattern}, num_trials, release);
  };
  return testing::audited_epsilon(statistics(true, 2 * audit.seed),
                                  statistics(false, 2 * audit.seed + 1), kClaim.delta);
}

void expect_lattice_survives(const Audit& audit, LatticeNoise noise, const std::string& title) {
  const PrefixSum sums = lattice_sums(audit, noise, 1, Key::insecure_from_seed(0));
  const LatticeCertificate& claim = sums.lattice()->certificate();
  const double stddev = std::sqrt(claim.noise_variance);
  const double shift = moved_by(audit) / claim.grid *
                       record_norm(moved_measurements(sums.lattice()->encoder(), audit.pattern)) /
                       stddev;
  const testing::Size size = {
      .shift = shift, .spread = 2.0 / 3, .num_trials = num_trials_of(audit), .delta = kClaim.delta};
  EXPECT_GT(testing::epsilon_surely_found(size), kClaim.epsilon) << title << ": too few trials";
  EXPECT_LT(audited_lattice(audit, noise, 1, stddev), kClaim.epsilon) << title;
  EXPECT_GT(audited_lattice(audit, noise, 1.5, stddev), kClaim.epsilon) << title;
}

std::vector<std::string> with_integer_encoder() {
  std::vector<std::string> names;
  for (const StrategyInfo& info : strategy_catalogue()) {
    const auto strategy = testing::make_known(info.name, kFewSteps);
    if (testing::error_text([&] { IntegerEncoder::of(*strategy); }).empty())
      names.emplace_back(info.name);
  }
  return names;
}

TEST(Audit, lattice_measurements_leak_no_more_than_claimed) {
  // A discrete sample takes a microsecond, so the short form has three families of encoders.
  const std::vector<std::string> few = {"tree", "banded-square-root", "blt-rational"};
  const std::vector<std::string> all = with_integer_encoder();
  ASSERT_GE(all.size(), 13u);
  std::uint64_t seed = 3000;
  for (const LatticeNoise noise :
       {LatticeNoise::discrete_gaussian, LatticeNoise::rounded_gaussian}) {
    const bool is_discrete = noise == LatticeNoise::discrete_gaussian;
    for (const std::string& name : testing::is_long() || !is_discrete ? all : few) {
      for (const Participation& participation : audited_participations()) {
        Audit audit = {.options = {.strategy = name,
                                   .steps = testing::is_long() ? kAuditSteps : kFewSteps,
                                   .participation = participation},
                       // The zCDP claim is looser than the actual privacy of the noise, and
                       // refuting it takes four times the trials.
                       .side = testing::is_long() ? 256
                               : is_discrete      ? 160
                                                  : 100,
                       .seed = ++seed};
        // Column 0 has the largest norm, and 0, b, 2b, ... is the worst pattern.
        audit.pattern.assign(static_cast<std::size_t>(audit.options.steps), false);
        for (std::size_t t = 0; t < audit.pattern.size();
             t += participation.times() > 1 ? 4 : audit.pattern.size())
          audit.pattern[t] = true;
        expect_lattice_survives(
            audit, noise,
            name + " " + std::string(to_string(noise)) + " " + participation.description());
      }
    }
  }
}

TEST(Audit, lattice_measurements_with_replaced_records_leak_no_more_than_claimed) {
  expect_lattice_survives(
      {.options = {.strategy = "tree", .steps = kFewSteps, .neighbours = Neighbours::replace_one},
       .pattern = {true, false},
       .side = 100,
       .seed = 3500},
      LatticeNoise::rounded_gaussian, "tree");
}

// --- the audit itself ------------------------------------------------------------------------

TEST(Audit, bounds_on_rates_are_chernoffs) {
  // At the bounds on either side, N KL(q, p) equals the log odds.
  const double above = testing::rate_at_most(0.1, 1000, 21),
               below = testing::rate_at_least(0.1, 1000, 21);
  EXPECT_NEAR(1000 * testing::divergence(0.1, above), 21, 1e-6);
  EXPECT_NEAR(1000 * testing::divergence(0.1, below), 21, 1e-6);
  EXPECT_GT(above, 0.1);
  EXPECT_LT(below, 0.1);
  // No alarms in N trials give p = 1 - e^(-21/N).
  EXPECT_NEAR(testing::rate_at_most(0, 1000, 21), 1 - std::exp(-0.021), 1e-12);
}

TEST(Audit, one_dimensional_streams_with_keys_of_their_own_give_the_same_verdict) {
  // Without parallel coordinates, the claim is that of the certificate, and each stream is one
  // trial.
  constexpr std::int64_t kTrials = 8000;
  const auto audited = [&](double factor) {
    const double mu = factor * mu_from_approximate_dp(kClaim);
    const auto mechanism =
        Mechanism::make({.strategy = "tree",
                         .steps = 2,
                         .target = {.epsilon = epsilon_from_mu({.mu = mu, .delta = kClaim.delta}),
                                    .delta = kClaim.delta}});
    const double honest = mechanism->noise_stddev() * factor;
    const auto statistics = [&](bool is_with) {
      std::vector<double> all;
      for (std::int64_t i = 0; i < kTrials; ++i) {
        const auto seed = static_cast<std::uint64_t>(4 * i + (is_with ? 1 : 0)) + 1000000;
        PrefixSum sums(mechanism, {.key = Key::insecure_from_seed(seed)});
        double first = 0, second = 0;
        const double record = is_with ? 1 : 0, none = 0;
        sums.release({&record, 1}, {&first, 1});
        sums.release({&none, 1}, {&second, 1});
        all.push_back((first + second) / (std::sqrt(2.0) * honest));  // leaf 0 and node (1, 0)
      }
      return all;
    };
    return testing::audited_epsilon(statistics(true), statistics(false), kClaim.delta);
  };
  EXPECT_LT(audited(1), kClaim.epsilon);
  EXPECT_GT(audited(1.5), kClaim.epsilon);
}

// --- covariances -----------------------------------------------------------------------------

/// Sample covariance of paths with mean 0, given as columns.
Matrix covariance_of(const Matrix& paths) {
  return paths * paths.transpose() / static_cast<double>(paths.cols());
}

constexpr std::int64_t kNumPaths = 100000;

/// True if every entry of the covariance of kNumPaths paths is within six standard errors of the
/// expected one, plus `slack` for rounding. An entry gives a false alarm with probability 2e-9.
bool is_close(const Matrix& found, const Matrix& expected, double slack) {
  for (Eigen::Index i = 0; i < found.rows(); ++i) {
    for (Eigen::Index j = 0; j <= i; ++j) {
      const double product = expected(i, i) * expected(j, j) + expected(i, j) * expected(i, j);
      const double error = std::sqrt(product / static_cast<double>(kNumPaths));
      if (!(std::abs(found(i, j) - expected(i, j)) <= 6 * error + slack)) return false;
    }
  }
  return true;
}

template <class Sums>
Matrix released_paths(Sums& sums) {
  Matrix paths(index_of(sums.steps()), index_of(sums.dimension()));
  const std::vector<double> zeros(static_cast<std::size_t>(sums.dimension()), 0.0);
  for (Eigen::Index t = 0; t < paths.rows(); ++t)
    sums.release(zeros, {paths.row(t).data(), zeros.size()});
  return paths;
}

TEST(Covariance, grid_noise_has_that_of_the_decoder) {
  for (const StrategyInfo& info : strategy_catalogue()) {
    const auto mechanism = Mechanism::make({.strategy = std::string(info.name),
                                            .steps = testing::is_long() ? 24 : 4,
                                            .target = {.epsilon = 1, .delta = 1e-6}});
    PrefixSum sums(mechanism, {.key = Key::insecure_from_seed(31), .dimension = kNumPaths});
    const Matrix found = covariance_of(released_paths(sums));
    const Matrix decoder = mechanism->strategy().decoder() * mechanism->noise_stddev();
    const Matrix expected = decoder * decoder.transpose();
    const double slack = sums.grid() * sums.grid();
    EXPECT_TRUE(is_close(found, expected, slack)) << info.name;
    EXPECT_FALSE(is_close(found, expected * 0.95, slack)) << info.name;
  }
}

TEST(Covariance, lattice_noise_has_that_of_the_decoder) {
  for (const LatticeNoise noise :
       {LatticeNoise::discrete_gaussian, LatticeNoise::rounded_gaussian}) {
    const bool is_discrete = noise == LatticeNoise::discrete_gaussian;
    std::vector<const char*> names = {"honaker"};
    if (!is_discrete) names.push_back("blt-rational");
    if (testing::is_long()) names = {"honaker", "tree", "banded-square-root", "square-root", "nu"};
    for (const char* name : names) {
      const MechanismOptions options = {.strategy = name,
                                        .steps = testing::is_long() ? 24
                                                 : is_discrete      ? 2
                                                                    : 4,
                                        .target = {.epsilon = 1, .delta = 1e-6}};
      PrefixSum sums(Mechanism::make(options), {.key = Key::insecure_from_seed(32),
                                                .dimension = kNumPaths,
                                                .mode = ReleaseMode::lattice,
                                                .lattice_noise = noise});
      const Matrix found = covariance_of(released_paths(sums));
      const auto strategy = make_strategy({.name = name, .steps = options.steps});
      const double stddev = sums.release_stddev(0) / std::sqrt(strategy->row_norm_squared(0));
      const Matrix decoder = strategy->decoder() * stddev;
      const Matrix expected = decoder * decoder.transpose();
      // Coefficients are rounded to 2^-16.
      const double slack = 1e-4 * expected.maxCoeff();
      EXPECT_TRUE(is_close(found, expected, slack)) << name;
      EXPECT_FALSE(is_close(found, expected * 0.95, slack)) << name;
    }
  }
}

}  // namespace
}  // namespace dpftrl
