// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/simulation.hpp"

#include <bit>
#include <limits>

#include "special_values.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::kNan;

constexpr StreamKind kStreamKinds[] = {StreamKind::stationary, StreamKind::drifting,
                                       StreamKind::switching};
constexpr LabelModel kModels[] = {LabelModel::logistic, LabelModel::linear};

struct Example {
  std::vector<double> features;
  double label;
  bool operator==(const Example&) const = default;
};

Example example_of(const ExampleStream& stream, std::int64_t step) {
  Example example{std::vector<double>(static_cast<std::size_t>(stream.dimension())), 0};
  example.label = stream.example(step, example.features);
  return example;
}

double dot(const std::vector<double>& x, const Vector& w) {
  return Eigen::Map<const Vector>(x.data(), w.size()).dot(w);
}

TEST(SyntheticStream, any_step_can_be_made_again_in_any_order) {
  for (const StreamKind kind : kStreamKinds)
    for (const LabelModel model : kModels)
      for (const std::int64_t dimension : {1, 2, 7, 33}) {
        const SyntheticStreamOptions options{
            .kind = kind, .model = model, .dimension = dimension, .seed = 5};
        const SyntheticStream first(options);
        const SyntheticStream second(options);
        std::vector<Example> forward;
        for (std::int64_t t = 0; t < 40; ++t) forward.push_back(example_of(first, t));
        for (std::int64_t t = 39; t >= 0; --t)
          EXPECT_EQ(example_of(second, t), forward[static_cast<std::size_t>(t)]);
      }
}

TEST(SyntheticStream, another_seed_gives_another_stream) {
  const SyntheticStream first({.seed = 1});
  const SyntheticStream second({.seed = 2});
  EXPECT_NE(example_of(first, 0).features, example_of(second, 0).features);
  EXPECT_NE(first.true_parameter(0), second.true_parameter(0));
}

TEST(SyntheticStream, features_are_a_hair_inside_the_unit_sphere_and_labels_in_range) {
  for (const StreamKind kind : kStreamKinds)
    for (const LabelModel model : kModels)
      for (const std::int64_t dimension : {1, 2, 3, 100}) {
        const SyntheticStream stream({.kind = kind, .model = model, .dimension = dimension});
        for (std::int64_t t = 0; t < 100; ++t) {
          const Example example = example_of(stream, t);
          const double norm = std::sqrt(dot(
              example.features, Eigen::Map<const Vector>(example.features.data(),
                                                         static_cast<Eigen::Index>(dimension))));
          EXPECT_LE(norm, 1);
          EXPECT_GE(norm, 1 - 1e-8);
          EXPECT_LE(std::abs(example.label), 1);
          if (model == LabelModel::logistic) {
            EXPECT_EQ(std::abs(example.label), 1);
          }
        }
      }
}

// 4000 lengths of density 2 / r^3 beyond 1, with a fixed seed; each share is within 5 standard
// deviations.
TEST(SyntheticStream, heavy_tails_have_their_index_and_leave_directions_and_classes_alone) {
  const SyntheticStream plain({.dimension = 3});
  const SyntheticStream heavy({.kind = StreamKind::heavy_tailed, .dimension = 3});
  const SyntheticStream linear(
      {.kind = StreamKind::heavy_tailed, .model = LabelModel::linear, .dimension = 3});
  int beyond_2 = 0;
  int beyond_10 = 0;
  for (std::int64_t t = 0; t < 4000; ++t) {
    const Example a = example_of(plain, t);
    const Example b = example_of(heavy, t);
    const double length = b.features[0] / a.features[0];
    EXPECT_GE(length, 1);
    EXPECT_NEAR(b.features[2] / a.features[2], length, 1e-12 * length);
    EXPECT_EQ(a.label, b.label);
    EXPECT_LE(std::abs(example_of(linear, t).label), length * (1 + 1e-12));
    beyond_2 += length > 2;
    beyond_10 += length > 10;
  }
  EXPECT_NEAR(beyond_2, 1000, 5 * std::sqrt(750.0));
  EXPECT_NEAR(beyond_10, 40, 5 * std::sqrt(40.0));
}

// 2000 * 64 features: the share kept is within 5 standard deviations of 1/8.
TEST(SyntheticStream, sparse_examples_keep_an_eighth_of_the_features_and_norm_one) {
  for (const std::int64_t dimension : {1, 3, 64}) {
    const SyntheticStream stream({.kind = StreamKind::sparse, .dimension = dimension});
    int num_kept = 0;
    for (std::int64_t t = 0; t < 2000; ++t) {
      const Example example = example_of(stream, t);
      double square = 0;
      for (const double x : example.features) {
        square += x * x;
        num_kept += x != 0;
      }
      EXPECT_NEAR(square, 1, 1e-8);
      EXPECT_LE(square, 1);
    }
    if (dimension == 64) {
      EXPECT_NEAR(num_kept, 16000, 5 * std::sqrt(128000 * 7 / 64.0));
    }
  }
}

TEST(SyntheticStream, parameter_stays_drifts_or_switches_with_its_period) {
  const std::int64_t period = 40;
  for (const std::int64_t dimension : {2, 5}) {
    const SyntheticStream still({.dimension = dimension, .period = period});
    const SyntheticStream drifting(
        {.kind = StreamKind::drifting, .dimension = dimension, .period = period});
    const SyntheticStream switching(
        {.kind = StreamKind::switching, .dimension = dimension, .period = period});
    for (std::int64_t t = 0; t < 3 * period; ++t) {
      EXPECT_EQ(still.true_parameter(t), still.true_parameter(0));
      EXPECT_NEAR(drifting.true_parameter(t).norm(), 1, 1e-8);
      EXPECT_EQ(drifting.true_parameter(t + period), drifting.true_parameter(t));
      EXPECT_LE((drifting.true_parameter(t + period / 2) + drifting.true_parameter(t)).norm(),
                1e-15);
      // A turn takes 40 steps, 0.157 per step on average; steps of sqrt(2) / 10 along the square
      // are at most 0.2 on the circle.
      const double move = (drifting.true_parameter(t + 1) - drifting.true_parameter(t)).norm();
      EXPECT_GT(move, 0.05);
      EXPECT_LT(move, 0.25);
      const double sign = t / 20 % 2 == 0 ? 1 : -1;
      EXPECT_EQ(switching.true_parameter(t), sign * switching.true_parameter(0));
    }
  }
}

TEST(SyntheticStream, switching_labels_are_what_the_interval_before_gets_wrong) {
  for (const LabelModel model : kModels) {
    const SyntheticStream stream(
        {.kind = StreamKind::switching, .model = model, .dimension = 3, .period = 10});
    for (std::int64_t t = 5; t < 100; ++t) {
      const Example example = example_of(stream, t);
      const double taught_before = dot(example.features, stream.true_parameter(t - 5));
      EXPECT_EQ(example.label, taught_before > 0 ? -1 : 1);
    }
  }
}

/// Sum over steps of (label is +1) minus its stated probability, in standard deviations.
double label_excess(double signal, double claimed_signal) {
  const SyntheticStream stream({.dimension = 3, .seed = 11, .signal = signal});
  double excess = 0;
  double variance = 0;
  for (std::int64_t t = 0; t < 20000; ++t) {
    const Example example = example_of(stream, t);
    const double margin = dot(example.features, stream.true_parameter(t));
    const double p = 1 / (1 + std::exp(-claimed_signal * margin));
    // Weighting by the margin makes the sum sensitive to the slope of the curve.
    excess += margin * ((example.label > 0 ? 1 : 0) - p);
    variance += margin * margin * p * (1 - p);
  }
  return excess / std::sqrt(variance);
}

// The seed is fixed. For a correct stream, |excess| > 4 has probability 6e-5.
TEST(SyntheticStream, labels_have_the_logistic_probability) {
  for (const double signal : {0.5, 4.0, 10.0, 100.0})
    EXPECT_LT(std::abs(label_excess(signal, signal)), 4) << signal;
}

TEST(SyntheticStream, the_label_check_sees_a_signal_wrong_by_a_tenth) {
  EXPECT_GT(std::abs(label_excess(4, 4.4)), 4);
}

// The seed is fixed. For 20000 labels the sample variance is within 5 % unless it deviates by more
// than 5 sigma.
TEST(SyntheticStream, linear_labels_are_the_margin_plus_noise) {
  const SyntheticStream stream(
      {.model = LabelModel::linear, .dimension = 8, .seed = 11, .label_noise = 0.1});
  double sum = 0;
  double sum_of_squares = 0;
  for (std::int64_t t = 0; t < 20000; ++t) {
    const Example example = example_of(stream, t);
    const double noise = example.label - dot(example.features, stream.true_parameter(t));
    sum += noise;
    sum_of_squares += noise * noise;
  }
  EXPECT_LT(std::abs(sum), 5 * 0.1 * std::sqrt(20000.0));
  EXPECT_NEAR(sum_of_squares / 20000 / 0.01, 1, 0.05);
}

// Reproducing a run requires the same stream on every platform. Hash computed on x86-64 with GCC
// 12.
TEST(SyntheticStream, same_bits_on_every_platform) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&hash](double x) {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
    for (int shift = 0; shift < 64; shift += 8)
      hash = (hash ^ (bits >> shift & 255)) * 0x100000001b3;
  };
  for (const StreamKind kind : kStreamKinds)
    for (const LabelModel model : kModels) {
      const SyntheticStream stream(
          {.kind = kind, .model = model, .dimension = 10, .seed = 42, .period = 70});
      for (std::int64_t t = 0; t < 200; ++t) {
        const Example example = example_of(stream, t);
        for (const double x : example.features) mix(x);
        mix(example.label);
      }
    }
  EXPECT_EQ(hash, 3749641465794636274u);
}

TEST(SyntheticStream, bad_options_and_arguments_are_refused_by_name) {
  const auto message = [](const SyntheticStreamOptions& options) {
    return testing::error_text([&] { SyntheticStream{options}; });
  };
  EXPECT_EQ(message({.dimension = 0}),
            "invalid_argument | synthetic_stream: dimension must be between 1 and 1048576, got 0");
  EXPECT_EQ(message({.period = 1}),
            "invalid_argument | synthetic_stream: period must be between 2 and 1099511627776, "
            "got 1");
  EXPECT_EQ(message({.signal = 0}),
            "invalid_argument | synthetic_stream: signal must be positive and at most 100, got 0");
  EXPECT_EQ(message({.signal = kNan}),
            "invalid_argument | synthetic_stream: signal must be positive and at most 100, "
            "got NaN");
  EXPECT_EQ(message({.label_noise = -1}),
            "invalid_argument | synthetic_stream: label_noise must be non-negative and finite, "
            "got -1");
  const SyntheticStream stream({.dimension = 2});
  std::vector<double> x(3);
  EXPECT_EQ(testing::error_text([&] { stream.example(0, x); }),
            "wrong_length | synthetic_stream: features must have 2 entries, got 3");
  EXPECT_EQ(
      testing::error_text([&] { stream.example(-1, x); }),
      "invalid_argument | synthetic_stream: step must be between 0 and 1099511627775, got -1");
  EXPECT_EQ(
      testing::error_text([] { stream_kind_from_string("still"); }),
      "invalid_argument | stream_kind: stream must be one of stationary, drifting, switching, "
      "heavy-tailed, sparse, got \"still\"");
  for (const StreamKind kind : kStreamKinds)
    EXPECT_EQ(stream_kind_from_string(to_string(kind)), kind);
  for (const StreamKind kind : {StreamKind::heavy_tailed, StreamKind::sparse})
    EXPECT_EQ(stream_kind_from_string(to_string(kind)), kind);
}

TEST(TableStream, gives_its_rows_and_labels) {
  Matrix features(3, 2);
  features << 1, 2, 3, 4, 5, 6;
  const TableStream labelled({.features = features, .labels = (Vector(3) << 1, 0, 1).finished()});
  EXPECT_EQ(labelled.num_examples(), 3);
  EXPECT_EQ(example_of(labelled, 1), (Example{{3, 4}, 0}));
  EXPECT_EQ(example_of(labelled, 2), (Example{{5, 6}, 1}));
  const TableStream bare({.features = features, .labels = {}});
  EXPECT_FALSE(bare.has_labels());
  EXPECT_EQ(example_of(bare, 0), (Example{{1, 2}, 0}));
  EXPECT_ERROR(example_of(bare, 3), "invalid_argument", "step must be between 0 and 2, got 3");
}

TEST(TableStream, bad_tables_are_refused_and_the_entry_named) {
  const auto message = [](const Matrix& features, const std::optional<Vector>& labels) {
    return testing::error_text([&] { TableStream({.features = features, .labels = labels}); });
  };
  Matrix holed = Matrix::Zero(3, 2);
  holed(2, 1) = kNan;
  EXPECT_EQ(message(holed, {}), "invalid_argument | table: features[2][1] must be finite, got NaN");
  EXPECT_EQ(message(Matrix(0, 2), {}),
            "invalid_argument | table: features must be of at least 1 row, got 0");
  EXPECT_EQ(message(Matrix(2, 0), {}),
            "invalid_argument | table: features must be of at least 1 column, got 0");
  EXPECT_EQ(message(Matrix::Zero(3, 1), Vector::Zero(2)),
            "wrong_length | table: labels must have 3 entries, got 2");
  EXPECT_EQ(message(Matrix::Zero(2, 1), (Vector(2) << 0, kNan).finished()),
            "invalid_argument | table: labels[1] must be finite, got NaN");
}

}  // namespace
}  // namespace dpftrl
