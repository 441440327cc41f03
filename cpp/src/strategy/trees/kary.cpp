// SPDX-License-Identifier: Apache-2.0
#include "strategy/trees/kary.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cstdlib>

#include "dpftrl/base/error.hpp"
#include "strategy/family_row.hpp"
#include "strategy/trees/digits.hpp"

namespace dpftrl {
namespace {

/// Reach of balanced digits below `place`: half of the distance between neighbouring numbers in
/// which these digits are zero.
std::int64_t reach(std::int64_t place) {
  return (place - 1) / 2;
}

}  // namespace

KaryStrategy::KaryStrategy(const Options& options)
    : Strategy(Workload::prefix_sums(options.steps)),
      arity_(require_between(kName, "arity", options.arity, 2, kMaxArity)),
      subtractive_(options.subtractive),
      largest_digit_(subtractive_ ? arity_ / 2 : arity_ - 1),
      smallest_digit_(subtractive_ ? -largest_digit_ : 0) {
  if (subtractive_ && arity_ % 2 == 0)
    fail_argument(kName, "arity", "odd for a subtractive tree", to_text(arity_));
  // There are as many levels as `steps` has digits.
  for (std::int64_t place = 1; (subtractive_ ? reach(place) : place - 1) < steps(); place *= arity_)
    places_.push_back(place);
  num_measurements_ = 0;
  for (std::size_t l = 0; l < places_.size(); ++l) {
    const std::int64_t last = last_used(l);
    if (last >= 0) num_measurements_ = std::max(num_measurements_, measurement(l, last) + 1);
  }
}

std::vector<std::int64_t> KaryStrategy::digits(std::int64_t count) const {
  std::vector<std::int64_t> digits;
  digits.reserve(places_.size());
  while (count != 0) {
    std::int64_t digit = count % arity_;
    if (digit > largest_digit_) digit -= arity_;
    digits.push_back(digit);
    count = (count - digit) / arity_;
  }
  return digits;
}

// Consider the nodes (l, q k + r) of one parent. Digit d > 0 adds nodes r = 0 .. d - 1 to the steps
// before the parent, and digit -d subtracts nodes r = k - d .. k - 1 from the steps up to its end.
// So digits of at least r + 1 add node r, and digits of at most r - k subtract it. The smallest t +
// 1 with one of these digits at level l has the smallest digits below it.
bool KaryStrategy::is_used(std::size_t level, std::int64_t index) const {
  const std::int64_t place = places_[level], position = index % arity_;
  const std::int64_t slack = subtractive_ ? reach(place) : 0;
  if (position < largest_digit_) return (index + 1) * place - slack <= steps();
  if (position < arity_ + smallest_digit_) return false;
  const std::int64_t parent = place * arity_;
  return (index / arity_ + 1) * parent - reach(parent) <= steps();
}

std::int64_t KaryStrategy::last_used(std::size_t level) const {
  const std::int64_t place = places_[level];
  const std::int64_t slack = subtractive_ ? reach(place) : 0;
  std::int64_t last = (steps() + slack) / place - 1;
  if (last >= 0) last -= std::max<std::int64_t>(0, last % arity_ - (largest_digit_ - 1));
  if (!subtractive_) return last;
  const std::int64_t parent = place * arity_;
  return std::max(last, (steps() + reach(parent)) / parent * arity_ - 1);
}

std::int64_t KaryStrategy::measurement(std::size_t level, std::int64_t index) const {
  const std::int64_t last_step = (index + 1) * places_[level] - 1;
  std::int64_t number = static_cast<std::int64_t>(level);
  for (const std::int64_t place : places_) number += last_step / place;
  return number;
}

double KaryStrategy::column_norm_squared(std::int64_t step) const {
  require_step(step);
  std::int64_t used = 0;
  for (std::size_t l = 0; l < places_.size(); ++l)
    if (is_used(l, step / places_[l])) ++used;
  return static_cast<double>(used);
}

double KaryStrategy::max_column_norm_squared() const {
  // Step 0 lies in the first node of every level. This node is used by row k^l - 1, or by the row
  // of the smallest number with leading digit 1 at k^l.
  return static_cast<double>(places_.size());
}

double KaryStrategy::row_norm_squared(std::int64_t step) const {
  require_step(step);
  std::int64_t variance = 0;
  for (const std::int64_t digit : digits(step + 1)) variance += std::abs(digit);
  return static_cast<double>(variance);
}

// A number below `steps` has a smaller digit at the first place where the two differ, and any
// digits below it.
double KaryStrategy::largest_row() const {
  const std::vector<std::int64_t> top = digits(steps());
  std::int64_t above = 0, largest = 0;
  for (std::size_t l = top.size(); l-- > 0;) {
    const bool is_leading = l + 1 == top.size();
    if (top[l] > (is_leading ? 0 : smallest_digit_)) {
      const std::int64_t smallest = is_leading ? 0 : std::abs(smallest_digit_);
      const std::int64_t below = static_cast<std::int64_t>(l) * largest_digit_;
      largest = std::max(largest, above + std::max(std::abs(top[l] - 1), smallest) + below);
    }
    above += std::abs(top[l]);
  }
  return static_cast<double>(std::max(largest, above));
}

RowNorms KaryStrategy::row_norms() const {
  std::vector<std::int64_t> sizes;  // |digit|, from the smallest digit on
  for (std::int64_t digit = smallest_digit_; digit <= largest_digit_; ++digit)
    sizes.push_back(std::abs(digit));
  std::int64_t total = 0;
  for (const std::int64_t place : places_) {
    // Adding the largest digit at this place and below turns balanced digits into plain ones.
    const std::int64_t shift = subtractive_ ? reach(place * arity_) : 0;
    total += digit_total(shift + steps() + 1, place, sizes) - digit_total(shift + 1, place, sizes);
  }
  return {1, largest_row(), static_cast<double>(total) / static_cast<double>(steps())};
}

Matrix KaryStrategy::encoder() const {
  const Eigen::Index columns = dense_size();
  Matrix encoder = Matrix::Zero(static_cast<Eigen::Index>(num_measurements_), columns);
  for (std::size_t l = 0; l < places_.size(); ++l)
    for (std::int64_t i = 0; i * places_[l] < steps(); ++i) {
      if (!is_used(l, i)) continue;
      const std::int64_t begin = i * places_[l];
      const std::int64_t width = std::min(places_[l], steps() - begin);
      encoder.row(static_cast<Eigen::Index>(measurement(l, i)))
          .segment(static_cast<Eigen::Index>(begin), static_cast<Eigen::Index>(width))
          .setOnes();
    }
  return encoder;
}

Matrix KaryStrategy::decoder() const {
  const Eigen::Index rows = dense_size();
  Matrix decoder = Matrix::Zero(rows, static_cast<Eigen::Index>(num_measurements_));
  for (Eigen::Index step = 0; step < rows; ++step) {
    const std::vector<std::int64_t> expansion = digits(std::int64_t{step} + 1);
    std::int64_t end = 0;  // number of steps that the higher digits cover
    for (std::size_t l = expansion.size(); l-- > 0;) {
      const std::int64_t node = end / places_[l], digit = expansion[l];
      for (std::int64_t i = std::min(node, node + digit); i < std::max(node, node + digit); ++i)
        decoder(step, static_cast<Eigen::Index>(measurement(l, i))) = digit > 0 ? 1 : -1;
      end += digit * places_[l];
    }
  }
  return decoder;
}

ColumnStructure KaryStrategy::columns() const {
  return KaryColumns{
      .arity = arity_,
      .num_levels = std::ssize(places_),
      .is_used = [this](std::size_t level, std::int64_t node) { return is_used(level, node); }};
}

DecoderForm KaryStrategy::decoder_form() const {
  return KaryDecoder{
      .arity = arity_, .subtractive = subtractive_, .num_levels = std::ssize(places_)};
}

FamilyRow kary_family() {
  return {.info = {.name = KaryStrategy::kName,
                   .summary = "tree of any arity, by default 7 with subtraction",
                   .step_cost = "O(k) amortised",
                   .memory_cost = "O(k log n / log k) vectors",
                   .parameters = "arity, subtractive",
                   .workloads = WorkloadSupport::decoded,
                   .max_steps = kMaxNumSteps,
                   .is_causal = false},
          .makes = Makes::prefix_sums,
          .make = [](const ToeplitzRequest& request,
                     const StrategyParameters& parameters) -> StrategyPointer {
            KaryStrategy::Options options{.steps = request.workload.steps()};
            options.subtractive = parameters.subtractive.value_or(!parameters.arity.has_value());
            options.arity = parameters.arity.value_or(options.arity);
            return std::make_shared<const KaryStrategy>(options);
          }};
}

}  // namespace dpftrl
