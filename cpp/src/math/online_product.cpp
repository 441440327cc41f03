// SPDX-License-Identifier: Apache-2.0
#include "math/online_product.hpp"

#include <cstdint>

#include "math/sincos.hpp"

namespace dpftrl {
namespace {

/// Up to `size` entries from `first` on.
std::span<const double> part(std::span<const double> values, std::size_t first, std::size_t size) {
  first = std::min(first, values.size());
  return values.subspan(first, std::min(size, values.size() - first));
}

}  // namespace

BlockProducts::BlockProducts(int log2_length, std::size_t num_pieces,
                             std::span<const double> kernel)
    : fft_(log2_length), cosines_(fft_.size()), sines_(fft_.size()) {
  for (std::size_t m = 0; m < length(); ++m) {
    const detail::SinCos turn =
        detail::sincos_2pi(static_cast<std::uint64_t>(m) << (64 - log2_length - 2));
    cosines_[m] = turn.cos;
    sines_[m] = turn.sin;
  }
  for (std::size_t piece = 0; piece < num_pieces && piece * length() < kernel.size(); ++piece)
    pieces_.push_back(transformed(part(kernel, piece * length(), length()),
                                  part(kernel, (piece + 1) * length(), length())));
}

BlockProducts::Spectrum BlockProducts::zero() const {
  return {std::vector<double>(length()), std::vector<double>(length())};
}

BlockProducts::Spectrum BlockProducts::transformed(std::span<const double> x) const {
  return transformed(x, {});
}

BlockProducts::Spectrum BlockProducts::transformed(std::span<const double> low,
                                                   std::span<const double> high) const {
  Spectrum spectrum = zero();
  for (std::size_t m = 0; m < low.size(); ++m) {
    spectrum.real[m] = low[m] * cosines_[m];
    spectrum.imaginary[m] = low[m] * sines_[m];
  }
  for (std::size_t m = 0; m < high.size(); ++m) {
    spectrum.real[m] -= high[m] * sines_[m];
    spectrum.imaginary[m] += high[m] * cosines_[m];
  }
  fft_.forward(spectrum.real, spectrum.imaginary);
  return spectrum;
}

void BlockProducts::add_product(const Spectrum& x, std::size_t piece, Spectrum& sum) const {
  add_product(x, pieces_[piece], sum);
}

void BlockProducts::add_product(const Spectrum& x, const Spectrum& y, Spectrum& sum) {
  for (std::size_t k = 0; k < sum.real.size(); ++k) {
    sum.real[k] += x.real[k] * y.real[k] - x.imaginary[k] * y.imaginary[k];
    sum.imaginary[k] += x.real[k] * y.imaginary[k] + x.imaginary[k] * y.real[k];
  }
}

void BlockProducts::add_second_half(Spectrum spectrum, std::span<double> sums) const {
  fft_.inverse(spectrum.real, spectrum.imaginary);
  for (std::size_t m = 0; m < sums.size(); ++m)
    sums[m] += spectrum.imaginary[m] * cosines_[m] - spectrum.real[m] * sines_[m];
}

void BlockProducts::write_first_half(Spectrum spectrum, std::span<double> terms) const {
  fft_.inverse(spectrum.real, spectrum.imaginary);
  for (std::size_t m = 0; m < terms.size(); ++m)
    terms[m] = spectrum.real[m] * cosines_[m] + spectrum.imaginary[m] * sines_[m];
}

}  // namespace dpftrl
