// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/noise_stream.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>
#include <string>
#include <vector>

#include "double_double.hpp"
#include "dpftrl/error.hpp"
#include "dpftrl/gaussian.hpp"
#include "exact_entry.hpp"
#include "fft.hpp"

namespace dpftrl {

/// Makes the rows of one DecoderForm in order. docs/math/grid.md derives every bound below.
class NoiseStream::Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void write_row(std::int64_t step, std::span<double> row) = 0;
  virtual RowErrorBound error_bound() const = 0;
};

namespace {

constexpr double kUnitRoundoff = 0x1p-53;
/// Magnitudes are tracked in floating point themselves; this covers their own rounding.
constexpr double kSlack = 1 + 0x1p-24;
constexpr double kMaxPregeneratedBytes = 0x1p30;
/// Coefficients of a decoder; keeps rows within the range of exact_entry.
constexpr double kMaxCoefficient = 0x1p20;

void fill_measurement(const NoiseStreamOptions& options, std::int64_t measurement,
                      std::span<double> out) {
  fill_normals(options.key, Stream::noise, static_cast<std::uint64_t>(measurement),
               static_cast<std::uint64_t>(options.first_coordinate), out);
}

class IdentityKernel final : public NoiseStream::Kernel {
 public:
  explicit IdentityKernel(const NoiseStreamOptions& options) : options_(options) {}

  void write_row(std::int64_t step, std::span<double> row) override {
    fill_measurement(options_, step, row);
  }
  RowErrorBound error_bound() const override { return {kNormalErrorBound, 0}; }

 private:
  NoiseStreamOptions options_;
};

/// Sums in double-double, so that the error of a million additions stays that of the normals.
class RunningSumKernel final : public NoiseStream::Kernel {
 public:
  explicit RunningSumKernel(const NoiseStreamOptions& options)
      : options_(options), sums_(static_cast<std::size_t>(options.dimension)) {}

  void write_row(std::int64_t step, std::span<double> row) override {
    fill_measurement(options_, step, row);
    for (std::size_t i = 0; i < row.size(); ++i) {
      sums_[i] = add(sums_[i], row[i]);
      row[i] = sums_[i].high;
    }
    num_terms_ = static_cast<double>(step + 1);
  }

  RowErrorBound error_bound() const override {
    const double accumulation =
        4 * kUnitRoundoff * kUnitRoundoff * num_terms_ * num_terms_ * kNormalMax;
    return {(num_terms_ * kNormalErrorBound + accumulation) * kSlack, kUnitRoundoff};
  }

 private:
  NoiseStreamOptions options_;
  std::vector<DoubleDouble> sums_;
  double num_terms_ = 0;
};

/// Keeps, for each level, the estimate of the last completed node and the sum of the estimates of
/// that node and of those to its left that row t uses together with it: O(log n) vectors, O(1)
/// additions a step on average.
class DyadicKernel final : public NoiseStream::Kernel {
 public:
  DyadicKernel(const NoiseStreamOptions& options, const DyadicDecoder& decoder)
      : options_(options),
        weights_(decoder.node_weights),
        estimates_(weights_.size(), std::vector<double>(dimension())),
        partial_sums_(weights_.size(), std::vector<double>(dimension())),
        fresh_(dimension()),
        estimate_bounds_(weights_.size()),
        partial_bounds_(weights_.size()) {
    estimate_bounds_[0] = {kNormalErrorBound, kNormalMax};
    for (std::size_t l = 1; l < weights_.size(); ++l) {
      const double weight = weights_[l];
      const Bound below = estimate_bounds_[l - 1];
      const double children = 2 * (1 - weight) * below.magnitude;
      const double magnitude = weight * kNormalMax + children;
      const double rounding = kUnitRoundoff * (2 * children + weight * kNormalMax + magnitude);
      const double inherited = weight * kNormalErrorBound + 2 * (1 - weight) * below.error;
      estimate_bounds_[l] = {(inherited + rounding) * kSlack, magnitude * kSlack};
    }
  }

  void write_row(std::int64_t step, std::span<double> row) override {
    const std::uint64_t count = static_cast<std::uint64_t>(step) + 1;
    const std::size_t level = static_cast<std::size_t>(std::countr_zero(count));
    estimate_node(step, level);
    const std::uint64_t higher = count & (count - 1);
    std::vector<double>& partial = partial_sums_[level];
    if (higher == 0) {
      partial = estimates_[level];
      partial_bounds_[level] = estimate_bounds_[level];
    } else {
      const std::size_t left = static_cast<std::size_t>(std::countr_zero(higher));
      for (std::size_t i = 0; i < row.size(); ++i)
        partial[i] = partial_sums_[left][i] + estimates_[level][i];
      partial_bounds_[level] = sum_bound(partial_bounds_[left], estimate_bounds_[level]);
    }
    std::copy(partial.begin(), partial.end(), row.begin());
    row_bound_ = partial_bounds_[level].error;
  }

  RowErrorBound error_bound() const override { return {row_bound_, 0}; }

 private:
  struct Bound {
    double error;
    double magnitude;
  };

  static Bound sum_bound(const Bound& a, const Bound& b) {
    const double magnitude = (a.magnitude + b.magnitude) * kSlack;
    return {(a.error + b.error + kUnitRoundoff * magnitude) * kSlack, magnitude};
  }

  std::size_t dimension() const { return static_cast<std::size_t>(options_.dimension); }

  /// Estimates the nodes of levels 0 .. level that end at this step; those below a node of weight 1
  /// are not needed and not drawn.
  void estimate_node(std::int64_t step, std::size_t level) {
    const std::int64_t completed_before =
        2 * step - std::popcount(static_cast<std::uint64_t>(step));
    std::size_t start = level;
    while (weights_[start] != 1) --start;
    std::vector<double>& estimate = estimates_[level];
    fill_measurement(options_, completed_before + static_cast<std::int64_t>(start), estimate);
    for (std::size_t l = start + 1; l <= level; ++l) {
      fill_measurement(options_, completed_before + static_cast<std::int64_t>(l), fresh_);
      const double own = weights_[l];
      const double children = 1 - own;
      const std::vector<double>& left = estimates_[l - 1];
      for (std::size_t i = 0; i < fresh_.size(); ++i)
        estimate[i] = own * fresh_[i] + children * (left[i] + estimate[i]);
    }
  }

  NoiseStreamOptions options_;
  std::vector<double> weights_;
  std::vector<std::vector<double>> estimates_;
  std::vector<std::vector<double>> partial_sums_;
  std::vector<double> fresh_;
  std::vector<Bound> estimate_bounds_;
  std::vector<Bound> partial_bounds_;
  double row_bound_ = 0;
};

/// All rows at once by fast convolution, coordinates 2 j and 2 j + 1 in one complex transform. The
/// partner of a coordinate takes part even if it is not asked for, so that shards have the same
/// bits as the whole.
class ToeplitzKernel final : public NoiseStream::Kernel {
 public:
  ToeplitzKernel(const NoiseStreamOptions& options, const ToeplitzDecoder& decoder)
      : options_(options),
        dimension_(static_cast<std::size_t>(options.dimension)),
        num_steps_(decoder.coefficients.size()) {
    const int log2_size = static_cast<int>(std::bit_width(2 * num_steps_ - 2));
    // The rows, the coefficients, the transform's tables and four work arrays.
    const double num_steps = static_cast<double>(num_steps_);
    const double bytes = 8 * (num_steps * static_cast<double>(options.dimension) + num_steps +
                              6 * std::ldexp(1.0, log2_size));
    if (bytes > kMaxPregeneratedBytes) refuse();
    try {
      rows_.resize(num_steps_ * dimension_);
      if (is_wide())
        for (std::size_t t = 0; t < num_steps_; ++t)
          fill_measurement(options_, static_cast<std::int64_t>(t),
                           std::span(rows_).subspan(t * dimension_, dimension_));
      convolve(decoder.coefficients, Fft(log2_size));
    } catch (const std::bad_alloc&) {
      refuse();
    }
  }

  void write_row(std::int64_t step, std::span<double> row) override {
    const std::size_t begin = static_cast<std::size_t>(step) * dimension_;
    std::copy_n(rows_.data() + begin, dimension_, row.begin());
  }
  RowErrorBound error_bound() const override { return {error_bound_, 0}; }

 private:
  [[noreturn]] void refuse() const {
    fail(ErrorCode::resource_exhausted,
         "noise_stream: num_steps * dimension must be small enough for 1 GiB of noise and scratch "
         "space, as this strategy's noise is generated in advance, got " +
             std::to_string(num_steps_) + " * " + to_text(options_.dimension) +
             " (tree and honaker stream in O(log num_steps) memory)");
  }

  void convolve(const std::vector<double>& coefficients, const Fft& fft) {
    std::vector<double> kernel_real(fft.size()), kernel_imaginary(fft.size());
    std::copy(coefficients.begin(), coefficients.end(), kernel_real.begin());
    const double kernel_norm = norm(kernel_real, kernel_imaginary);
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
          input_norm * kernel_norm * (2 * epsilon + epsilon * epsilon + 4 * kUnitRoundoff);
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
      for (std::size_t t = 0; t < num_steps_; ++t) column[t] = rows_[position(t, coordinate)];
    } else {
      fill_normals_rows(options_.key, Stream::noise, 0, static_cast<std::uint64_t>(coordinate),
                        std::span(column).first(num_steps_));
    }
    std::fill(column.begin() + static_cast<std::ptrdiff_t>(num_steps_), column.end(), 0.0);
  }
  void keep(const std::vector<double>& column, std::int64_t coordinate) {
    if (!is_asked_for(coordinate)) return;
    for (std::size_t t = 0; t < num_steps_; ++t) rows_[position(t, coordinate)] = column[t];
  }
  static double norm(const std::vector<double>& real, const std::vector<double>& imaginary) {
    double sum = 0;
    for (std::size_t k = 0; k < real.size(); ++k)
      sum += real[k] * real[k] + imaginary[k] * imaginary[k];
    return std::sqrt(sum);
  }

  NoiseStreamOptions options_;
  std::size_t dimension_;
  std::size_t num_steps_;
  std::vector<double> rows_;  ///< num_steps x dimension
  double error_bound_ = 0;
};

void require_form(const DecoderForm& form) {
  if (const auto* dyadic = std::get_if<DyadicDecoder>(&form)) {
    for (std::size_t l = 0; l < dyadic->node_weights.size(); ++l) {
      const double weight = dyadic->node_weights[l];
      if (!(weight >= 0.5 && weight <= 1) || (l == 0 && weight != 1))
        fail_argument("noise_stream", "node_weights[" + std::to_string(l) + "]",
                      l == 0 ? "1" : "between 1/2 and 1", to_text(weight));
    }
  } else if (const auto* toeplitz = std::get_if<ToeplitzDecoder>(&form)) {
    for (const double c : toeplitz->coefficients)
      if (!(std::abs(c) <= kMaxCoefficient))
        fail_argument("noise_stream", "coefficients", "at most 2^20 in magnitude", to_text(c));
  }
}

std::unique_ptr<NoiseStream::Kernel> make_kernel(const NoiseStreamOptions& options,
                                                 const DecoderForm& form) {
  struct Visitor {
    const NoiseStreamOptions& options;
    std::unique_ptr<NoiseStream::Kernel> operator()(const IdentityDecoder&) const {
      return std::make_unique<IdentityKernel>(options);
    }
    std::unique_ptr<NoiseStream::Kernel> operator()(const RunningSumDecoder&) const {
      return std::make_unique<RunningSumKernel>(options);
    }
    std::unique_ptr<NoiseStream::Kernel> operator()(const DyadicDecoder& decoder) const {
      return std::make_unique<DyadicKernel>(options, decoder);
    }
    std::unique_ptr<NoiseStream::Kernel> operator()(const ToeplitzDecoder& decoder) const {
      return std::make_unique<ToeplitzKernel>(options, decoder);
    }
  };
  return std::visit(Visitor{options}, form);
}

void require_options(const NoiseStreamOptions& options) {
  require_between("noise_stream", "dimension", options.dimension, 1, kMaxDimension);
  require_between("noise_stream", "first_coordinate", options.first_coordinate, 0,
                  kMaxDimension - options.dimension);
}

}  // namespace

NoiseStream::NoiseStream(const Strategy& strategy, const NoiseStreamOptions& options)
    : num_steps_(strategy.num_steps()), options_(options) {
  require_options(options);
  form_ = strategy.decoder_form();
  require_form(form_);
  kernel_ = make_kernel(options, form_);
}

NoiseStream::~NoiseStream() = default;
NoiseStream::NoiseStream(NoiseStream&&) noexcept = default;
NoiseStream& NoiseStream::operator=(NoiseStream&&) noexcept = default;

void NoiseStream::next(std::span<double> row) {
  require_length("noise_stream", "row", static_cast<std::int64_t>(row.size()), dimension());
  if (step_ >= num_steps_)
    fail(ErrorCode::past_horizon, "noise_stream: step must be below the horizon " +
                                      to_text(num_steps_) + ", got " + to_text(step_));
  kernel_->write_row(step_, row);
  ++step_;
}

RowErrorBound NoiseStream::row_error_bound() const {
  return kernel_->error_bound();
}

std::int64_t NoiseStream::rounded(std::int64_t coordinate, double scale) const {
  return exact_rounded_entry(form_, options_, step_ - 1, coordinate, scale);
}

Matrix noise_matrix(const NoiseStreamOptions& options, std::int64_t num_rows) {
  require_options(options);
  require_between("noise_matrix", "num_rows", num_rows, 1, 2 * kMaxDenseSteps);
  const Eigen::Index width = static_cast<Eigen::Index>(options.dimension);
  Matrix matrix(static_cast<Eigen::Index>(num_rows), width);
  for (Eigen::Index row = 0; row < matrix.rows(); ++row)
    fill_measurement(options, row, {matrix.row(row).data(), static_cast<std::size_t>(width)});
  return matrix;
}

}  // namespace dpftrl
