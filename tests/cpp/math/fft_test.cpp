// SPDX-License-Identifier: Apache-2.0
#include "math/fft.hpp"

#include "random/gaussian.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

struct Signal {
  std::vector<double> real;
  std::vector<double> imaginary;
};

Signal random_signal(std::size_t size) {
  Signal signal{std::vector<double>(size), std::vector<double>(size)};
  const Key key = Key::insecure_from_seed(7);
  fill_normals(key, Stream::test, 0, 0, signal.real);
  fill_normals(key, Stream::test, 1, 0, signal.imaginary);
  return signal;
}

/// Direct sum in long double, in the bit-reversed order that `forward` produces.
Signal slow_transform(const Signal& in) {
  const std::size_t size = in.real.size();
  Signal out{std::vector<double>(size), std::vector<double>(size)};
  std::size_t bits = 0;
  while ((std::size_t{1} << bits) < size) ++bits;
  const long double turn = -2 * 3.141592653589793238462643383279502884L;
  for (std::size_t k = 0; k < size; ++k) {
    long double re = 0, im = 0;
    for (std::size_t t = 0; t < size; ++t) {
      const long double angle =
          turn * static_cast<long double>(k * t % size) / static_cast<long double>(size);
      const long double c = std::cos(angle), s = std::sin(angle);
      re += c * in.real[t] - s * in.imaginary[t];
      im += s * in.real[t] + c * in.imaginary[t];
    }
    std::size_t reversed = 0;
    for (std::size_t b = 0; b < bits; ++b) reversed |= (k >> b & 1) << (bits - 1 - b);
    out.real[reversed] = static_cast<double>(re);
    out.imaginary[reversed] = static_cast<double>(im);
  }
  return out;
}

double signal_error(const Signal& actual, const Signal& expected) {
  double error = 0, norm = 0;
  for (std::size_t k = 0; k < actual.real.size(); ++k) {
    error += std::pow(actual.real[k] - expected.real[k], 2) +
             std::pow(actual.imaginary[k] - expected.imaginary[k], 2);
    norm += std::pow(expected.real[k], 2) + std::pow(expected.imaginary[k], 2);
  }
  return std::sqrt(error / norm);
}

TEST(Fft, forward_is_the_definition_and_stays_within_its_error_bound) {
  for (int log2_size : {0, 1, 2, 3, 6, 9}) {
    const Fft fft(log2_size);
    const Signal input = random_signal(fft.size());
    Signal output = input;
    fft.forward(output.real, output.imaginary);
    const double error = signal_error(output, slow_transform(input));
    EXPECT_LE(error, fft.relative_error_bound() + 0x1p-53) << "2^" << log2_size;
  }
}

TEST(Fft, inverse_undoes_forward_within_both_error_bounds) {
  for (int log2_size : {0, 1, 5, 12, 16}) {
    const Fft fft(log2_size);
    const Signal input = random_signal(fft.size());
    Signal output = input;
    fft.forward(output.real, output.imaginary);
    fft.inverse(output.real, output.imaginary);
    const double error = signal_error(output, input);
    EXPECT_LE(error, 2.01 * fft.relative_error_bound() + 0x1p-60);
    if (log2_size >= 5) {
      EXPECT_GE(error, fft.relative_error_bound() / 100) << "bound too loose";
    }
  }
}

TEST(Fft, a_wrong_twiddle_would_break_the_bound) {
  const Fft fft(6);
  const Signal input = random_signal(fft.size());
  Signal output = input;
  fft.forward(output.real, output.imaginary);
  output.real[5] *= 1 + 1e-12;
  EXPECT_GT(signal_error(output, slow_transform(input)), fft.relative_error_bound());
}

}  // namespace
}  // namespace dpftrl
