// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Random examples and points for testing learners and comparators.

#include <Eigen/Core>
#include <cstdint>
#include <random>
#include <span>

#include "dpftrl/base/types.hpp"

namespace dpftrl::testing {

struct Data {
  Matrix features;
  Vector labels;
};

struct DataOptions {
  std::uint64_t seed;
  Eigen::Index rows;
  Eigen::Index columns;
  bool classes;       ///< if true, labels are -1 and +1; otherwise, the margin plus noise
  double weight = 1;  ///< weight of every feature in the margin
};

inline Data random_data(const DataOptions& options) {
  std::mt19937_64 generator(options.seed);
  std::normal_distribution<double> normal;
  Data data{Matrix::NullaryExpr(options.rows, options.columns, [&] { return normal(generator); }),
            Vector(options.rows)};
  for (Eigen::Index i = 0; i < options.rows; ++i) {
    const double margin = data.features.row(i).sum() * options.weight + normal(generator);
    data.labels(i) = options.classes ? (margin > 0 ? 1 : -1) : margin;
  }
  return data;
}

inline std::span<const double> span_of(const Vector& v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}

inline Vector random_unit(std::mt19937_64& generator, Eigen::Index dimension) {
  std::normal_distribution<double> normal;
  const Vector v = Vector::NullaryExpr(dimension, [&] { return normal(generator); });
  return v / v.norm();
}

}  // namespace dpftrl::testing
