// SPDX-License-Identifier: Apache-2.0
#include "release/grid/weighted_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "dpftrl/base/error.hpp"
#include "noise/checkpoint.hpp"

namespace dpftrl::detail {
namespace {

constexpr double kLargestWeight = 0x1p20;
constexpr double kMaxBytes = 0x1p30;
constexpr std::size_t kBytesOfNumber = 8 * std::tuple_size_v<decltype(WideNumber::digits)>;

/// Upper bound on 1 + x + ... + x^(n-1) for 0 <= x <= 1.
double geometric_sum(double x, std::int64_t n) {
  const double steps = static_cast<double>(n);
  if (x == 0) return 1;
  return x < 1 ? std::min(steps, 1 / (1 - x) * (1 + 0x1p-50)) : steps;
}

double largest_rate(const Workload& workload) {
  double largest = workload.rates().empty() ? 1 : 0;
  for (const double rate : workload.rates()) largest = std::max(largest, std::abs(rate));
  return largest;
}

/// Calls visit(row, column, magnitude) for the entries of a matrix.
template <class Visit>
void visit_entries(const Workload& workload, Visit&& visit) {
  for (std::int64_t row = 0; row < workload.steps(); ++row)
    for (std::int64_t column = 0; column <= row; ++column)
      visit(row, column, std::abs(workload.entry(row, column)));
}

void require_weights(const Workload& workload) {
  const auto require = [](const std::string& parameter, double weight) {
    if (!(weight <= kLargestWeight))
      fail_argument("prefix_sum", parameter, "at most 2^20 in magnitude to be released",
                    to_text(weight));
  };
  for (std::size_t t = 0; t < workload.rates().size(); ++t)
    require("rates[" + std::to_string(t) + "]", std::abs(workload.rates()[t]));
  if (workload.kind() != Workload::Kind::matrix) return;
  visit_entries(workload, [&](std::int64_t row, std::int64_t column, double weight) {
    if (weight <= kLargestWeight) return;
    require("matrix(" + std::to_string(row) + ", " + std::to_string(column) + ")", weight);
  });
}

/// m_t = beta m_{t-1} + q_t,   S_t = alpha S_{t-1} + chi_t m_t.
class RecursiveSums final : public WeightedSums {
 public:
  RecursiveSums(const Workload& workload, std::size_t dimension)
      : momentum_(workload.momentum()),
        decay_(workload.decay()),
        rates_(workload.rates()),
        averages_(has_averages(workload) ? dimension : 0),
        next_averages_(averages_.size()),
        sums_(dimension),
        next_sums_(dimension) {}

  static bool has_averages(const Workload& workload) { return workload.momentum() != 0; }

  std::span<const WideNumber> after(std::int64_t step,
                                    std::span<const std::int64_t> added) override {
    const WideFactor momentum(momentum_), decay(decay_),
        rate(rates_.empty() ? 1 : rates_[static_cast<std::size_t>(step)]);
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      WideNumber average(added[i]);
      if (!averages_.empty()) {
        average += momentum(averages_[i]);
        next_averages_[i] = average;
      }
      next_sums_[i] = decay(sums_[i]);
      next_sums_[i] += rates_.empty() ? average : rate(average);
    }
    return next_sums_;
  }

  void accept() override {
    std::swap(sums_, next_sums_);
    std::swap(averages_, next_averages_);
  }

  std::size_t state_size(std::int64_t /*step*/) const override {
    return kBytesOfNumber * (averages_.size() + sums_.size());
  }

  void write(std::int64_t /*step*/, std::vector<std::byte>& out) const override {
    for (const std::vector<WideNumber>* numbers : {&averages_, &sums_})
      for (const WideNumber& number : *numbers)
        for (const std::uint64_t digit : number.digits) append_word(out, digit);
  }

  void read(std::int64_t /*step*/, std::span<const std::byte> state) override {
    std::size_t begin = 0;
    for (std::vector<WideNumber>* numbers : {&averages_, &sums_})
      for (WideNumber& number : *numbers)
        for (std::uint64_t& digit : number.digits) {
          digit = word_at(state, begin);
          begin += 8;
        }
  }

 private:
  double momentum_;
  double decay_;
  std::vector<double> rates_;
  std::vector<WideNumber> averages_, next_averages_;  ///< m, where beta is not 0
  std::vector<WideNumber> sums_, next_sums_;
};

/// Keeps the records of all steps, because every row of a matrix weights them differently.
class MatrixSums final : public WeightedSums {
 public:
  MatrixSums(const Workload& workload, std::size_t dimension)
      : workload_(workload),
        records_(static_cast<std::size_t>(workload.steps()) * dimension),
        sums_(dimension) {}

  std::span<const WideNumber> after(std::int64_t step,
                                    std::span<const std::int64_t> added) override {
    std::ranges::copy(added, row(step));
    std::ranges::fill(sums_, WideNumber());
    for (std::int64_t column = 0; column <= step; ++column) {
      const WideFactor weight(workload_.entry(step, column));
      const std::int64_t* const record = row(column);
      for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += weight(WideNumber(record[i]));
    }
    return sums_;
  }

  /// No-op, because the record of the step is stored already, in a place that states of earlier
  /// steps do not read.
  void accept() override {}

  std::size_t state_size(std::int64_t step) const override {
    return 8 * static_cast<std::size_t>(step) * sums_.size();
  }

  void write(std::int64_t step, std::vector<std::byte>& out) const override {
    for (const std::int64_t integer : std::span(records_).first(state_size(step) / 8))
      append_word(out, static_cast<std::uint64_t>(integer));
  }

  void read(std::int64_t step, std::span<const std::byte> state) override {
    read_integers(state, std::span(records_).first(state_size(step) / 8));
  }

 private:
  std::int64_t* row(std::int64_t step) {
    return records_.data() + static_cast<std::size_t>(step) * sums_.size();
  }

  const Workload& workload_;
  std::vector<std::int64_t> records_;
  std::vector<WideNumber> sums_;
};

}  // namespace

double largest_weight(const Workload& workload) {
  double largest = 1;
  if (workload.kind() == Workload::Kind::matrix) {
    visit_entries(workload, [&](std::int64_t, std::int64_t, double weight) {
      largest = std::max(largest, weight);
    });
    return largest;
  }
  // Entry (t, j) is at most the sum of rate_s beta^(s-j) over s = j .. t.
  const double momentum = geometric_sum(workload.momentum(), workload.steps());
  return momentum * std::max(1.0, largest_rate(workload));
}

double weight_of_row(const Workload& workload) {
  const std::int64_t n = workload.steps();
  if (workload.kind() == Workload::Kind::window) return static_cast<double>(workload.window());
  if (workload.kind() == Workload::Kind::matrix) {
    std::vector<double> rows(static_cast<std::size_t>(n));
    visit_entries(workload, [&](std::int64_t row, std::int64_t, double weight) {
      rows[static_cast<std::size_t>(row)] += weight;
    });
    return std::ranges::max(rows);
  }
  double of_rates = geometric_sum(workload.decay(), n);
  if (!workload.rates().empty()) {
    of_rates = 0;
    for (const double rate : workload.rates()) of_rates += std::abs(rate);
  }
  return of_rates * geometric_sum(workload.momentum(), n);
}

double least_weight_of_own_step(const Workload& workload) {
  double least = std::numeric_limits<double>::infinity();
  if (workload.kind() == Workload::Kind::matrix) {
    for (std::int64_t t = 0; t < workload.steps(); ++t)
      least = std::min(least, std::abs(workload.entry(t, t)));
    return least;
  }
  for (const double rate : workload.rates()) least = std::min(least, std::abs(rate));
  return workload.rates().empty() ? 1 : least;
}

double error_of_sums(const Workload& workload) {
  // A product is off by one unit, and no step amplifies errors, so after at most n steps averages
  // are off by n and sums by n (1 + rate n + 1).
  const double n = static_cast<double>(workload.steps());
  return n * (2 + n * std::max(1.0, largest_rate(workload)));
}

std::unique_ptr<WeightedSums> make_weighted_sums(const Workload& workload, std::int64_t dimension) {
  const bool is_matrix = workload.kind() == Workload::Kind::matrix;
  const double rows = static_cast<double>(workload.steps());
  const double numbers = RecursiveSums::has_averages(workload) ? 2 : 1;
  const double bytes = is_matrix ? 8 * rows : numbers * static_cast<double>(kBytesOfNumber);
  if (bytes * static_cast<double>(dimension) > kMaxBytes)
    fail(ErrorCode::resource_exhausted, "prefix_sum", "dimension",
         "must be at most " + to_text(std::floor(kMaxBytes / bytes)) +
             " for this workload, whose sums take up to 1 GiB",
         to_text(dimension));
  require_weights(workload);
  const auto size = static_cast<std::size_t>(dimension);
  if (!is_matrix) return std::make_unique<RecursiveSums>(workload, size);
  return std::make_unique<MatrixSums>(workload, size);
}

}  // namespace dpftrl::detail
