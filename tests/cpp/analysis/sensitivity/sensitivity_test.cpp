// SPDX-License-Identifier: Apache-2.0
// Sensitivities, compared with oracles that visit every pattern.
#include "dpftrl/analysis/sensitivity/sensitivity.hpp"

#include <chrono>
#include <random>

#include "analysis/sensitivity/family_sensitivity.hpp"
#include "analysis/sensitivity/pair_sensitivity.hpp"
#include "analysis/sensitivity/pattern_search.hpp"
#include "analysis/sensitivity/scaled_sensitivity.hpp"
#include "analysis/sensitivity/tree_sensitivity.hpp"
#include "base/toeplitz_matrix.hpp"
#include "dense_algebra.hpp"
#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "golden/sensitivity_golden.hpp"
#include "golden/sensitivity_oracle_golden.hpp"
#include "math/toeplitz.hpp"
#include "strategy/dense.hpp"
#include "strategy/toeplitz/filtered.hpp"
#include "strategy/trees/haar.hpp"
#include "strategy/trees/tree.hpp"
#include "strategy/varying_bands.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::fixed;
using testing::index_of;
using testing::relatively_close;
using testing::separated;

Participation schema(std::string_view kind, std::int64_t k, std::int64_t b) {
  return kind == "fixed-epoch" ? fixed(k, b) : separated(k, b);
}

/// Single participation, all fixed epochs, and all minimum separations that differ at this horizon.
std::vector<Participation> sensitivity_participations(std::int64_t n) {
  std::vector<Participation> all = {Participation::single()};
  for (std::int64_t b = 1; b <= n; ++b) {
    if (n % b == 0) all.push_back(fixed(n / b, b));
    for (std::int64_t k = 1; k <= (n - 1) / b + 1; ++k) all.push_back(separated(k, b));
  }
  return all;
}

/// Strategy with a given encoder; the test chooses what it claims about itself.
class GivenStrategy final : public Strategy {
 public:
  explicit GivenStrategy(Matrix encoder)
      : Strategy(Workload::prefix_sums(encoder.cols())), encoder_(std::move(encoder)) {}
  explicit GivenStrategy(std::vector<double> coefficients)
      : Strategy(Workload::prefix_sums(std::ssize(coefficients))),
        encoder_(lower_triangular_toeplitz(coefficients)),
        coefficients_(std::move(coefficients)) {}

  std::string_view name() const override { return "given"; }
  std::int64_t num_measurements() const override { return encoder_.rows(); }
  double column_norm_squared(std::int64_t step) const override {
    return encoder_.col(index_of(step)).squaredNorm();
  }
  double max_column_norm_squared() const override {
    return encoder_.colwise().squaredNorm().maxCoeff();
  }
  double row_norm_squared(std::int64_t) const override { return 1; }
  RowNorms row_norms() const override { return {1, 1, 1}; }
  Matrix encoder() const override { return encoder_; }
  Matrix decoder() const override { return encoder_; }
  DecoderForm decoder_form() const override { return IdentityDecoder{}; }
  std::span<const double> toeplitz_encoder() const override { return coefficients_; }
  std::int64_t bands() const override { return known_bands; }

  std::int64_t known_bands = 0;

 private:
  Matrix encoder_;
  std::vector<double> coefficients_;
};

class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint32_t seed) : bits_(seed) {}
  double between(double low, double high) {
    return low + (high - low) * (static_cast<double>(bits_()) / 4294967296.0);
  }
  std::vector<double> numbers(std::int64_t count, double low, double high) {
    std::vector<double> values(static_cast<std::size_t>(count));
    for (double& value : values) value = between(low, high);
    return values;
  }

 private:
  std::mt19937 bits_;
};

/// ||sum_i C_:i u_i^T||_F for unit vectors u_i in n dimensions, improved one vector at a time from
/// a random start. Some pair of neighbouring streams attains this value.
double attained_by_vectors(const Matrix& encoder, const std::vector<std::int64_t>& steps,
                           RandomNumbers& random) {
  const Eigen::Index size = std::ssize(steps);
  Matrix columns(encoder.rows(), size), units(size, size);
  for (Eigen::Index i = 0; i < size; ++i) {
    columns.col(i) = encoder.col(index_of(steps[static_cast<std::size_t>(i)]));
    for (Eigen::Index j = 0; j < size; ++j) units(i, j) = random.between(-1, 1);
  }
  units.rowwise().normalize();
  const Matrix gram = columns.transpose() * columns;
  for (int round = 0; round < 50; ++round)
    for (Eigen::Index i = 0; i < size; ++i) {
      const Vector pull = (gram.row(i) * units - gram(i, i) * units.row(i)).transpose();
      if (pull.norm() > 1e-12) units.row(i) = pull.normalized().transpose();
    }
  return (columns * units).norm();
}

/// Acceptance rule of these tests, as a function so that it can be tested with false claims:
/// nothing attained lies above the claim, and a claim of exactness is attained.
bool is_sound(const Sensitivity& claimed, const Matrix& encoder,
              const Participation& participation) {
  const double attained = brute_force_scalar_sensitivity(encoder, participation);
  if (!(claimed.value >= attained * (1 - 1e-12))) return false;
  if (claimed.exactness == Exactness::upper_bound) return true;
  // A claim is exact if signs attain it, or if all inner products are non-negative.
  const Sensitivity absolute = brute_force_sensitivity(encoder, participation);
  return relatively_close(claimed.value, attained, 1e-12) ||
         (absolute.exactness == Exactness::exact &&
          relatively_close(claimed.value, absolute.value, 1e-12));
}

void expect_sound_sensitivity(const Strategy& strategy) {
  const Matrix encoder = strategy.encoder();
  for (const Participation& participation : sensitivity_participations(strategy.steps())) {
    const Sensitivity claimed = sensitivity(strategy, participation);
    EXPECT_TRUE(is_sound(claimed, encoder, participation))
        << strategy.name() << ", n = " << strategy.steps() << ", " << participation.description()
        << ": " << claimed.value << " (" << claimed.method << ")";
  }
}

std::vector<double> band_coefficients(std::vector<double> coefficients, std::int64_t bands) {
  for (std::int64_t j = bands; j < std::ssize(coefficients); ++j)
    coefficients[static_cast<std::size_t>(j)] = 0;
  return coefficients;
}

TEST(Sensitivity, never_below_brute_force_and_equal_to_it_where_called_exact_catalogue) {
  for (const StrategyInfo& info : strategy_catalogue()) {
    for (const std::int64_t n :
         testing::sizes({.full = {1, 2, 3, 7, 8, 10}, .elsewhere = {1, 2, 3, 7, 8}})) {
      SCOPED_TRACE(n);
      expect_sound_sensitivity(*testing::make_known(info.name, n));
    }
  }
}

/// Largest number of steps at which brute force is quick; each step triples the patterns.
std::int64_t brute_steps() {
  return testing::is_full_size() ? 9 : 7;
}

TEST(Sensitivity, never_below_brute_force_random_toeplitz_of_mixed_signs) {
  RandomNumbers random(1);
  for (int trial = 0; trial < 6; ++trial)
    expect_sound_sensitivity(GivenStrategy(random.numbers(brute_steps(), -1, 1)));
}

TEST(Sensitivity, never_below_brute_force_random_non_negative_toeplitz) {
  RandomNumbers random(2);
  for (int trial = 0; trial < 6; ++trial) {
    std::vector<double> coefficients = random.numbers(brute_steps(), 0, 1);
    expect_sound_sensitivity(GivenStrategy(coefficients));
    std::ranges::sort(coefficients, std::ranges::greater());
    expect_sound_sensitivity(GivenStrategy(coefficients));
  }
}

TEST(Sensitivity, never_below_brute_force_banded) {
  RandomNumbers random(3);
  for (std::int64_t bands = 1; bands <= 4; ++bands)
    for (int trial = 0; trial < 3; ++trial) {
      const Eigen::Index n = index_of(brute_steps());
      GivenStrategy toeplitz(band_coefficients(random.numbers(n, -1, 1), bands));
      toeplitz.known_bands = bands;
      expect_sound_sensitivity(toeplitz);
      Matrix encoder = Matrix::Zero(n, n);
      for (Eigen::Index i = 0; i < n; ++i)
        for (Eigen::Index j = std::max<Eigen::Index>(0, i + 1 - index_of(bands)); j <= i; ++j)
          encoder(i, j) = random.between(-1, 1);
      GivenStrategy other(encoder);
      other.known_bands = bands;
      expect_sound_sensitivity(other);
    }
}

TEST(Sensitivity, never_below_brute_force_any_matrix) {
  RandomNumbers random(4);
  for (const double low : {-1.0, 0.0}) {
    Matrix encoder(11, 8);
    for (double& entry : encoder.reshaped()) entry = random.between(low, 1);
    expect_sound_sensitivity(GivenStrategy(encoder));
  }
}

TEST(Sensitivity, no_vectors_of_any_dimension_move_the_measurements_further) {
  RandomNumbers random(5);
  for (int trial = 0; trial < 20; ++trial) {
    const GivenStrategy strategy(random.numbers(10, -1, 1));
    const Matrix encoder = strategy.encoder();
    const std::vector<std::int64_t> steps = {0, 3, 6}, phase = {1, 6};
    for (const Participation& p : {separated(3, 3), separated(3, 2), separated(4, 1)})
      EXPECT_GE(sensitivity(strategy, p).value * (1 + 1e-12),
                attained_by_vectors(encoder, steps, random));
    EXPECT_GE(sensitivity(strategy, fixed(2, 5)).value * (1 + 1e-12),
              attained_by_vectors(encoder, phase, random));
  }
}

TEST(Sensitivity, vectors_can_move_further_than_numbers) {
  // Three columns whose pairwise inner products are -1/2: scalar records reach 2, vectors in the
  // plane sqrt(4.5).
  Matrix encoder(2, 3);
  const double h = std::sqrt(3) / 2;
  encoder << 1, -0.5, -0.5, 0, h, -h;
  RandomNumbers random(6);
  const double plane = attained_by_vectors(encoder, {0, 1, 2}, random);
  EXPECT_GT(plane, brute_force_scalar_sensitivity(encoder, separated(3, 1)) * 1.05);
  const Sensitivity absolute = brute_force_sensitivity(encoder, separated(3, 1));
  EXPECT_EQ(absolute.exactness, Exactness::upper_bound);
  EXPECT_GE(absolute.value, plane * (1 - 1e-12));
}

Matrix oracle_encoder(std::string_view name, std::int64_t n) {
  const std::vector<double> f = square_root_coefficients(n);
  std::vector<double> c(static_cast<std::size_t>(n));
  if (name == "tree") return TreeStrategy(n).encoder();
  for (std::size_t j = 0; j < c.size(); ++j) {
    const double lag = static_cast<double>(j);
    if (name == "identity") c[j] = j == 0;
    if (name == "prefix") c[j] = 1;
    if (name == "square-root") c[j] = f[j];
    if (name == "banded-square-root-3") c[j] = j < 3 ? f[j] : 0;
    if (name == "mixed-3") c[j] = j == 0 ? 1 : j == 1 ? -0.5 : j == 2 ? 0.8 : 0;
    if (name == "alternating") c[j] = (j % 2 == 0 ? 1 : -1) / (lag + 1);
    if (name == "spike") c[j] = j % 3 == 0 ? 1 / (lag + 1) : 0;
    if (name == "banded-inverse-square-root-3")
      c[j] = j == 0 ? 1 : c[j - 1] / 2 + (j > 1 ? c[j - 2] / 8 : 0);
  }
  return lower_triangular_toeplitz(c);
}

TEST(Sensitivity, brute_force_agrees_with_an_independent_program_over_all_subsets) {
  for (const auto& row : golden::sensitivity_oracle::patterns) {
    SCOPED_TRACE(std::string(row.encoder) + " " + row.kind + " n = " + std::to_string(row.n));
    const Matrix encoder = oracle_encoder(row.encoder, row.n);
    const Participation participation = schema(row.kind, row.k, row.b);
    EXPECT_TRUE(relatively_close(brute_force_sensitivity(encoder, participation).value,
                                 row.absolute, 1e-13));
    EXPECT_TRUE(relatively_close(brute_force_scalar_sensitivity(encoder, participation), row.scalar,
                                 1e-13));
  }
}

TEST(Sensitivity, tree_agrees_with_an_independent_program_over_all_subsets) {
  for (const auto& row : golden::sensitivity_oracle::trees) {
    SCOPED_TRACE(std::string(row.kind) + " k, b, n = " + std::to_string(row.k) + " " +
                 std::to_string(row.b) + " " + std::to_string(row.n));
    const Participation participation = schema(row.kind, row.k, row.b);
    for (const char* name : {"tree", "honaker"}) {
      const Sensitivity claimed =
          sensitivity(*make_strategy({.name = name, .steps = row.n}), participation);
      EXPECT_EQ(claimed.exactness, Exactness::exact);
      EXPECT_DOUBLE_EQ(claimed.value, std::sqrt(static_cast<double>(row.value)));
    }
    EXPECT_GE(level_by_level_bound(row.n, participation), static_cast<double>(row.value));
  }
}

TEST(Sensitivity, tree_search_is_exact_for_every_schema_of_every_horizon_to_14) {
  for (std::int64_t n = 1; n <= 14; ++n) {
    const TreeStrategy tree(n);
    const Matrix encoder = tree.encoder();
    for (const Participation& participation : sensitivity_participations(n)) {
      const Sensitivity claimed = sensitivity(tree, participation);
      ASSERT_EQ(claimed.exactness, Exactness::exact);
      ASSERT_TRUE(relatively_close(claimed.value,
                                   brute_force_sensitivity(encoder, participation).value, 1e-13))
          << n << " " << participation.description();
      ASSERT_GE(std::sqrt(level_by_level_bound(n, participation)), claimed.value);
    }
  }
}

TEST(Sensitivity, tree_known_answers) {
  const auto squared = [](std::int64_t k, std::int64_t b, std::int64_t n) {
    return largest_tree_sum(n, separated(k, b));
  };
  EXPECT_EQ(squared(1, 8, 8), 4);
  EXPECT_EQ(squared(3, 4, 9), 11);
  EXPECT_EQ(squared(3, 3, 7), 9);
  EXPECT_EQ(squared(8, 3, 24), 88);
  EXPECT_EQ(squared(3, 3, 9), 20);
  EXPECT_EQ(squared(3, 2, 7), 10);
  EXPECT_EQ(squared(8, 2, 24), 128);
}

TEST(Sensitivity, a_converter_off_by_one_changes_the_tree) {
  // Steps strictly between two participations: 2 of them are a separation of 3.
  const auto value = [](std::int64_t b) { return largest_tree_sum(24, separated(8, b)); };
  EXPECT_EQ(value(apart_from_steps_between(2)), 88);
  EXPECT_NE(value(2), 88) << "taken for a separation";
  EXPECT_NE(value(4), 88) << "one too many";
}

TEST(Sensitivity, tree_of_a_long_horizon_is_exact_or_says_that_it_is_not) {
  const TreeStrategy tree(std::int64_t{1} << 20);
  const Sensitivity few = sensitivity(tree, separated(4, 1000));
  EXPECT_EQ(few.exactness, Exactness::exact);
  EXPECT_LE(few.value, std::sqrt(level_by_level_bound(tree.steps(), separated(4, 1000))));
  const Sensitivity many = sensitivity(tree, separated(100000, 7));
  EXPECT_EQ(many.exactness, Exactness::upper_bound);
  // The pattern 0, 8, 16, ... attains this: its 2^17 >= 100000 places contain a whole tree over
  // 2^16 of them.
  const double attained = 65536.0 * (4 + 2 * 65536 - 1);
  EXPECT_GE(many.value * many.value, attained);
  EXPECT_LE(many.value, 100000 * std::sqrt(21.0)) << "better than the triangle inequality";
  const Sensitivity longest =
      sensitivity(TreeStrategy(kMaxNumSteps), fixed(std::int64_t{1} << 20, std::int64_t{1} << 20));
  EXPECT_EQ(longest.exactness, Exactness::upper_bound);
  EXPECT_GE(longest.value, std::ldexp(1.0, 20)) << "the root has all participations";
}

std::vector<double> banded_inverse_square_root(std::int64_t n, std::size_t bands) {
  const std::vector<double> g = inverse_square_root_coefficients(n);
  std::vector<double> c(static_cast<std::size_t>(n));
  c[0] = 1;
  for (std::size_t j = 1; j < c.size(); ++j)
    for (std::size_t i = 1; i < std::min(bands, j + 1); ++i) c[j] -= g[i] * c[j - i];
  return c;
}

/// Coefficients of the named strategy; empty if its encoder is not Toeplitz.
std::vector<double> golden_coefficients(std::string_view name, std::int64_t n) {
  const std::vector<double> f = square_root_coefficients(n);
  std::vector<double> c(static_cast<std::size_t>(n));
  if (name == "sqrt") return f;
  if (name == "BSR_p2") return band_coefficients(f, 2);
  if (name == "BSR_p4") return band_coefficients(f, 4);
  if (name == "BISR_p3") return banded_inverse_square_root(n, 3);
  if (name == "BISR_p8") return banded_inverse_square_root(n, 8);
  if (name == "identity") return band_coefficients(f, 1);
  if (name == "prefix") return std::vector<double>(c.size(), 1.0);
  if (name == "toeplitz[1,-.5,.8]") {
    const std::vector<double> first = {1, -0.5, 0.8};
    std::copy(first.begin(), first.end(), c.begin());
    return c;
  }
  if (name == "lambda_cgd_0.5") {
    for (std::size_t j = 0; j < c.size(); ++j) c[j] = std::ldexp(1.0, -static_cast<int>(j));
    return c;
  }
  return {};
}

/// Square-root encoder with its columns scaled to norm 1.
Matrix normalized_square_root(std::int64_t n) {
  const Matrix plain = lower_triangular_toeplitz(square_root_coefficients(n));
  const Vector scales = plain.colwise().norm().cwiseInverse();
  return plain * scales.asDiagonal();
}

Matrix golden_encoder(std::string_view name, std::int64_t n) {
  if (name == "tree_binary") return TreeStrategy(n).encoder();
  if (name == "normalized_sqrt") {
    return normalized_square_root(n);
  }
  return lower_triangular_toeplitz(golden_coefficients(name, n));
}

TEST(Sensitivity, golden_closed_forms) {
  for (const auto& row : golden::sensitivity::closed) {
    const Sensitivity claimed =
        toeplitz_sensitivity(golden_coefficients(row.encoder, row.n), separated(row.k, row.b));
    EXPECT_TRUE(relatively_close(claimed.value, row.sensitivity, 1e-12)) << row.encoder << row.n;
    EXPECT_EQ(claimed.exactness, Exactness::exact);
  }
  for (const auto& row : golden::sensitivity::fixed_epoch) {
    const Sensitivity claimed =
        toeplitz_sensitivity(golden_coefficients(row.encoder, row.n), fixed(row.k, row.b));
    EXPECT_TRUE(relatively_close(claimed.value, row.sensitivity, 1e-12)) << row.encoder << row.n;
    EXPECT_EQ(claimed.exactness, Exactness::exact);
  }
}

TEST(Sensitivity, golden_brute_force_and_bound_by_row_patterns) {
  for (const auto& row : golden::sensitivity::brute) {
    SCOPED_TRACE(std::string(row.encoder) + " " + std::to_string(row.n));
    const Matrix encoder = golden_encoder(row.encoder, row.n);
    const Participation participation = separated(row.k, row.b);
    EXPECT_TRUE(relatively_close(brute_force_sensitivity(encoder, participation).value,
                                 row.sensitivity, 1e-12));
    const Sensitivity found = gram_sensitivity(encoder.transpose() * encoder, participation);
    EXPECT_TRUE(relatively_close(found.value, row.sensitivity, 1e-12));
    EXPECT_LE(found.value, row.bound * (1 + 1e-12));
    EXPECT_TRUE(is_sound(found, encoder, participation));
  }
}

TEST(Sensitivity, the_naive_formula_fails_where_coefficients_do_not_decrease) {
  const std::vector<double> c = {1, 0, 0, 1, 0, 0};
  const Matrix encoder = lower_triangular_toeplitz(c);
  const Participation twice = separated(2, 2);
  const double naive = (encoder.col(0) + encoder.col(2)).norm();
  EXPECT_DOUBLE_EQ(naive, 2);
  EXPECT_DOUBLE_EQ(brute_force_sensitivity(encoder, twice).value, std::sqrt(5.0));
  EXPECT_FALSE(is_sound({naive, Exactness::exact, "naive"}, encoder, twice));
  const Sensitivity claimed = toeplitz_sensitivity(c, twice);
  EXPECT_EQ(claimed.exactness, Exactness::upper_bound);
  EXPECT_GE(claimed.value, std::sqrt(5.0));

  const std::vector<double> mixed = {1, -2, -2, 3, 1, -2};
  const Matrix other = lower_triangular_toeplitz(mixed);
  const double wrong = (other.col(0) + other.col(2) + other.col(4)).norm();
  EXPECT_FALSE(is_sound({wrong, Exactness::exact, "naive"}, other, separated(3, 2)));
  EXPECT_GE(toeplitz_sensitivity(mixed, separated(3, 2)).value, 10.198039027185569);
}

/// Over epochs, the bound for coefficients of both signs uses the inner products of columns. Only
/// those of the first phase count, since it is the worst.
TEST(Sensitivity, of_toeplitz_over_epochs_signs_count_by_inner_products) {
  double least_ratio = 1;
  for (const std::int64_t b : {1, 2, 3, 4}) {
    for (const std::int64_t k : {2, 3}) {
      for (unsigned seed = 1; seed <= 30; ++seed) {
        std::vector<double> c(static_cast<std::size_t>(k * b));
        for (std::size_t j = 0; j < c.size(); ++j)
          c[j] = std::cos(static_cast<double>(seed * (j + 1) * (j + 1)));
        const Sensitivity claimed = toeplitz_sensitivity(c, fixed(k, b));
        const Matrix encoder = lower_triangular_toeplitz(c);
        EXPECT_TRUE(is_sound(claimed, encoder, fixed(k, b))) << k << " " << b << " " << seed;
        const double of_all = brute_force_sensitivity(encoder, fixed(k, b)).value;
        EXPECT_LE(claimed.value, of_all * (1 + 1e-14)) << k << " " << b << " " << seed;
        for (double& value : c) value = std::abs(value);
        const double absolute = toeplitz_sensitivity(c, fixed(k, b)).value;
        EXPECT_LE(claimed.value, absolute * (1 + 1e-14)) << k << " " << b << " " << seed;
        least_ratio = std::min(least_ratio, claimed.value / absolute);
      }
    }
  }
  EXPECT_LT(least_ratio, 0.9);
}

/// If the sum has too many products, the bound uses absolute values; banded strategies have few
/// products even at a long horizon.
TEST(Sensitivity, of_toeplitz_over_many_epochs_is_limited_by_products) {
  const std::int64_t n = 1 << 14;
  std::vector<double> c = square_root_coefficients(n);
  for (std::size_t j = 1; j < c.size(); j += 2) c[j] = -c[j];
  const Sensitivity limited = toeplitz_sensitivity(c, fixed(n, 1));
  EXPECT_EQ(limited.exactness, Exactness::upper_bound);
  EXPECT_EQ(limited.value, toeplitz_sensitivity(square_root_coefficients(n), fixed(n, 1)).value);

  std::vector<double> bands(std::size_t{1} << 21, 0.0);
  bands[0] = 1;
  bands[1] = -0.5;
  const std::int64_t k = std::ssize(bands);
  // There are k - 1 columns of squared norm 5/4, a last one of norm 1, and k - 1 products of -1/2.
  const double squared = 1.25 * static_cast<double>(k - 1) + 1 + static_cast<double>(k - 1);
  EXPECT_TRUE(
      relatively_close(toeplitz_sensitivity(bands, fixed(k, 1)).value, std::sqrt(squared), 1e-14));
}

TEST(Sensitivity, the_rule_of_the_tests_rejects_wrong_versions) {
  const GivenStrategy banded_root(band_coefficients(square_root_coefficients(8), 2));
  const Participation twice = separated(2, 4);
  const Matrix encoder = banded_root.encoder();
  const double right = std::sqrt(2 * banded_root.max_column_norm_squared());
  EXPECT_TRUE(is_sound({right, Exactness::exact, ""}, encoder, twice));
  EXPECT_FALSE(
      is_sound({right * std::sqrt(2.0), Exactness::exact, "k for sqrt(k)"}, encoder, twice));
  EXPECT_FALSE(is_sound({right / std::sqrt(2.0), Exactness::upper_bound, "once"}, encoder, twice));
  EXPECT_FALSE(is_sound({std::nan(""), Exactness::upper_bound, ""}, encoder, twice));
  // Row norms instead of column norms: the largest row of the tree is its root.
  const Matrix tree = TreeStrategy(8).encoder();
  EXPECT_FALSE(is_sound({tree.rowwise().norm().maxCoeff(), Exactness::exact, "rows"}, tree,
                        Participation::single()));
}

TEST(Sensitivity, bands_make_it_exact_whether_they_are_known_or_seen) {
  const std::vector<double> c = {1, -0.5, 0.8, 0, 0, 0, 0, 0};
  GivenStrategy strategy(c);
  for (const std::int64_t bands : {0, 3}) {
    strategy.known_bands = bands;
    const Sensitivity exact = sensitivity(strategy, separated(3, 3));
    EXPECT_NEAR(exact.value, 2.2428, 5e-5);
    EXPECT_EQ(exact.exactness, Exactness::exact);
  }
  // The bands are longer than the separation, so columns overlap and the worst pattern is searched
  // for.
  const Sensitivity longer = sensitivity(strategy, separated(3, 2));
  EXPECT_TRUE(relatively_close(
      longer.value, brute_force_sensitivity(strategy.encoder(), separated(3, 2)).value, 1e-12));
  EXPECT_EQ(longer.exactness, Exactness::exact);
}

/// Random encoder with few bands, so that only nearby columns overlap.
Matrix random_banded(Eigen::Index n, Eigen::Index bands, double low, RandomNumbers& random) {
  Matrix encoder = Matrix::Zero(n, n);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = std::max<Eigen::Index>(0, i + 1 - bands); j <= i; ++j)
      encoder(i, j) = random.between(low, 1);
  return encoder;
}

TEST(Sensitivity, the_worst_pattern_is_that_of_brute_force) {
  RandomNumbers random(30);
  for (Eigen::Index bands = 1; bands <= 7; ++bands)
    for (const double low : {-1.0, 0.0}) {
      const Eigen::Index n = !testing::is_full_size() ? 9 : bands < 4 ? 12 : 10;
      const Matrix encoder = random_banded(n, bands, low, random);
      const Matrix products = (encoder.transpose() * encoder).cwiseAbs();
      for (const Participation& schema : sensitivity_participations(n)) {
        if (schema.kind() != Participation::Kind::min_separation) continue;
        SCOPED_TRACE(schema.description() + " " + std::to_string(bands));
        const auto worst = largest_pattern(products, schema);
        ASSERT_TRUE(worst);
        const double brute = brute_force_sensitivity(encoder, schema).value;
        EXPECT_TRUE(relatively_close(std::sqrt(worst->value), brute, 1e-12));
        // The pattern is allowed by the schema and has the claimed value.
        double sum = 0;
        for (const std::int64_t i : worst->steps)
          for (const std::int64_t j : worst->steps) sum += products(index_of(i), index_of(j));
        EXPECT_TRUE(relatively_close(sum, worst->value, 1e-12));
        EXPECT_LE(std::ssize(worst->steps), schema.times());
        for (std::size_t i = 1; i < worst->steps.size(); ++i)
          EXPECT_GE(worst->steps[i] - worst->steps[i - 1], schema.apart());
        // The claim is never below brute force, and exact only if some pattern attains it.
        const Sensitivity claimed = gram_sensitivity(encoder.transpose() * encoder, schema);
        EXPECT_GE(claimed.value, brute * (1 - 1e-15));
        EXPECT_TRUE(is_sound(claimed, encoder, schema)) << claimed.method;
      }
    }
}

TEST(Sensitivity, optimised_bands_are_exact_beyond_their_separation) {
  for (const std::int64_t bands : {3, 4, 6}) {
    const auto strategy = make_strategy({.name = "banded",
                                         .steps = 16,
                                         .parameters = {.bands = bands},
                                         .participation = separated(3, 2)});
    const Sensitivity claimed = sensitivity(*strategy, separated(3, 2));
    const double brute = brute_force_sensitivity(strategy->encoder(), separated(3, 2)).value;
    EXPECT_EQ(claimed.exactness, Exactness::exact) << claimed.method;
    EXPECT_TRUE(relatively_close(claimed.value, brute, 1e-12)) << claimed.value << " " << brute;
  }
}

TEST(Sensitivity, patterns_beyond_a_limit_are_bounded_by_rows) {
  RandomNumbers random(31);
  const Matrix wide = random_banded(200, 200, 0, random);
  const Matrix gram = wide.transpose() * wide;
  EXPECT_FALSE(largest_pattern(gram, separated(20, 2)));
  const Sensitivity bound = gram_sensitivity(gram, separated(20, 2));
  EXPECT_EQ(bound.exactness, Exactness::upper_bound);
  EXPECT_EQ(bound.method, "Gram matrix: bound by row patterns");
  // Exhaustive search covers few participations of any columns, and any number of participations of
  // few bands.
  EXPECT_TRUE(largest_pattern(gram.topLeftCorner(64, 64), separated(3, 2)));
  const Matrix narrow = random_banded(1024, 6, -1, random);
  EXPECT_TRUE(largest_pattern((narrow.transpose() * narrow).cwiseAbs(), separated(200, 3)));
}

TEST(Sensitivity, first_phase_is_the_worst_of_a_toeplitz_encoder_whatever_its_signs) {
  RandomNumbers random(7);
  for (int trial = 0; trial < 20; ++trial) {
    const Matrix encoder = lower_triangular_toeplitz(random.numbers(12, -1, 1));
    const auto phase = [&](Eigen::Index s) {
      double largest = 0;
      for (const double second : {1.0, -1.0})
        for (const double third : {1.0, -1.0})
          largest = std::max(
              largest,
              (encoder.col(s) + second * encoder.col(s + 4) + third * encoder.col(s + 8)).norm());
      return largest;
    };
    for (Eigen::Index s = 1; s < 4; ++s) EXPECT_LE(phase(s), phase(0) * (1 + 1e-14));
  }
}

TEST(Sensitivity, a_participation_schema_is_monotone) {
  for (const char* name : {"tree", "square-root", "output"})
    for (std::int64_t b = 1; b <= 6; ++b) {
      const auto strategy = make_strategy({.name = name, .steps = 12});
      for (std::int64_t k = 1; k < 6; ++k) {
        const double value = sensitivity(*strategy, separated(k, b)).value * (1 + 1e-12);
        EXPECT_GE(sensitivity(*strategy, separated(k + 1, b)).value * (1 + 1e-12), value);
        EXPECT_GE(value, sensitivity(*strategy, separated(k, b + 1)).value);
      }
    }
}

TEST(Sensitivity, toeplitz_is_fast_and_accurate_for_a_million_steps) {
  const std::int64_t n = 1000000;
  const std::vector<double> f = square_root_coefficients(n);
  const auto start = std::chrono::steady_clock::now();
  const Sensitivity claimed = toeplitz_sensitivity(f, separated(700, 1000));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 5) << "O(n), not O(n k)";
  long double squares = 0;
  for (std::int64_t phase = 0; phase < 1000; ++phase) {
    long double sum = 0;
    for (std::int64_t i = 0; i < 1000; ++i) {
      sum += f[static_cast<std::size_t>(phase + i * 1000)];
      if (i >= 700) sum -= f[static_cast<std::size_t>(phase + (i - 700) * 1000)];
      squares += sum * sum;
    }
  }
  EXPECT_TRUE(relatively_close(claimed.value, static_cast<double>(std::sqrt(squares)), 1e-13));
}

/// Tests the method for more than 1024 steps, which uses no dense matrices.
void expect_sound_at_length(const Strategy& strategy) {
  const Matrix encoder = strategy.encoder();
  for (const Participation& participation : sensitivity_participations(strategy.steps())) {
    if (participation.times_within(strategy.steps()) == 1) continue;
    SCOPED_TRACE(std::string(strategy.name()) + ", " + participation.description());
    EXPECT_TRUE(is_sound(family_sensitivity(strategy, participation), encoder, participation));
  }
}

TEST(Sensitivity, long_horizons_agree_with_brute_force) {
  StrategyParameters normalized, binary, plain;
  normalized.normalize_columns = true;
  binary.arity = 2;
  plain.arity = 4;
  const auto make = [](const char* name, std::int64_t n, const StrategyParameters& parameters) {
    return make_strategy({.name = name, .steps = n, .workload = {}, .parameters = parameters});
  };
  for (const std::int64_t n : {5, 8}) {
    SCOPED_TRACE(n);
    for (const char* name : {"haar", "honaker-full", "tree-k", "normalized-square-root"})
      expect_sound_at_length(*make(name, n, {}));
    for (const StrategyParameters& parameters : {binary, plain})
      expect_sound_at_length(*make("tree-k", n, parameters));
    for (const char* name : {"tree", "haar", "banded-square-root", "output"})
      expect_sound_at_length(*make(name, n, normalized));
    for (const std::int64_t length : {2, 4, 5})
      for (const char* name : {"tree", "haar", "square-root", "tree-k"}) {
        StrategyParameters epochs;
        epochs.epoch_length = length;
        const auto strategy = make(name, n, epochs);
        expect_sound_at_length(*strategy);
        expect_sound_sensitivity(*strategy);
      }
  }
}

TEST(Sensitivity, scaled_toeplitz_columns_agree_with_brute_force_whatever_the_scales) {
  RandomNumbers random(9);
  for (int trial = 0; trial < 12; ++trial) {
    const std::int64_t n = 6 + trial % 3;
    std::vector<double> coefficients = random.numbers(n, 0, 1);
    if (trial % 4 != 0) std::ranges::sort(coefficients, std::ranges::greater());
    const std::vector<double> scales = random.numbers(n, 0.2, 1.2);
    Matrix encoder = lower_triangular_toeplitz(coefficients);
    for (Eigen::Index j = 0; j < encoder.cols(); ++j)
      encoder.col(j) /= scales[static_cast<std::size_t>(j)];
    for (const Participation& participation : sensitivity_participations(n)) {
      if (participation.times_within(n) == 1) continue;
      SCOPED_TRACE(participation.description());
      for (const std::int64_t max_operations : {std::int64_t{1} << 28, std::int64_t{0}}) {
        const Sensitivity claimed =
            scaled_toeplitz_sensitivity(coefficients, scales, participation, max_operations);
        EXPECT_TRUE(is_sound(claimed, encoder, participation)) << max_operations;
      }
      if (participation.kind() == Participation::Kind::fixed_epoch) {
        EXPECT_EQ(scaled_toeplitz_sensitivity(coefficients, scales, participation).exactness,
                  Exactness::exact);
      }
    }
  }
}

TEST(Sensitivity, grouped_distances_cover_what_every_distance_gives) {
  // Beyond the limit of operations, distances are grouped and each group is bounded by its largest
  // product.
  const std::vector<double> coefficients = square_root_coefficients(96);
  const std::vector<double> scales(96, 1.0);
  for (const std::int64_t b : {1, 2, 5})
    for (const std::int64_t k : {4, 8, 17}) {
      const double grouped =
          scaled_toeplitz_sensitivity(coefficients, scales, separated(k, b), 0).value;
      EXPECT_GE(grouped, scaled_toeplitz_sensitivity(coefficients, scales, separated(k, b)).value);
      EXPECT_GE(grouped * (1 + 1e-12), toeplitz_sensitivity(coefficients, separated(k, b)).value)
          << k << " " << b;
    }
}

TEST(Sensitivity, what_was_rounded_on_the_way_is_added) {
  // The squared sensitivity is 5. Without rounding up, the result would be the root of 5 in double.
  const std::vector<double> ones = {1, 1};
  EXPECT_GT(scaled_toeplitz_sensitivity(ones, ones, fixed(2, 1)).value, std::sqrt(5.0));
  EXPECT_GT(scaled_toeplitz_sensitivity(ones, ones, separated(2, 1)).value, std::sqrt(5.0));
  Matrix encoder(2, 2);
  encoder << 1, 0, 1, 1;
  const DenseStrategy dense(Workload::prefix_sums(2), {.name = "dense", .encoder = encoder});
  EXPECT_GT(sensitivity(dense, separated(2, 1)).value, std::sqrt(5.0));
  EXPECT_LE(sensitivity(dense, separated(2, 1)).value, std::sqrt(5.0) * (1 + 1e-14));
}

TEST(Sensitivity, scaled_toeplitz_columns_of_other_signs_have_no_bound) {
  const std::vector<double> signs = {1, -0.5, 0.25}, scales = {1, 1, 1};
  for (const Participation& participation : {fixed(3, 1), separated(2, 1)})
    EXPECT_TRUE(std::isinf(scaled_toeplitz_sensitivity(signs, scales, participation).value));
}

/// Root of the largest sum of the positive X_ij over steps first, first + b, ...; if no product is
/// negative, no claim may be below it.
double largest_even_pattern(const Matrix& encoder, std::int64_t k, std::int64_t b) {
  const Matrix gram = encoder.transpose() * encoder;
  double largest = 0;
  for (Eigen::Index first = 0; first < gram.rows(); ++first) {
    double sum = 0;
    const Eigen::Index end = std::min<Eigen::Index>(gram.rows(), first + index_of(k * b));
    for (Eigen::Index i = first; i < end; i += index_of(b))
      for (Eigen::Index j = first; j < end; j += index_of(b)) sum += std::max(0.0, gram(i, j));
    largest = std::max(largest, sum);
  }
  return std::sqrt(largest);
}

TEST(Sensitivity, bounds_of_levels_cover_even_patterns_of_horizons_with_many_levels) {
  for (const char* name : {"tree-k", "tree", "honaker-full", "haar"}) {
    const auto strategy = make_strategy({.name = name, .steps = 200});
    if (!strategy->has_nonnegative_gram()) continue;
    const Matrix encoder = strategy->encoder();
    for (const auto& [k, b] : {std::pair{4, 7}, {16, 1}, {64, 1}, {200, 1}, {9, 20}, {40, 5}})
      EXPECT_GE(sensitivity(*strategy, separated(k, b)).value * (1 + 1e-12),
                largest_even_pattern(encoder, k, b))
          << name << " " << k << " " << b;
  }
}

/// Haar coefficients with arbitrary weights of the levels.
class WeightedHaar final : public HaarBasisStrategy {
 public:
  WeightedHaar(std::int64_t steps, const std::vector<double>& weights)
      : HaarBasisStrategy(steps, weights) {}
  std::string_view name() const override { return "weighted-haar"; }
};

TEST(Sensitivity, haar_products_that_are_negative_count_by_their_size) {
  // Columns are nearly opposite, so records of opposite sign add up.
  expect_sound_sensitivity(WeightedHaar(2, {0.01, 1}));
  expect_sound_sensitivity(WeightedHaar(4, {0.01, 0.02, 1}));
  expect_sound_sensitivity(WeightedHaar(8, {0.3, 0.01, 0.7, 0.2}));
}

/// Recursion of two buffers with random non-negative numbers.
VaryingBufferedStrategy random_recursion(std::int64_t steps, RandomNumbers& random,
                                         double least_gain = 0, double largest_factor = 1) {
  constexpr std::int64_t kBuffers = 2;
  return {Workload::prefix_sums(steps),
          {.name = "given",
           .numbers = std::make_shared<const VaryingBuffers>(
               VaryingBuffers{.buffers = kBuffers,
                              .inverse_scales = random.numbers(steps, 0.5, 2),
                              .gains = random.numbers(steps * kBuffers, least_gain, 1),
                              .factors = random.numbers(steps * kBuffers, 0.1, largest_factor),
                              .max_row_stddev = 1,
                              .max_state_stddev = 1}),
           .column_scales = random.numbers(steps, 0.5, 2)}};
}

VaryingBandedStrategy random_bands(std::int64_t steps, RandomNumbers& random) {
  constexpr std::int64_t kBands = 4;
  const std::vector<double> entries = random.numbers(steps * kBands, -0.5, 0.5);
  Matrix columns = Eigen::Map<const Matrix>(entries.data(), testing::index_of(steps), kBands);
  columns.col(0).array() += 1;
  return {"banded", steps, columns};
}

void expect_bounds_of_later_products(const Strategy& strategy, bool is_tight) {
  const Matrix encoder = strategy.encoder();
  const Matrix gram = (encoder.transpose() * encoder).cwiseAbs();
  const Eigen::Index n = gram.rows();
  for (Eigen::Index lag = 1; lag < n; ++lag) {
    const std::vector<double> bounds = strategy.later_products(lag);
    ASSERT_EQ(std::ssize(bounds), n);
    for (Eigen::Index i = 0; i + lag < n; ++i) {
      const double largest = gram.row(i).tail(n - i - lag).maxCoeff();
      const double bound = bounds[static_cast<std::size_t>(i)];
      EXPECT_GE(bound, largest * (1 - 1e-14)) << lag << " " << i;
      // The bound of a single remaining column is exact.
      if (is_tight || i + lag + 1 == n) {
        EXPECT_NEAR(bound, largest, 1e-12);
      }
    }
  }
}

TEST(Sensitivity, changing_numbers_have_bounds_on_their_inner_products) {
  RandomNumbers random(12);
  for (const std::int64_t n : testing::sizes({.full = {2, 3, 7, 9}, .elsewhere = {2, 3, 7}})) {
    const VaryingBufferedStrategy recursion = random_recursion(n, random);
    const VaryingBandedStrategy bands = random_bands(n, random);
    expect_bounds_of_later_products(recursion, false);
    expect_bounds_of_later_products(bands, true);
    for (const Strategy* strategy :
         {static_cast<const Strategy*>(&recursion), static_cast<const Strategy*>(&bands)}) {
      expect_sound_at_length(*strategy);
      expect_sound_sensitivity(*strategy);
    }
    // The bound holds whether all distances are examined or only some.
    const Matrix encoder = recursion.encoder();
    const ColumnPairs columns{
        .norms_squared =
            [&] {
              const Vector norms = encoder.colwise().squaredNorm();
              return std::vector<double>(norms.begin(), norms.end());
            }(),
        .products = [&](std::int64_t lag) { return recursion.later_products(lag); }};
    for (const Participation& participation : sensitivity_participations(n)) {
      if (participation.times_within(n) == 1) continue;
      for (const std::int64_t max_operations : {std::int64_t{1} << 24, std::int64_t{0}})
        EXPECT_TRUE(is_sound({std::sqrt(largest_pair_sum(columns, participation, max_operations)),
                              Exactness::upper_bound, ""},
                             encoder, participation));
    }
  }
}

TEST(Sensitivity, numbers_without_falling_products_have_no_such_bounds) {
  RandomNumbers random(13);
  for (const auto& [least_gain, largest_factor] : {std::pair{-0.3, 1.0}, std::pair{0.0, 1.6}}) {
    const VaryingBufferedStrategy recursion =
        random_recursion(brute_steps(), random, least_gain, largest_factor);
    EXPECT_TRUE(recursion.later_products(1).empty());
    expect_sound_at_length(recursion);
    expect_sound_sensitivity(recursion);
  }
}

TEST(Sensitivity, of_a_long_optimum_is_far_below_participations_times_that_of_one) {
  const auto dense = make_strategy({.name = "optimal", .steps = 1024});
  const auto longer = make_strategy({.name = "optimal", .steps = 1028});
  const double exact = sensitivity(*longer, fixed(4, 257)).value;
  const Sensitivity apart = sensitivity(*longer, separated(4, 257));
  EXPECT_EQ(apart.exactness, Exactness::upper_bound);
  EXPECT_GE(apart.value, exact);
  EXPECT_LE(apart.value, 1.1 * exact) << apart.method;
  EXPECT_LE(apart.value, 1.1 * sensitivity(*dense, separated(4, 256)).value);
}

TEST(Sensitivity, nothing_jumps_beyond_1024_steps) {
  for (const char* name : {"haar", "honaker-full", "tree-k", "normalized-square-root"}) {
    SCOPED_TRACE(name);
    const auto dense = make_strategy({.name = name, .steps = 1024});
    const auto longer = make_strategy({.name = name, .steps = 1028});
    const Sensitivity epochs = sensitivity(*longer, fixed(4, 257));
    EXPECT_EQ(epochs.exactness, Exactness::exact);
    // Some trees gain a level here.
    EXPECT_NEAR(epochs.value / sensitivity(*dense, fixed(4, 256)).value, 1, 0.13);
    const Matrix encoder = longer->encoder();
    double largest = 0;
    for (Eigen::Index s = 0; s < 257; ++s)
      largest = std::max(largest, (encoder.col(s) + encoder.col(s + 257) + encoder.col(s + 514) +
                                   encoder.col(s + 771))
                                      .norm());
    EXPECT_TRUE(relatively_close(epochs.value, largest, 1e-12));
    const Sensitivity apart = sensitivity(*longer, separated(4, 257));
    EXPECT_GE(apart.value, epochs.value * (1 - 1e-12));
    EXPECT_LE(apart.value, 1.35 * epochs.value) << apart.method;
  }
}

TEST(Sensitivity, restarts_add_up_squares) {
  StrategyParameters epochs;
  epochs.epoch_length = 1000;
  for (const char* name :
       {"tree", "honaker", "haar", "square-root", "blt-rational", "normalized-square-root"}) {
    SCOPED_TRACE(name);
    const auto once = make_strategy({.name = name, .steps = 1000});
    const auto strategy =
        make_strategy({.name = name, .steps = 10000, .workload = {}, .parameters = epochs});
    const double single = sensitivity(*once, Participation::single()).value;
    for (const Participation& participation : {fixed(10, 1000), separated(10, 1000)}) {
      const Sensitivity claimed = sensitivity(*strategy, participation);
      EXPECT_EQ(claimed.exactness, Exactness::exact);
      EXPECT_TRUE(relatively_close(claimed.value, single * std::sqrt(10.0), 1e-12));
    }
    // Two participations in each restart.
    EXPECT_TRUE(relatively_close(sensitivity(*strategy, fixed(20, 500)).value,
                                 sensitivity(*once, fixed(2, 500)).value * std::sqrt(10.0), 1e-12));
  }
}

TEST(Sensitivity, long_horizons_without_structure_get_a_valid_bound) {
  // Normalised columns at 1500 steps have no closed form and are too long for the dense method.
  const GivenStrategy strategy(normalized_square_root(1500));
  const Sensitivity claimed = sensitivity(strategy, separated(3, 500));
  EXPECT_EQ(claimed.exactness, Exactness::upper_bound);
  const Matrix encoder = strategy.encoder();
  EXPECT_GE(claimed.value, (encoder.col(0) + encoder.col(500) + encoder.col(1000)).norm());
  EXPECT_NEAR(claimed.value, 3, 1e-12);
}

/// Identity encoder over a horizon too long for any array.
class IdentityStrategy final : public Strategy {
 public:
  explicit IdentityStrategy(std::int64_t steps) : Strategy(Workload::prefix_sums(steps)) {}
  std::string_view name() const override { return "given"; }
  std::int64_t num_measurements() const override { return steps(); }
  double column_norm_squared(std::int64_t step) const override { return step == special ? 0.5 : 1; }
  double max_column_norm_squared() const override { return 1; }
  double row_norm_squared(std::int64_t) const override { return 1; }
  RowNorms row_norms() const override { return {1, 1, 1}; }
  Matrix encoder() const override { return {}; }
  Matrix decoder() const override { return {}; }
  DecoderForm decoder_form() const override { return IdentityDecoder{}; }
  std::int64_t bands() const override { return 1; }

  std::int64_t special = -1;
};

TEST(Sensitivity, orthogonal_columns_of_any_horizon) {
  IdentityStrategy strategy(kMaxNumSteps);
  const Sensitivity claimed = sensitivity(strategy, separated(100, 1000));
  EXPECT_EQ(claimed.exactness, Exactness::exact);
  EXPECT_DOUBLE_EQ(claimed.value, 10);
  strategy.special = 5000;
  EXPECT_EQ(sensitivity(strategy, separated(100, 1000)).exactness, Exactness::upper_bound);
  EXPECT_EQ(sensitivity(strategy, separated(kMaxNumSteps, 1)).exactness, Exactness::upper_bound);
  EXPECT_DOUBLE_EQ(sensitivity(strategy, separated(kMaxNumSteps, 1)).value, 1 << 20);
}

TEST(LargestPatternSum, is_that_of_all_patterns) {
  RandomNumbers random(8);
  for (const std::int64_t n : {1, 2, 5, 9, 12})
    for (int trial = 0; trial < 4; ++trial) {
      std::vector<double> values = random.numbers(n, 0, 1);
      if (trial == 3) std::ranges::sort(values, std::ranges::greater());
      const Vector roots = Eigen::Map<const Vector>(values.data(), index_of(n)).cwiseSqrt();
      const Matrix orthogonal = roots.asDiagonal();
      for (const Participation& participation : sensitivity_participations(n))
        EXPECT_TRUE(relatively_close(std::sqrt(largest_pattern_sum(values, participation)),
                                     brute_force_sensitivity(orthogonal, participation).value,
                                     1e-13));
    }
}

TEST(NonIncreasingMajorant, is_the_least_one) {
  EXPECT_EQ(non_increasing_majorant(std::vector<double>{1, -3, 2, 0, -0.5}),
            (std::vector<double>{3, 3, 2, 0.5, 0.5}));
}

TEST(Sensitivity, bad_input_is_refused_by_name) {
  const Participation twice = separated(2, 2);
  const TreeStrategy tree(8);
  EXPECT_ERROR((void)sensitivity(tree, fixed(3, 3)), "invalid_argument",
               "steps must be epochs * epoch_length = 9, got 8");
  EXPECT_ERROR((void)toeplitz_sensitivity({}, twice), "invalid_argument",
               "toeplitz_sensitivity: coefficients must be one number per step, got none");
  EXPECT_ERROR((void)toeplitz_sensitivity(std::vector<double>{1, std::nan("")}, twice),
               "invalid_argument", "coefficients[1]");
  EXPECT_ERROR((void)toeplitz_sensitivity(std::vector<double>{1, 1}, fixed(2, 2)),
               "invalid_argument", "got 2");
  EXPECT_ERROR((void)largest_pattern_sum({}, twice), "invalid_argument", "got none");
  EXPECT_ERROR((void)largest_pattern_sum(std::vector<double>{1, -1}, twice), "invalid_argument",
               "values[1] must be non-negative and finite, got -1");
  std::vector<double> rising(1 << 16);
  for (std::size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<double>(i);
  EXPECT_ERROR((void)largest_pattern_sum(rising, separated(1 << 15, 2)), "unsupported",
               "are at most 2^30, got 65536 * 32768");
  EXPECT_ERROR((void)gram_sensitivity(Matrix(2, 3), twice), "invalid_argument",
               "gram must be square and not empty, got 2 x 3");
  Matrix unknown = Matrix::Identity(3, 3);
  unknown(0, 2) = unknown(2, 0) = std::nan("");
  EXPECT_ERROR((void)gram_sensitivity(unknown, twice), "invalid_argument",
               "gram[2] must be finite, got NaN");
  EXPECT_ERROR((void)sensitivity(TreeStrategy(8), fixed(1, 4)), "invalid_argument",
               "steps must be epochs * epoch_length = 4, got 8");
  EXPECT_ERROR((void)gram_sensitivity(-Matrix::Identity(3, 3), twice), "invalid_argument",
               "gram(0, 0) must be non-negative and finite, got -1");
  // Exceeding the limit with many short patterns takes a tenth of the time that long ones take.
  const bool is_full = testing::is_full_size();
  EXPECT_ERROR(
      (void)brute_force_sensitivity(Matrix::Identity(64, 64), separated(is_full ? 64 : 5, 1)),
      "unsupported", "participation must have at most 4194304 patterns in 64 steps");
  const Eigen::Index size = is_full ? 40 : 15;
  EXPECT_ERROR(
      (void)brute_force_scalar_sensitivity(Matrix::Identity(size, size), separated(size, 1)),
      "unsupported",
      "brute_force_scalar_sensitivity: participation must have at most 4194304 patterns");
  EXPECT_ERROR((void)brute_force_sensitivity(Matrix(0, 0), twice), "invalid_argument", "0 x 0");
}

TEST(UnitError, is_the_sensitivity_times_the_row_norms) {
  const auto tree = make_strategy({.name = "tree", .steps = 24});
  const Participation participation = separated(8, 3);
  const UnitError error = unit_error(*tree, participation);
  EXPECT_DOUBLE_EQ(error.sensitivity.value, std::sqrt(88.0));
  EXPECT_EQ(error.sensitivity.exactness, Exactness::exact);
  EXPECT_DOUBLE_EQ(error.max_error, std::sqrt(88.0 * tree->row_norms().max_squared));
  EXPECT_DOUBLE_EQ(error.mean_error, std::sqrt(88.0 * tree->row_norms().mean_squared));
  const std::vector<double> per_step = unit_error_per_step(*tree, participation);
  EXPECT_DOUBLE_EQ(per_step[6], std::sqrt(88.0 * 3));
  EXPECT_ERROR((void)unit_error_per_step(TreeStrategy((1 << 26) + 1), participation), "unsupported",
               "steps must be at most 67108864");
  EXPECT_ERROR((void)unit_error(*tree, fixed(2, 8)), "invalid_argument", "16, got 24");
}

TEST(Sensitivity, weights_of_both_signs_that_cancel_lose_nothing) {
  // Reference values were computed in quadruple precision; sums in double fall 7e-11 short.
  StrategyParameters buffers;
  buffers.decays = {0x1.a13b23f13ba82p-1, 0x1.a13b0f231fb1dp-1};
  buffers.weights = {0x1.97df508a6406fp+19, -0x1.97df508a6406fp+19};
  const auto strategy =
      make_strategy({.name = "blt", .steps = 4, .workload = {}, .parameters = buffers});
  EXPECT_NEAR(sensitivity(*strategy, Participation::single()).value, 1.4074146688955242, 1e-14);
}

TEST(Sensitivity, a_horizon_cap_counts_for_every_participation_and_is_called_a_bound) {
  StrategyParameters capped;
  capped.horizon_cap = 4096;
  const auto own = make_strategy({.name = "log-perturbed", .steps = 16});
  const auto scaled =
      make_strategy({.name = "log-perturbed", .steps = 16, .workload = {}, .parameters = capped});
  const Participation twice = Participation::min_separation({.times = 2, .apart = 3});
  const double ratio =
      std::sqrt(scaled->max_column_norm_squared() / own->max_column_norm_squared());
  EXPECT_GT(ratio, 1.001);
  for (const Participation& who : {Participation::single(), twice}) {
    const Sensitivity claimed = sensitivity(*scaled, who);
    EXPECT_EQ(claimed.exactness, Exactness::upper_bound);
    EXPECT_TRUE(relatively_close(claimed.value, ratio * sensitivity(*own, who).value, 1e-12));
  }
}

/// Unnormalised density of B Z at v, for square B and independent Laplace variables Z of this
/// scale.
double laplace_density(const Matrix& inverse_decoder, const Vector& v, double scale) {
  return std::exp(-(inverse_decoder * v).cwiseAbs().sum() / scale);
}

TEST(PureDp, laplace_noise_of_this_scale_is_purely_private_against_adaptive_adversaries_too) {
  // Records are +-1. The adversary chooses each record, and the step at which the streams differ,
  // from the releases so far. Releases r have density f(r - A x(r)), where f is the density of B Z.
  // At random points, the density ratio of neighbours is at most e^epsilon, and at some of them at
  // least e^(epsilon / 2).
  constexpr double kEpsilon = 0.7;
  constexpr Eigen::Index kSteps = 4;
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> anywhere(-30, 30);
  bool some_read_later_steps = false;
  for (const StrategyInfo& info : strategy_catalogue()) {
    EXPECT_TRUE(info.allows_pure_dp);
    const auto strategy = testing::make_known(info.name, kSteps);
    if (strategy->num_measurements() != kSteps) continue;  // the density needs a square decoder
    some_read_later_steps = some_read_later_steps || !strategy->is_causal();
    SCOPED_TRACE(info.name);
    const double scale = l1_sensitivity(*strategy, Participation::single()).value / kEpsilon;
    const Matrix inverse = testing::inverse(strategy->decoder()),
                 sums = strategy->workload().matrix();
    double largest = 0;
    for (int trial = 0; trial < 4000; ++trial) {
      const Vector release = Vector::NullaryExpr(kSteps, [&] { return anywhere(random); });
      Vector records(kSteps), others(kSteps);
      for (Eigen::Index t = 0; t < kSteps; ++t)
        records(t) = t > 0 && release.head(t).sum() > 0 ? 1 : -1;
      // The streams differ at the first step that follows a release above 0, or else at step 0.
      Eigen::Index differs = 0;
      for (Eigen::Index t = 1; t < kSteps && differs == 0; ++t)
        if (release(t - 1) > 0) differs = t;
      others = records;
      others(differs) = 0;
      const double ratio = laplace_density(inverse, release - sums * records, scale) /
                           laplace_density(inverse, release - sums * others, scale);
      largest = std::max(largest, std::abs(std::log(ratio)));
    }
    EXPECT_LE(largest, kEpsilon * (1 + 1e-9));
    EXPECT_GE(largest, kEpsilon * 0.5);
  }
  EXPECT_TRUE(some_read_later_steps);
}

TEST(PureDp, l1_sensitivity_is_that_of_the_tree_and_adds_up_over_participations) {
  // A step is in one node of every level, so the tree has log2 n + 1; independent noise has 1 per
  // participation.
  EXPECT_EQ(l1_sensitivity(TreeStrategy(16), Participation::single()).value, 5);
  EXPECT_EQ(l1_sensitivity(TreeStrategy(16), fixed(4, 4)).value, 4 * 5);
  const auto independent = testing::make_known("independent", 12);
  EXPECT_EQ(l1_sensitivity(*independent, separated(3, 5)).value, 3);
  EXPECT_ERROR((void)l1_sensitivity(TreeStrategy(4097), Participation::single()), "unsupported",
               "4097");
}

}  // namespace
}  // namespace dpftrl
