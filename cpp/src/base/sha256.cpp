// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.hpp"

#include <algorithm>

#include "base/erase.hpp"

namespace dpftrl::detail {
namespace {

constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr HashState kBegin = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constexpr std::size_t kBlock = 64, kLength = 8;

/// Adds a block to the state of a hash.
void add_block(std::span<const std::byte, kBlock> block, HashState& state) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t i = 0; i < 64; ++i) {
    if (i < 16) {
      w[i] = 0;
      for (std::size_t k = 0; k < 4; ++k)
        w[i] = w[i] << 8 | std::to_integer<std::uint32_t>(block[4 * i + k]);
      continue;
    }
    const std::uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  HashState s = state;  // a .. h of the standard
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    const std::uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    const std::uint32_t first = s[7] +
                                (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) +
                                choice + kRound[i] + w[i];
    const std::uint32_t second =
        (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) + majority;
    s = {first + second, s[0], s[1], s[2], s[3] + first, s[4], s[5], s[6]};
  }
  for (std::size_t i = 0; i < 8; ++i) state[i] += s[i];
}

/// State after one block: the secret, padded with zeros, with every byte xored with `pad`.
HashState state_after(std::span<const std::byte> secret, std::byte pad) {
  std::array<std::byte, kBlock> block{};
  std::ranges::copy(secret, block.begin());
  for (std::byte& byte : block) byte ^= pad;
  HashState state = kBegin;
  add_block(block, state);
  erase(block);
  return state;
}

}  // namespace

Sha256::Sha256() : state_(kBegin) {}

Sha256::Sha256(const HashState& after_block) : state_(after_block), num_bytes_(kBlock) {}

void Sha256::append(std::span<const std::byte> bytes) {
  num_bytes_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), block_.size() - num_pending_);
    std::copy_n(bytes.begin(), count, block_.begin() + static_cast<std::ptrdiff_t>(num_pending_));
    bytes = bytes.subspan(count);
    num_pending_ += count;
    if (num_pending_ == block_.size()) compress();
  }
}

void Sha256::append(std::uint64_t number) {
  std::array<std::byte, 8> bytes;
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(number >> (8 * i));
  append(std::span<const std::byte>(bytes));
}

void Sha256::append(std::span<const double> numbers) {
  append(static_cast<std::uint64_t>(numbers.size()));
  for (const double number : numbers) append(number);
}

void Sha256::compress() {
  add_block(block_, state_);
  num_pending_ = 0;
}

Digest Sha256::finish() {
  block_[num_pending_++] = std::byte{0x80};
  const auto fill = [&](std::size_t end) {
    std::fill(block_.begin() + static_cast<std::ptrdiff_t>(num_pending_),
              block_.begin() + static_cast<std::ptrdiff_t>(end), std::byte{0});
  };
  if (num_pending_ > kBlock - kLength) {
    fill(kBlock);
    compress();
  }
  fill(kBlock - kLength);
  for (std::size_t i = 0; i < kLength; ++i)
    block_[kBlock - 1 - i] = static_cast<std::byte>(8 * num_bytes_ >> (8 * i));
  compress();
  Digest digest;
  for (std::size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<std::byte>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

HmacSecret::HmacSecret(std::span<const std::byte> bytes)
    : inner_(state_after(bytes, std::byte{0x36})), outer_(state_after(bytes, std::byte{0x5c})) {}

HmacSecret::~HmacSecret() {
  erase(inner_);
  erase(outer_);
}

Digest HmacSha256::finish() {
  const Digest digest = inner_.finish();
  outer_.append(std::span<const std::byte>(digest));
  return outer_.finish();
}

}  // namespace dpftrl::detail
