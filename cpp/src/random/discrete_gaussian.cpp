// SPDX-License-Identifier: Apache-2.0
#include "random/discrete_gaussian.hpp"

#include "dpftrl/base/error.hpp"
#include "random/discrete_coin.hpp"
#include "random/discrete_sampling.hpp"

namespace dpftrl {
namespace {

detail::AddressedWords words_at(const Key& key, const SampleAddress& address) {
  if (!(address.coordinate < kMaxBlocks))
    fail_argument("discrete_gaussian", "coordinate", "below 2^32",
                  std::to_string(address.coordinate));
  return {key,
          {.stream = Stream::discrete_noise,
           .row = address.row,
           .block = static_cast<std::uint32_t>(address.coordinate)}};
}

}  // namespace

DiscreteLaplace::DiscreteLaplace(std::int64_t scale)
    : scale_(static_cast<std::uint64_t>(
          require_between("discrete_laplace", "scale", scale, 1, kMaxLaplaceScale))) {}

std::int64_t DiscreteLaplace::sample(const Key& key, const SampleAddress& address) const {
  detail::AddressedWords words = words_at(key, address);
  detail::DigitCoin coin(words);
  return detail::discrete_laplace(coin, scale_);
}

DiscreteGaussian::DiscreteGaussian(double variance) {
  if (!(variance >= kMinDiscreteVariance && variance <= kMaxDiscreteVariance))
    fail_argument("discrete_gaussian", "variance", "between 2^-10 and 2^92", to_text(variance));
  parts_ = std::make_unique<const detail::GaussianParts>(variance);
}

DiscreteGaussian::~DiscreteGaussian() = default;
DiscreteGaussian::DiscreteGaussian(DiscreteGaussian&&) noexcept = default;
DiscreteGaussian& DiscreteGaussian::operator=(DiscreteGaussian&&) noexcept = default;

std::int64_t DiscreteGaussian::sample(const Key& key, const SampleAddress& address) const {
  detail::AddressedWords words = words_at(key, address);
  detail::DigitCoin coin(words);
  return detail::discrete_gaussian(coin, *parts_);
}

void DiscreteGaussian::fill(const Key& key, const SampleAddress& first,
                            std::span<std::int64_t> out) const {
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = sample(key, {.row = first.row, .coordinate = first.coordinate + i});
}

}  // namespace dpftrl
