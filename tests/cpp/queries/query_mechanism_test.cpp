// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/queries/query_mechanism.hpp"

#include <limits>

#include "dpftrl/problem/privacy.hpp"
#include "dpftrl/queries/exponential_mechanism.hpp"
#include "noise/exact/exact_entry.hpp"
#include "random/derived_key.hpp"
#include "random/discrete_gaussian.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::relatively_close;

Key query_key_of(std::uint64_t seed) {
  return Key::insecure_from_seed(seed);
}

constexpr double kDelta = 1e-5;

/// Privacy targets for both kinds of noise and both neighbour relations.
std::vector<QueryPrivacy> all_privacies(double epsilon) {
  std::vector<QueryPrivacy> all;
  for (const double delta : {kDelta, 0.0})
    for (const Neighbours neighbours : {Neighbours::zero_out, Neighbours::replace_one})
      all.push_back({.epsilon = epsilon, .delta = delta, .neighbours = neighbours});
  return all;
}

TEST(QueryMechanism, noise_does_not_depend_on_the_histogram) {
  const QueryWorkload workload = QueryWorkload::all_ranges(3);
  const std::vector<std::int64_t> h = {5, 0, 7}, other = {1, 1000000, 3};
  for (const QueryPrivacy& privacy : all_privacies(1)) {
    const QueryMechanism mechanism(factorize_queries(workload), privacy);
    const QueryRelease a = mechanism.release(h, query_key_of(3)),
                       b = mechanism.release(other, query_key_of(3));
    const auto exact = mechanism.factorization().measure(h);
    const auto exact_other = mechanism.factorization().measure(other);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      EXPECT_EQ(a.measurements[i] - exact[i], b.measurements[i] - exact_other[i]);
      EXPECT_NE(a.measurements[i], exact[i]);
    }
    EXPECT_NE(a.measurements, mechanism.release(h, query_key_of(4)).measurements);
  }
}

/// Mechanism optimised for these neighbours.
QueryMechanism own_mechanism(const QueryWorkload& workload, const QueryPrivacy& privacy,
                             Objective objective = Objective::mean) {
  return {factorize_queries(
              workload,
              {.noise = privacy.noise(), .neighbours = privacy.neighbours, .objective = objective}),
          privacy};
}

TEST(QueryMechanism, what_gets_no_noise_is_the_same_for_all_neighbours) {
  const Matrix doubled{{1, 0, 1}, {2, 2, 2}, {0, 1, 0}};
  const std::vector<QueryWorkload> workloads = {
      QueryWorkload::prefix(3), QueryWorkload::all_ranges(3), QueryWorkload::identity(3),
      QueryWorkload::matrix(doubled),
      // A row of a product is constant only if both of its factors are.
      QueryWorkload::kronecker(std::vector(2, QueryWorkload::prefix(2)))};
  std::int64_t num_public = 0;
  for (const QueryWorkload& workload : workloads)
    for (const QueryPrivacy& privacy : all_privacies(1))
      for (const QueryStrategy strategy : {QueryStrategy::optimal, QueryStrategy::queries}) {
        // Strategies optimised for either neighbour relation, used with either.
        for (const Neighbours made_for : {Neighbours::zero_out, Neighbours::replace_one}) {
          const QueryFactorization f = factorize_queries(
              workload, {.strategy = strategy, .noise = privacy.noise(), .neighbours = made_for});
          const QueryMechanism mechanism(f, privacy);
          // All histograms of counts up to 2, with all their neighbours.
          const auto m = static_cast<std::size_t>(workload.num_values());
          for (std::int64_t code = 0; code < (m == 3 ? 27 : 81); ++code) {
            std::vector<std::int64_t> h = {code % 3, code / 3 % 3, code / 9 % 3, code / 27};
            h.resize(m);
            const std::vector<std::int64_t> mine = f.measure(h);
            const std::vector<std::int64_t> y = mechanism.release(h, query_key_of(1)).measurements;
            for (std::size_t v = 0; v < m; ++v)
              for (std::size_t w = 0; w <= m; ++w) {
                const bool is_replaced = privacy.neighbours == Neighbours::replace_one;
                if (h[v] == 0 || is_replaced != (w < m)) continue;
                std::vector<std::int64_t> other = h;
                --other[v];
                if (w < m) ++other[w];
                const std::vector<std::int64_t> theirs = f.measure(other);
                for (std::size_t i = 0; i < y.size(); ++i) {
                  if (y[i] != mine[i]) continue;
                  ++num_public;
                  ASSERT_EQ(mine[i], theirs[i]);
                }
              }
          }
        }
      }
  EXPECT_GT(num_public, 0);
}

TEST(QueryMechanism, the_number_of_records_is_exact_where_it_is_public_and_secret_where_it_is_not) {
  const std::vector<std::int64_t> h = {5, 0, 7};
  for (const QueryPrivacy& privacy : all_privacies(1)) {
    const bool is_public = privacy.neighbours == Neighbours::replace_one;
    const QueryFactorization f =
        factorize_queries(QueryWorkload::prefix(3),
                          {.noise = privacy.noise(), .neighbours = Neighbours::replace_one});
    const QueryMechanism mechanism(f, privacy);
    const QueryRelease release = mechanism.release(h, query_key_of(2));
    EXPECT_EQ(release.answers(2) == 12, is_public);
    EXPECT_EQ(mechanism.standard_errors()(2) == 0, is_public);
    EXPECT_NE(release.answers(0), 5);
    // Products: only the last query of both factors is public.
    const std::vector<QueryWorkload> pair = {QueryWorkload::prefix(3), QueryWorkload::prefix(2)};
    const QueryMechanism both(
        factorize_queries(QueryWorkload::kronecker(pair), {.strategy = QueryStrategy::queries}),
        privacy);
    const std::vector<std::int64_t> table = {1, 2, 3, 4, 5, 6};
    const Vector answers = both.release(table, query_key_of(3)).answers;
    EXPECT_EQ(answers(5) == 21, is_public);
    EXPECT_EQ(both.standard_errors()(5) == 0, is_public);
    for (Eigen::Index i = 0; i < 5; ++i) EXPECT_GT(both.standard_errors()(i), 0.4);
  }
}

TEST(QueryMechanism, noise_has_the_law_it_claims) {
  // The noise is bit for bit that of the exact samplers at the claimed scale, under its own key.
  const QueryWorkload workload = QueryWorkload::all_ranges(3);
  const std::vector<std::int64_t> h = {5, 0, 7};
  const DecoderForm one_normal = IdentityDecoder{};
  for (const double epsilon : {1e-6, 0.3, 40.0})
    for (const QueryPrivacy& privacy : all_privacies(epsilon)) {
      const QueryMechanism mechanism(factorize_queries(workload), privacy);
      const std::vector<std::int64_t> exact = mechanism.factorization().measure(h);
      const bool is_gaussian = mechanism.noise() == QueryNoise::gaussian;
      for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const std::vector<std::int64_t> y = mechanism.release(h, query_key_of(seed)).measurements;
        const Key own = detail::key_for(
            is_gaussian ? detail::KeyUse::gaussian : detail::KeyUse::laplace, query_key_of(seed));
        for (std::size_t i = 0; i < y.size(); ++i) {
          const std::int64_t noise =
              is_gaussian
                  ? exact_rounded_entry(one_normal, {.key = own}, static_cast<std::int64_t>(i), 0,
                                        mechanism.noise_scale())
                  : DiscreteLaplace(static_cast<std::int64_t>(mechanism.noise_scale()))
                        .sample(own, {.row = 0, .coordinate = i});
          ASSERT_EQ(y[i] - exact[i], noise) << i;
        }
      }
      const double distance = mechanism.sensitivity();
      if (is_gaussian) {
        EXPECT_LE(distance / mechanism.noise_scale(), mechanism.mu());
        EXPECT_LE(delta_from_mu({.mu = mechanism.mu(), .epsilon = epsilon}), kDelta * (1 + 1e-9));
      } else {
        EXPECT_LE(distance / mechanism.noise_scale(), epsilon);
      }
    }
}

TEST(QueryMechanism, no_use_of_a_key_shares_bits_with_another) {
  using detail::KeyUse;
  std::vector<std::array<std::uint32_t, 8>> keys = {query_key_of(5).words()};
  for (const KeyUse use : {KeyUse::gaussian, KeyUse::laplace, KeyUse::choice})
    keys.push_back(detail::key_for(use, query_key_of(5)).words());
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(keys[i], keys[j]);
  // A winner among 2^20 and Laplace noise of 24 bits, which used to draw the same words.
  const std::vector<std::int64_t> flat(std::size_t{1} << 20, 0);
  int num_equal = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::int64_t winner = private_winner(flat, {.epsilon = 1}, query_key_of(seed));
    const std::int64_t noise = DiscreteLaplace(std::int64_t{1} << 24)
                                   .sample(detail::key_for(KeyUse::laplace, query_key_of(seed)),
                                           {.row = 0, .coordinate = 0});
    const std::int64_t low = (std::int64_t{1} << 20) - 1;
    num_equal += winner == (noise & low) || winner == (-noise & low) ? 1 : 0;
  }
  EXPECT_LE(num_equal, 1);
}

TEST(QueryMechanism, integers_have_room_for_what_is_measured_and_one_record_more_is_refused) {
  const QueryFactorization f{.factors = {{.encoder = IntegerMatrix::Constant(1, 1, 1 << 30),
                                          .decoder = Matrix::Ones(1, 1)}},
                             .lower_bound = 0,
                             .replace_one_lower_bound = 0,
                             .unit_error = 1,
                             .objective = Objective::mean};
  const std::int64_t most = std::int64_t{1} << 30;
  EXPECT_EQ(f.measure(std::vector{most}), (std::vector{std::int64_t{1} << 60}));
  EXPECT_ERROR((void)f.measure(std::vector{most + 1}), "unsupported",
               "histogram must have at most 1073741824");
}

TEST(QueryMechanism, factorizations_that_integers_do_not_bear_are_refused) {
  const auto refused = [](IntegerMatrix encoder, Matrix decoder, const char* message,
                          const char* code = "invalid_argument") {
    QueryFactorization f{
        .factors = {{.encoder = std::move(encoder), .decoder = std::move(decoder)}},
        .lower_bound = 0,
        .replace_one_lower_bound = 0,
        .unit_error = 1,
        .objective = Objective::mean};
    for (const QueryPrivacy& privacy : all_privacies(1))
      EXPECT_ERROR((QueryMechanism(f, privacy)), code, message);
  };
  const IntegerMatrix one = IntegerMatrix::Ones(1, 1);
  refused(IntegerMatrix::Constant(9, 2, std::int64_t{1} << 60), Matrix::Ones(1, 9),
          "factors[0].encoder must be between");
  refused(IntegerMatrix::Constant(1, 2, std::numeric_limits<std::int64_t>::min()),
          Matrix::Ones(1, 1), "factors[0].encoder must be between");
  refused(one, Matrix::Ones(1, 2), "factors[0].decoder must have 1 entry", "wrong_length");
  refused(IntegerMatrix(0, 1), Matrix(1, 0), "factors[0].encoder must have between 1");
  refused(one, Matrix::Constant(1, 1, std::numeric_limits<double>::quiet_NaN()),
          "factors[0].decoder[0]");
  QueryFactorization none{.factors = {},
                          .lower_bound = 0,
                          .replace_one_lower_bound = 0,
                          .unit_error = 1,
                          .objective = Objective::mean};
  EXPECT_ERROR((QueryMechanism(none, all_privacies(1)[0])), "invalid_argument",
               "factors must be 1 to 3");
  QueryFactorization wide = none;
  wide.factors.assign(
      3, {.encoder = IntegerMatrix::Constant(2, 1, 1 << 20), .decoder = Matrix::Ones(1, 2)});
  EXPECT_ERROR((QueryMechanism(wide, all_privacies(1)[0])), "invalid_argument",
               "l1 norm of at most 2^60");
}

TEST(QueryMechanism, standard_errors_are_those_of_many_releases) {
  // Variances of 3000 normal or Laplace samples are within six standard errors; a false alarm has
  // probability 1e-8.
  constexpr int kNumReleases = 3000;
  const QueryWorkload workload = QueryWorkload::all_ranges(3);
  const std::vector<std::int64_t> h = {5, 0, 7};
  const Vector truth = workload.answers(std::vector<double>{5, 0, 7});
  for (const QueryPrivacy& privacy : all_privacies(0.5)) {
    const QueryMechanism mechanism = own_mechanism(workload, privacy);
    const Vector errors = mechanism.standard_errors();
    Vector mean = Vector::Zero(truth.size()), squares = mean;
    for (int i = 0; i < kNumReleases; ++i) {
      const Vector noise =
          mechanism.release(h, query_key_of(static_cast<std::uint64_t>(i))).answers - truth;
      mean += noise / kNumReleases;
      squares += noise.cwiseAbs2() / kNumReleases;
    }
    // A Laplace variable has fourth moment 6 sigma^4, a normal one 3 sigma^4.
    const double spread = std::sqrt((privacy.delta > 0 ? 2.0 : 5.0) / kNumReleases);
    for (Eigen::Index q = 0; q < truth.size(); ++q) {
      if (errors(q) == 0) {
        EXPECT_EQ(squares(q), 0);
        continue;
      }
      EXPECT_NEAR(mean(q) / errors(q), 0, 6 / std::sqrt(kNumReleases));
      EXPECT_NEAR(squares(q) / (errors(q) * errors(q)), 1, 6 * spread);
    }
    EXPECT_GT(std::abs(1.5 - 1), 6 * spread);  // would detect half as much again
  }
}

TEST(QueryMechanism, calibration_spends_epsilon_and_delta_and_no_more) {
  for (const QueryPrivacy& privacy : all_privacies(0.7)) {
    const QueryMechanism mechanism(factorize_queries(QueryWorkload::prefix(6)), privacy);
    EXPECT_LE(mechanism.sensitivity(), mechanism.textbook_sensitivity());
    if (privacy.delta > 0) {
      const double delta = delta_from_mu({.mu = mechanism.mu(), .epsilon = privacy.epsilon});
      EXPECT_LE(delta, privacy.delta);
      EXPECT_GE(delta, privacy.delta * (1 - 1e-9));
    } else {
      EXPECT_EQ(mechanism.mu(), mu_from_pure_dp(privacy.epsilon));
      EXPECT_LE(mechanism.sensitivity(), mechanism.noise_scale() * privacy.epsilon);
      EXPECT_GE(mechanism.sensitivity(), mechanism.noise_scale() * privacy.epsilon * (1 - 1e-5));
    }
  }
}

/// Mass at k of round(sigma z), or, not normalised, of the discrete Laplace distribution.
double mass(const QueryMechanism& mechanism, std::int64_t k) {
  const double x = std::abs(static_cast<double>(k)), scale = mechanism.noise_scale();
  if (mechanism.noise() == QueryNoise::laplace) return std::exp(-x / scale);
  const auto tail = [scale](double y) { return std::erfc(y / scale / std::sqrt(2.0)) / 2; };
  return tail(x - 0.5) - tail(x + 0.5);
}

/// Estimate of delta at `epsilon` between two histograms, E[max(0, 1 - e^(epsilon - loss))] over
/// releases of the first, with its standard error and the largest loss.
struct QueryAudit {
  double delta, standard_error, largest_loss;
};
QueryAudit audit(const QueryMechanism& mechanism, const std::vector<std::int64_t>& h,
                 const std::vector<std::int64_t>& other, double epsilon) {
  constexpr int kNumReleases = 1500;
  const auto mine = mechanism.factorization().measure(h);
  const auto theirs = mechanism.factorization().measure(other);
  double sum = 0, squares = 0, largest = 0;
  for (int i = 0; i < kNumReleases; ++i) {
    const auto y = mechanism.release(h, query_key_of(static_cast<std::uint64_t>(i))).measurements;
    double loss = 0;
    for (std::size_t j = 0; j < y.size(); ++j)
      loss += std::log(mass(mechanism, y[j] - mine[j]) / mass(mechanism, y[j] - theirs[j]));
    const double excess = std::max(0.0, -std::expm1(epsilon - loss));
    sum += excess / kNumReleases;
    squares += excess * excess / kNumReleases;
    largest = std::max(largest, loss);
  }
  return {sum, std::sqrt((squares - sum * sum) / kNumReleases), largest};
}

TEST(QueryMechanism, likelihood_ratios) {
  const QueryWorkload workload = QueryWorkload::prefix(3);
  const std::vector<std::int64_t> h = {4, 2, 1}, fewer = {3, 2, 1}, moved = {3, 2, 2};
  for (const QueryPrivacy& target : all_privacies(1)) {
    QueryPrivacy privacy = target;
    if (privacy.delta > 0) privacy.delta = 0.05;  // detectable in a few thousand releases
    const QueryMechanism mechanism = own_mechanism(workload, privacy);
    const auto& other = privacy.neighbours == Neighbours::zero_out ? fewer : moved;
    for (const auto& found : {audit(mechanism, h, other, 1), audit(mechanism, other, h, 1)}) {
      EXPECT_LE(found.delta, privacy.delta + 6 * found.standard_error);
      if (privacy.delta == 0) {
        EXPECT_LE(found.largest_loss, 1 + 1e-9);
      }
    }
    // These releases do not satisfy half the epsilon.
    const QueryAudit refuted = audit(mechanism, h, other, 0.5);
    EXPECT_GT(refuted.delta, privacy.delta + 6 * refuted.standard_error);
  }
}

TEST(QueryMechanism, a_person_with_several_records_is_protected) {
  const QueryFactorization prefix = factorize_queries(QueryWorkload::prefix(3));
  const std::vector<std::int64_t> h = {7, 2, 1}, fewer = {4, 2, 1};
  for (const QueryPrivacy& target : all_privacies(1)) {
    if (target.neighbours == Neighbours::replace_one) continue;  // refused: see the next test
    QueryPrivacy privacy = target;
    if (privacy.delta > 0) privacy.delta = 0.05;
    const QueryMechanism of_rows(prefix, privacy);
    privacy.max_contributions = 3;
    const QueryMechanism of_persons(prefix, privacy);
    EXPECT_GT(of_persons.sensitivity(), 3 * of_rows.sensitivity());  // rounded up
    EXPECT_LE(of_persons.sensitivity(), 3 * of_rows.sensitivity() * (1 + 1e-12));
    EXPECT_GE(of_persons.textbook_sensitivity(), of_persons.sensitivity());
    EXPECT_NEAR(of_persons.mu(), of_rows.mu(), 1e-12);
    EXPECT_EQ(of_persons.unit_error(), of_rows.unit_error());
    const QueryAudit found = audit(of_persons, h, fewer, 1);
    EXPECT_LE(found.delta, privacy.delta + 6 * found.standard_error);
    // Noise for one record does not protect a person with three.
    const QueryAudit refuted = audit(of_rows, h, fewer, 1);
    EXPECT_GT(refuted.delta, privacy.delta + 6 * refuted.standard_error);
  }
}

TEST(QueryMechanism, replace_one_is_refused_for_persons_with_several_records) {
  const QueryFactorization prefix = factorize_queries(QueryWorkload::prefix(3));
  for (const double delta : {0.0, kDelta}) {
    QueryPrivacy privacy{.epsilon = 1, .delta = delta, .neighbours = Neighbours::replace_one};
    // If a person with two records replaced a person with one, queries released without noise would
    // tell them apart. So replace-one holds only for one record each.
    const QueryRelease mine = QueryMechanism(prefix, privacy)
                                  .release(std::vector<std::int64_t>{5, 0, 7}, query_key_of(2));
    const QueryRelease theirs = QueryMechanism(prefix, privacy)
                                    .release(std::vector<std::int64_t>{5, 1, 7}, query_key_of(2));
    EXPECT_NEAR(theirs.answers(2) - mine.answers(2), 1, 1e-9);
    for (const std::int64_t most : {std::int64_t{2}, std::int64_t{3}, std::int64_t{1} << 20}) {
      privacy.max_contributions = most;
      const std::string told =
          "query_mechanism: max_contributions must be 1 where the number of records is public: "
          "neighbours that replace a record, got " +
          std::to_string(most);
      EXPECT_ERROR(QueryMechanism(prefix, privacy), "invalid_argument", told);
      EXPECT_ERROR(privacy.require_sound(), "invalid_argument", told);
    }
  }
}

TEST(QueryMechanism, refuses_bad_input) {
  const QueryFactorization prefix = factorize_queries(QueryWorkload::prefix(2));
  EXPECT_ERROR(QueryMechanism(prefix, {.epsilon = 0, .delta = kDelta}), "invalid_argument",
               "epsilon must be positive");
  EXPECT_ERROR(QueryMechanism(prefix, {.epsilon = 1, .delta = 1}), "invalid_argument", "delta");
  EXPECT_ERROR(QueryMechanism(prefix, {.epsilon = 1, .delta = -1}), "invalid_argument", "delta");
  // Checked before anything is computed.
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    for (const double delta : {0.0, kDelta})
      EXPECT_ERROR((QueryPrivacy{.epsilon = bad, .delta = delta}.require_sound()),
                   "invalid_argument", "query_mechanism: epsilon must be positive");
  for (const double bad : {1.0, -1e-9, std::nan("")})
    EXPECT_ERROR((QueryPrivacy{.epsilon = 1, .delta = bad}.require_sound()), "invalid_argument",
                 "query_mechanism: delta must be");
  EXPECT_ERROR(QueryMechanism(prefix, {.epsilon = 1, .delta = 0, .max_contributions = 0}),
               "invalid_argument", "max_contributions");
  EXPECT_ERROR(
      QueryMechanism(factorize_queries(QueryWorkload::identity(1)),
                     {.epsilon = 1, .delta = kDelta, .neighbours = Neighbours::replace_one}),
      "invalid_argument", "workload must have queries that differ between values");
  for (const QueryPrivacy& privacy : all_privacies(1)) {
    const Matrix alike{{2, 2, 2}, {-1, -1, -1}};
    if (privacy.neighbours == Neighbours::replace_one) {
      EXPECT_ERROR(own_mechanism(QueryWorkload::matrix(alike), privacy), "invalid_argument",
                   "workload must have queries that differ between values");
    } else {
      EXPECT_GT(own_mechanism(QueryWorkload::matrix(alike), privacy).standard_errors()(0), 0);
    }
  }
  EXPECT_ERROR(QueryMechanism(prefix, {.epsilon = 1e-9, .delta = 0}), "unsupported",
               "noise stays within");
  EXPECT_ERROR(QueryMechanism(prefix, {.epsilon = 1e-12, .delta = 1e-12}), "unsupported",
               "noise stays within");
}

TEST(QueryMechanism, noise_is_rounded_up_to_the_last_bit) {
  const QueryFactorization counts{
      .factors = {{.encoder = IntegerMatrix::Identity(2, 2), .decoder = Matrix::Identity(2, 2)}},
      .lower_bound = 1,
      .replace_one_lower_bound = 1,
      .unit_error = 1,
      .objective = Objective::mean};
  // fma rounds once, so the sign of a product minus a number is exact.
  const double of_record = QueryMechanism(counts, {.epsilon = 1, .delta = kDelta}).sensitivity();
  for (std::int64_t most = 2; most < 1000000; most = most * 9 / 8 + 1) {
    const QueryMechanism mechanism(counts,
                                   {.epsilon = 1, .delta = kDelta, .max_contributions = most});
    EXPECT_LE(std::fma(of_record, static_cast<double>(most), -mechanism.sensitivity()), 0) << most;
  }
  for (double epsilon = 0.01; epsilon < 30; epsilon *= 1.07) {
    const QueryMechanism mechanism(counts, {.epsilon = epsilon, .delta = kDelta});
    const double multiplier = noise_multiplier({.epsilon = epsilon, .delta = kDelta});
    EXPECT_LE(std::fma(mechanism.sensitivity(), multiplier, -mechanism.noise_scale()), 0)
        << epsilon;
    EXPECT_GE(std::fma(mechanism.mu(), mechanism.noise_scale(), -mechanism.sensitivity()), 0)
        << epsilon;
  }
  const double distance = QueryMechanism(counts, {.epsilon = 1, .delta = 0}).sensitivity();
  for (int scale = 1; scale < 500; ++scale) {
    // A scale at or slightly below a whole number would suffice here.
    for (const double epsilon : {distance / scale, std::nextafter(distance / scale, 0)}) {
      const QueryMechanism mechanism(counts, {.epsilon = epsilon, .delta = 0});
      EXPECT_GE(std::fma(mechanism.noise_scale(), epsilon, -mechanism.sensitivity()), 0) << scale;
      EXPECT_LE(mechanism.noise_scale(), scale + 1);
    }
  }
}

TEST(QueryMechanism, the_predicted_std_is_that_of_the_measurements) {
  // Six standard errors of the mean square of 40,960 measurements, hundreds of which are not 0; the
  // 10 cases give a false alarm with probability below 1e-7.
  constexpr std::int64_t kValues = 64;
  constexpr std::uint64_t kReleases = 640;
  // Measures whole counts, so that small noise is a few integers.
  const QueryFactorization counts{.factors = {{.encoder = IntegerMatrix::Identity(kValues, kValues),
                                               .decoder = Matrix::Identity(kValues, kValues)}},
                                  .lower_bound = 1,
                                  .replace_one_lower_bound = 1,
                                  .unit_error = 1,
                                  .objective = Objective::mean};
  const std::vector<std::int64_t> h(kValues, 3);
  int num_told_apart = 0;
  testing::Thinned thinned(3);
  for (const double delta : {0.0, kDelta})
    for (const double epsilon : {0.5, 4.0, 12.0, 20.0, 40.0}) {
      if (!thinned.takes_next()) continue;
      const QueryMechanism mechanism(counts, {.epsilon = epsilon, .delta = delta});
      const std::vector<std::int64_t> exact = mechanism.factorization().measure(h);
      double second = 0, fourth = 0;
      for (std::uint64_t seed = 0; seed < kReleases; ++seed) {
        const QueryRelease release = mechanism.release(h, query_key_of(seed));
        for (std::size_t i = 0; i < exact.size(); ++i) {
          const double noise = static_cast<double>(release.measurements[i] - exact[i]);
          second += noise * noise / (kReleases * kValues);
          fourth += noise * noise * noise * noise / (kReleases * kValues);
        }
      }
      const double most = 6 * std::sqrt((fourth - second * second) / (kReleases * kValues));
      const double predicted = std::pow(mechanism.noise_stddev(), 2);
      EXPECT_NEAR(second, predicted, most) << epsilon << " " << delta;
      const double scale = mechanism.noise_scale();
      num_told_apart += delta > 0 && std::abs(second - scale * scale - 1.0 / 12) > most;
    }
  EXPECT_GE(num_told_apart, testing::is_full_size() ? 2 : 1);
}

// --- consistency -----------------------------------------------------------------------------

TEST(ConsistentHistogram, finds_the_histogram_when_there_is_hardly_any_noise) {
  const std::vector<std::int64_t> h = {0, 3, 0, 12, 1};
  for (const QueryWorkload& workload : {QueryWorkload::all_ranges(5), QueryWorkload::prefix(5)}) {
    const QueryMechanism mechanism(
        factorize_queries(workload),
        {.epsilon = 200, .delta = kDelta, .neighbours = Neighbours::replace_one});
    const QueryRelease release = mechanism.release(h, query_key_of(1));
    for (const ConsistencyOptions& options :
         {ConsistencyOptions{.integer = true}, ConsistencyOptions{.integer = true, .total = 16}}) {
      const Vector found = consistent_histogram(mechanism, release, options);
      for (std::size_t v = 0; v < h.size(); ++v)
        EXPECT_EQ(found(static_cast<Eigen::Index>(v)), static_cast<double>(h[v]));
    }
  }
}

TEST(ConsistentHistogram, has_the_number_of_records_that_the_release_tells) {
  const std::vector<std::int64_t> h = {0, 3, 0, 12, 1};
  const QueryPrivacy privacy{
      .epsilon = 0.2, .delta = kDelta, .neighbours = Neighbours::replace_one};
  for (const QueryWorkload& workload : {QueryWorkload::all_ranges(5), QueryWorkload::prefix(5)}) {
    const QueryMechanism mechanism = own_mechanism(workload, privacy);
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      const QueryRelease release = mechanism.release(h, query_key_of(seed));
      const Vector found = consistent_histogram(mechanism, release);
      EXPECT_NEAR(found.sum(), 16, 1e-9);
      EXPECT_GE(found.minCoeff(), 0);
      const Vector told = consistent_histogram(mechanism, release, {.total = 16});
      EXPECT_EQ(found, told);
    }
    QueryPrivacy sharp = privacy;
    sharp.epsilon = 200;
    const QueryMechanism precise = own_mechanism(workload, sharp);
    const QueryRelease release = precise.release(h, query_key_of(1));
    const Vector found = consistent_histogram(precise, release, {.integer = true});
    for (std::size_t v = 0; v < h.size(); ++v)
      EXPECT_EQ(found(static_cast<Eigen::Index>(v)), static_cast<double>(h[v]));
  }
}

/// M, scaled to units of the noise.
Matrix scaled_encoder(const QueryMechanism& mechanism) {
  const QueryFactorization& f = mechanism.factorization();
  const auto num_values = static_cast<Eigen::Index>(f.num_values());
  Matrix encoder(static_cast<Eigen::Index>(f.num_measurements()), num_values);
  for (Eigen::Index v = 0; v < num_values; ++v) {
    std::vector<std::int64_t> unit(static_cast<std::size_t>(num_values), 0);
    unit[static_cast<std::size_t>(v)] = 1;
    const auto column = f.measure(unit);
    for (Eigen::Index i = 0; i < encoder.rows(); ++i)
      encoder(i, v) =
          static_cast<double>(column[static_cast<std::size_t>(i)]) / mechanism.noise_stddev();
  }
  return encoder;
}

/// y, scaled to units of the noise.
Vector scaled_measurements(const QueryMechanism& mechanism, const QueryRelease& release) {
  Vector y(static_cast<Eigen::Index>(release.measurements.size()));
  for (Eigen::Index i = 0; i < y.size(); ++i)
    y(i) = static_cast<double>(release.measurements[static_cast<std::size_t>(i)]) /
           mechanism.noise_stddev();
  return y;
}

TEST(ConsistentHistogram, takes_no_total_for_certain_that_has_noise_or_is_one_of_a_product) {
  // The first measurement is the number of records. With zero_out it is noisy; in a product it is
  // one measurement among others. The result must be nearest to all of them.
  const QueryWorkload total_and_each = QueryWorkload::matrix(Matrix{{1, 1}, {1, 0}, {0, 1}});
  const QueryWorkload product =
      QueryWorkload::kronecker(std::vector{total_and_each, total_and_each});
  const QueryWorkload total_and_all = QueryWorkload::matrix(
      Matrix{{1, 1, 1, 1}, {1, 1, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}});
  const std::vector<std::int64_t> h = {70, 300, 90, 200};
  for (const Neighbours neighbours : {Neighbours::zero_out, Neighbours::replace_one}) {
    const bool is_product = neighbours == Neighbours::replace_one;
    const QueryMechanism mechanism(factorize_queries(is_product ? product : total_and_all,
                                                     {.strategy = QueryStrategy::queries}),
                                   {.epsilon = 0.3, .delta = kDelta, .neighbours = neighbours});
    const Matrix encoder = scaled_encoder(mechanism);
    ASSERT_EQ(encoder.row(0).minCoeff(), encoder.row(0).maxCoeff());
    const double total_unit = encoder(0, 0) * mechanism.noise_stddev();
    double farthest = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      QueryRelease release = mechanism.release(h, query_key_of(seed));
      // No histogram has these measurements, and the nearest one has a different total.
      release.measurements.front() += static_cast<std::int64_t>(40 * total_unit);
      const Vector x = consistent_histogram(mechanism, release);
      const Vector y = scaled_measurements(mechanism, release);
      const Vector gradient = encoder.transpose() * (encoder * x - y);
      for (Eigen::Index v = 0; v < x.size(); ++v) {
        EXPECT_GE(gradient(v), -1e-4 * encoder.norm());
        if (x(v) > 1e-3) {
          EXPECT_LE(gradient(v), 1e-4 * encoder.norm());
        }
      }
      const double told = static_cast<double>(release.measurements.front()) / total_unit;
      farthest = std::max(farthest, std::abs(x.sum() - told));
    }
    EXPECT_GT(farthest, 1) << "the total is a compromise";
  }
}

TEST(ConsistentHistogram, is_the_nearest_with_counts_that_can_be) {
  const std::vector<QueryWorkload> pair = {QueryWorkload::prefix(3), QueryWorkload::prefix(2)};
  const QueryMechanism mechanism(
      factorize_queries(QueryWorkload::kronecker(pair)),
      {.epsilon = 0.3, .delta = kDelta, .neighbours = Neighbours::replace_one});
  const std::vector<std::int64_t> h = {0, 30, 0, 2, 1, 0};
  const Matrix encoder = scaled_encoder(mechanism);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const QueryRelease release = mechanism.release(h, query_key_of(seed));
    const Vector y = scaled_measurements(mechanism, release);
    for (const bool has_total : {false, true}) {
      ConsistencyOptions options;
      if (has_total) options.total = 33;
      const Vector x = consistent_histogram(mechanism, release, options);
      EXPECT_GE(x.minCoeff(), 0);
      const Vector gradient = encoder.transpose() * (encoder * x - y);
      // Optimality conditions: the gradient is constant where x > 0, and not below that constant
      // where x = 0.
      double level = 0;
      if (has_total) {
        EXPECT_NEAR(x.sum(), 33, 1e-9);
        level = gradient.minCoeff();
      }
      const double unit = encoder.norm();
      for (Eigen::Index v = 0; v < 6; ++v) {
        EXPECT_GE(gradient(v), level - 1e-4 * unit);
        if (x(v) > 1e-3) {
          EXPECT_LE(gradient(v), level + 1e-4 * unit);
        }
      }
      options.integer = true;
      const Vector whole = consistent_histogram(mechanism, release, options);
      EXPECT_EQ(whole, Vector(whole.array().round().matrix()));
      EXPECT_EQ(whole.sum(), std::round(x.sum()));
      EXPECT_LE((whole - x).cwiseAbs().maxCoeff(), 1);
    }
  }
}

TEST(ConsistentHistogram, refuses_bad_input) {
  const QueryMechanism secret(factorize_queries(QueryWorkload::prefix(2)),
                              {.epsilon = 1, .delta = 0, .neighbours = Neighbours::zero_out});
  const QueryRelease release = secret.release(std::vector<std::int64_t>{1, 2}, query_key_of(1));
  EXPECT_ERROR(consistent_histogram(secret, release, {.total = 3}), "unsupported",
               "public only with neighbours replace_one");
  EXPECT_ERROR(consistent_histogram(secret, release, {.total = -3}), "invalid_argument", "total");
  EXPECT_ERROR(consistent_histogram(secret, {.measurements = {1}, .answers = {}}), "wrong_length",
               "measurements");
}

}  // namespace
}  // namespace dpftrl
