// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <new>
#include <utility>
#include <vector>

#include "base/double_double.hpp"
#include "base/sum_of_squares.hpp"
#include "dpftrl/base/error.hpp"
#include "math/fft.hpp"
#include "noise/programs/program.hpp"
#include "random/gaussian.hpp"

namespace dpftrl::noise {
namespace {

[[noreturn]] void refuse(const ProgramOptions& options) {
  fail(ErrorCode::resource_exhausted, "noise_stream", "dimension",
       "times {steps} must be small enough for 1 GiB of noise and scratch space, as this "
       "strategy's noise is generated in advance (tree and honaker stream in O(log n) memory)",
       to_text(options.num_rows) + " * " + to_text(options.dimension));
}

/// The convolution of two sequences of num_rows entries has indices up to 2 num_rows - 2.
int log2_transform_size(std::size_t num_rows) {
  return static_cast<int>(std::bit_width(2 * num_rows - 2));
}

/// Number of columns copied together out of the rows and back: one cache line of coordinates.
constexpr std::size_t kMaxColumns = 8;

/// Computes all rows at once by fast convolution, coordinates 2 j and 2 j + 1 in one complex
/// transform. The partner of a coordinate is included even if it is outside the shard, so that
/// shards have the same bits as the whole.
class ToeplitzProgram final : public Program {
 public:
  ToeplitzProgram(const ProgramOptions& options, const ToeplitzDecoder& decoder,
                  SlotAllocator& slots)
      : options_(options),
        row_(slots.scratch()),
        dimension_(width_of(options)),
        num_rows_(static_cast<std::size_t>(options.num_rows)) {
    try {
      rows_->resize(num_rows_ * dimension_);
      if (is_wide())
        for (std::size_t t = 0; t < num_rows_; ++t)
          fill_measurement(options_, static_cast<std::int64_t>(t),
                           std::span(*rows_).subspan(t * dimension_, dimension_));
      convolve(std::span(decoder.coefficients).first(num_rows_),
               Fft(log2_transform_size(num_rows_)));
    } catch (const std::bad_alloc&) {
      refuse(options);
    }
  }

  Slot emit(std::int64_t step, StepOperations& operations) override {
    operations.load(row_, rows_, static_cast<std::size_t>(step) * dimension_);
    return row_;
  }
  Bound bound(std::int64_t) override { return {error_bound_, kTail * kernel_norm_}; }

 private:
  void convolve(std::span<const double> coefficients, const Fft& fft) {
    std::vector<double> kernel_real(fft.size()), kernel_imaginary(fft.size());
    std::copy(coefficients.begin(), coefficients.end(), kernel_real.begin());
    kernel_norm_ = norm(kernel_real, kernel_imaginary);
    double kernel_sum = 0;
    for (const double c : coefficients) kernel_sum += std::abs(c);
    fft.forward(kernel_real, kernel_imaginary);

    const double epsilon = fft.relative_error_bound();
    const std::int64_t first = options_.first_coordinate;
    const std::int64_t begin = first - first % 2;
    const std::int64_t end = first + options_.dimension;
    std::vector<std::vector<double>> columns(num_columns(begin, end),
                                             std::vector<double>(fft.size()));
    for (std::int64_t group = begin; group < end; group += std::ssize(columns)) {
      columns.resize(num_columns(group, end));
      generate(group, columns);
      for (std::size_t i = 0; i < columns.size(); i += 2) {
        const std::span<double> real(columns[i]), imaginary(columns[i + 1]);
        const double input_norm = norm(real, imaginary);
        fft.forward(real, imaginary);
        for (std::size_t k = 0; k < fft.size(); ++k) {
          const double product = real[k] * kernel_real[k] - imaginary[k] * kernel_imaginary[k];
          imaginary[k] = real[k] * kernel_imaginary[k] + imaginary[k] * kernel_real[k];
          real[k] = product;
        }
        fft.inverse(real, imaginary);
        const double transforms =
            input_norm * kernel_norm_ * (2 * epsilon + epsilon * epsilon + 4 * kUnitRoundoff);
        const double last = norm(real, imaginary) * epsilon / (1 - epsilon);
        const double inputs = kernel_sum * kNormalErrorBound;
        error_bound_ = std::max(error_bound_, (transforms + last + inputs) * kSlack);
      }
      keep(group, columns);
    }
  }

  /// Columns to process from a coordinate on, in whole pairs.
  static std::size_t num_columns(std::int64_t coordinate, std::int64_t end) {
    return std::min(kMaxColumns, static_cast<std::size_t>(end - coordinate + 1) / 2 * 2);
  }

  /// Whether normals are drawn row by row, which is cheaper unless there are few coordinates.
  bool is_wide() const { return dimension_ > 4; }

  /// Range of the requested coordinates within [first, first + count).
  std::pair<std::size_t, std::size_t> asked_for(std::int64_t first, std::size_t count) const {
    const std::int64_t before = options_.first_coordinate - first;
    return {static_cast<std::size_t>(std::max<std::int64_t>(0, before)),
            std::min(count, static_cast<std::size_t>(before + options_.dimension))};
  }
  /// Index of coordinate first + i in a row.
  std::size_t column_of(std::int64_t first, std::size_t i) const {
    return static_cast<std::size_t>(first - options_.first_coordinate) + i;
  }

  /// Writes the normals of the coordinates from `first` on, padded with zeros.
  void generate(std::int64_t first, std::vector<std::vector<double>>& columns) const {
    const auto [begin, end] = asked_for(first, columns.size());
    for (std::size_t t = 0; is_wide() && t < num_rows_; ++t) {
      const double* const row = rows_->data() + t * dimension_;
      for (std::size_t i = begin; i < end; ++i) columns[i][t] = row[column_of(first, i)];
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!is_wide() || i < begin || i >= end)
        fill_normals_rows(
            options_.key, Stream::noise, static_cast<std::uint64_t>(options_.first_measurement),
            static_cast<std::uint64_t>(first) + i, std::span(columns[i]).first(num_rows_));
      std::fill(columns[i].begin() + static_cast<std::ptrdiff_t>(num_rows_), columns[i].end(), 0.0);
    }
  }
  void keep(std::int64_t first, const std::vector<std::vector<double>>& columns) {
    const auto [begin, end] = asked_for(first, columns.size());
    for (std::size_t t = 0; t < num_rows_; ++t) {
      double* const row = rows_->data() + t * dimension_;
      for (std::size_t i = begin; i < end; ++i) row[column_of(first, i)] = columns[i][t];
    }
  }
  static double norm(std::span<const double> real, std::span<const double> imaginary) {
    return std::sqrt(detail::sum_of_squares(real) + detail::sum_of_squares(imaginary));
  }

  ProgramOptions options_;
  Slot row_;
  std::size_t dimension_;
  std::size_t num_rows_;
  /// Normals, num_rows x dimension; overwritten by the rows.
  std::shared_ptr<std::vector<double>> rows_ = std::make_shared<std::vector<double>>();
  double error_bound_ = 0;
  double kernel_norm_ = 0;
};

}  // namespace

void require_memory(const ProgramOptions& options) {
  const int log2_size = log2_transform_size(static_cast<std::size_t>(options.num_rows));
  // Counts rows, coefficients, tables of the transform, transformed coefficients, and columns.
  const double entries = static_cast<double>(options.num_rows);
  const double columns =
      std::min(static_cast<double>(kMaxColumns), static_cast<double>(options.dimension) + 2);
  const double bytes = 8 * (entries * static_cast<double>(options.dimension) + entries +
                            (4 + columns) * std::ldexp(1.0, log2_size));
  if (bytes > kMaxPregeneratedBytes) refuse(options);
}

ProgramPointer make(const ProgramOptions& options, const ToeplitzDecoder& decoder,
                    SlotAllocator& slots) {
  return std::make_unique<ToeplitzProgram>(options, decoder, slots);
}

RefinedEntry refined_entry(const ProgramOptions& options, const ToeplitzDecoder& decoder,
                           std::int64_t step) {
  constexpr std::size_t kChunk = 512;
  const auto last = static_cast<std::size_t>(step);
  const std::size_t num_terms = last + 1;
  std::array<DoubleDouble, kChunk> normals;
  DoubleDouble sum;
  double coefficients = 0;
  for (std::size_t begin = 0; begin < num_terms; begin += kChunk) {
    const std::span<DoubleDouble> some =
        std::span(normals).first(std::min(kChunk, num_terms - begin));
    fill_normals_rows(options.key, Stream::noise,
                      static_cast<std::uint64_t>(options.first_measurement) + begin,
                      static_cast<std::uint64_t>(options.first_coordinate), some);
    for (std::size_t k = 0; k < some.size(); ++k) {
      const double c = decoder.coefficients[last - begin - k];
      sum = add(sum, multiply(some[k], c));
      coefficients += std::abs(c);
    }
  }
  const double rounding = (static_cast<double>(num_terms) + 1) * 0x1p-101 * kNormalMax;
  return {sum.high, coefficients * (kExtendedNormalErrorBound + rounding)};
}

}  // namespace dpftrl::noise
