// SPDX-License-Identifier: Apache-2.0
#include "optimal/varying_numbers.hpp"

#include <algorithm>

namespace dpftrl::detail {

PackedNumbers::PackedNumbers(std::size_t steps, std::size_t buffers)
    : steps_(steps),
      buffers_(buffers),
      gains_((steps + kBlock - 1) / kBlock * buffers),
      factors_((steps + kBlock - 1) / kBlock * buffers) {}

void PackedNumbers::set_gains(std::size_t b, const std::vector<double>& numbers) {
  set(gains_, b, numbers);
}
void PackedNumbers::set_factors(std::size_t b, const std::vector<double>& numbers) {
  set(factors_, b, numbers);
}
void PackedNumbers::get_gains(std::size_t b, std::vector<double>& numbers) const {
  get(gains_, b, numbers);
}
void PackedNumbers::get_factors(std::size_t b, std::vector<double>& numbers) const {
  get(factors_, b, numbers);
}

void PackedNumbers::set(PackedSeries& series, std::size_t b,
                        const std::vector<double>& numbers) const {
  for (std::size_t k = 0; k < buffers_; ++k)
    series.pack(b * buffers_ + k, &numbers[k], numbers.size() / buffers_, buffers_);
}

void PackedNumbers::get(const PackedSeries& series, std::size_t b,
                        std::vector<double>& numbers) const {
  numbers.resize(std::min(kBlock, steps_ - b * kBlock) * buffers_);
  for (std::size_t k = 0; k < buffers_; ++k) series.unpack(b * buffers_ + k, &numbers[k], buffers_);
}

void VaryingReader::load_gains(std::size_t b) {
  recursion_.packed->get_gains(b, gains_);
  gains_block_ = b;
}

void VaryingReader::load_factors(std::size_t b) {
  recursion_.packed->get_factors(b, factors_);
  factors_block_ = b;
}

}  // namespace dpftrl::detail
