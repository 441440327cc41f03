// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/release/lattice/lattice.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "dpftrl/release/prefix_sum.hpp"
#include "dpftrl/release/stream.hpp"
#include "noise/checkpoint.hpp"
#include "noise/exact/exact_entry.hpp"
#include "random/discrete_gaussian.hpp"
#include "random/gaussian.hpp"
#include "release/lattice/coder.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

const std::vector<std::string>& lattice_strategies() {
  static const std::vector<std::string> names = {
      "tree",         "honaker",    "independent",        "output",
      "square-root",  "lambda-cgd", "banded-square-root", "banded-inverse-square-root",
      "blt-rational", "nu",         "log-perturbed"};
  return names;
}

MechanismOptions lattice_options(const std::string& strategy, std::int64_t steps) {
  return {
      .strategy = strategy, .steps = steps, .target = {.epsilon = 1, .delta = 1e-6}, .clip = 1.5};
}

const Key& lattice_key() {
  static const Key found = Key::insecure_from_seed(21);
  return found;
}

std::shared_ptr<const LatticeMechanism> make_lattice(const MechanismOptions& options,
                                                     const LatticeOptions& lattice = {}) {
  return LatticeMechanism::make(Mechanism::make(options), lattice);
}

PrefixSumOptions in_mode_lattice(const LatticeOptions& lattice = {}) {
  return {.key = lattice_key(),
          .dimension = lattice.dimension,
          .mode = ReleaseMode::lattice,
          .grid = lattice.grid,
          .lattice_noise = lattice.noise,
          .precision_bits = lattice.precision_bits};
}

PrefixSum make_sums(const MechanismOptions& options, const LatticeOptions& lattice = {}) {
  return {Mechanism::make(options), in_mode_lattice(lattice)};
}

std::vector<double> lattice_record(std::uint64_t row, std::size_t dimension, double scale) {
  std::vector<double> values(dimension);
  fill_normals(Key::insecure_from_seed(6), Stream::test, row, 0, values);
  for (double& x : values) x *= scale;
  return values;
}

TEST(Lattice, decoded_measurements_are_the_running_totals) {
  // Without noise, B C = A up to the rounding of doubles and, for buffers, the stated bias.
  constexpr std::int64_t kSteps = 100, kDimension = 2;
  for (const std::string& name : lattice_strategies()) {
    const auto mechanism = make_lattice(lattice_options(name, kSteps), {.dimension = kDimension});
    const auto coder = lattice::make_coder(mechanism->encoder(), kDimension);
    const double bias = mechanism->decoding_bias() / mechanism->certificate().grid;
    EXPECT_EQ(bias > 0, name == "blt-rational");
    std::vector<std::int64_t> measurements;
    std::vector<double> truth(kDimension, 0), total(kDimension);
    for (std::int64_t t = 0; t < kSteps; ++t) {
      const std::vector<std::int64_t> quantised = {t * t % 83 - 40, 50 - 7 * t % 101};
      measurements.resize(static_cast<std::size_t>(coder->num_measurements(t) * kDimension));
      coder->measure(t, quantised, measurements);
      coder->decode(t, measurements, total);
      for (std::size_t i = 0; i < total.size(); ++i) {
        truth[i] += static_cast<double>(quantised[i]);
        EXPECT_NEAR(total[i], truth[i], bias + 1e-9) << name << " " << t;
      }
    }
  }
}

TEST(Lattice, totals_of_buffers_stay_within_the_stated_bias) {
  // Few bits, so that the bias is visible.
  constexpr std::int64_t kSteps = 2000;
  MechanismOptions options = lattice_options("blt", kSteps);
  options.parameters = {.decays = {0.999, 0.9}, .weights = {0.03, 0.4}};
  const auto mechanism = make_lattice(options, {.grid = 1.0 / 64, .precision_bits = 2});
  const auto coder = lattice::make_coder(mechanism->encoder(), 1);
  double truth = 0, largest = 0;
  for (std::int64_t t = 0; t < kSteps; ++t) {
    const std::int64_t quantised = t < 3 ? 7 : 0;
    std::int64_t measured = 0;
    double total = 0;
    coder->measure(t, {&quantised, 1}, {&measured, 1});
    coder->decode(t, {&measured, 1}, {&total, 1});
    truth += static_cast<double>(quantised);
    largest = std::max(largest, std::abs(total - truth) / 64);
  }
  EXPECT_LE(largest, mechanism->decoding_bias());
  EXPECT_GE(largest, mechanism->decoding_bias() / 1000);
}

TEST(Lattice, measurements_are_those_of_the_integers_plus_addressed_noise) {
  // A second coder recomputes the releases from the measurements alone.
  constexpr std::int64_t kSteps = 21, kDimension = 3;
  for (const LatticeNoise noise :
       {LatticeNoise::discrete_gaussian, LatticeNoise::rounded_gaussian}) {
    for (const std::string& name : lattice_strategies()) {
      PrefixSum sums =
          make_sums(lattice_options(name, kSteps), {.dimension = kDimension, .noise = noise});
      const LatticeMechanism* const mechanism = sums.lattice();
      const LatticeCertificate& claim = mechanism->certificate();
      const auto measuring = lattice::make_coder(mechanism->encoder(), kDimension);
      const auto decoding = lattice::make_coder(mechanism->encoder(), kDimension);
      const DiscreteGaussian law(claim.noise_variance);
      std::int64_t row = 0;
      std::vector<double> noisy(kDimension), total(kDimension);
      for (std::int64_t t = 0; t < kSteps; ++t) {
        // Values are on the grid and inside the ball, so nothing is clipped or truncated.
        std::vector<double> values(kDimension);
        std::vector<std::int64_t> quantised(kDimension);
        for (std::int64_t i = 0; i < kDimension; ++i) {
          quantised[static_cast<std::size_t>(i)] = (5 * t + 3 * i) % 13 - 6;
          values[static_cast<std::size_t>(i)] =
              static_cast<double>(quantised[static_cast<std::size_t>(i)]) * claim.grid;
        }
        sums.release(values, noisy);
        std::vector<std::int64_t> expected(sums.measurements().size());
        measuring->measure(t, quantised, expected);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          const auto coordinate = static_cast<std::int64_t>(i) % kDimension;
          const std::int64_t at = row + static_cast<std::int64_t>(i) / kDimension;
          expected[i] += noise == LatticeNoise::discrete_gaussian
                             ? law.sample(lattice_key(),
                                          {.row = static_cast<std::uint64_t>(at),
                                           .coordinate = static_cast<std::uint64_t>(coordinate)})
                             : exact_rounded_entry(IdentityDecoder{},
                                                   {.key = lattice_key(), .dimension = kDimension},
                                                   at, coordinate,
                                                   std::sqrt(claim.noise_variance) * (1 + 0x1p-50));
          EXPECT_EQ(sums.measurements()[i], expected[i]) << name << " " << t;
        }
        row += std::ssize(expected) / kDimension;
        decoding->decode(t, sums.measurements(), total);
        for (std::size_t i = 0; i < total.size(); ++i) EXPECT_EQ(noisy[i], total[i] * claim.grid);
      }
      EXPECT_EQ(row, mechanism->encoder().num_measurements()) << name;
      EXPECT_ERROR(sums.release(noisy, noisy), "past_horizon", "below the horizon 21, got 21");
    }
  }
}

TEST(Lattice, the_noise_reaches_what_the_target_asks_for) {
  // The distance is recomputed in long double from the integers of the certificate.
  for (const Neighbours neighbours : {Neighbours::zero_out, Neighbours::replace_one}) {
    for (const std::string& name : lattice_strategies()) {
      MechanismOptions options = lattice_options(name, 48);
      options.neighbours = neighbours;
      options.participation = Participation::min_separation({.times = 3, .apart = 16});
      for (const LatticeNoise noise :
           {LatticeNoise::discrete_gaussian, LatticeNoise::rounded_gaussian}) {
        const auto mechanism = make_lattice(options, {.dimension = 5, .noise = noise});
        const LatticeCertificate& claim = mechanism->certificate();
        const long double limit = static_cast<long double>(claim.clip) / claim.grid;
        EXPECT_LE(static_cast<long double>(claim.max_norm_squared), limit * limit);
        EXPECT_GT(static_cast<long double>(claim.max_norm_squared), limit * limit - 1);
        const long double moved =
            std::sqrt(static_cast<long double>(claim.sensitivity.squared) *
                      static_cast<long double>(claim.max_norm_squared)) *
            std::ldexp(1.0L, claim.precision_bits - claim.sensitivity.fraction_bits) *
            (neighbours == Neighbours::replace_one ? 2 : 1);
        const long double distance =
            moved +
            std::sqrt(static_cast<long double>(mechanism->encoder().num_measurements() * 5)) *
                claim.rounding_deviation;
        EXPECT_GE(static_cast<long double>(claim.distance), distance) << name;
        EXPECT_LE(claim.distance, static_cast<double>(distance) * (1 + 1e-11)) << name;
        // The noise uses all of rho, or mu, to the last bit.
        const long double variance = claim.noise_variance,
                          squared = static_cast<long double>(claim.distance) * claim.distance;
        const long double mu = noise == LatticeNoise::discrete_gaussian ? 0 : *claim.mu;
        EXPECT_GE(variance * (claim.mu ? mu * mu : 2 * static_cast<long double>(claim.rho)),
                  squared)
            << name;
        const double multiplier = std::sqrt(claim.noise_variance) / claim.distance;
        if (noise == LatticeNoise::discrete_gaussian) {
          EXPECT_FALSE(claim.mu);
          EXPECT_LE(delta_from_rho({.rho = claim.rho, .epsilon = 1}), 1e-6);
          EXPECT_GE(multiplier, 1 / std::sqrt(2 * claim.rho) * (1 - 1e-15)) << name;
          EXPECT_LE(multiplier, 1 / std::sqrt(2 * claim.rho) * (1 + 1e-9)) << name;
          EXPECT_GT(multiplier, noise_multiplier(options.target));
        } else {
          EXPECT_GE(multiplier, noise_multiplier(options.target) * (1 - 1e-13)) << name;
          EXPECT_LE(multiplier, noise_multiplier(options.target) * (1 + 1e-9)) << name;
        }
      }
    }
  }
}

TEST(Lattice, rounding_the_encoder_hardly_costs_anything) {
  // The std is almost that with real coefficients; discrete noise needs 8 % more because its claim
  // is converted from zCDP.
  for (const std::string& name : lattice_strategies()) {
    const auto real = Mechanism::make(lattice_options(name, 300));
    const auto rounded =
        make_lattice(lattice_options(name, 300), {.noise = LatticeNoise::rounded_gaussian});
    const auto discrete = make_lattice(lattice_options(name, 300), {});
    for (const std::int64_t step : {0, 1, 100, 299}) {
      EXPECT_TRUE(testing::relatively_close(rounded->release_stddev(step),
                                            real->release_stddev(step), 3e-3))
          << name;
      EXPECT_TRUE(testing::relatively_close(discrete->release_stddev(step),
                                            1.08 * real->release_stddev(step), 2e-2))
          << name << discrete->release_stddev(step) / real->release_stddev(step);
    }
  }
}

TEST(Lattice, precision_gives_way_to_the_widths_of_integers) {
  MechanismOptions options = lattice_options("blt-rational", 1 << 16);
  options.target = {.epsilon = 1e-3, .delta = 1e-9};
  const auto mechanism = make_lattice(options, {.dimension = 1 << 10});
  EXPECT_LT(mechanism->certificate().precision_bits, 30);
  EXPECT_GE(mechanism->certificate().precision_bits, 16);
  EXPECT_ERROR(make_lattice(options, {.dimension = 1 << 10, .precision_bits = 30}),
               "invalid_argument", "measurements fit 61 bits");
  // One bit more than chosen leaves too little room in a step.
  const auto chosen = make_lattice(lattice_options("blt", 300));
  const int bits = chosen->certificate().precision_bits;
  EXPECT_GT(bits, 16);
  EXPECT_LT(bits, 30);
  EXPECT_GE(chosen->certificate().max_contributions, 1 << 20);
  const auto finer = make_lattice(lattice_options("blt", 300), {.precision_bits = bits + 1});
  EXPECT_LT(finer->certificate().max_contributions, 1 << 20);
  options.steps = std::int64_t{1} << 38;
  options.strategy = "tree";
  EXPECT_ERROR(make_lattice(options, {.grid = 0x1p-30}), "unsupported", "measurements fit 61 bits");
}

TEST(Lattice, releases_are_the_same_bits_everywhere) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::uint64_t bits) { hash = (hash ^ bits) * 0x100000001b3; };
  for (const LatticeNoise noise : {LatticeNoise::discrete_gaussian, LatticeNoise::rounded_gaussian})
    for (const char* name : {"tree", "honaker", "square-root", "banded-square-root", "output"}) {
      PrefixSum sums = make_sums(lattice_options(name, 50), {.dimension = 2, .noise = noise});
      std::vector<double> noisy(2);
      for (std::uint64_t t = 0; t < 50; ++t) {
        sums.release(lattice_record(t, 2, 0.5), noisy);
        for (const std::int64_t y : sums.measurements()) add(static_cast<std::uint64_t>(y));
        for (const double x : noisy) add(std::bit_cast<std::uint64_t>(x));
      }
    }
  EXPECT_EQ(hash, 2826770375666317606u);
}

TEST(Lattice, the_package_gives_these_totals) {
  // tests/js/lattice.test.mjs expects the same number, natively and in WebAssembly.
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char* name : {"tree", "honaker", "banded-square-root", "blt-rational"})
    for (const LatticeNoise noise :
         {LatticeNoise::discrete_gaussian, LatticeNoise::rounded_gaussian}) {
      PrefixSum sums = make_sums(lattice_options(name, 40), {.dimension = 2, .noise = noise});
      std::vector<double> noisy(2);
      for (int t = 0; t < 40; ++t) {
        sums.release(std::vector{((5 * t) % 13 - 6) / 8.0, ((5 * t + 3) % 13 - 6) / 8.0}, noisy);
        for (const double x : noisy)
          hash = (hash ^ std::bit_cast<std::uint64_t>(x)) * 0x100000001b3;
      }
    }
  EXPECT_EQ(hash, 7493336178837884560u);
}

TEST(Lattice, a_record_never_adds_more_than_the_clip_norm) {
  const auto mechanism = make_lattice(lattice_options("output", 3), {.dimension = 2});
  const LatticeCertificate& claim = mechanism->certificate();
  for (const double size : {1e-3, 1.5, 1.5 * (1 + 0x1p-52), 7.0, 1e300}) {
    PrefixSum with = make_sums(lattice_options("output", 3), {.dimension = 2});
    PrefixSum without = make_sums(lattice_options("output", 3), {.dimension = 2});
    std::vector<double> noisy(2);
    with.release(std::vector<double>{size * 0.6, -size * 0.8}, noisy);
    without.release(std::vector<double>{0, 0}, noisy);
    std::int64_t norm_squared = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t added = with.measurements()[i] - without.measurements()[i];
      norm_squared += added * added;
    }
    EXPECT_LE(norm_squared, claim.max_norm_squared);
    if (size > 1) {
      EXPECT_GE(static_cast<double>(norm_squared),
                0.9 * static_cast<double>(claim.max_norm_squared));
    }
  }
}

TEST(Lattice, a_batch_is_its_releases_one_by_one) {
  for (const char* name : {"honaker", "blt-rational", "banded-square-root"}) {
    PrefixSum batched = make_sums(lattice_options(name, 12), {.dimension = 2});
    PrefixSum single = make_sums(lattice_options(name, 12), {.dimension = 2});
    std::vector<double> records, noisy(24), row(2);
    for (std::uint64_t t = 0; t < 12; ++t)
      for (const double x : lattice_record(t, 2, 0.5)) records.push_back(x);
    batched.release_batch(records, noisy, 12);
    for (std::size_t t = 0; t < 12; ++t) {
      single.release(std::span(records).subspan(2 * t, 2), row);
      EXPECT_TRUE(std::ranges::equal(std::span(noisy).subspan(2 * t, 2), row)) << name;
    }
    EXPECT_ERROR(batched.release_batch(std::span(records).first(2), std::span(noisy).first(2), 1),
                 "past_horizon", "below the horizon 12");
  }
}

TEST(Lattice, a_step_of_contributions_measures_their_integer_sum) {
  for (const std::string& name : lattice_strategies()) {
    PrefixSum people = make_sums(lattice_options(name, 20), {.dimension = 2});
    const auto coder = lattice::make_coder(people.lattice()->encoder(), 2);
    PrefixSum silent = make_sums(lattice_options(name, 20), {.dimension = 2});
    const double grid = people.grid();
    std::vector<double> noisy(2), noise(2);
    for (std::int64_t t = 0; t < 20; ++t) {
      // Each has norm at most 1.5, the clip norm, and three of them are not clipped jointly.
      std::vector<std::int64_t> sum(2, 0);
      for (std::int64_t i = 0; i < t % 4; ++i) {
        const std::vector<double> one = {i % 2 == 0 ? 1.5 : 0.25, 0.0};
        people.contribute(one);
        sum[0] += static_cast<std::int64_t>(one[0] / grid);
      }
      people.release(noisy);
      silent.release(noise);
      std::vector<std::int64_t> expected(people.measurements().size());
      coder->measure(t, sum, expected);
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(people.measurements()[i] - silent.measurements()[i], expected[i]) << name;
    }
  }
}

TEST(Lattice, no_integer_overflows_before_a_step_is_full) {
  // The stated room suffices at every step, with all records at the clip norm.
  for (const std::string& name : lattice_strategies()) {
    const auto mechanism = make_lattice(lattice_options(name, 64));
    const LatticeCertificate& claim = mechanism->certificate();
    EXPECT_GE(claim.max_contributions, std::int64_t{1} << 20) << name;
    const double most = std::sqrt(static_cast<double>(claim.max_norm_squared)) *
                        static_cast<double>(claim.max_contributions);
    ASSERT_LT(most, 0x1p62);
    const auto coder = lattice::make_coder(mechanism->encoder(), 1);
    const auto all = static_cast<std::int64_t>(most);
    std::vector<std::int64_t> row;
    for (std::int64_t t = 0; t < 64; ++t) {
      row.resize(static_cast<std::size_t>(coder->num_measurements(t)));
      coder->measure(t, {&all, 1}, row);
      for (const std::int64_t y : row) {
        EXPECT_GE(y, 0) << name;  // an overflow would have wrapped or trapped
        EXPECT_LE(y, std::int64_t{1} << 61) << name;
      }
    }
  }
}

TEST(Lattice, a_full_step_refuses_and_the_next_has_room) {
  // Many steps, a fine grid and a high precision leave room for few contributions.
  MechanismOptions options = lattice_options("blt", 1 << 14);
  options.parameters = {.decays = {0.9999}, .weights = {0.01}};
  PrefixSum sums = make_sums(options, {.grid = 0x1p-12, .precision_bits = 30});
  EXPECT_LT(sums.max_contributions(), 100);
  const std::vector<double> one = {0.5};
  std::vector<double> noisy(1);
  for (int step = 0; step < 2; ++step) {
    for (std::int64_t i = 0; i < sums.max_contributions(); ++i) sums.contribute(one);
    EXPECT_ERROR(sums.contribute(one), "resource_exhausted", "contributions to a step");
    EXPECT_ERROR(sums.release(one, noisy), "resource_exhausted", "contributions to a step");
    const auto bytes = sums.checkpoint();
    sums.restore_without_journal(bytes);
    EXPECT_ERROR(sums.contribute(one), "resource_exhausted", "contributions to a step");
    sums.release(noisy);
  }
}

TEST(Lattice, checkpoints_go_on_with_the_same_bits) {
  for (const LatticeNoise noise : {LatticeNoise::discrete_gaussian, LatticeNoise::rounded_gaussian})
    for (const std::string& name : lattice_strategies()) {
      const LatticeOptions options = {.dimension = 2, .noise = noise};
      PrefixSum whole = make_sums(lattice_options(name, 30), options);
      PrefixSum parts = make_sums(lattice_options(name, 30), options);
      std::vector<double> expected(2), actual(2);
      for (std::uint64_t t = 0; t < 30; ++t) {
        if (t % 4 == 1) {
          // In the middle of a step.
          for (PrefixSum* const sums : {&whole, &parts})
            sums->contribute(lattice_record(t + 100, 2, 0.3));
          const auto bytes = parts.checkpoint();
          parts = make_sums(lattice_options(name, 30), options);
          parts.restore_without_journal(bytes);
          EXPECT_EQ(parts.step(), static_cast<std::int64_t>(t));
          EXPECT_EQ(parts.checkpoint(), bytes) << name;
        }
        whole.release(lattice_record(t, 2, 0.5), expected);
        parts.release(lattice_record(t, 2, 0.5), actual);
        EXPECT_EQ(actual, expected) << name << " " << t;
      }
    }
}

TEST(Lattice, checkpoints_of_something_else_are_refused) {
  const MechanismOptions options = lattice_options("honaker", 30);
  PrefixSum sums = make_sums(options);
  const auto bytes = sums.checkpoint();
  const auto refused = [&](const MechanismOptions& other, const LatticeOptions& lattice) {
    EXPECT_ERROR(make_sums(other, lattice).restore_without_journal(bytes), "bad_state",
                 "must be of this mechanism");
  };
  refused(lattice_options("tree", 30), {});
  refused(lattice_options("honaker", 31), {});
  refused(options, {.dimension = 2});
  refused(options, {.noise = LatticeNoise::rounded_gaussian});
  refused(options, {.grid = 0x1p-20});
  MechanismOptions louder = options;
  louder.target.epsilon = 0.5;
  refused(louder, {});
  PrefixSum grid(Mechanism::make(options), {.key = lattice_key()});
  EXPECT_ERROR(grid.restore_without_journal(bytes), "bad_state", "must be of kind 2, got kind 4");
  EXPECT_ERROR(sums.restore_without_journal(grid.checkpoint()), "bad_state",
               "must be of kind 4, got kind 2");
  // Truncated but otherwise valid bytes change nothing.
  std::vector<double> noisy(1), again(1);
  PrefixSum untouched = make_sums(options);
  for (PrefixSum* const all : {&sums, &untouched}) all->release(std::vector{0.5}, noisy);
  auto cut = sums.checkpoint();
  const auto word = [&](std::size_t at) { return detail::word_at(cut, at); };
  detail::CheckpointHeader header{.kind = detail::CheckpointKind::lattice_sum,
                                  .step = static_cast<std::int64_t>(word(8)),
                                  .state_step = static_cast<std::int64_t>(word(16))};
  std::copy_n(cut.begin() + 24, 16, header.fingerprint.begin());
  std::copy_n(cut.begin() + 40, 16, header.commitment.begin());
  cut.resize(cut.size() - 8);
  detail::seal_checkpoint(header, cut);
  EXPECT_ERROR(sums.restore_without_journal(cut), "bad_state", "bytes of state");
  sums.release(std::vector{0.5}, noisy);
  untouched.release(std::vector{0.5}, again);
  EXPECT_EQ(noisy, again);
}

TEST(Lattice, people_are_bounded_as_in_mode_grid) {
  const auto how = Mechanism::make(lattice_options("honaker", 6));
  using Counter = RecordStream<Number, People>;
  Counter sums(Number(), how, in_mode_lattice()), alone(Number(), how, in_mode_lattice());
  for (const double given : {1.0, 4.0}) sums.add("ann", given);  // clipped jointly
  alone.add("bob", 1.5);
  EXPECT_EQ(sums.end().value, alone.end().value);
  sums.add("ann", 1);
  EXPECT_EQ(sums.counts().dropped, 1);
  ASSERT_NE(sums.sums().lattice(), nullptr);
  EXPECT_EQ(sums.sums().release_stddev(3), sums.sums().lattice()->release_stddev(3));
}

TEST(Lattice, the_predicted_std_is_that_of_the_releases_of_small_integers_too) {
  // Six standard errors of a mean square of 40,000 entries, hundreds of which are not 0; the 32
  // cases give a false alarm with probability below 1e-6. An entry of variance v, whether one
  // integer or a sum of two, has a fourth moment of at most 3 v^2 + 2 v.
  constexpr std::int64_t kDimension = 40000;
  int num_told_apart = 0;
  testing::Thinned thinned(3);
  for (const char* strategy : {"tree", "output", "independent", "square-root"})
    for (const LatticeNoise noise :
         {LatticeNoise::discrete_gaussian, LatticeNoise::rounded_gaussian})
      for (const double epsilon : {1.0, 30.0}) {
        if (!thinned.takes_next()) continue;
        MechanismOptions options = lattice_options(strategy, 4);
        options.target.epsilon = epsilon;
        options.clip = 1;
        PrefixSum sums = make_sums(options, {.dimension = kDimension, .noise = noise, .grid = 1});
        std::vector<double> noisy(kDimension);
        for (const std::int64_t step : {0, 1}) {
          sums.release(std::vector<double>(kDimension, 0.0), noisy);
          double measured = 0;
          for (const double x : noisy) measured += x * x / kDimension;
          const double predicted = std::pow(sums.release_stddev(step), 2);
          const double most =
              6 * std::sqrt((2 * predicted * predicted + 2 * predicted) / kDimension);
          EXPECT_NEAR(measured, predicted, most) << strategy << " " << epsilon;
          const double ideal = std::pow(sums.lattice()->ideal_stddev(step), 2);
          num_told_apart += std::abs(measured - ideal) > most;
        }
      }
  EXPECT_GE(num_told_apart, testing::is_full_size() ? 6 : 3);
}

TEST(Lattice, every_mechanism_releases_or_says_why_not) {
  // Each mechanism either releases or is refused by name before the first record.
  std::vector<std::string> refused;
  for (const StrategyInfo& info : strategy_catalogue()) {
    const std::string name(info.name);
    const auto how = Mechanism::make(lattice_options(name, 8));
    std::vector<double> noisy(1);
    const std::string text =
        testing::error_text([&] { PrefixSum(how, in_mode_lattice()).release(noisy); });
    if (text.empty()) continue;
    refused.push_back(name);
    EXPECT_TRUE(text.starts_with("unsupported") && text.find(", got \"") != std::string::npos &&
                text.find("\": ") != std::string::npos)
        << text;
  }
  const std::vector<std::string> expected = {
      "honaker-full",   "haar",       "tree-k", "normalized-square-root",
      "blt-normalized", "blt-scaled", "banded", "optimal"};
  EXPECT_EQ(refused, expected);
  for (const bool restarts : {false, true}) {
    MechanismOptions options = lattice_options("tree", 8);
    if (restarts)
      options.parameters.epoch_length = 4;
    else
      options.parameters.normalize_columns = true;
    EXPECT_ERROR(make_sums(options), "unsupported",
                 restarts ? "a restart has one encoder a block" : "its columns have a scale each");
  }
}

TEST(Lattice, refuses_bad_input) {
  const MechanismOptions good = lattice_options("tree", 8);
  EXPECT_ERROR(make_lattice(good, {.dimension = 0}), "invalid_argument",
               "dimension must be between 1");
  for (const double grid : {0.3, 0.0, -1.0, std::nan("")})
    EXPECT_ERROR(make_lattice(good, {.grid = grid}), "invalid_argument",
                 "lattice: grid must be a power of two");
  EXPECT_ERROR(make_lattice(good, {.grid = 2.0}), "invalid_argument",
               "grid must be at most the clip norm");
  EXPECT_ERROR(make_lattice(good, {.grid = 0x1p-31}), "invalid_argument", "at least 2^-31 of it");
  MechanismOptions loose = good;
  loose.target = {.epsilon = 1e5, .delta = 0.5};
  EXPECT_ERROR(make_lattice(loose, {.grid = 1.0}), "invalid_argument", "epsilon must be so small");
  EXPECT_ERROR(LatticeMechanism::make(nullptr, {}), "invalid_argument",
               "lattice: mechanism must be given");

  PrefixSum sums = make_sums(good, {.dimension = 2}), untouched = make_sums(good, {.dimension = 2});
  std::vector<double> two(2), three(3), other(2);
  const std::vector<double> bad = {1, std::nan("")};
  EXPECT_ERROR(sums.release(three, two), "wrong_length", "record");
  EXPECT_ERROR(sums.release(two, three), "wrong_length", "noisy");
  EXPECT_ERROR(sums.release(bad, two), "invalid_argument", "record[1]");
  // A refused record changes nothing.
  EXPECT_EQ(sums.step(), 0);
  sums.release(other, two);
  untouched.release(other, three = {0, 0});
  EXPECT_EQ(two, three);
  EXPECT_ERROR(make_sums(lattice_options("square-root", 1 << 16), {.dimension = 1 << 14}),
               "resource_exhausted", "the state fits 1 GiB");
}

}  // namespace
}  // namespace dpftrl
