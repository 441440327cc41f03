// SPDX-License-Identifier: Apache-2.0
#include "release/lattice/coder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/counting.hpp"
#include "dpftrl/base/error.hpp"
#include "noise/checkpoint.hpp"

namespace dpftrl::lattice {
namespace {

constexpr std::int64_t kMaxStateBytes = std::int64_t{1} << 30;

/// num_rows rows of `width` numbers.
template <class Number>
class RowTable {
 public:
  RowTable(std::int64_t num_rows, std::int64_t width)
      : width_(index_of(width)), numbers_(index_of(num_rows) * width_) {}
  std::span<Number> operator[](std::int64_t row) {
    return std::span(numbers_).subspan(index_of(row) * width_, width_);
  }
  std::span<Number> first(std::int64_t num_rows) {
    return std::span(numbers_).first(index_of(num_rows) * width_);
  }

 private:
  std::size_t width_;
  std::vector<Number> numbers_;
};

void require_memory(std::int64_t num_rows, std::int64_t dimension) {
  const std::int64_t most = kMaxStateBytes / static_cast<std::int64_t>(sizeof(double));
  if (num_rows > most / dimension)
    fail(ErrorCode::resource_exhausted, "lattice", "dimension",
         "must be so small that the state fits 1 GiB",
         to_text(num_rows) + " rows of " + to_text(dimension) + " numbers");
}

/// Dyadic intervals. Keeps the sums and estimates of completed nodes with incomplete siblings. Step
/// t completes nodes of levels 0 .. l, where l is the number of trailing ones of t.
class DyadicCoder final : public Coder {
 public:
  DyadicCoder(const DyadicEncoder& encoder, std::int64_t dimension)
      : weights_(encoder.node_weights),
        sums_(std::ssize(weights_), dimension),
        estimates_(std::ssize(weights_), dimension),
        dimension_(index_of(dimension)) {}

  std::int64_t num_measurements(std::int64_t step) const override {
    return std::countr_one(static_cast<std::uint64_t>(step)) + 1;
  }

  void measure(std::int64_t step, std::span<const std::int64_t> record,
               std::span<std::int64_t> measurements) override {
    const std::int64_t top = num_measurements(step) - 1;
    for (std::size_t i = 0; i < dimension_; ++i) {
      std::int64_t sum = record[i];
      for (std::int64_t level = 0; level < top; ++level) {
        measurements[index_of(level) * dimension_ + i] = sum;
        sum += sums_[level][i];
      }
      measurements[index_of(top) * dimension_ + i] = sum;
      sums_[top][i] = sum;
    }
  }

  void decode(std::int64_t step, std::span<const std::int64_t> noisy,
              std::span<double> total) override {
    const std::int64_t top = num_measurements(step) - 1;
    for (std::size_t i = 0; i < dimension_; ++i) {
      double estimate = static_cast<double>(noisy[i]);
      for (std::int64_t level = 1; level <= top; ++level) {
        const double weight = weights_[index_of(level)];
        const double children = estimates_[level - 1][i] + estimate;
        const double own = static_cast<double>(noisy[index_of(level) * dimension_ + i]);
        // A tree uses the node itself, without rounding as long as the integers fit a double.
        estimate = weight == 1 ? own : weight * own + (1 - weight) * children;
      }
      estimates_[top][i] = estimate;
      total[i] = 0;
      for (std::int64_t level = 0; level < std::ssize(weights_); ++level)
        if (((step + 1) >> level & 1) != 0) total[i] += estimates_[level][i];
    }
  }

 protected:
  Carried carried(std::int64_t step) override {
    const auto num_levels =
        static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(step)));
    return {sums_.first(num_levels), estimates_.first(num_levels), {}};
  }

 private:
  std::vector<double> weights_;
  RowTable<std::int64_t> sums_;
  RowTable<double> estimates_;
  std::size_t dimension_;
};

/// Toeplitz matrices. Keeps the latest steps, as many as there are coefficients, in a ring buffer.
class ToeplitzCoder final : public Coder {
 public:
  ToeplitzCoder(const ToeplitzEncoder& encoder, int precision_bits, std::int64_t dimension)
      : coefficients_(encoder.coefficients),
        unit_(std::ldexp(1.0, -precision_bits)),
        records_(std::ssize(coefficients_), dimension),
        inputs_(std::ssize(coefficients_), dimension),
        totals_(index_of(dimension)) {
    for (const std::int64_t c : coefficients_)
      real_coefficients_.push_back(static_cast<double>(c) * unit_);
  }

  std::int64_t num_measurements(std::int64_t) const override { return 1; }

  void measure(std::int64_t step, std::span<const std::int64_t> record,
               std::span<std::int64_t> measurements) override {
    std::ranges::copy(record, row(records_, step).begin());
    std::ranges::fill(measurements, 0);
    for (std::int64_t j = 0; j <= last_lag(step); ++j) {
      const std::span<const std::int64_t> past = row(records_, step - j);
      const std::int64_t c = coefficients_[index_of(j)];
      for (std::size_t i = 0; i < past.size(); ++i) measurements[i] += c * past[i];
    }
  }

  /// Forward substitution: w_t = (y_t - c_1 w_{t-1} - ...) / c_0, total w_0 + ... + w_t.
  void decode(std::int64_t step, std::span<const std::int64_t> noisy,
              std::span<double> total) override {
    const std::span<double> input = row(inputs_, step);
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<double>(noisy[i]) * unit_;
    for (std::int64_t j = 1; j <= last_lag(step); ++j) {
      const std::span<const double> past = row(inputs_, step - j);
      const double c = real_coefficients_[index_of(j)];
      for (std::size_t i = 0; i < input.size(); ++i) input[i] -= c * past[i];
    }
    for (std::size_t i = 0; i < input.size(); ++i) {
      input[i] /= real_coefficients_[0];
      totals_[i] += input[i];
      total[i] = totals_[i];
    }
  }

 protected:
  Carried carried(std::int64_t step) override {
    // The ring is filled from its first row on.
    const std::int64_t num_rows = std::min<std::int64_t>(step, std::ssize(coefficients_));
    return {records_.first(num_rows), inputs_.first(num_rows), totals_};
  }

 private:
  std::int64_t last_lag(std::int64_t step) const {
    return std::min<std::int64_t>(step, std::ssize(coefficients_) - 1);
  }
  template <class Number>
  std::span<Number> row(RowTable<Number>& rows, std::int64_t step) {
    return rows[step % std::ssize(coefficients_)];
  }

  std::vector<std::int64_t> coefficients_;
  std::vector<double> real_coefficients_;
  double unit_;
  RowTable<std::int64_t> records_;
  RowTable<double> inputs_;
  std::vector<double> totals_;
};

/// Integer buffers of the records; decoding uses the same recursions without rounding.
class BufferedCoder final : public Coder {
 public:
  BufferedCoder(const BufferedEncoder& encoder, int precision_bits, std::int64_t dimension)
      : encoder_(encoder),
        precision_bits_(precision_bits),
        unit_(std::ldexp(1.0, -precision_bits)),
        states_(std::ssize(encoder.decays), dimension),
        real_states_(std::ssize(encoder.decays), dimension),
        input_(index_of(dimension)),
        totals_(index_of(dimension)) {
    for (std::size_t k = 0; k < encoder.decays.size(); ++k) {
      decays_.push_back(std::ldexp(static_cast<double>(encoder.decays[k]), -kFactorBits));
      weights_.push_back(std::ldexp(static_cast<double>(encoder.weights[k]), -kFactorBits));
    }
  }

  std::int64_t num_measurements(std::int64_t) const override { return 1; }

  void measure(std::int64_t, std::span<const std::int64_t> record,
               std::span<std::int64_t> measurements) override {
    const std::int64_t one = std::int64_t{1} << precision_bits_;
    for (std::size_t i = 0; i < record.size(); ++i) measurements[i] = one * record[i];
    for (std::size_t k = 0; k < decays_.size(); ++k) {
      const std::span<std::int64_t> state = states_[static_cast<std::int64_t>(k)];
      for (std::size_t i = 0; i < record.size(); ++i) {
        measurements[i] += scale_rounded(state[i], encoder_.weights[k]);
        state[i] = scale_rounded(state[i], encoder_.decays[k]) + one * record[i];
      }
    }
  }

  void decode(std::int64_t, std::span<const std::int64_t> noisy, std::span<double> total) override {
    for (std::size_t i = 0; i < noisy.size(); ++i)
      input_[i] = static_cast<double>(noisy[i]) * unit_;
    for (std::size_t k = 0; k < decays_.size(); ++k) {
      const std::span<const double> state = real_states_[static_cast<std::int64_t>(k)];
      for (std::size_t i = 0; i < noisy.size(); ++i) input_[i] -= weights_[k] * state[i];
    }
    for (std::size_t k = 0; k < decays_.size(); ++k) {
      const std::span<double> state = real_states_[static_cast<std::int64_t>(k)];
      for (std::size_t i = 0; i < noisy.size(); ++i) state[i] = decays_[k] * state[i] + input_[i];
    }
    for (std::size_t i = 0; i < noisy.size(); ++i) {
      totals_[i] += input_[i];
      total[i] = totals_[i];
    }
  }

 protected:
  Carried carried(std::int64_t) override {
    const std::int64_t num_rows = std::ssize(decays_);
    return {states_.first(num_rows), real_states_.first(num_rows), totals_};
  }

 private:
  BufferedEncoder encoder_;
  int precision_bits_;
  double unit_;
  std::vector<double> decays_;
  std::vector<double> weights_;
  RowTable<std::int64_t> states_;
  RowTable<double> real_states_;
  std::vector<double> input_;
  std::vector<double> totals_;
};

}  // namespace

std::size_t Coder::state_size(std::int64_t step) {
  const Carried state = carried(step);
  return 8 * (state.integers.size() + state.reals.size() + state.totals.size());
}

void Coder::write_state(std::int64_t step, std::vector<std::byte>& out) {
  const Carried state = carried(step);
  for (const std::int64_t x : state.integers)
    detail::append_word(out, static_cast<std::uint64_t>(x));
  for (const std::span<const double> numbers : {state.reals, state.totals})
    for (const double x : numbers) detail::append_word(out, std::bit_cast<std::uint64_t>(x));
}

void Coder::read_state(std::int64_t step, std::span<const std::byte> bytes) {
  const Carried state = carried(step);
  std::size_t at = 0;
  const auto next = [&] {
    at += 8;
    return detail::word_at(bytes, at - 8);
  };
  for (std::int64_t& x : state.integers) x = static_cast<std::int64_t>(next());
  for (const std::span<double> numbers : {state.reals, state.totals})
    for (double& x : numbers) x = std::bit_cast<double>(next());
}

std::unique_ptr<Coder> make_coder(const IntegerEncoder& encoder, std::int64_t dimension) {
  const int bits = encoder.precision_bits();
  if (const auto* dyadic = std::get_if<DyadicEncoder>(&encoder.form())) {
    require_memory(2 * std::ssize(dyadic->node_weights), dimension);
    return std::make_unique<DyadicCoder>(*dyadic, dimension);
  }
  if (const auto* toeplitz = std::get_if<ToeplitzEncoder>(&encoder.form())) {
    require_memory(2 * std::ssize(toeplitz->coefficients), dimension);
    return std::make_unique<ToeplitzCoder>(*toeplitz, bits, dimension);
  }
  const auto& buffered = std::get<BufferedEncoder>(encoder.form());
  require_memory(2 * std::ssize(buffered.decays), dimension);
  return std::make_unique<BufferedCoder>(buffered, bits, dimension);
}

void append_encoder(detail::Sha256& hash, const IntegerEncoder& encoder) {
  hash.append(static_cast<std::uint64_t>(encoder.form().index()));
  hash.append(encoder.steps());
  hash.append(static_cast<std::int64_t>(encoder.precision_bits()));
  const auto append = [&](const auto& numbers) {
    hash.append(static_cast<std::uint64_t>(numbers.size()));
    for (const auto x : numbers) hash.append(x);
  };
  if (const auto* dyadic = std::get_if<DyadicEncoder>(&encoder.form())) {
    append(dyadic->node_weights);
  } else if (const auto* toeplitz = std::get_if<ToeplitzEncoder>(&encoder.form())) {
    append(toeplitz->coefficients);
  } else {
    const auto& buffered = std::get<BufferedEncoder>(encoder.form());
    append(buffered.decays);
    append(buffered.weights);
  }
}

}  // namespace dpftrl::lattice
