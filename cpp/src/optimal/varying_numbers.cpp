// SPDX-License-Identifier: Apache-2.0
#include "optimal/varying_numbers.hpp"

#include <algorithm>

namespace dpftrl::detail {

PackedNumbers::PackedNumbers(std::size_t num_steps, std::size_t num_buffers)
    : num_steps_(num_steps),
      num_buffers_(num_buffers),
      gains_((num_steps + kBlock - 1) / kBlock * num_buffers),
      factors_((num_steps + kBlock - 1) / kBlock * num_buffers) {}

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
  for (std::size_t k = 0; k < num_buffers_; ++k)
    series.pack(b * num_buffers_ + k, &numbers[k], numbers.size() / num_buffers_, num_buffers_);
}

void PackedNumbers::get(const PackedSeries& series, std::size_t b,
                        std::vector<double>& numbers) const {
  numbers.resize(std::min(kBlock, num_steps_ - b * kBlock) * num_buffers_);
  for (std::size_t k = 0; k < num_buffers_; ++k)
    series.unpack(b * num_buffers_ + k, &numbers[k], num_buffers_);
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
