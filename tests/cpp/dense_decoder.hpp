// SPDX-License-Identifier: Apache-2.0
#pragma once

// Materialises the B of a DecoderForm from the definitions in decoder_form.hpp. Serves as an oracle
// for the kernels because it shares none of their algorithms.

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "dpftrl/strategy/strategy.hpp"
#include "support.hpp"

namespace dpftrl::testing {

using LongDouble = long double;
using LongMatrix = Eigen::Matrix<LongDouble, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using LongVector = std::vector<LongDouble>;

LongMatrix dense_decoder(const DecoderForm& form, std::int64_t steps);

/// First column of B, for the forms whose B is Toeplitz.
inline LongVector impulse_response(const DecoderForm& form, std::int64_t steps) {
  const auto n = static_cast<std::size_t>(steps);
  if (const auto* toeplitz = std::get_if<ToeplitzDecoder>(&form))
    return {toeplitz->coefficients.begin(), toeplitz->coefficients.end()};
  LongVector inverse(n);  // of C
  if (const auto* banded_inverse = std::get_if<BandedInverseDecoder>(&form)) {
    const std::vector<double>& g = banded_inverse->coefficients;
    std::copy_n(g.begin(), std::min(n, g.size()), inverse.begin());
  } else {
    LongVector c(n);
    if (const auto* banded = std::get_if<BandedDecoder>(&form)) {
      std::copy_n(banded->coefficients.begin(), std::min(n, banded->coefficients.size()),
                  c.begin());
    } else {
      const auto& buffered = std::get<BufferedDecoder>(form);
      c[0] = 1;
      for (std::size_t i = 0; i < buffered.decays.size(); ++i) {
        LongDouble power = 1;
        for (std::size_t j = 1; j < n; ++j, power *= buffered.decays[i])
          c[j] += buffered.weights[i] * power;
      }
    }
    for (std::size_t j = 0; j < n; ++j) {
      LongDouble rest = j == 0 ? 1 : 0;
      for (std::size_t i = 1; i <= j; ++i) rest -= c[i] * inverse[j - i];
      inverse[j] = rest / c[0];
    }
  }
  LongDouble sum = 0;
  for (LongDouble& entry : inverse) entry = sum += entry;
  return inverse;
}

inline LongMatrix dense_toeplitz(const LongVector& by_lag, std::int64_t steps) {
  LongMatrix b = LongMatrix::Zero(index_of(steps), index_of(steps));
  for (Eigen::Index t = 0; t < b.rows(); ++t)
    for (Eigen::Index j = 0; j <= t; ++j) b(t, j) = by_lag[static_cast<std::size_t>(t - j)];
  return b;
}

/// Nodes of a tree in the order of their measurements: by last step, then by level.
class KaryNodes {
 public:
  KaryNodes(const KaryDecoder& decoder, std::int64_t steps) : arity_(decoder.arity) {
    std::int64_t length = 1;
    for (std::int64_t l = 0; l < decoder.num_levels; ++l, length *= arity_)
      for (std::int64_t i = 0; i * length < 4 * steps * arity_; ++i)
        nodes_.emplace_back((i + 1) * length - 1, l);
    std::sort(nodes_.begin(), nodes_.end());
  }
  Eigen::Index measurement(std::int64_t level, std::int64_t node) const {
    std::int64_t length = 1;
    for (std::int64_t l = 0; l < level; ++l) length *= arity_;
    const auto place =
        std::lower_bound(nodes_.begin(), nodes_.end(), std::pair((node + 1) * length - 1, level));
    return static_cast<Eigen::Index>(place - nodes_.begin());
  }

 private:
  std::int64_t arity_;
  std::vector<std::pair<std::int64_t, std::int64_t>> nodes_;
};

/// Removes trailing columns that are zero.
inline LongMatrix trimmed(const LongMatrix& matrix) {
  Eigen::Index columns = matrix.cols();
  while (columns > 1 && matrix.col(columns - 1).isZero(0)) --columns;
  return matrix.leftCols(columns);
}

inline LongMatrix dense_kary(const KaryDecoder& decoder, std::int64_t steps) {
  const KaryNodes nodes(decoder, steps);
  LongMatrix b =
      LongMatrix::Zero(index_of(steps), nodes.measurement(0, 4 * steps * decoder.arity - 1));
  for (std::int64_t t = 0; t < steps; ++t) {
    std::vector<std::int64_t> digits;
    for (std::int64_t rest = t + 1; rest != 0;) {
      std::int64_t digit = rest % decoder.arity;
      if (decoder.subtractive && digit > decoder.arity / 2) digit -= decoder.arity;
      digits.push_back(digit);
      rest = (rest - digit) / decoder.arity;
    }
    std::int64_t end = 0;  // end of the higher digits, in nodes of this level
    for (auto level = std::ssize(digits); level-- > 0;) {
      end *= decoder.arity;
      const std::int64_t digit = digits[static_cast<std::size_t>(level)];
      for (std::int64_t i = end; i < end + digit; ++i)
        b(index_of(t), nodes.measurement(level, i)) = 1;
      for (std::int64_t i = end + digit; i < end; ++i)
        b(index_of(t), nodes.measurement(level, i)) = -1;
      end += digit;
    }
  }
  return trimmed(b);
}

inline LongMatrix dense_haar(const HaarDecoder& decoder, std::int64_t steps) {
  const std::int64_t k = std::ssize(decoder.scales);
  LongMatrix b = LongMatrix::Zero(index_of(steps), index_of(std::int64_t{1} << k));
  for (std::int64_t t = 0; t < steps; ++t) {
    b(index_of(t), 0) =
        static_cast<LongDouble>(decoder.mean_scale) * static_cast<LongDouble>(t + 1);
    for (std::int64_t l = 1; l <= k; ++l) {
      const std::int64_t length = std::int64_t{1} << l, r = (t + 1) % length;
      b(index_of(t), index_of((std::int64_t{1} << (k - l)) + t / length)) =
          static_cast<LongDouble>(decoder.scales[static_cast<std::size_t>(l - 1)]) *
          static_cast<LongDouble>(std::min(r, length - r));
    }
  }
  return b;
}

inline LongMatrix dense_dyadic(const DyadicDecoder& decoder, std::int64_t steps) {
  const auto measurement = [](std::uint64_t level, std::uint64_t last) {
    return static_cast<Eigen::Index>(2 * last + level) - std::popcount(last);
  };
  LongMatrix b = LongMatrix::Zero(index_of(steps), index_of(2 * steps));
  for (std::uint64_t t = 0; t < static_cast<std::uint64_t>(steps); ++t) {
    std::uint64_t begin = 0;
    for (std::size_t top = decoder.node_weights.size(); top-- > 0;) {
      if (((t + 1) >> top & 1) == 0) continue;
      LongDouble above = 1;
      for (std::size_t level = top + 1; level-- > 0;) {
        const LongDouble own = decoder.node_weights[level];
        for (std::uint64_t node = 1; node <= std::uint64_t{1} << (top - level); ++node)
          b(static_cast<Eigen::Index>(t), measurement(level, begin + (node << level) - 1)) =
              above * own;
        above *= 1 - own;
      }
      begin += std::uint64_t{1} << top;
    }
  }
  return b;
}

inline LongMatrix dense_blocks(const BlockDecoder& decoder, std::int64_t steps) {
  std::int64_t num_measurements = 0;
  for (const BlockDecoder::Block& block : decoder.blocks)
    num_measurements += block.num_measurements;
  LongMatrix b = LongMatrix::Zero(index_of(steps), index_of(num_measurements));
  LongVector carry(static_cast<std::size_t>(num_measurements));
  Eigen::Index step = 0, first = 0;
  for (const BlockDecoder::Block& block : decoder.blocks) {
    const LongMatrix own = dense_decoder(*block.form, std::max(block.steps, block.closing_row + 1));
    for (std::int64_t i = 0; i < block.steps && step < b.rows(); ++i, ++step) {
      for (Eigen::Index m = 0; m < b.cols(); ++m) b(step, m) = carry[static_cast<std::size_t>(m)];
      for (Eigen::Index m = 0; m < own.cols(); ++m)
        if (own(index_of(i), m) != 0) b(step, first + m) += own(index_of(i), m);
    }
    const auto left = carry.begin() + first;
    for (Eigen::Index m = 0; m < own.cols(); ++m)
      if (own(index_of(block.closing_row), m) != 0) left[m] = own(index_of(block.closing_row), m);
    first += index_of(block.num_measurements);
  }
  return b;
}

inline LongMatrix dense_filtered(const FilteredDecoder& decoder, std::int64_t steps) {
  LongMatrix records = dense_decoder(*decoder.base, steps);
  for (Eigen::Index t = records.rows(); t-- > 0;) {
    if (t > 0) records.row(t) -= records.row(t - 1).eval();
    if (!decoder.column_scales.empty())
      records.row(t) *= static_cast<LongDouble>(decoder.column_scales[static_cast<std::size_t>(t)]);
  }
  // Computed from the definitions of the workloads because Workload::matrix is rounded.
  const Workload& workload = decoder.workload;
  if (workload.kind() == Workload::Kind::matrix)
    return workload.leading(steps).matrix().cast<LongDouble>() * records;
  LongMatrix rows = records;
  LongMatrix average = LongMatrix::Zero(1, records.cols()), total = average;
  const bool is_window = workload.kind() == Workload::Kind::window;
  for (Eigen::Index t = 0; t < rows.rows(); ++t) {
    average = static_cast<LongDouble>(workload.momentum()) * average + records.row(t);
    const LongDouble rate = workload.kind() == Workload::Kind::rates
                                ? workload.rates()[static_cast<std::size_t>(t)]
                                : 1.0;
    total = static_cast<LongDouble>(workload.decay()) * total + rate * average;
    if (is_window && t >= workload.window()) total -= records.row(t - index_of(workload.window()));
    rows.row(t) = total;
  }
  return rows;
}

/// Column j is the response to z_j = 1 without other noise.
inline LongMatrix dense_varying(const VaryingBuffers& numbers, std::int64_t steps) {
  const auto q = static_cast<std::size_t>(numbers.buffers);
  LongMatrix b = LongMatrix::Zero(index_of(steps), index_of(steps));
  for (Eigen::Index j = 0; j < b.cols(); ++j) {
    LongVector states(q, 0);
    LongDouble total = 0;
    for (Eigen::Index t = j; t < b.rows(); ++t) {
      const auto first = static_cast<std::size_t>(t) * q;
      LongDouble w = t == j ? numbers.inverse_scales[static_cast<std::size_t>(t)] : 0;
      for (std::size_t k = 0; k < q; ++k) w -= numbers.gains[first + k] * states[k];
      for (std::size_t k = 0; k < q; ++k) states[k] = numbers.factors[first + k] * (states[k] + w);
      b(t, j) = total += w;
    }
  }
  return b;
}

/// Computes B by forward substitution, column by column.
inline LongMatrix dense_varying_bands(const VaryingBands& numbers, std::int64_t steps) {
  LongMatrix b = LongMatrix::Zero(index_of(steps), index_of(steps));
  const auto bands = static_cast<Eigen::Index>(numbers.bands);
  for (Eigen::Index j = 0; j < b.cols(); ++j) {
    LongVector w(static_cast<std::size_t>(steps), 0);
    LongDouble total = 0;
    for (Eigen::Index t = j; t < b.rows(); ++t) {
      const double* const entries = &numbers.entries[static_cast<std::size_t>(t * bands)];
      LongDouble rest = t == j ? 1 : 0;
      for (Eigen::Index m = 1; m < bands && m <= t - j; ++m)
        rest -= entries[m] * w[static_cast<std::size_t>(t - m)];
      b(t, j) = total += w[static_cast<std::size_t>(t)] = rest / entries[0];
    }
  }
  return b;
}

inline LongMatrix dense_autoregressive(const AutoregressiveDecoder& decoder, std::int64_t steps) {
  LongMatrix b = LongMatrix::Zero(index_of(steps), index_of(steps) + 1);
  for (Eigen::Index t = 0; t < b.rows(); ++t) {
    b(t, 0) = decoder.offset;
    LongDouble power = 1;
    for (Eigen::Index j = t; j >= 0; --j, power *= decoder.decay)
      b(t, j + 1) = j == 0 ? power : decoder.innovation * power;
  }
  return b;
}

inline LongMatrix dense_decoder(const DecoderForm& form, std::int64_t steps) {
  if (std::holds_alternative<IdentityDecoder>(form))
    return LongMatrix::Identity(index_of(steps), index_of(steps));
  if (std::holds_alternative<RunningSumDecoder>(form))
    return dense_toeplitz(LongVector(static_cast<std::size_t>(steps), 1), steps);
  if (const auto* moving = std::get_if<MovingSumDecoder>(&form)) {
    LongVector by_lag(moving->coefficients.begin(), moving->coefficients.end());
    by_lag.resize(static_cast<std::size_t>(steps));
    return dense_toeplitz(by_lag, steps);
  }
  if (const auto* autoregressive = std::get_if<AutoregressiveDecoder>(&form))
    return dense_autoregressive(*autoregressive, steps);
  if (const auto* dyadic = std::get_if<DyadicDecoder>(&form)) return dense_dyadic(*dyadic, steps);
  if (const auto* kary = std::get_if<KaryDecoder>(&form)) return dense_kary(*kary, steps);
  if (const auto* haar = std::get_if<HaarDecoder>(&form)) return dense_haar(*haar, steps);
  if (const auto* varying = std::get_if<VaryingBufferedDecoder>(&form))
    return dense_varying(*varying->numbers, steps);
  if (const auto* bands = std::get_if<VaryingBandedDecoder>(&form))
    return dense_varying_bands(*bands->numbers, steps);
  if (const auto* block = std::get_if<BlockDecoder>(&form)) return dense_blocks(*block, steps);
  if (const auto* filtered = std::get_if<FilteredDecoder>(&form))
    return dense_filtered(*filtered, steps);
  return dense_toeplitz(impulse_response(form, steps), steps);
}

}  // namespace dpftrl::testing
