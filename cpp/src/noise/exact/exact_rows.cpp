// SPDX-License-Identifier: Apache-2.0
#include "noise/exact/exact_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "dpftrl/random/random.hpp"
#include "math/exact_convolution.hpp"
#include "optimal/varying_numbers.hpp"

namespace dpftrl::detail {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();
/// Largest number of cached normals (92 MB); forms that need more draw them again.
constexpr std::int64_t kMaxRemembered = std::int64_t{1} << 20;
/// From this many rows on, preparing them together is faster.
constexpr std::int64_t kManyRows = 64;

/// Leading bits of the two uniforms behind a normal (docs/math/addressing.md).
struct PairBits {
  Digits u1{};
  Digits u2{};
  bool is_sine;
};

PairBits draw_bits(const Key& key, std::int64_t measurement, std::uint64_t coordinate,
                   std::size_t num_planes) {
  const std::uint64_t group = coordinate / 32;
  const std::uint64_t lane = coordinate % kBlocksPerGroup;
  const std::uint64_t in_block = coordinate % 32 / kBlocksPerGroup;
  const std::size_t word = static_cast<std::size_t>(in_block / 2 * 4);
  BlockAddress address{.stream = Stream::noise,
                       .row = static_cast<std::uint64_t>(measurement),
                       .block = static_cast<std::uint32_t>(group * kBlocksPerGroup + lane)};
  PairBits bits{.is_sine = in_block % 2 == 1};
  for (std::size_t plane = 0; plane < num_planes; ++plane) {
    address.plane = static_cast<std::uint16_t>(plane);
    const std::array<std::uint32_t, kWordsPerBlock> block = random_block(key, address);
    bits.u1[plane + 1] = std::uint64_t{block[word + 1]} << 32 | block[word];
    bits.u2[plane + 1] = std::uint64_t{block[word + 3]} << 32 | block[word + 2];
  }
  return bits;
}

/// Encloses the normal for all uniforms in the cells of the known bits, [u, u + 2^-64p].
Enclosure normal(const FixedPoint& fixed, const PairBits& bits) {
  const double u1 = fixed.to_double(bits.u1);
  if (u1 == 0) return {.error = kUnknown};
  Enclosure log = fixed.minus_log(bits.u1);
  log.error += 1 / u1;  // -ln u - -ln(u + h) <= h / u
  const Enclosure radius =
      fixed.square_root({.digits = fixed.shift_left(log.digits, 1), .error = 2 * log.error});
  Digits turn = bits.u2;
  if (bits.is_sine) turn[1] -= std::uint64_t{1} << 62;  // sin(2 pi t) = cos(2 pi (t - 1/4))
  Enclosure cosine = fixed.cosine_of_turn(turn);
  cosine.error += 7;  // covers the cell of u2, 2 pi h
  return fixed.multiply(radius, cosine);
}

/// The measurements of a form, which may be nested in another form.
struct Measurements {
  Normals& normals;
  std::int64_t first;

  const FixedPoint& fixed() const { return normals.fixed(); }
  /// Draws without caching, for recursions, which use each normal once.
  Enclosure draw(std::int64_t measurement) const { return normals.draw(first + measurement); }
  Enclosure recall(std::int64_t measurement) const { return normals.recall(first + measurement); }
};

// Rows that are weighted sums of normals, each computed independently.

Enclosure direct_row(const IdentityDecoder&, const Measurements& z, std::int64_t step) {
  return z.recall(step);
}

Enclosure direct_row(const KaryDecoder& decoder, const Measurements& z, std::int64_t step) {
  const std::int64_t arity = decoder.arity;
  std::array<std::int64_t, 64> digits{};
  std::size_t num_digits = 0;
  for (std::int64_t count = step + 1; count != 0; ++num_digits) {
    std::int64_t digit = count % arity;
    if (decoder.subtractive && digit > (arity - 1) / 2) digit -= arity;
    digits[num_digits] = digit;
    count = (count - digit) / arity;
  }
  const auto measurement = [&](std::size_t level, std::int64_t last) {
    std::int64_t number = static_cast<std::int64_t>(level);
    for (std::int64_t l = 0; l < decoder.num_levels && last != 0; ++l, last /= arity)
      number += last;
    return number;
  };
  std::int64_t node_size = 1;
  for (std::size_t level = 1; level < num_digits; ++level) node_size *= arity;
  Enclosure sum;
  std::int64_t end = 0;  // where the nodes of the higher digits end
  for (std::size_t level = num_digits; level-- > 0; node_size /= arity) {
    const std::int64_t next = end + digits[level] * node_size;
    const bool subtracts = next < end;
    for (std::int64_t first = std::min(end, next); first < std::max(end, next);
         first += node_size) {
      const Enclosure node = z.recall(measurement(level, first + node_size - 1));
      sum = subtracts ? z.fixed().subtract(sum, node) : z.fixed().add(sum, node);
    }
    end = next;
  }
  return sum;
}

Enclosure direct_row(const HaarDecoder& decoder, const Measurements& z, std::int64_t step) {
  const FixedPoint& fixed = z.fixed();
  const std::int64_t count = step + 1;
  const std::size_t num_levels = decoder.scales.size();
  Enclosure sum =
      fixed.multiply(fixed.multiply(z.recall(0), static_cast<double>(count)), decoder.mean_scale);
  for (std::size_t level = 1; level <= num_levels; ++level) {
    const std::int64_t support = std::int64_t{1} << level;
    const std::int64_t inside = count % support;
    const std::int64_t height = std::min(inside, support - inside);
    if (height == 0) continue;
    const Enclosure coefficient =
        z.recall((std::int64_t{1} << (num_levels - level)) + step / support);
    sum = fixed.add(sum, fixed.multiply(fixed.multiply(coefficient, static_cast<double>(height)),
                                        decoder.scales[level - 1]));
  }
  return sum;
}

Enclosure direct_row(const MovingSumDecoder& decoder, const Measurements& z, std::int64_t step) {
  const FixedPoint& fixed = z.fixed();
  const std::int64_t num_terms = std::min<std::int64_t>(std::ssize(decoder.coefficients), step + 1);
  Enclosure sum;
  for (std::int64_t lag = 0; lag < num_terms; ++lag)
    sum = fixed.add(sum, fixed.multiply(z.recall(step - lag),
                                        decoder.coefficients[static_cast<std::size_t>(lag)]));
  return sum;
}

template <class Form>
class DirectRows final : public ExactRows {
 public:
  DirectRows(const Form& form, const Measurements& measurements) : form_(form), z_(measurements) {}
  Enclosure row(std::int64_t step) override { return direct_row(form_, z_, step); }

 private:
  const Form& form_;
  Measurements z_;
};

/// Computes single rows as weighted sums of normals, and many at once by a convolution.
class ToeplitzRows final : public ExactRows {
 public:
  ToeplitzRows(const ToeplitzDecoder& decoder, const Measurements& measurements)
      : coefficients_(decoder.coefficients), z_(measurements) {}

  void prepare(std::int64_t last_step) override {
    const std::size_t length = static_cast<std::size_t>(last_step + 1);
    if (length <= prepared_.size() || length > kMaxConvolution) return;
    for (const double c : std::span(coefficients_).first(length))
      if (std::abs(c) > 0x1p30) return;
    try {
      convolve_all(length);
    } catch (const std::bad_alloc&) {
      prepared_.clear();  // rows are then computed one at a time
    }
  }

  Enclosure row(std::int64_t step) override {
    if (step < std::ssize(prepared_)) return prepared_[static_cast<std::size_t>(step)];
    const FixedPoint& fixed = z_.fixed();
    Enclosure sum;
    for (std::int64_t j = 0; j <= step; ++j) {
      const double coefficient = coefficients_[static_cast<std::size_t>(step - j)];
      if (coefficient != 0) sum = fixed.add(sum, fixed.multiply(z_.recall(j), coefficient));
    }
    return sum;
  }

 private:
  /// The error is c z - c^ z^ = c (z - z^) + (c - c^) z^, with c^ truncated to its digits.
  void convolve_all(std::size_t length) {
    const FixedPoint& fixed = z_.fixed();
    const auto digits_of = [&](const Enclosure& x) {
      return x.negative ? fixed.subtract(Digits{}, x.digits) : x.digits;
    };
    std::vector<Digits> coefficients(length), normals(length);
    std::vector<Enclosure> rows(length);
    double largest = 0, sum_of_errors = 0, sum_of_sizes = 0;
    for (std::size_t i = 0; i < length; ++i) {
      const Enclosure z = z_.draw(static_cast<std::int64_t>(i));
      normals[i] = digits_of(z);
      coefficients[i] = digits_of(fixed.multiply({.digits = {1}}, coefficients_[i]));
      largest = std::max(largest, std::abs(coefficients_[i]));
      sum_of_errors += z.error;
      sum_of_sizes += fixed.to_double(z.digits);
      rows[i].error = largest * sum_of_errors + sum_of_sizes + 1;
    }
    const std::vector<Digits> sums = convolve(coefficients, normals, fixed.num_digits());
    for (std::size_t i = 0; i < length; ++i) {
      rows[i].negative = sums[i][0] >> 63 != 0;
      rows[i].digits = rows[i].negative ? fixed.subtract(Digits{}, sums[i]) : sums[i];
    }
    prepared_ = std::move(rows);
  }

  const std::vector<double>& coefficients_;
  Measurements z_;
  std::vector<Enclosure> prepared_;
};

/// Keeps the estimates of the nodes to the left, which later rows reuse.
class DyadicRows final : public ExactRows {
 public:
  DyadicRows(const DyadicDecoder& decoder, const Measurements& measurements)
      : weights_(decoder.node_weights), z_(measurements), known_(weights_.size()) {}

  Enclosure row(std::int64_t step) override {
    const std::uint64_t count = static_cast<std::uint64_t>(step) + 1;
    Enclosure sum;
    std::uint64_t begin = 0;
    for (std::size_t level = weights_.size(); level-- > 0;) {
      if ((count >> level & 1) == 0) continue;
      const Enclosure node = estimate(level, begin);
      known_[level] = {node, begin};
      sum = z_.fixed().add(sum, node);
      begin += std::uint64_t{1} << level;
    }
    return sum;
  }

 private:
  struct Node {
    Enclosure estimate;
    std::uint64_t begin = ~std::uint64_t{0};
  };

  Enclosure estimate(std::size_t level, std::uint64_t begin) const {
    if (known_[level].begin == begin) return known_[level].estimate;
    const std::uint64_t last = begin + (std::uint64_t{1} << level) - 1;
    const std::int64_t measurement =
        static_cast<std::int64_t>(2 * last + level) - std::popcount(last);
    const double weight = weights_[level];
    const Enclosure own = z_.draw(measurement);
    if (weight == 1) return own;  // the children do not contribute
    const Enclosure left = estimate(level - 1, begin);
    const Enclosure right = estimate(level - 1, begin + (std::uint64_t{1} << (level - 1)));
    const FixedPoint& fixed = z_.fixed();
    return fixed.add(fixed.multiply(own, weight),
                     fixed.multiply(fixed.add(left, right), 1 - weight));
  }

  const std::vector<double>& weights_;
  Measurements z_;
  std::vector<Node> known_;
};

/// w_t = g_0 z_t + ... + g_{b-1} z_{t-b+1}, row t = w_0 + ... + w_t, so the weight of a normal is a
/// partial sum of g; from lag b - 1 on, it is the sum of all g. The running sum is the case b = 1.
class BandedInverseRows final : public ExactRows {
 public:
  BandedInverseRows(std::span<const double> coefficients, const Measurements& measurements)
      : z_(measurements), bands_(std::ssize(coefficients)) {
    const FixedPoint& fixed = z_.fixed();
    Enclosure weight;
    for (const double g : coefficients) {
      weight = fixed.add(weight, fixed.multiply({.digits = {1}}, g));
      weights_.push_back(weight);
    }
    recent_.resize(coefficients.size());
  }

  Enclosure row(std::int64_t step) override {
    const FixedPoint& fixed = z_.fixed();
    if (step < num_drawn_ - 1) restart();
    for (; num_drawn_ <= step; ++num_drawn_) {
      Enclosure& slot = recent(num_drawn_);
      older_ = fixed.add(older_, slot);
      slot = z_.draw(num_drawn_);
    }
    Enclosure sum = fixed.multiply(older_, weights_.back());
    for (std::int64_t lag = 0; lag < std::min(bands_, step + 1); ++lag)
      sum = fixed.add(sum,
                      fixed.multiply(recent(step - lag), weights_[static_cast<std::size_t>(lag)]));
    return sum;
  }

 private:
  Enclosure& recent(std::int64_t step) { return recent_[static_cast<std::size_t>(step % bands_)]; }
  void restart() {
    std::ranges::fill(recent_, Enclosure{});
    older_ = {};
    num_drawn_ = 0;
  }

  Measurements z_;
  std::int64_t bands_;
  std::vector<Enclosure> weights_;
  std::vector<Enclosure> recent_;
  Enclosure older_;
  std::int64_t num_drawn_ = 0;
};

/// Runs the recursion of the form; an error of x_t is multiplied by the decay at every step.
class AutoregressiveRows final : public ExactRows {
 public:
  AutoregressiveRows(const AutoregressiveDecoder& decoder, const Measurements& measurements)
      : decoder_(decoder),
        z_(measurements),
        offset_(z_.fixed().multiply(z_.draw(0), decoder.offset)) {}

  Enclosure row(std::int64_t step) override {
    const FixedPoint& fixed = z_.fixed();
    if (step < num_done_ - 1) num_done_ = 0;
    for (; num_done_ <= step; ++num_done_) {
      const Enclosure fresh = z_.draw(num_done_ + 1);
      x_ = num_done_ == 0 ? fresh
                          : fixed.add(fixed.multiply(x_, decoder_.decay),
                                      fixed.multiply(fresh, decoder_.innovation));
    }
    return fixed.add(offset_, x_);
  }

 private:
  const AutoregressiveDecoder& decoder_;
  Measurements z_;
  Enclosure offset_;
  Enclosure x_;
  std::int64_t num_done_ = 0;
};

/// Computes w = C^-1 z for banded C. Outputs passed to `feed` are treated as exact.
class BandedLoop {
 public:
  BandedLoop(const BandedDecoder& decoder, const FixedPoint& fixed)
      : coefficients_(decoder.coefficients),
        fixed_(fixed),
        inverse_(fixed.reciprocal(coefficients_[0])),
        recent_(coefficients_.size()) {}

  Enclosure respond(Enclosure input) const {
    for (std::size_t lag = 1; lag < recent_.size(); ++lag)
      input = fixed_.subtract(input, fixed_.multiply(recent_[slot(lag)], coefficients_[lag]));
    return fixed_.multiply(input, inverse_);
  }
  void feed(const Enclosure& output) {
    recent_[now_] = output;
    now_ = (now_ + 1) % recent_.size();
  }
  /// |dz / dw|.
  double input_per_output() const { return std::abs(coefficients_[0]); }

 private:
  std::size_t slot(std::size_t lag) const { return (now_ + recent_.size() - lag) % recent_.size(); }

  const std::vector<double>& coefficients_;
  const FixedPoint& fixed_;
  Enclosure inverse_;
  std::vector<Enclosure> recent_;  ///< ring buffer
  std::size_t now_ = 0;
};

/// Computes w = C^-1 z for a buffered linear C. The states are enclosed, with the outputs passed to
/// `feed` treated as exact.
class BufferedLoop {
 public:
  BufferedLoop(const BufferedDecoder& decoder, const FixedPoint& fixed)
      : decoder_(decoder), fixed_(fixed), states_(decoder.decays.size()) {}

  Enclosure respond(Enclosure input) const {
    for (std::size_t i = 0; i < states_.size(); ++i)
      input = fixed_.subtract(input, fixed_.multiply(states_[i], decoder_.weights[i]));
    return input;
  }
  void feed(const Enclosure& output) {
    for (std::size_t i = 0; i < states_.size(); ++i)
      states_[i] = fixed_.add(fixed_.multiply(states_[i], decoder_.decays[i]), output);
  }
  double input_per_output() const { return 1; }

 private:
  const BufferedDecoder& decoder_;
  const FixedPoint& fixed_;
  std::vector<Enclosure> states_;
};

/// Computes row t = w_0 + ... + w_t with w fed back. Each w is truncated to digits that are treated
/// as exact from then on, and the truncated part counts as an error of that step's input. The
/// impulse response is computed alongside, with the same bookkeeping, and bounds the effect of an
/// input error on a row.
template <class Loop, class Form>
class ClosedLoopRows final : public ExactRows {
 public:
  ClosedLoopRows(const Form& form, const Measurements& measurements)
      : form_(form), z_(measurements) {
    restart();
  }

  Enclosure row(std::int64_t step) override {
    const FixedPoint& fixed = z_.fixed();
    if (step < num_done_ - 1) restart();
    for (; num_done_ <= step; ++num_done_) {
      noise_->advance(fixed, z_.draw(num_done_));
      impulse_->advance(fixed, {.digits = {num_done_ == 0 ? 1U : 0U}});
      largest_response_ = std::max(largest_response_, fixed.to_double(impulse_->sum.digits));
    }
    const double doubt = 1 - fixed.unit() * (impulse_->input_errors + impulse_->sum.error);
    const double response = doubt > 0.5 ? largest_response_ / doubt : kUnknown;
    Enclosure sum = noise_->sum;
    sum.error += response * noise_->input_errors;
    return sum;
  }

 private:
  struct Run {
    Loop loop;
    Enclosure sum = {};
    double input_errors = 0;

    Run(const Form& form, const FixedPoint& fixed) : loop(form, fixed) {}
    void advance(const FixedPoint& fixed, const Enclosure& input) {
      Enclosure output = loop.respond(input);
      input_errors += loop.input_per_output() * output.error;
      output.error = 0;
      loop.feed(output);
      sum = fixed.add(sum, output);
    }
  };

  void restart() {
    noise_.emplace(form_, z_.fixed());
    impulse_.emplace(form_, z_.fixed());
    num_done_ = 0;
    largest_response_ = 0;
  }

  const Form& form_;
  Measurements z_;
  std::optional<Run> noise_;
  std::optional<Run> impulse_;
  std::int64_t num_done_ = 0;
  double largest_response_ = 0;
};

/// Computes w = C^-1 z for buffers whose coefficients change from step to step. Outputs passed to
/// `feed` are treated as exact.
class VaryingBufferedLoop {
 public:
  VaryingBufferedLoop(const VaryingBufferedDecoder& decoder, const FixedPoint& fixed)
      : numbers_(*decoder.numbers),
        fixed_(fixed),
        states_(numbers_.buffers()),
        max_row_stddev_(decoder.numbers->max_row_stddev) {}

  Enclosure respond(std::size_t step, const Enclosure& input) {
    const double* const gains = numbers_.gains(step);
    Enclosure output = fixed_.multiply(input, numbers_.inverse_scale(step));
    for (std::size_t k = 0; k < states_.size(); ++k)
      output = fixed_.subtract(output, fixed_.multiply(states_[k], gains[k]));
    return output;
  }
  void feed(std::size_t step, const Enclosure& output) {
    const double* const factors = numbers_.factors(step);
    for (std::size_t k = 0; k < states_.size(); ++k)
      states_[k] = fixed_.multiply(fixed_.add(states_[k], output), factors[k]);
  }
  /// |dz / dw|.
  double input_per_output(std::size_t step) const { return 1 / numbers_.inverse_scale(step); }
  double max_row_stddev() const { return max_row_stddev_; }

 private:
  VaryingReader numbers_;
  const FixedPoint& fixed_;
  std::vector<Enclosure> states_;
  double max_row_stddev_;
};

/// `BandedLoop` with bands that change from step to step.
class VaryingBandedLoop {
 public:
  VaryingBandedLoop(const VaryingBandedDecoder& decoder, const FixedPoint& fixed)
      : numbers_(*decoder.numbers),
        fixed_(fixed),
        recent_(static_cast<std::size_t>(numbers_.bands)) {}

  Enclosure respond(std::size_t step, Enclosure input) const {
    const double* const entries = entries_of(step);
    for (std::size_t m = 1; m < std::min(recent_.size(), step + 1); ++m)
      input =
          fixed_.subtract(input, fixed_.multiply(recent_[(step - m) % recent_.size()], entries[m]));
    return fixed_.multiply(input, fixed_.reciprocal(entries[0]));
  }
  void feed(std::size_t step, const Enclosure& output) { recent_[step % recent_.size()] = output; }
  double input_per_output(std::size_t step) const { return entries_of(step)[0]; }
  double max_row_stddev() const { return numbers_.max_row_stddev; }

 private:
  const double* entries_of(std::size_t step) const {
    return &numbers_.entries[step * recent_.size()];
  }

  const VaryingBands& numbers_;
  const FixedPoint& fixed_;
  std::vector<Enclosure> recent_;  ///< ring buffer with w_t at t mod bands
};

/// Computes row t = w_0 + ... + w_t for coefficients that change from step to step. As in
/// ClosedLoopRows, each w is treated as exact once truncated, and the truncated part is an error of
/// that step's input; it changes a row by at most its size times the norm of a row of B, which the
/// form states.
template <class Loop, class Form>
class VaryingRows final : public ExactRows {
 public:
  VaryingRows(const Form& form, const Measurements& measurements) : form_(form), z_(measurements) {
    restart();
  }

  Enclosure row(std::int64_t step) override {
    if (step < num_done_ - 1) restart();
    for (; num_done_ <= step; ++num_done_) advance(static_cast<std::size_t>(num_done_));
    Enclosure sum = sum_;
    sum.error += loop_->max_row_stddev() * input_errors_;
    return sum;
  }

 private:
  void advance(std::size_t step) {
    Enclosure output = loop_->respond(step, z_.draw(static_cast<std::int64_t>(step)));
    input_errors_ += output.error * loop_->input_per_output(step);
    output.error = 0;
    loop_->feed(step, output);
    sum_ = z_.fixed().add(sum_, output);
  }

  void restart() {
    loop_.emplace(form_, z_.fixed());
    sum_ = {};
    input_errors_ = 0;
    num_done_ = 0;
  }

  const Form& form_;
  Measurements z_;
  std::optional<Loop> loop_;
  Enclosure sum_;
  double input_errors_ = 0;
  std::int64_t num_done_ = 0;
};

class BlockRows final : public ExactRows {
 public:
  BlockRows(const BlockDecoder& decoder, const Measurements& measurements)
      : blocks_(decoder.blocks), z_(measurements) {
    open(0);
  }

  Enclosure row(std::int64_t step) override {
    if (step < first_step_) {
      first_step_ = first_measurement_ = 0;
      carried_ = {};
      open(0);
    }
    while (step - first_step_ >= blocks_[current_].steps) close();
    return with_row(step - first_step_);
  }

 private:
  void open(std::size_t block) {
    current_ = block;
    rows_ = make_exact_rows(*blocks_[block].form, z_.normals, z_.first + first_measurement_);
  }

  Enclosure with_row(std::int64_t step_in_block) {
    return z_.fixed().add(carried_, rows_->row(step_in_block));
  }

  void close() {
    const BlockDecoder::Block& block = blocks_[current_];
    carried_ = with_row(block.closing_row);
    first_step_ += block.steps;
    first_measurement_ += block.num_measurements;
    open(current_ + 1);
  }

  const std::vector<BlockDecoder::Block>& blocks_;
  Measurements z_;
  std::size_t current_ = 0;
  std::int64_t first_step_ = 0;
  std::int64_t first_measurement_ = 0;
  Enclosure carried_;
  std::unique_ptr<ExactRows> rows_;
};

class FilteredRows final : public ExactRows {
 public:
  FilteredRows(const FilteredDecoder& decoder, const Measurements& measurements)
      : decoder_(decoder), z_(measurements) {
    if (!telescopes()) z_.normals.remember();
    restart(0);
  }

  Enclosure row(std::int64_t step) override {
    switch (workload().kind()) {
      case Workload::Kind::window:
        return window_row(step);
      case Workload::Kind::matrix:
        return matrix_row(step);
      default:
        return telescopes() ? base_->row(step) : filtered_row(step);
    }
  }

 private:
  const Workload& workload() const { return decoder_.workload; }

  /// True if sums of consecutive w are differences of two rows of the base.
  bool telescopes() const {
    const Workload::Kind kind = workload().kind();
    return decoder_.column_scales.empty() &&
           (kind == Workload::Kind::prefix || kind == Workload::Kind::window);
  }

  /// Makes w of step `step` the next input.
  void restart(std::int64_t step) {
    base_ = make_exact_rows(*decoder_.base, z_.normals, z_.first);
    previous_ = step == 0 ? Enclosure{} : base_->row(step - 1);
    next_ = step;
    average_ = total_ = {};
  }

  /// Announces that rows next_ .. step of the base will be needed.
  void prepare_until(std::int64_t step) {
    if (step - next_ >= kManyRows) base_->prepare(step);
  }

  /// Returns w of step next_, and advances.
  Enclosure next_input() {
    const Enclosure row = base_->row(next_);
    Enclosure input = z_.fixed().subtract(row, std::exchange(previous_, row));
    if (!decoder_.column_scales.empty())
      input = z_.fixed().multiply(input, decoder_.column_scales[static_cast<std::size_t>(next_)]);
    ++next_;
    return input;
  }

  /// m_t = beta m_{t-1} + w_t, out_t = alpha out_{t-1} + chi_t m_t.
  Enclosure filtered_row(std::int64_t step) {
    const FixedPoint& fixed = z_.fixed();
    const std::vector<double>& rates = workload().rates();
    if (step < next_ - 1) restart(0);
    prepare_until(step);
    while (next_ <= step) {
      const std::size_t t = static_cast<std::size_t>(next_);
      average_ = fixed.add(fixed.multiply(average_, workload().momentum()), next_input());
      total_ = fixed.add(fixed.multiply(total_, workload().decay()),
                         rates.empty() ? average_ : fixed.multiply(average_, rates[t]));
    }
    return total_;
  }

  Enclosure window_row(std::int64_t step) {
    const FixedPoint& fixed = z_.fixed();
    restart(std::max<std::int64_t>(0, step + 1 - workload().window()));
    if (telescopes()) return fixed.subtract(base_->row(step), previous_);
    prepare_until(step);
    Enclosure sum;
    while (next_ <= step) sum = fixed.add(sum, next_input());
    return sum;
  }

  Enclosure matrix_row(std::int64_t step) {
    const FixedPoint& fixed = z_.fixed();
    restart(0);
    prepare_until(step);
    Enclosure sum;
    while (next_ <= step) {
      const double entry = workload().entry(step, next_);
      sum = fixed.add(sum, fixed.multiply(next_input(), entry));
    }
    return sum;
  }

  const FilteredDecoder& decoder_;
  Measurements z_;
  std::unique_ptr<ExactRows> base_;
  Enclosure previous_;  ///< row next_ - 1 of the base
  std::int64_t next_ = 0;
  Enclosure average_;
  Enclosure total_;
};

struct MakeRows {
  Measurements z;

  std::unique_ptr<ExactRows> operator()(const RunningSumDecoder&) const {
    constexpr double kOne[] = {1};
    return std::make_unique<BandedInverseRows>(kOne, z);
  }
  std::unique_ptr<ExactRows> operator()(const ToeplitzDecoder& decoder) const {
    return std::make_unique<ToeplitzRows>(decoder, z);
  }
  std::unique_ptr<ExactRows> operator()(const DyadicDecoder& decoder) const {
    return std::make_unique<DyadicRows>(decoder, z);
  }
  std::unique_ptr<ExactRows> operator()(const BandedDecoder& decoder) const {
    return std::make_unique<ClosedLoopRows<BandedLoop, BandedDecoder>>(decoder, z);
  }
  std::unique_ptr<ExactRows> operator()(const BandedInverseDecoder& decoder) const {
    return std::make_unique<BandedInverseRows>(decoder.coefficients, z);
  }
  std::unique_ptr<ExactRows> operator()(const AutoregressiveDecoder& decoder) const {
    return std::make_unique<AutoregressiveRows>(decoder, z);
  }
  std::unique_ptr<ExactRows> operator()(const BufferedDecoder& decoder) const {
    return std::make_unique<ClosedLoopRows<BufferedLoop, BufferedDecoder>>(decoder, z);
  }
  std::unique_ptr<ExactRows> operator()(const VaryingBufferedDecoder& decoder) const {
    return std::make_unique<VaryingRows<VaryingBufferedLoop, VaryingBufferedDecoder>>(decoder, z);
  }
  std::unique_ptr<ExactRows> operator()(const VaryingBandedDecoder& decoder) const {
    return std::make_unique<VaryingRows<VaryingBandedLoop, VaryingBandedDecoder>>(decoder, z);
  }
  std::unique_ptr<ExactRows> operator()(const BlockDecoder& decoder) const {
    return std::make_unique<BlockRows>(decoder, z);
  }
  std::unique_ptr<ExactRows> operator()(const FilteredDecoder& decoder) const {
    return std::make_unique<FilteredRows>(decoder, z);
  }
  template <class Form>
  std::unique_ptr<ExactRows> operator()(const Form& form) const {
    return std::make_unique<DirectRows<Form>>(form, z);
  }
};

struct NumRows {
  std::int64_t operator()(const DyadicDecoder& decoder) const {
    return (std::int64_t{1} << decoder.node_weights.size()) - 1;
  }
  /// The largest number has all digits k - 1, or (k - 1) / 2 if digits are balanced.
  std::int64_t operator()(const KaryDecoder& decoder) const {
    const std::int64_t largest = decoder.subtractive ? (decoder.arity - 1) / 2 : decoder.arity - 1;
    std::int64_t count = 0, node_size = 1;
    for (std::int64_t l = 0; l < decoder.num_levels; ++l) {
      count += largest * node_size;
      if (node_size > kMaxNumSteps / decoder.arity) return kMaxNumSteps;
      node_size *= decoder.arity;
    }
    return count;
  }
  std::int64_t operator()(const HaarDecoder& decoder) const {
    return std::int64_t{1} << decoder.scales.size();
  }
  std::int64_t operator()(const ToeplitzDecoder& decoder) const {
    return std::ssize(decoder.coefficients);
  }
  std::int64_t operator()(const VaryingBufferedDecoder& decoder) const {
    return std::ssize(decoder.numbers->inverse_scales);
  }
  std::int64_t operator()(const VaryingBandedDecoder& decoder) const {
    return std::ssize(decoder.numbers->entries) / decoder.numbers->bands;
  }
  std::int64_t operator()(const BlockDecoder& decoder) const {
    std::int64_t steps = 0;
    for (const BlockDecoder::Block& block : decoder.blocks) steps += block.steps;
    return steps;
  }
  std::int64_t operator()(const FilteredDecoder& decoder) const {
    const std::int64_t of_base = num_exact_rows(*decoder.base);
    return std::min(of_base, decoder.workload.steps());
  }
  template <class Form>
  std::int64_t operator()(const Form&) const {
    return kMaxNumSteps;
  }
};

}  // namespace

Normals::Normals(const NoiseShard& shard, std::int64_t coordinate_in_row, std::size_t num_planes)
    : fixed_(num_planes),
      key_(shard.key),
      coordinate_(static_cast<std::uint64_t>(shard.first_coordinate + coordinate_in_row)) {}

Enclosure Normals::draw(std::int64_t measurement) const {
  return normal(fixed_, draw_bits(key_, measurement, coordinate_, fixed_.num_digits()));
}

Enclosure Normals::recall(std::int64_t measurement) {
  if (!remembers_ || measurement >= kMaxRemembered) return draw(measurement);
  const std::size_t index = static_cast<std::size_t>(measurement);
  if (index >= known_.size()) {
    try {
      known_.resize(std::bit_ceil(index + 1), {.error = -1});
    } catch (const std::bad_alloc&) {
      remembers_ = false;
      return draw(measurement);
    }
  }
  Enclosure& known = known_[index];
  if (known.error < 0) known = draw(measurement);
  return known;
}

std::unique_ptr<ExactRows> make_exact_rows(const DecoderForm& form, Normals& normals,
                                           std::int64_t first_measurement) {
  return exact_rows_makers()[form.index()](form, normals, first_measurement);
}

template <class Form>
std::unique_ptr<ExactRows> exact_rows_of(const Form& form, Normals& normals,
                                         std::int64_t first_measurement) {
  return MakeRows{{normals, first_measurement}}(form);
}

using RowsPointer = std::unique_ptr<ExactRows>;
template RowsPointer exact_rows_of(const IdentityDecoder&, Normals&, std::int64_t);
template RowsPointer exact_rows_of(const RunningSumDecoder&, Normals&, std::int64_t);
template RowsPointer exact_rows_of(const DyadicDecoder&, Normals&, std::int64_t);
template RowsPointer exact_rows_of(const KaryDecoder&, Normals&, std::int64_t);
template RowsPointer exact_rows_of(const HaarDecoder&, Normals&, std::int64_t);
template RowsPointer exact_rows_of(const ToeplitzDecoder&, Normals&, std::int64_t);
template RowsPointer exact_rows_of(const BandedDecoder&, Normals&, std::int64_t);
template RowsPointer exact_rows_of(const BandedInverseDecoder&, Normals&, std::int64_t);
template RowsPointer exact_rows_of(const MovingSumDecoder&, Normals&, std::int64_t);
template RowsPointer exact_rows_of(const BufferedDecoder&, Normals&, std::int64_t);
template RowsPointer exact_rows_of(const VaryingBufferedDecoder&, Normals&, std::int64_t);
template RowsPointer exact_rows_of(const VaryingBandedDecoder&, Normals&, std::int64_t);
template RowsPointer exact_rows_of(const BlockDecoder&, Normals&, std::int64_t);
template RowsPointer exact_rows_of(const FilteredDecoder&, Normals&, std::int64_t);
template RowsPointer exact_rows_of(const AutoregressiveDecoder&, Normals&, std::int64_t);

std::int64_t num_exact_rows(const DecoderForm& form) {
  return std::min(std::visit(NumRows{}, form), kMaxNumSteps);
}

}  // namespace dpftrl::detail
