// SPDX-License-Identifier: Apache-2.0
#include "optimal/blt/normalized_rows.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "optimal/family_optimum.hpp"

namespace dpftrl::detail {
namespace {

constexpr std::size_t kMost = static_cast<std::size_t>(kMaxBuffers);
using Buffers = std::array<double, kMost>;
using Pairs = std::array<double, kMost * kMost>;

/// Largest cell length <= wanted that is odd (a cell has a midpoint) and of the form m 2^e - 1 with
/// small m (few distinct lengths); at least 1.
std::int64_t cell_length(std::int64_t wanted, std::int64_t cells_in_distance) {
  std::int64_t mantissa = wanted + 1, unit = 1;
  while (3 * mantissa > std::max<std::int64_t>(cells_in_distance, 24)) {
    mantissa /= 2;
    unit *= 2;
  }
  const std::int64_t even = mantissa * unit / 2 * 2;
  return std::max<std::int64_t>(1, even - 1);
}

double square(double x) {
  return x * x;
}

double at(const Vector& v, std::size_t i) {
  return v(static_cast<Eigen::Index>(i));
}

}  // namespace

KnotPosition knot_position(std::int64_t steps, std::int64_t step) {
  if (steps == 1) return {0, 0};
  const double n = static_cast<double>(steps);
  const double t = static_cast<double>(step);
  const double share = (std::log((t + 1) / (n - t)) / std::log(n) + 1) / 2;
  const double scaled = std::clamp(share, 0.0, 1.0) * static_cast<double>(kNumRowScaleKnots - 1);
  const double lower = std::min(std::floor(scaled), static_cast<double>(kNumRowScaleKnots - 2));
  return {static_cast<Eigen::Index>(lower), scaled - lower};
}

NormalizedRowErrors::NormalizedRowErrors(const Options& options)
    : options_(options),
      d_(static_cast<std::size_t>(options.buffers)),
      blt_(Vector::Zero(static_cast<Eigen::Index>(2 * options.buffers))) {
  std::map<std::int64_t, std::size_t> kind_of;
  for (std::int64_t t = 0; t < options.steps;) {
    const std::int64_t distance = std::min(t + 1, options.steps - t);
    const std::int64_t cell =
        cell_length(distance / options.cells_in_distance, options.cells_in_distance);
    const auto [known, is_new] = kind_of.try_emplace(cell, kinds_.size());
    if (is_new) kinds_.emplace_back(cell);
    cells_.push_back({.kind = known->second,
                      .at = knot_position(options.steps, t + (cell - 1) / 2),
                      .scale_squared = 1,
                      .column_norm = 1,
                      .by_scale_squared = 0,
                      .by_norm = 0});
    lengths_.push_back(static_cast<double>(cell));
    t += cell;
  }
  values_.resize(cells_.size());
  after_.resize(cells_.size() * d_ * d_);
  states_.resize(cells_.size() * d_ * d_);
  cross_.resize(cells_.size() * d_);
}

void NormalizedRowErrors::prepare(Kind& kind) const {
  const std::int64_t length = kind.length;
  const std::int64_t half = (length - 1) / 2;
  for (auto* jets : {&kind.decay, &kind.sum}) jets->resize(d_);
  for (auto* jets :
       {&kind.state_noise, &kind.whole_power, &kind.whole_sum, &kind.half_power, &kind.half_sum})
    jets->resize(d_ * d_);
  kind.drift.resize(d_);
  kind.cross_noise.resize(d_);
  const double a = blt_.limit;
  kind.row_noise = static_cast<double>(length) * a * a;
  for (std::size_t i = 0; i < d_; ++i) {
    const double u = at(blt_.sum_weight, i);
    kind.decay[i] = power_of_complement(at(blt_.inverse, i), length);
    kind.sum[i] = geometric_sum(at(blt_.inverse, i), length);
    kind.drift[i] = -u * at(blt_.inverse, i) * kind.sum[i].value;
    kind.row_noise += 2 * a * u * kind.sum[i].value;
    kind.cross_noise[i] = a * kind.sum[i].value;
    for (std::size_t l = 0; l < d_; ++l) {
      const double u_l = at(blt_.sum_weight, l);
      const double inverse = joint_complement(at(blt_.inverse, i), at(blt_.inverse, l));
      const double decay = joint_complement(at(blt_.decay, i), at(blt_.decay, l));
      const std::size_t p = pair(i, l);
      const std::size_t mirrored = pair(l, i);
      if (l < i) {
        for (auto* jets : {&kind.state_noise, &kind.whole_power, &kind.whole_sum, &kind.half_power,
                           &kind.half_sum})
          (*jets)[p] = (*jets)[mirrored];
      } else {
        kind.state_noise[p] = geometric_sum(inverse, length);
        kind.whole_power[p] = power_of_complement(decay, length);
        kind.whole_sum[p] = geometric_sum(decay, length);
        kind.half_power[p] = power_of_complement(decay, half);
        kind.half_sum[p] = geometric_sum(decay, half);
      }
      kind.row_noise += u * u_l * kind.state_noise[p].value;
      kind.cross_noise[i] += u_l * kind.state_noise[p].value;
    }
  }
}

void NormalizedRowErrors::clear_slopes(Kind& kind) const {
  for (auto* numbers : {&kind.by_decay, &kind.by_drift, &kind.by_cross_noise})
    numbers->assign(d_, 0);
  for (auto* numbers : {&kind.by_state_noise, &kind.by_whole_power, &kind.by_whole_sum,
                        &kind.by_half_power, &kind.by_half_sum})
    numbers->assign(d_ * d_, 0);
  kind.by_row_noise = 0;
}

void NormalizedRowErrors::add_slopes(const Kind& kind, BltSlopes& slopes) const {
  const double a = blt_.limit;
  slopes.log_limit += kind.by_row_noise * 2 * static_cast<double>(kind.length) * a * a;
  for (std::size_t i = 0; i < d_; ++i) {
    const Eigen::Index row = static_cast<Eigen::Index>(i);
    const double u = blt_.sum_weight(row);
    const Jet& sum = kind.sum[i];
    slopes.inverse(row) +=
        kind.by_decay[i] * kind.decay[i].derivative -
        kind.by_drift[i] * u * (sum.value + blt_.inverse(row) * sum.derivative) +
        (2 * kind.by_row_noise * u + kind.by_cross_noise[i]) * a * sum.derivative;
    slopes.log_sum_weight(row) +=
        kind.by_drift[i] * kind.drift[i] + 2 * kind.by_row_noise * a * u * sum.value;
    slopes.log_limit += (2 * kind.by_row_noise * u + kind.by_cross_noise[i]) * a * sum.value;
    for (std::size_t l = 0; l < d_; ++l) {
      const Eigen::Index column = static_cast<Eigen::Index>(l);
      const std::size_t p = pair(i, l);
      const double u_l = blt_.sum_weight(column);
      const Jet& noise = kind.state_noise[p];
      slopes.log_sum_weight(row) += 2 * kind.by_row_noise * u * u_l * noise.value;
      slopes.log_sum_weight(column) += kind.by_cross_noise[i] * u_l * noise.value;
      const double by_noise =
          (kind.by_state_noise[p] + kind.by_row_noise * u * u_l + kind.by_cross_noise[i] * u_l) *
          noise.derivative;
      slopes.inverse(row) += by_noise * (1 - blt_.inverse(column));
      slopes.inverse(column) += by_noise * (1 - blt_.inverse(row));
      const double by_joint = kind.by_whole_power[p] * kind.whole_power[p].derivative +
                              kind.by_whole_sum[p] * kind.whole_sum[p].derivative +
                              kind.by_half_power[p] * kind.half_power[p].derivative +
                              kind.by_half_sum[p] * kind.half_sum[p].derivative;
      slopes.decay(row) += by_joint * (1 - blt_.decay(column));
      slopes.decay(column) += by_joint * (1 - blt_.decay(row));
    }
  }
}

/// Backward in time: R(j) = sum_{t > j} lambda_t^2 (theta theta)^(t-j-1), D_j^2 = lambda_j^2 +
/// omega^T R(j) omega.
void NormalizedRowErrors::column_norms() {
  Pairs rest{};
  for (std::size_t k = cells_.size(); k-- > 0;) {
    Cell& cell = cells_[k];
    const Kind& kind = kinds_[cell.kind];
    double norm_squared = cell.scale_squared;
    for (std::size_t i = 0; i < d_; ++i) {
      for (std::size_t l = 0; l < d_; ++l) {
        const std::size_t p = pair(i, l);
        after_[k * d_ * d_ + p] = rest[p];
        const double middle =
            kind.half_power[p].value * rest[p] + cell.scale_squared * kind.half_sum[p].value;
        norm_squared += at(blt_.weight, i) * at(blt_.weight, l) * middle;
        rest[p] =
            kind.whole_power[p].value * rest[p] + cell.scale_squared * kind.whole_sum[p].value;
      }
    }
    cell.column_norm = std::sqrt(norm_squared);
  }
}

/// Forward in time: covariances of the state, of state and row, and of the row.
void NormalizedRowErrors::row_norms() {
  Pairs state{};
  Buffers cross{};
  double row = 0;
  for (std::size_t k = 0; k < cells_.size(); ++k) {
    const Cell& cell = cells_[k];
    const Kind& kind = kinds_[cell.kind];
    const double norm = cell.column_norm;
    const double noise = 1 / cell.scale_squared;
    std::copy_n(state.begin(), d_ * d_, states_.begin() + static_cast<std::ptrdiff_t>(k * d_ * d_));
    std::copy_n(cross.begin(), d_, cross_.begin() + static_cast<std::ptrdiff_t>(k * d_));
    double drift_cross = 0, drift_state = 0;
    Buffers moved{};
    for (std::size_t i = 0; i < d_; ++i) {
      for (std::size_t l = 0; l < d_; ++l) moved[i] += state[pair(i, l)] * kind.drift[l];
      drift_cross += kind.drift[i] * cross[i];
      drift_state += kind.drift[i] * moved[i];
    }
    row += 2 * norm * drift_cross + norm * norm * (drift_state + kind.row_noise * noise);
    for (std::size_t i = 0; i < d_; ++i) {
      cross[i] =
          kind.decay[i].value * (cross[i] + norm * moved[i]) + norm * kind.cross_noise[i] * noise;
      for (std::size_t l = 0; l < d_; ++l)
        state[pair(i, l)] = kind.decay[i].value * kind.decay[l].value * state[pair(i, l)] +
                            kind.state_noise[pair(i, l)].value * noise;
    }
    values_[k] = row;
  }
}

const std::vector<double>& NormalizedRowErrors::values(const Vector& point) {
  static const std::vector<double> outside;
  const Eigen::Index num_roots = static_cast<Eigen::Index>(2 * d_);
  blt_ = BltPoint(point.head(num_roots));
  if (!blt_.is_finite) return outside;
  for (Cell& cell : cells_) {
    if (!options_.scale_rows) continue;
    const Eigen::Index knot = num_roots + cell.at.lower;
    const double log_scale =
        (1 - cell.at.share_of_upper) * point(knot) + cell.at.share_of_upper * point(knot + 1);
    cell.scale_squared = std::exp(2 * log_scale);
    if (!(cell.scale_squared > 1e-100 && cell.scale_squared < 1e100)) return outside;
  }
  for (Kind& kind : kinds_) prepare(kind);
  column_norms();
  row_norms();
  return values_;
}

/// Reverse-mode derivatives of `row_norms`, statement by statement.
void NormalizedRowErrors::reverse_row_norms(const std::vector<double>& weights) {
  Pairs by_state{};
  Buffers by_cross{};
  double by_row = 0;
  for (std::size_t k = cells_.size(); k-- > 0;) {
    Cell& cell = cells_[k];
    Kind& kind = kinds_[cell.kind];
    const double norm = cell.column_norm;
    const double noise = 1 / cell.scale_squared;
    const double* state = states_.data() + k * d_ * d_;
    const double* cross = cross_.data() + k * d_;
    by_row += weights[k];
    double by_norm = 0;
    double by_noise = by_row * norm * norm * kind.row_noise;
    kind.by_row_noise += by_row * norm * norm * noise;
    Buffers moved{}, by_moved{}, next_by_cross{};
    for (std::size_t i = 0; i < d_; ++i) {
      for (std::size_t l = 0; l < d_; ++l) moved[i] += state[pair(i, l)] * kind.drift[l];
      const double decay = kind.decay[i].value;
      by_norm += by_row * (2 * kind.drift[i] * cross[i] + 2 * norm * kind.drift[i] * moved[i]) +
                 by_cross[i] * (decay * moved[i] + kind.cross_noise[i] * noise);
      kind.by_drift[i] += by_row * (2 * norm * cross[i] + norm * norm * moved[i]);
      kind.by_decay[i] += by_cross[i] * (cross[i] + norm * moved[i]);
      kind.by_cross_noise[i] += by_cross[i] * norm * noise;
      by_noise += by_cross[i] * norm * kind.cross_noise[i];
      by_moved[i] = by_row * norm * norm * kind.drift[i] + norm * decay * by_cross[i];
      next_by_cross[i] = by_row * 2 * norm * kind.drift[i] + decay * by_cross[i];
    }
    by_norm += by_row * 2 * norm * kind.row_noise * noise;
    for (std::size_t i = 0; i < d_; ++i) {
      for (std::size_t l = 0; l < d_; ++l) {
        const std::size_t p = pair(i, l);
        const double both = kind.decay[i].value * kind.decay[l].value;
        kind.by_decay[i] += by_state[p] * kind.decay[l].value * state[p];
        kind.by_decay[l] += by_state[p] * kind.decay[i].value * state[p];
        kind.by_state_noise[p] += by_state[p] * noise;
        by_noise += by_state[p] * kind.state_noise[p].value;
        kind.by_drift[l] += by_moved[i] * state[p];
        by_state[p] = both * by_state[p] + by_moved[i] * kind.drift[l];
      }
    }
    by_cross = next_by_cross;
    cell.by_norm = by_norm;
    cell.by_scale_squared = -by_noise * noise * noise;
  }
}

/// Reverse-mode derivatives of `column_norms`, which run forward in time.
void NormalizedRowErrors::reverse_column_norms(BltSlopes& slopes) {
  Pairs by_rest{};
  for (std::size_t k = 0; k < cells_.size(); ++k) {
    Cell& cell = cells_[k];
    Kind& kind = kinds_[cell.kind];
    const double by_norm_squared = cell.by_norm / (2 * cell.column_norm);
    cell.by_scale_squared += by_norm_squared;
    for (std::size_t i = 0; i < d_; ++i) {
      for (std::size_t l = 0; l < d_; ++l) {
        const std::size_t p = pair(i, l);
        const double rest = after_[k * d_ * d_ + p];
        const double weight = at(blt_.weight, i) * at(blt_.weight, l);
        const double middle =
            kind.half_power[p].value * rest + cell.scale_squared * kind.half_sum[p].value;
        slopes.log_weight(static_cast<Eigen::Index>(i)) += 2 * by_norm_squared * weight * middle;
        const double by_middle = by_norm_squared * weight;
        kind.by_half_power[p] += by_middle * rest;
        kind.by_half_sum[p] += by_middle * cell.scale_squared;
        kind.by_whole_power[p] += by_rest[p] * rest;
        kind.by_whole_sum[p] += by_rest[p] * cell.scale_squared;
        cell.by_scale_squared +=
            by_middle * kind.half_sum[p].value + by_rest[p] * kind.whole_sum[p].value;
        by_rest[p] = by_middle * kind.half_power[p].value + by_rest[p] * kind.whole_power[p].value;
      }
    }
  }
}

void NormalizedRowErrors::pull_back(const std::vector<double>& weights, Vector& gradient) {
  for (Kind& kind : kinds_) clear_slopes(kind);
  BltSlopes slopes(static_cast<Eigen::Index>(d_));
  reverse_row_norms(weights);
  reverse_column_norms(slopes);
  for (const Kind& kind : kinds_) add_slopes(kind, slopes);
  const Eigen::Index num_roots = static_cast<Eigen::Index>(2 * d_);
  detail::pull_back(blt_, slopes, gradient.head(num_roots));
  if (!options_.scale_rows) return;
  gradient.tail(gradient.size() - num_roots).setZero();
  for (const Cell& cell : cells_) {
    const double by_log_scale = 2 * cell.scale_squared * cell.by_scale_squared;
    const Eigen::Index knot = num_roots + cell.at.lower;
    gradient(knot) += (1 - cell.at.share_of_upper) * by_log_scale;
    gradient(knot + 1) += cell.at.share_of_upper * by_log_scale;
  }
}

namespace {

/// D_j for all steps, backward in time.
std::vector<double> all_column_norms(const BltPoint& blt, const std::vector<double>& scales) {
  const std::size_t d = static_cast<std::size_t>(blt.buffers);
  std::vector<double> norms(scales.size());
  Pairs rest{}, factor{};
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t l = 0; l < d; ++l)
      factor[i * d + l] = 1 - joint_complement(at(blt.decay, i), at(blt.decay, l));
  for (std::size_t j = scales.size(); j-- > 0;) {
    double norm_squared = square(scales[j]);
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t l = 0; l < d; ++l) {
        double& r = rest[i * d + l];
        norm_squared += at(blt.weight, i) * at(blt.weight, l) * r;
        r = factor[i * d + l] * r + square(scales[j]);
      }
    }
    norms[j] = std::sqrt(norm_squared);
  }
  return norms;
}

}  // namespace

FamilyErrors normalized_errors(const BltPoint& blt, std::span<const double> log_row_scales,
                               std::int64_t steps) {
  const std::size_t d = static_cast<std::size_t>(blt.buffers);
  std::vector<double> scales(static_cast<std::size_t>(steps), 1.0);
  if (!log_row_scales.empty())
    for (std::size_t t = 0; t < scales.size(); ++t)
      scales[t] = row_scale(log_row_scales, steps, static_cast<std::int64_t>(t));
  const std::vector<double> norms = all_column_norms(blt, scales);
  Pairs state{};
  Buffers cross{}, drift{}, decay{};
  for (std::size_t i = 0; i < d; ++i) {
    drift[i] = -at(blt.sum_weight, i) * at(blt.inverse, i);
    decay[i] = 1 - at(blt.inverse, i);
  }
  double row = 0, largest = 0, total = 0;
  for (std::size_t t = 0; t < scales.size(); ++t) {
    const double noise = 1 / square(scales[t]);
    const double norm = norms[t];
    Buffers moved{};
    double drift_cross = 0, drift_state = 0;
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t l = 0; l < d; ++l) moved[i] += state[i * d + l] * drift[l];
      drift_cross += drift[i] * cross[i];
      drift_state += drift[i] * moved[i];
    }
    row += 2 * norm * drift_cross + norm * norm * (drift_state + noise);
    for (std::size_t i = 0; i < d; ++i) {
      cross[i] = decay[i] * (cross[i] + norm * moved[i]) + norm * noise;
      for (std::size_t l = 0; l < d; ++l)
        state[i * d + l] = decay[i] * decay[l] * state[i * d + l] + noise;
    }
    largest = std::max(largest, row);
    total += row;
  }
  return {.sensitivity = 1,
          .max_error = std::sqrt(largest),
          .mean_error = std::sqrt(total / static_cast<double>(steps))};
}

}  // namespace dpftrl::detail
