// SPDX-License-Identifier: Apache-2.0
// Decoders B = A C^-1 with short recursions for w = C^-1 z. All of it is done in double-double: a
// recursion passes its roundings on, and beside those of the normals they should not count.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "dpftrl/gaussian.hpp"
#include "noise/kernel.hpp"
#include "noise/rows.hpp"

namespace dpftrl::noise {
namespace {

/// What the roundings of w = C^-1 z amount to: w is what other z would give exactly, each off by at
/// most `input`, and the sum of all w is off by at most `output` besides.
struct Rounding {
  double input;
  double output;
};

/// The last `size` rows, for sums over a few steps.
template <class Row>
class History {
 public:
  History(std::size_t size, std::size_t width) : rows_(size, Row(width)) {}

  std::int64_t size() const { return static_cast<std::int64_t>(rows_.size()); }
  /// The place of the row of that step, which takes that of step - size().
  Row& at(std::int64_t step) { return rows_[static_cast<std::size_t>(step % size())]; }

 private:
  std::vector<Row> rows_;
};

/// Roundings of a recursion whose local error is at most relative * (|z| + amplification * max |w|)
/// when seen as a change of z. `w_norm` is the l1-norm of w for z = 1, 0, 0, ...
Rounding recursion_rounding(double relative, double amplification, double w_norm) {
  const double perturbation = relative * (1 + amplification * w_norm);
  // Beyond this the computed norm itself would be in doubt.
  if (!(perturbation <= 0x1p-30)) return {std::numeric_limits<double>::infinity(), 0};
  return {2 * kNormalMax * perturbation, 0};
}

class BandedRecursion {
 public:
  BandedRecursion(const BandedDecoder& decoder, std::size_t width)
      : coefficients_(decoder.coefficients), history_(coefficients_.size() - 1, width) {}

  /// Takes z of the next step in `row`, leaves w there.
  void advance(DoubleDoubles& row) {
    for (std::int64_t lag = 1; lag <= std::min(step_, history_.size()); ++lag)
      add_product(row, -coefficients_[static_cast<std::size_t>(lag)], history_.at(step_ - lag));
    normalize(row);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const DoubleDouble quotient = divide({row.high[i], row.low[i]}, coefficients_[0]);
      row.high[i] = quotient.high;
      row.low[i] = quotient.low;
    }
    drop_tiny(row);
    if (history_.size() > 0) history_.at(step_) = row;
    ++step_;
  }

  Rounding rounding(double w_norm) const {
    double sum = 0;
    for (const double c : coefficients_) sum += std::abs(c);
    return recursion_rounding(product_sum_error(static_cast<double>(coefficients_.size())), sum,
                              w_norm);
  }

 private:
  const std::vector<double>& coefficients_;
  History<DoubleDoubles> history_;
  std::int64_t step_ = 0;
};

class BandedInverseRecursion {
 public:
  BandedInverseRecursion(const BandedInverseDecoder& decoder, std::size_t width)
      : coefficients_(decoder.coefficients), history_(coefficients_.size(), width) {}

  void advance(DoubleDoubles& row) {
    history_.at(step_) = row.high;
    row.clear();
    for (std::int64_t lag = 0; lag <= std::min(step_, history_.size() - 1); ++lag)
      add_product(row, {coefficients_[static_cast<std::size_t>(lag)], 0}, history_.at(step_ - lag));
    normalize(row);
    ++step_;
  }

  Rounding rounding(double) const {
    double sum = 0;
    for (const double g : coefficients_) sum += std::abs(g);
    const double relative = product_sum_error(static_cast<double>(coefficients_.size()));
    return {0, relative * sum * kNormalMax * static_cast<double>(step_)};
  }

 private:
  const std::vector<double>& coefficients_;
  History<std::vector<double>> history_;
  std::int64_t step_ = 0;
};

class BufferedRecursion {
 public:
  BufferedRecursion(const BufferedDecoder& decoder, std::size_t width)
      : decoder_(decoder), buffers_(decoder.decays.size(), DoubleDoubles(width)) {}

  void advance(DoubleDoubles& row) {
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      add_product(row, -decoder_.weights[i], buffers_[i]);
    normalize(row);
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      multiply_add(buffers_[i], decoder_.decays[i], row);
      drop_tiny(buffers_[i]);
    }
    ++step_;
  }

  Rounding rounding(double w_norm) const {
    double amplification = 1;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const double memory = std::min(static_cast<double>(step_), 1 / (1 - decoder_.decays[i]));
      amplification += std::abs(decoder_.weights[i]) * memory * (memory + 2);
    }
    return recursion_rounding(product_sum_error(static_cast<double>(buffers_.size() + 1)),
                              amplification, w_norm);
  }

 private:
  const BufferedDecoder& decoder_;
  std::vector<DoubleDoubles> buffers_;
  std::int64_t step_ = 0;
};

/// Row t = w_0 + ... + w_t. The same recursion, fed with 1, 0, 0, ..., gives the entries of B that
/// the error bound is made of.
template <class Recursion>
class RecursiveKernel final : public Kernel {
 public:
  template <class Decoder>
  RecursiveKernel(const KernelOptions& options, const Decoder& decoder)
      : options_(options),
        recursion_(decoder, width_of(options)),
        step_row_(width_of(options)),
        total_(width_of(options)),
        impulse_(decoder, 1),
        impulse_row_(1),
        impulse_total_(1) {}

  void write_row(std::int64_t step, std::span<double> row) override {
    fill_measurement(options_, step, row);
    step_row_.assign(row);
    recursion_.advance(step_row_);
    add(total_, step_row_);
    std::copy(total_.high.begin(), total_.high.end(), row.begin());

    impulse_row_.high[0] = step == 0 ? 1 : 0;
    impulse_row_.low[0] = 0;
    impulse_.advance(impulse_row_);
    add(impulse_total_, impulse_row_);
    w_norm_ = dpftrl::add(w_norm_, std::abs(impulse_row_.high[0]));
    row_norm_ = dpftrl::add(row_norm_, std::abs(impulse_total_.high[0]));
    num_steps_ = static_cast<double>(step + 1);
  }

  RowErrorBound error_bound() const override {
    const Rounding rounding = recursion_.rounding(w_norm_.high);
    const double accumulation = 10 * kUnitRoundoff * kUnitRoundoff * num_steps_ * (kNormalMax + 1);
    const double input = kNormalErrorBound + rounding.input + accumulation;
    return {(input * row_norm_.high + rounding.output) * kSlack, kUnitRoundoff};
  }

 private:
  KernelOptions options_;
  Recursion recursion_;
  DoubleDoubles step_row_;
  DoubleDoubles total_;
  Recursion impulse_;
  DoubleDoubles impulse_row_;
  DoubleDoubles impulse_total_;
  DoubleDouble w_norm_;    ///< |w_0| + ... + |w_t| of the impulse
  DoubleDouble row_norm_;  ///< the same of its rows: |B_t0| + ... + |B_tt|
  double num_steps_ = 0;
};

/// Numbers from step to step, so an impulse does not tell what a change of z does to a row: at most
/// the norm of a row of B, which the form states.
class VaryingBufferedKernel final : public Kernel {
 public:
  VaryingBufferedKernel(const KernelOptions& options, const VaryingBufferedDecoder& decoder)
      : options_(options),
        numbers_(*decoder.buffers),
        step_row_(width_of(options)),
        total_(width_of(options)),
        states_(static_cast<std::size_t>(numbers_.num_buffers), DoubleDoubles(width_of(options))) {}

  void write_row(std::int64_t step, std::span<double> row) override {
    const auto t = static_cast<std::size_t>(step);
    const double* const gains = &numbers_.gains[t * states_.size()];
    const double* const factors = &numbers_.factors[t * states_.size()];
    fill_measurement(options_, step, row);
    step_row_.clear();
    add_product(step_row_, {numbers_.inverse_scales[t], 0}, row);
    for (std::size_t k = 0; k < states_.size(); ++k) add_product(step_row_, -gains[k], states_[k]);
    normalize(step_row_);
    for (std::size_t k = 0; k < states_.size(); ++k) {
      add(states_[k], step_row_);
      scale(states_[k], factors[k]);
      drop_tiny(states_[k]);
    }
    add(total_, step_row_);
    std::copy(total_.high.begin(), total_.high.end(), row.begin());
    note_error(t);
  }

  RowErrorBound error_bound() const override {
    const double normals = std::sqrt(num_steps_) * kNormalErrorBound;
    const double sums = 10 * kUnitRoundoff * kUnitRoundoff * num_steps_ * kTail;
    return {numbers_.max_row_stddev * (normals + input_error_ + sums) * kSlack, kUnitRoundoff};
  }

 private:
  /// In standard deviations; beyond it with probability below 2^-700.
  static constexpr double kTail = 32;

  /// Adds what the roundings of w_t amount to as an error of z_t.
  void note_error(std::size_t t) {
    num_steps_ += 1;
    double gain = 0;
    for (std::size_t k = 0; k < states_.size(); ++k)
      gain += std::abs(numbers_.gains[t * states_.size() + k]);
    const double state = kTail * (numbers_.max_state_stddev + 2 * numbers_.max_row_stddev);
    const double products = product_sum_error(static_cast<double>(states_.size() + 1)) *
                            (kNormalMax * numbers_.inverse_scales[t] + gain * state);
    const double in_states = gain * num_steps_ * 0x1p-99 * state;
    input_error_ += (products + in_states) / numbers_.inverse_scales[t];
  }

  KernelOptions options_;
  const VaryingBuffers& numbers_;
  DoubleDoubles step_row_;
  DoubleDoubles total_;
  std::vector<DoubleDoubles> states_;
  double num_steps_ = 0;
  double input_error_ = 0;
};

}  // namespace

KernelPointer make(const KernelOptions& options, const VaryingBufferedDecoder& decoder) {
  return std::make_unique<VaryingBufferedKernel>(options, decoder);
}
KernelPointer make(const KernelOptions& options, const BandedDecoder& decoder) {
  return std::make_unique<RecursiveKernel<BandedRecursion>>(options, decoder);
}
KernelPointer make(const KernelOptions& options, const BandedInverseDecoder& decoder) {
  return std::make_unique<RecursiveKernel<BandedInverseRecursion>>(options, decoder);
}
KernelPointer make(const KernelOptions& options, const BufferedDecoder& decoder) {
  return std::make_unique<RecursiveKernel<BufferedRecursion>>(options, decoder);
}

}  // namespace dpftrl::noise
