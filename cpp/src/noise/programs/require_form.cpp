// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <string_view>

#include "base/span_of.hpp"
#include "dpftrl/base/error.hpp"
#include "noise/programs/program.hpp"
#include "optimal/varying_numbers.hpp"

namespace dpftrl::noise {
namespace {

constexpr std::string_view kFunction = "noise_stream";
/// Number of rows of Z that have an address.
constexpr std::int64_t kMaxMeasurements = std::int64_t{1} << 48;
constexpr std::int64_t kMaxLevels = 62;
constexpr std::int64_t kMaxArity = std::int64_t{1} << 20;

std::string entry_name(std::string_view name, std::size_t index) {
  return std::string(name) + "[" + std::to_string(index) + "]";
}

void require_coefficient(const std::string& name, double value) {
  if (!(std::abs(value) <= kMaxCoefficient))
    fail_argument(kFunction, name, "at most 2^20 in magnitude", to_text(value));
}

void require_coefficients(std::string_view name, std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!(std::abs(values[i]) <= kMaxCoefficient))
      require_coefficient(entry_name(name, i), values[i]);
}

void require_length_at_least(std::string_view name, std::int64_t length, std::int64_t least) {
  if (length < least)
    fail_argument(kFunction, name, "of at least " + to_text(least) + " entries", to_text(length));
}

/// Limits the memory of the rows that a program keeps, of 8 or 16 bytes per coordinate.
void require_state(const ProgramOptions& options, std::string_view what, std::int64_t num_rows,
                   double bytes) {
  const double needed =
      bytes * static_cast<double>(num_rows) * static_cast<double>(options.dimension);
  if (needed <= kMaxPregeneratedBytes) return;
  fail(ErrorCode::resource_exhausted, "noise_stream", "dimension",
       "times the " + std::string(what) + " must be small enough for 1 GiB of state",
       to_text(num_rows) + " * " + to_text(options.dimension));
}

/// Largest number of terms of a moving sum, whose blocks of normals then take a few hundred MB.
constexpr std::int64_t kMaxMovingTerms = std::int64_t{1} << 14;

/// Calls check(index, number) for a list of `buffers` numbers per step, or for its packed form.
template <class Packed, class Check>
void check_each(const VaryingBuffers& numbers, const std::vector<double>& whole,
                const Packed& packed, const Check& check) {
  if (!numbers.packed)
    for (std::size_t i = 0; i < whole.size(); ++i) check(i, whole[i]);
  const std::size_t n = numbers.packed ? numbers.inverse_scales.size() : 0;
  const auto q = static_cast<std::size_t>(numbers.buffers);
  for (std::size_t t = 0; t < n; ++t)
    for (std::size_t k = 0; k < q; ++k) check(t * q + k, packed(t)[k]);
}

struct RequireForm {
  const ProgramOptions& options;

  void operator()(const IdentityDecoder&) const {}
  void operator()(const RunningSumDecoder&) const {}

  void operator()(const DyadicDecoder& decoder) const {
    const auto num_levels = std::bit_width(static_cast<std::uint64_t>(options.num_rows));
    require_length_at_least("node_weights", std::ssize(decoder.node_weights),
                            static_cast<std::int64_t>(num_levels));
    for (std::size_t l = 0; l < decoder.node_weights.size(); ++l) {
      const double weight = decoder.node_weights[l];
      if (!(weight >= 0.5 && weight <= 1) || (l == 0 && weight != 1))
        fail_argument(kFunction, entry_name("node_weights", l), l == 0 ? "1" : "between 1/2 and 1",
                      to_text(weight));
    }
  }

  void operator()(const KaryDecoder& decoder) const {
    require_between(kFunction, "arity", decoder.arity, 2, kMaxArity);
    if (decoder.subtractive && decoder.arity % 2 == 0)
      fail_argument(kFunction, "arity", "odd for subtractive expansions", to_text(decoder.arity));
    require_between(kFunction, "num_levels", decoder.num_levels, 1, kMaxLevels);
    const std::int64_t digit = decoder.subtractive ? (decoder.arity - 1) / 2 : decoder.arity - 1;
    std::int64_t largest = 0;  // largest count with the levels so far
    for (std::int64_t l = 0; l < decoder.num_levels && largest < options.num_rows; ++l)
      largest = largest * decoder.arity + digit;
    if (largest < options.num_rows)
      fail_argument(kFunction, "num_levels",
                    "enough for the expansions of 1 .. " + to_text(options.num_rows),
                    to_text(decoder.num_levels));
  }

  void operator()(const HaarDecoder& decoder) const {
    require_coefficient("mean_scale", decoder.mean_scale);
    require_coefficients("scales", decoder.scales);
    const std::int64_t num_scales = std::ssize(decoder.scales);
    if (num_scales > kMaxLevels || (std::int64_t{1} << num_scales) < options.num_rows)
      fail_argument(kFunction, "scales", "k numbers with {steps} <= 2^k <= 2^62",
                    to_text(num_scales));
  }

  void operator()(const ToeplitzDecoder& decoder) const {
    require_length_at_least("coefficients", std::ssize(decoder.coefficients), options.num_rows);
    for (const double c : decoder.coefficients) require_coefficient("coefficients", c);
    require_memory(options);
  }

  void operator()(const BandedDecoder& decoder) const {
    require_length_at_least("coefficients", std::ssize(decoder.coefficients), 1);
    require_coefficients("coefficients", decoder.coefficients);
    if (!(std::abs(decoder.coefficients[0]) >= 1 / kMaxCoefficient))
      fail_argument(kFunction, "coefficients[0]", "at least 2^-20 in magnitude",
                    to_text(decoder.coefficients[0]));
    require_state(options, "number of coefficients", std::ssize(decoder.coefficients), 16);
  }

  void operator()(const BandedInverseDecoder& decoder) const {
    require_length_at_least("coefficients", std::ssize(decoder.coefficients), 1);
    require_coefficients("coefficients", decoder.coefficients);
    require_state(options, "number of coefficients", std::ssize(decoder.coefficients), 8);
  }

  void operator()(const MovingSumDecoder& decoder) const {
    require_length_at_least("coefficients", std::ssize(decoder.coefficients), 1);
    require_count(kFunction, "coefficients", "entries", std::ssize(decoder.coefficients), 1,
                  kMaxMovingTerms);
    require_coefficients("coefficients", decoder.coefficients);
  }

  void operator()(const AutoregressiveDecoder& decoder) const {
    require_coefficient("offset", decoder.offset);
    if (!(decoder.decay >= 0 && decoder.decay < 1))
      fail_argument(kFunction, "decay", "at least 0 and below 1", to_text(decoder.decay));
    require_coefficient("innovation", decoder.innovation);
  }

  void operator()(const BufferedDecoder& decoder) const {
    require_length(kFunction, "weights", std::ssize(decoder.weights), std::ssize(decoder.decays));
    require_coefficients("weights", decoder.weights);
    for (std::size_t i = 0; i < decoder.decays.size(); ++i) {
      const double decay = decoder.decays[i];
      if (!(decay >= 0 && decay < 1))
        fail_argument(kFunction, entry_name("decays", i), "at least 0 and below 1", to_text(decay));
    }
    require_state(options, "number of buffers", std::ssize(decoder.decays), 16);
  }

  void operator()(const VaryingBufferedDecoder& decoder) const {
    if (!decoder.numbers) fail_argument(kFunction, "numbers", "a recursion", "none");
    const VaryingBuffers& numbers = *decoder.numbers;
    require_between(kFunction, "buffers", numbers.buffers, 1, kMaxArity);
    require_length_at_least("inverse_scales", std::ssize(numbers.inverse_scales), options.num_rows);
    const std::int64_t size = numbers.buffers * options.num_rows;
    if (!numbers.packed) {
      require_length_at_least("gains", std::ssize(numbers.gains), size);
      require_length_at_least("factors", std::ssize(numbers.factors), size);
    }
    detail::VaryingReader reader(numbers);
    const auto gains = [&](std::size_t step) { return reader.gains(step); };
    const auto factors = [&](std::size_t step) { return reader.factors(step); };
    check_each(numbers, numbers.gains, gains, [](std::size_t i, double gain) {
      if (!(std::abs(gain) <= kMaxCoefficient)) require_coefficient(entry_name("gains", i), gain);
    });
    for (std::size_t i = 0; i < numbers.inverse_scales.size(); ++i)
      if (!(numbers.inverse_scales[i] > 0 && numbers.inverse_scales[i] <= kMaxCoefficient))
        fail_argument(kFunction, entry_name("inverse_scales", i), "positive and at most 2^20",
                      to_text(numbers.inverse_scales[i]));
    check_each(numbers, numbers.factors, factors, [](std::size_t i, double factor) {
      if (!(factor > 0 && factor <= 1))
        fail_argument(kFunction, entry_name("factors", i), "above 0 and at most 1",
                      to_text(factor));
    });
    require_positive(kFunction, "max_row_stddev", numbers.max_row_stddev);
    require_non_negative(kFunction, "max_state_stddev", numbers.max_state_stddev);
    require_state(options, "buffers", numbers.buffers, 16);
  }

  void operator()(const VaryingBandedDecoder& decoder) const {
    if (!decoder.numbers) fail_argument(kFunction, "numbers", "bands", "none");
    const VaryingBands& numbers = *decoder.numbers;
    require_between(kFunction, "bands", numbers.bands, 1, kMaxArity);
    require_length_at_least("entries", std::ssize(numbers.entries),
                            numbers.bands * options.num_rows);
    require_coefficients("entries", numbers.entries);
    const auto bands = static_cast<std::size_t>(numbers.bands);
    for (std::size_t i = 0; i < numbers.entries.size(); i += bands)
      if (!(numbers.entries[i] >= 1 / kMaxCoefficient))
        fail_argument(kFunction, entry_name("entries", i), "at least 2^-20",
                      to_text(numbers.entries[i]));
    require_positive(kFunction, "max_row_stddev", numbers.max_row_stddev);
    require_state(options, "bands", numbers.bands, 16);
  }

  void operator()(const BlockDecoder& decoder) const {
    std::int64_t steps = 0, num_measurements = options.first_measurement;
    const DecoderForm* checked = nullptr;  // often all blocks share one form
    std::int64_t checked_rows = 0;
    for (std::size_t i = 0; i < decoder.blocks.size(); ++i) {
      const BlockDecoder::Block& block = decoder.blocks[i];
      const auto name = [&](std::string_view part) {
        return entry_name("blocks", i) + "." + std::string(part);
      };
      require_between(kFunction, name("steps"), block.steps, 1, kMaxNumSteps);
      require_between(kFunction, name("num_measurements"), block.num_measurements, 1,
                      kMaxMeasurements - 1);
      require_between(kFunction, name("closing_row"), block.closing_row, 0, kMaxNumSteps - 1);
      if (!block.form) fail_argument(kFunction, name("form"), "a form", "none");
      ProgramOptions of_block = options;
      of_block.num_rows = std::max(block.steps, block.closing_row + 1);
      if (block.form.get() != checked || of_block.num_rows > checked_rows) {
        require_form(of_block, *block.form);
        checked = block.form.get();
        checked_rows = of_block.num_rows;
      }
      steps = std::min(steps + block.steps, kMaxNumSteps);
      num_measurements += block.num_measurements;
      require_between(kFunction, name("num_measurements"), num_measurements, 1, kMaxMeasurements);
    }
    if (steps < options.num_rows)
      fail_argument(kFunction, "blocks", "of " + to_text(options.num_rows) + " steps or more",
                    to_text(steps));
  }

  void operator()(const FilteredDecoder& decoder) const {
    if (!decoder.base) fail_argument(kFunction, "base", "a form", "none");
    if (!decoder.column_scales.empty())
      require_length_at_least("column_scales", std::ssize(decoder.column_scales), options.num_rows);
    for (std::size_t i = 0; i < decoder.column_scales.size(); ++i) {
      const double scale = decoder.column_scales[i];
      if (!(scale > 0 && scale <= kMaxCoefficient))
        fail_argument(kFunction, entry_name("column_scales", i), "positive and at most 2^20",
                      to_text(scale));
    }
    const Workload& workload = decoder.workload;
    if (workload.steps() < options.num_rows)
      fail_argument(kFunction, "workload", "of at least " + to_text(options.num_rows) + " steps",
                    to_text(workload.steps()));
    if (workload.kind() == Workload::Kind::window)
      require_state(options, "window", std::min(workload.window(), options.num_rows), 16);
    if (workload.kind() == Workload::Kind::rates) require_coefficients("rates", workload.rates());
    if (workload.kind() == Workload::Kind::matrix) {
      const Matrix matrix = workload.matrix();
      require_coefficients("matrix", detail::span_of(matrix));
      require_state(options, "steps", options.num_rows, 8);
    }
    require_form(options, *decoder.base);
  }
};

}  // namespace

void require_form(const ProgramOptions& options, const DecoderForm& form) {
  std::visit(RequireForm{options}, form);
}

}  // namespace dpftrl::noise
