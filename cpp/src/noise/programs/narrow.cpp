// SPDX-License-Identifier: Apache-2.0
#include "noise/programs/narrow.hpp"

#include <utility>

#include "noise/programs/short_steps.hpp"
#include "noise/programs/window.hpp"
#include "random/gaussian.hpp"

namespace dpftrl::noise {
namespace {

/// Largest step between measurements drawn in one call; unused measurements in between cost less
/// than another call.
constexpr std::int64_t kMaxGap = 2;

template <class Number, class Drawn>
Number number_of(const Drawn& x) {
  if constexpr (std::is_same_v<Number, DoubleDouble> && !std::is_same_v<Drawn, DoubleDouble>)
    return {x, 0};
  else
    return static_cast<Number>(x);
}

/// Dekker's halves of a double, as in two_product.
std::pair<double, double> halves(double x) {
  constexpr double kSplit = 134217729.0;  // 2^27 + 1
  const double scaled = kSplit * x;
  const double high = scaled - (scaled - x);
  return {high, x - high};
}

}  // namespace

template <class Number>
typename Narrow<Number>::Term Narrow<Number>::make_term(const noise::Term& term) {
  const std::int32_t row = row_of(term.slot);
  if constexpr (std::is_same_v<Number, DoubleDouble>) {
    const auto [high, low] = halves(term.factor.high);
    const bool is_exact = term.factor.high == 1 || term.factor.high == -1;
    return {term.factor.high, term.factor.low, high, low, is_exact, row};
  } else {
    return {static_cast<Value>(term.factor.high), row};
  }
}

/// The operations of combine_double, combine_float and combine_pair of simd/rows.hpp, in their
/// order.
template <class Number>
Number Narrow<Number>::combine(const Term* terms, std::size_t num_terms, const Number* rows) {
  Number sum{};
  for (std::size_t i = 0; i < num_terms; ++i) {
    const Term& term = terms[i];
    const Number x = rows[term.row];
    if constexpr (std::is_same_v<Number, DoubleDouble>) {
      const double product = term.high * x.high;
      double rest = term.high * x.low;
      if (term.low != 0) rest += term.low * x.high;
      if (!term.is_exact) {
        const auto [high, low] = halves(x.high);
        rest += ((term.half_high * high - product) + term.half_high * low + term.half_low * high) +
                term.half_low * low;
      }
      const DoubleDouble next = two_sum(sum.high, product);
      sum = {next.high, sum.low + (next.low + rest)};
    } else {
      sum = i == 0 ? term.factor * x : sum + term.factor * x;
    }
  }
  if constexpr (std::is_same_v<Number, DoubleDouble>)
    return two_sum(sum.high, sum.low);
  else
    return sum;
}

template <class Number>
void Narrow<Number>::lay_out(const Window& window) {
  // Repeated steps are laid out once.
  if (!window.is_periodic()) terms_.clear();
  const std::span<const noise::Term> terms = window.all_operations().all_terms();
  for (std::size_t i = terms_.size(); i < terms.size(); ++i) terms_.push_back(make_term(terms[i]));
}

template <class Number>
template <class Drawn>
void Narrow<Number>::draw(const Window& window) {
  measurements_.clear();
  for (std::int64_t i = 0; i < window.steps(); ++i)
    for (const std::int64_t measurement : window.draws(i))
      measurements_.push_back(measurement + window.measurement_shift(i));
  const ProgramOptions& options = window.options();
  const Stream stream = sizeof(Value) == 4 ? options.float_stream : Stream::noise;
  const std::size_t num_draws = measurements_.size();
  drawn_.resize(num_draws * width_of(options));
  std::vector<Drawn> run;
  for (std::size_t begin = 0; begin < num_draws;) {
    std::size_t end = begin + 1;
    while (end < num_draws && measurements_[end] > measurements_[end - 1] &&
           measurements_[end] <= measurements_[end - 1] + kMaxGap)
      ++end;
    const std::int64_t first = measurements_[begin];
    const auto length = static_cast<std::size_t>(measurements_[end - 1] - first + 1);
    run.resize(length);
    for (std::size_t c = 0; c < width_of(options); ++c) {
      fill_normals_rows(options.key, stream, static_cast<std::uint64_t>(first),
                        static_cast<std::uint64_t>(options.first_coordinate) + c,
                        std::span<Drawn>(run));
      for (std::size_t k = begin; k < end; ++k)
        drawn_[c * num_draws + k] =
            number_of<Number>(run[static_cast<std::size_t>(measurements_[k] - first)]);
    }
    begin = end;
  }
}

template <class Number>
void Narrow<Number>::run_coordinate(const Window& window, std::size_t coordinate, Number* rows) {
  const std::size_t dimension = width_of(window.options());
  const Number* fresh = drawn_.data() + coordinate * measurements_.size();
  Value* out = made_.data() + coordinate;
  const Term* const terms = terms_.data();
  for (std::int64_t i = 0; i < window.steps(); ++i) {
    for (const Operation& operation : window.operations(i)) {
      Number& target = rows[row_of(operation.target)];
      switch (operation.kind) {
        case Operation::Kind::draw:
          target = *fresh++;
          break;
        case Operation::Kind::load:
          target = number_of<Number>(operation.source[coordinate]);
          break;
        case Operation::Kind::combine:
          target = combine(terms + operation.first_term, operation.num_terms, rows);
          break;
        case Operation::Kind::finish:
          if constexpr (std::is_same_v<Number, DoubleDouble>)
            *out = target.high;
          else
            *out = target;
          out += dimension;
          break;
      }
    }
  }
}

template <class Number>
std::span<const typename Narrow<Number>::Value> Narrow<Number>::run(
    const Window& window, std::vector<std::vector<Value>>& state) {
  constexpr bool kIsPair = std::is_same_v<Number, DoubleDouble>;
  if constexpr (kIsPair)
    window.precision() == Precision::refined ? draw<DoubleDouble>(window) : draw<double>(window);
  else
    draw<Value>(window);
  const std::size_t dimension = width_of(window.options());
  const auto steps = static_cast<std::size_t>(window.steps());
  made_.resize(steps * dimension);
  if constexpr (!kIsPair) {
    if (window.shape()) {
      for (std::size_t c = 0; c < dimension; ++c)
        run_steps<Value>(*window.shape(), window.first_step(),
                         {steps, drawn_.data() + c * steps, 1, made_.data() + c, dimension}, state,
                         c, 1);
      return made_;
    }
  }
  lay_out(window);
  rows_.resize(window.num_scratch() + window.num_state());
  Number* const rows = rows_.data() + window.num_scratch();
  for (std::size_t c = 0; c < dimension; ++c) {
    for (std::size_t i = 0; i < window.num_state(); ++i) {
      if constexpr (kIsPair)
        rows[i] = {state[2 * i][c], state[2 * i + 1][c]};
      else
        rows[i] = state[i][c];
    }
    run_coordinate(window, c, rows);
    for (std::size_t i = 0; i < window.num_state(); ++i) {
      if constexpr (kIsPair) {
        state[2 * i][c] = rows[i].high;
        state[2 * i + 1][c] = rows[i].low;
      } else {
        state[i][c] = rows[i];
      }
    }
  }
  return made_;
}

template class Narrow<float>;
template class Narrow<double>;
template class Narrow<DoubleDouble>;

}  // namespace dpftrl::noise
