// SPDX-License-Identifier: Apache-2.0
// Decoders B = A C^-1 with short recursions for w = C^-1 z.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "base/double_double.hpp"
#include "noise/programs/program.hpp"
#include "optimal/varying_numbers.hpp"
#include "random/gaussian.hpp"
#include "simd/simd.hpp"

namespace dpftrl::noise {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// After t steps, one bound serves for the next 1 + t / 16; bounds grow slowly for all useful
/// forms.
constexpr std::int64_t kStepsPerBound = 16;
/// Magnitudes below this are flushed to 0, because subnormal numbers are slow.
constexpr double kTiny = 0x1p-200;

double multiply_add(double factor, double x, double sum) {
  return sum + factor * x;
}
DoubleDouble multiply_add(double factor, const DoubleDouble& x, const DoubleDouble& sum) {
  const DoubleDouble product = multiply(x, factor);
  return add(add(sum, product.low), product.high);
}
double value_of(double x) {
  return x;
}
double value_of(const DoubleDouble& x) {
  return x.high;
}
double quotient(double x, double divisor) {
  return x / divisor;
}
DoubleDouble quotient(const DoubleDouble& x, double divisor) {
  return divide(x, divisor);
}

template <class Number>
Number without_tiny(const Number& x) {
  return std::abs(value_of(x)) < kTiny ? Number{} : x;
}

/// Sum of squares; `root` is the l2-norm.
struct SquareSum {
  double sum = 0;
  void append(double x) { sum += x * x; }
  double root() const { return std::sqrt(sum); }
};

/// l2-norms of the responses of w and of the states to one normal, so far.
struct Responses {
  SquareSum w;
  std::vector<SquareSum> states;
};

/// Effect of rounding in w = C^-1 z. The computed w is the exact result for inputs that differ from
/// z by at most `input` each, and the sum of all w has a further error of at most `output`.
/// Rounding in the impulse's own w amounts to input errors whose magnitudes add up to `impulse`.
struct Rounding {
  double input;
  double output;
  double impulse;
};

class BandedRecursion {
 public:
  BandedRecursion(const ProgramOptions& options, const BandedDecoder& decoder, SlotAllocator& slots)
      : precision_(options.precision),
        coefficients_(decoder.coefficients),
        history_(slots.states(coefficients_.size() - 1)),
        fresh_(slots.scratch()),
        w_(slots.scratch()) {
    factors_.push_back(divide({1, 0}, coefficients_[0]));
    for (std::size_t i = 1; i < coefficients_.size(); ++i) {
      factors_.push_back(divide({-coefficients_[i], 0}, coefficients_[0]));
      sum_ += std::abs(coefficients_[i]);
    }
  }

  std::int64_t period() const { return std::max<std::int64_t>(1, std::ssize(history_)); }

  /// Slot into which the normals of a step are drawn.
  Slot input(std::int64_t) const { return fresh_; }

  Slot emit(std::int64_t step, StepOperations& operations) {
    terms_.assign(1, Term{factors_[0], fresh_});
    for (std::size_t lag = 1; lag < factors_.size(); ++lag)
      terms_.push_back({factors_[lag], at(step - static_cast<std::int64_t>(lag))});
    const Slot w = history_.empty() ? w_ : at(step);
    operations.combine(w, terms_);
    return w;
  }

  std::optional<StepShape> shape(Slot total) const {
    if (history_.empty() || history_.size() > simd::kMaxLags) return std::nullopt;
    std::vector<double> factors(factors_.size());
    std::ranges::transform(factors_, factors.begin(), &DoubleDouble::high);
    return StepShape{StepShape::Kind::bands, std::move(factors), {}, history_, total};
  }

  template <class Number>
  class Impulse {
   public:
    explicit Impulse(const BandedRecursion& recursion)
        : coefficients_(recursion.coefficients_), past_(coefficients_.size()) {}

    Number advance(double input, Responses&) {
      std::rotate(past_.begin(), past_.end() - 1, past_.end());
      Number w{};
      w = multiply_add(1, Number{input}, w);
      for (std::size_t lag = 1; lag < past_.size(); ++lag)
        w = multiply_add(-coefficients_[lag], past_[lag], w);
      return past_[0] = without_tiny(quotient(w, coefficients_[0]));
    }

   private:
    const std::vector<double>& coefficients_;
    std::vector<Number> past_;
  };

  Rounding rounding(const Responses& responses, double w_sum, double) const {
    const double relative = combine_error(precision_, static_cast<double>(coefficients_.size()));
    const double all = sum_ + std::abs(coefficients_[0]);
    return {relative * (kNormalMax + sum_ * kTail * responses.w.root()), 0,
            2 * relative * (1 + all * w_sum)};
  }

 private:
  Slot at(std::int64_t step) const {
    const std::int64_t size = std::ssize(history_);
    return history_[static_cast<std::size_t>((step + size) % size)];
  }

  Precision precision_;
  const std::vector<double>& coefficients_;
  std::vector<DoubleDouble> factors_;
  double sum_ = 0;  ///< sum of the magnitudes of all coefficients but the first
  std::vector<Slot> history_;
  Slot fresh_;
  Slot w_;
  std::vector<Term> terms_;
};

class BandedInverseRecursion {
 public:
  BandedInverseRecursion(const ProgramOptions& options, const BandedInverseDecoder& decoder,
                         SlotAllocator& slots)
      : precision_(options.precision),
        coefficients_(decoder.coefficients),
        history_(slots.states(coefficients_.size())),
        w_(slots.scratch()) {}

  std::int64_t period() const { return std::ssize(history_); }

  Slot input(std::int64_t step) const {
    return history_[static_cast<std::size_t>(step % std::ssize(history_))];
  }

  Slot emit(std::int64_t step, StepOperations& operations) {
    const std::int64_t size = std::ssize(history_);
    terms_.clear();
    for (std::int64_t lag = 0; lag < size; ++lag)
      terms_.push_back({{coefficients_[static_cast<std::size_t>(lag)], 0},
                        history_[static_cast<std::size_t>((step - lag + size) % size)]});
    operations.combine(w_, terms_);
    return w_;
  }

  std::optional<StepShape> shape(Slot total) const {
    if (history_.size() < 2 || history_.size() > simd::kMaxLags + 1) return std::nullopt;
    return StepShape{StepShape::Kind::inverse_bands, coefficients_, {}, history_, total};
  }

  template <class Number>
  class Impulse {
   public:
    explicit Impulse(const BandedInverseRecursion& recursion)
        : coefficients_(recursion.coefficients_) {}
    Number advance(double, Responses&) {
      return step_ < coefficients_.size() ? Number{coefficients_[step_++]} : Number{};
    }

   private:
    const std::vector<double>& coefficients_;
    std::size_t step_ = 0;
  };

  Rounding rounding(const Responses&, double w_sum, double steps) const {
    const double relative = combine_error(precision_, static_cast<double>(coefficients_.size()));
    return {0, relative * w_sum * kNormalMax * steps, 0};
  }

 private:
  Precision precision_;
  const std::vector<double>& coefficients_;
  std::vector<Slot> history_;
  Slot w_;
  std::vector<Term> terms_;
};

class BufferedRecursion {
 public:
  BufferedRecursion(const ProgramOptions& options, const BufferedDecoder& decoder,
                    SlotAllocator& slots)
      : precision_(options.precision),
        decoder_(decoder),
        buffers_(slots.states(decoder.decays.size())),
        fresh_(slots.scratch()),
        w_(slots.scratch()) {}

  std::int64_t period() const { return 1; }

  Slot input(std::int64_t) const { return fresh_; }

  Slot emit(std::int64_t, StepOperations& operations) {
    terms_.assign(1, Term{{1, 0}, fresh_});
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      terms_.push_back({{-decoder_.weights[i], 0}, buffers_[i]});
    operations.combine(w_, terms_);
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      operations.combine(buffers_[i],
                         {Term{{decoder_.decays[i], 0}, buffers_[i]}, Term{{1, 0}, w_}});
    return w_;
  }

  std::optional<StepShape> shape(Slot total) const {
    if (buffers_.empty() || buffers_.size() > simd::kMaxBuffers) return std::nullopt;
    std::vector<double> weights(buffers_.size());
    std::ranges::transform(decoder_.weights, weights.begin(), std::negate());
    return StepShape{StepShape::Kind::buffers, std::move(weights), decoder_.decays, buffers_,
                     total};
  }

  template <class Number>
  class Impulse {
   public:
    explicit Impulse(const BufferedRecursion& recursion)
        : decoder_(recursion.decoder_), buffers_(decoder_.decays.size()) {}

    Number advance(double input, Responses& responses) {
      Number w{};
      w = multiply_add(1, Number{input}, w);
      for (std::size_t i = 0; i < buffers_.size(); ++i)
        w = multiply_add(-decoder_.weights[i], buffers_[i], w);
      responses.states.resize(buffers_.size());
      for (std::size_t i = 0; i < buffers_.size(); ++i) {
        buffers_[i] = without_tiny(multiply_add(decoder_.decays[i], buffers_[i], w));
        responses.states[i].append(value_of(buffers_[i]));
      }
      return w;
    }

   private:
    const BufferedDecoder& decoder_;
    std::vector<Number> buffers_;
  };

  Rounding rounding(const Responses& responses, double w_sum, double steps) const {
    const double num_terms = static_cast<double>(buffers_.size() + 1);
    const double relative = combine_error(precision_, num_terms);
    double terms = kNormalMax, states = 0, amplification = 1;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const double weight = std::abs(decoder_.weights[i]);
      const double memory = std::min(steps, 1 / (1 - decoder_.decays[i]));
      const double magnitude = kTail * responses.states[i].root();
      terms += weight * magnitude;
      states += weight * memory * 2 * magnitude;
      amplification += weight * memory * (memory + 2);
    }
    return {relative * terms + step_error(precision_) * states, 0,
            2 * relative * (1 + amplification * w_sum)};
  }

 private:
  Precision precision_;
  const BufferedDecoder& decoder_;
  std::vector<Slot> buffers_;
  Slot fresh_;
  Slot w_;
  std::vector<Term> terms_;
};

/// Tracks the response to a single normal variable, and derives the bounds of rows from it.
template <class Recursion, class Number>
class ResponseBounds {
 public:
  ResponseBounds(const ProgramOptions& options, const Recursion& recursion)
      : num_rows_(options.num_rows),
        step_error_(step_error(options.precision)),
        normal_error_(normal_error(options.precision)),
        recursion_(recursion),
        impulse_(recursion) {}

  /// Bounds grow with the step, so the bound of a later step holds for all before it.
  Bound at(std::int64_t step) {
    while (evaluated_.empty() || evaluated_.back().steps <= step) {
      const std::int64_t end = steps_ + 1 + steps_ / kStepsPerBound;
      while (steps_ < std::min(end, num_rows_)) advance();
      evaluated_.push_back({steps_, evaluate()});
    }
    if (last_ > 0 && step < evaluated_[last_ - 1].steps) last_ = 0;
    while (evaluated_[last_].steps <= step) ++last_;
    return evaluated_[last_].bound;
  }

 private:
  struct Evaluated {
    std::int64_t steps;  ///< number of steps for which the bound holds
    Bound bound;
  };

  void advance() {
    const Number w = impulse_.advance(steps_ == 0 ? 1 : 0, responses_);
    total_ = multiply_add(1, w, total_);
    responses_.w.append(value_of(w));
    row_.append(value_of(total_));
    w_sum_ = add(w_sum_, std::abs(value_of(w)));
    row_sum_ = add(row_sum_, std::abs(value_of(total_)));
    ++steps_;
  }

  Bound evaluate() const {
    const double steps = static_cast<double>(steps_);
    const Rounding rounding = recursion_.rounding(responses_, w_sum_.high, steps);
    const double input = normal_error_ + rounding.input;
    const double magnitude = kTail * row_.root();
    const double sums = steps * step_error_ * (kTail * responses_.w.root() + magnitude);
    const double error = input * row_sum_.high + sums + rounding.output;
    // kSlack covers the rounding of the impulse itself, and kTail leaves a tenth of a standard
    // deviation for rounding errors.
    const bool is_sound = rounding.impulse <= 0x1p-25 && input * std::sqrt(steps) <= 0.05 &&
                          error <= 0.05 * row_.root();
    return {is_sound ? error : kInfinity, magnitude};
  }

  std::int64_t num_rows_;
  double step_error_;
  double normal_error_;
  const Recursion& recursion_;
  typename Recursion::template Impulse<Number> impulse_;
  std::int64_t steps_ = 0;
  Number total_{};
  Responses responses_;
  SquareSum row_;
  DoubleDouble w_sum_;    ///< |w_0| + ... + |w_t| of the impulse
  DoubleDouble row_sum_;  ///< |B_t0| + ... + |B_tt| of its rows
  std::vector<Evaluated> evaluated_;
  std::size_t last_ = 0;
};

/// Computes row t = w_0 + ... + w_t. For the input 1, 0, 0, ..., the recursion gives the entries of
/// B, from which the error bound is computed.
template <class Recursion>
class RecursiveProgram final : public Program {
 public:
  template <class Decoder>
  RecursiveProgram(const ProgramOptions& options, const Decoder& decoder, SlotAllocator& slots)
      : options_(options),
        recursion_(options, decoder, slots),
        total_(slots.state()),
        plain_(options, recursion_),
        extended_(options, recursion_) {}

  Slot emit(std::int64_t step, StepOperations& operations) override {
    operations.draw(recursion_.input(step), options_.first_measurement + step);
    operations.add(total_, total_, recursion_.emit(step, operations));
    return total_;
  }
  Bound bound(std::int64_t step) override {
    return is_extended(options_.precision) ? extended_.at(step) : plain_.at(step);
  }
  std::int64_t period() const override { return recursion_.period(); }
  std::optional<StepShape> shape() const override { return recursion_.shape(total_); }

 private:
  ProgramOptions options_;
  Recursion recursion_;
  Slot total_;
  ResponseBounds<Recursion, double> plain_;
  ResponseBounds<Recursion, DoubleDouble> extended_;
};

/// The coefficients change from step to step, so one impulse response does not determine how a
/// change of z affects a row. The norm of a row of B, which the form states, bounds the effect.
class VaryingBufferedProgram final : public Program {
 public:
  VaryingBufferedProgram(const ProgramOptions& options, const VaryingBufferedDecoder& decoder,
                         SlotAllocator& slots)
      : options_(options),
        numbers_(*decoder.numbers),
        reader_(numbers_),
        fresh_(slots.scratch()),
        w_(slots.scratch()),
        states_(slots.states(reader_.buffers())),
        total_(slots.state()),
        state_errors_(states_.size()) {}

  Slot emit(std::int64_t step, StepOperations& operations) override {
    const auto t = static_cast<std::size_t>(step);
    const double* const gains = reader_.gains(t);
    const double* const factors = reader_.factors(t);
    operations.draw(fresh_, options_.first_measurement + step);
    terms_.assign(1, Term{{numbers_.inverse_scales[t], 0}, fresh_});
    for (std::size_t k = 0; k < states_.size(); ++k) terms_.push_back({{-gains[k], 0}, states_[k]});
    operations.combine(w_, terms_);
    for (std::size_t k = 0; k < states_.size(); ++k)
      operations.combine(states_[k],
                         {Term{{factors[k], 0}, states_[k]}, Term{{factors[k], 0}, w_}});
    operations.add(total_, total_, w_);
    return total_;
  }

  Bound bound(std::int64_t step) override {
    const auto t = static_cast<std::size_t>(step);
    const double steps = static_cast<double>(step + 1);
    const double row = kTail * numbers_.max_row_stddev;
    const double state = kTail * numbers_.max_state_stddev;
    const double scale = numbers_.inverse_scales[t];
    const double* const gains = reader_.gains(t);
    const double* const factors = reader_.factors(t);
    const double num_terms = static_cast<double>(states_.size() + 1);
    double terms = scale * kNormalMax, states = 0;
    for (std::size_t k = 0; k < states_.size(); ++k) {
      const double magnitude = std::abs(gains[k]);
      terms += magnitude * state;
      states += magnitude * state_errors_[k];
      // w is the difference of two rows.
      state_errors_[k] = factors[k] * (state_errors_[k] +
                                       combine_error(options_.precision, 2) * (state + 2 * row));
      largest_state_error_ = std::max(largest_state_error_, state_errors_[k]);
    }
    const double input = (combine_error(options_.precision, num_terms) * terms + states) / scale;
    inputs_squared_ += input * input;
    const double inputs =
        std::sqrt(steps) * normal_error(options_.precision) + std::sqrt(inputs_squared_);
    const double sums = steps * step_error(options_.precision) * 3 * row;
    const double error = numbers_.max_row_stddev * inputs + sums;
    const bool is_sound = inputs <= 0.05 && error <= 0.05 * numbers_.max_row_stddev &&
                          largest_state_error_ <= 0.05 * numbers_.max_state_stddev;
    return {is_sound ? error : kInfinity, row};
  }

 private:
  ProgramOptions options_;
  const VaryingBuffers& numbers_;
  detail::VaryingReader reader_;
  Slot fresh_;
  Slot w_;
  std::vector<Slot> states_;
  Slot total_;
  std::vector<Term> terms_;
  std::vector<double> state_errors_;  ///< relative to the exact states for the computed w
  double largest_state_error_ = 0;
  double inputs_squared_ = 0;
};

/// Like VaryingBufferedProgram, with the last few w instead of states; w is a difference of two
/// rows.
class VaryingBandedProgram final : public Program {
 public:
  VaryingBandedProgram(const ProgramOptions& options, const VaryingBandedDecoder& decoder,
                       SlotAllocator& slots)
      : options_(options),
        numbers_(*decoder.numbers),
        fresh_(slots.scratch()),
        w_(slots.scratch()),
        history_(slots.states(bands() - 1)),
        total_(slots.state()) {}

  Slot emit(std::int64_t step, StepOperations& operations) override {
    operations.draw(fresh_, options_.first_measurement + step);
    const double* const entries = entries_of(step);
    terms_.assign(1, Term{divide({1, 0}, entries[0]), fresh_});
    const std::int64_t lags = std::min(numbers_.bands - 1, step);
    for (std::int64_t lag = 1; lag <= lags; ++lag)
      terms_.push_back({divide({-entries[lag], 0}, entries[0]), at(step - lag)});
    const Slot w = history_.empty() ? w_ : at(step);
    operations.combine(w, terms_);
    operations.add(total_, total_, w);
    return total_;
  }

  Bound bound(std::int64_t step) override {
    const double steps = static_cast<double>(step + 1);
    const double row = kTail * numbers_.max_row_stddev;
    const double* const entries = entries_of(step);
    double terms = kNormalMax;
    for (std::size_t lag = 1; lag < bands(); ++lag) terms += std::abs(entries[lag]) * 2 * row;
    const double input =
        combine_error(options_.precision, static_cast<double>(numbers_.bands)) * terms;
    inputs_squared_ += input * input;
    const double inputs =
        std::sqrt(steps) * normal_error(options_.precision) + std::sqrt(inputs_squared_);
    const double sums = steps * step_error(options_.precision) * 3 * row;
    const double error = numbers_.max_row_stddev * inputs + sums;
    const bool is_sound = inputs <= 0.05 && error <= 0.05 * numbers_.max_row_stddev;
    return {is_sound ? error : kInfinity, row};
  }

 private:
  std::size_t bands() const { return static_cast<std::size_t>(numbers_.bands); }
  const double* entries_of(std::int64_t step) const {
    return &numbers_.entries[static_cast<std::size_t>(step) * bands()];
  }
  Slot at(std::int64_t step) const {
    return history_[static_cast<std::size_t>(step % std::ssize(history_))];
  }

  ProgramOptions options_;
  const VaryingBands& numbers_;
  Slot fresh_;
  Slot w_;
  std::vector<Slot> history_;
  Slot total_;
  std::vector<Term> terms_;
  double inputs_squared_ = 0;
};

}  // namespace

ProgramPointer make(const ProgramOptions& options, const VaryingBufferedDecoder& decoder,
                    SlotAllocator& slots) {
  return std::make_unique<VaryingBufferedProgram>(options, decoder, slots);
}
ProgramPointer make(const ProgramOptions& options, const VaryingBandedDecoder& decoder,
                    SlotAllocator& slots) {
  return std::make_unique<VaryingBandedProgram>(options, decoder, slots);
}
ProgramPointer make(const ProgramOptions& options, const BandedDecoder& decoder,
                    SlotAllocator& slots) {
  return std::make_unique<RecursiveProgram<BandedRecursion>>(options, decoder, slots);
}
ProgramPointer make(const ProgramOptions& options, const BandedInverseDecoder& decoder,
                    SlotAllocator& slots) {
  return std::make_unique<RecursiveProgram<BandedInverseRecursion>>(options, decoder, slots);
}
ProgramPointer make(const ProgramOptions& options, const BufferedDecoder& decoder,
                    SlotAllocator& slots) {
  return std::make_unique<RecursiveProgram<BufferedRecursion>>(options, decoder, slots);
}

}  // namespace dpftrl::noise
