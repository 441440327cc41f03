// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <new>
#include <string>
#include <vector>

#include "dpftrl/error.hpp"
#include "dpftrl/gaussian.hpp"
#include "fft.hpp"
#include "noise/program.hpp"

namespace dpftrl::noise {
namespace {

[[noreturn]] void refuse(const ProgramOptions& options) {
  fail(ErrorCode::resource_exhausted,
       "noise_stream: num_steps * dimension must be small enough for 1 GiB of noise and scratch "
       "space, as this strategy's noise is generated in advance, got " +
           to_text(options.num_rows) + " * " + to_text(options.dimension) +
           " (tree and honaker stream in O(log num_steps) memory)");
}

/// Also the number of coefficients that count.
std::size_t num_measurements(const ProgramOptions& options, const ToeplitzDecoder& decoder) {
  return static_cast<std::size_t>(options.num_rows + decoder.num_future);
}

/// Of those, the ones that there are: what comes after them is 0.
std::size_t num_normals(const ToeplitzDecoder& decoder, std::size_t num_measurements) {
  if (decoder.num_measurements == 0) return num_measurements;
  return std::min(num_measurements, static_cast<std::size_t>(decoder.num_measurements));
}

/// The product has entries up to 2 m - 2; those that wrap around end before entry num_future, the
/// first one that is kept.
int log2_transform_size(std::size_t num_measurements, std::size_t num_future) {
  return static_cast<int>(std::bit_width(2 * num_measurements - 2 - num_future));
}

/// All rows at once by fast convolution, coordinates 2 j and 2 j + 1 in one complex transform. The
/// partner of a coordinate takes part even if it is not asked for, so that shards have the same
/// bits as the whole.
class ToeplitzProgram final : public Program {
 public:
  ToeplitzProgram(const ProgramOptions& options, const ToeplitzDecoder& decoder,
                  SlotAllocator& slots)
      : options_(options),
        row_(slots.scratch()),
        dimension_(width_of(options)),
        num_measurements_(num_measurements(options, decoder)),
        num_normals_(num_normals(decoder, num_measurements_)),
        num_future_(static_cast<std::size_t>(decoder.num_future)) {
    try {
      rows_->resize(num_measurements_ * dimension_);
      if (is_wide())
        for (std::size_t t = 0; t < num_normals_; ++t)
          fill_measurement(options_, static_cast<std::int64_t>(t),
                           std::span(*rows_).subspan(t * dimension_, dimension_));
      convolve(std::span(decoder.coefficients).first(num_measurements_),
               Fft(log2_transform_size(num_measurements_, num_future_)));
    } catch (const std::bad_alloc&) {
      refuse(options);
    }
  }

  Slot emit(std::int64_t step, Plan& plan) override {
    plan.load(row_, rows_, static_cast<std::size_t>(step) * dimension_);
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
    const std::int64_t end = first + options_.dimension;
    std::vector<double> real(fft.size()), imaginary(fft.size());
    for (std::int64_t even = first - first % 2; even < end; even += 2) {
      generate(even, real);
      generate(even + 1, imaginary);
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
      keep(real, even);
      keep(imaginary, even + 1);
    }
  }

  /// Several coordinates are cheaper row by row, a few one at a time.
  bool is_wide() const { return dimension_ > 4; }

  bool is_asked_for(std::int64_t coordinate) const {
    return coordinate >= options_.first_coordinate &&
           coordinate - options_.first_coordinate < options_.dimension;
  }
  std::size_t position(std::size_t t, std::int64_t coordinate) const {
    return t * dimension_ + static_cast<std::size_t>(coordinate - options_.first_coordinate);
  }

  /// The normals of one coordinate, then zeros.
  void generate(std::int64_t coordinate, std::vector<double>& column) const {
    if (is_wide() && is_asked_for(coordinate)) {
      for (std::size_t t = 0; t < num_normals_; ++t) column[t] = (*rows_)[position(t, coordinate)];
    } else {
      fill_normals_rows(
          options_.key, Stream::noise, static_cast<std::uint64_t>(options_.first_measurement),
          static_cast<std::uint64_t>(coordinate), std::span(column).first(num_normals_));
    }
    std::fill(column.begin() + static_cast<std::ptrdiff_t>(num_normals_), column.end(), 0.0);
  }
  void keep(const std::vector<double>& column, std::int64_t coordinate) {
    if (!is_asked_for(coordinate)) return;
    for (std::size_t t = 0; t < num_measurements_ - num_future_; ++t)
      (*rows_)[position(t, coordinate)] = column[t + num_future_];
  }
  static double norm(const std::vector<double>& real, const std::vector<double>& imaginary) {
    double sum = 0;
    for (std::size_t k = 0; k < real.size(); ++k)
      sum += real[k] * real[k] + imaginary[k] * imaginary[k];
    return std::sqrt(sum);
  }

  ProgramOptions options_;
  Slot row_;
  std::size_t dimension_;
  std::size_t num_measurements_;  ///< that may enter the rows asked for
  std::size_t num_normals_;       ///< that there are of them
  std::size_t num_future_;
  /// Normals, num_measurements x dimension; in the end the rows.
  std::shared_ptr<std::vector<double>> rows_ = std::make_shared<std::vector<double>>();
  double error_bound_ = 0;
  double kernel_norm_ = 0;
};

}  // namespace

void require_memory(const ProgramOptions& options, const ToeplitzDecoder& decoder) {
  const std::size_t size = num_measurements(options, decoder);
  const int log2_size = log2_transform_size(size, static_cast<std::size_t>(decoder.num_future));
  // The rows, the coefficients, the transform's tables and four work arrays.
  const double entries = static_cast<double>(size);
  const double bytes = 8 * (entries * static_cast<double>(options.dimension) + entries +
                            6 * std::ldexp(1.0, log2_size));
  if (bytes > kMaxPregeneratedBytes) refuse(options);
}

ProgramPointer make(const ProgramOptions& options, const ToeplitzDecoder& decoder,
                    SlotAllocator& slots) {
  return std::make_unique<ToeplitzProgram>(options, decoder, slots);
}

}  // namespace dpftrl::noise
