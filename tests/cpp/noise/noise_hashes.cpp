// SPDX-License-Identifier: Apache-2.0
// Hashes of noise rows that must be the same from every compiler, instruction set and platform.
//
//     noise_hashes            compares with the recorded hashes; exit code 1 if one differs
//     noise_hashes --print    prints them, for recording after an intended change

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dpftrl/noise/noise_stream.hpp"
#include "dpftrl/strategy/catalogue.hpp"
#include "form_strategy.hpp"

namespace {

struct Recorded {
  const char* strategy;
  std::int64_t steps;
  std::int64_t dimension;
  std::uint64_t hash;
};

constexpr std::array kRecorded = {
    Recorded{"independent", 1000, 70, 0xfba8147c97cf4039},
    Recorded{"output", 1000, 70, 0x60ae35c2004b0f9b},
    Recorded{"tree", 1000, 70, 0xdebefbaaac9be44f},
    Recorded{"honaker", 1000, 70, 0xf4867de7538c9acb},
    Recorded{"square-root", 1000, 70, 0x8ef25b322575eb8a},
    Recorded{"square-root", 4097, 3, 0x5b5bfdc24c550980},
    Recorded{"offset-ar", 1000, 70, 0x73e6f7ee92bf027f},
    Recorded{"form:kary", 1000, 70, 0x79d1c83754026f6e},
    Recorded{"form:kary-subtractive", 1000, 70, 0xf0cd5ff7df864c69},
    Recorded{"form:haar", 1000, 70, 0xb02ba186e8a5cc65},
    Recorded{"form:banded", 1000, 70, 0xa85c2a40fccedd85},
    Recorded{"form:banded-inverse", 1000, 70, 0xc4491969c5177067},
    Recorded{"form:buffered", 1000, 70, 0xe739472ed99f88d3},
    Recorded{"form:block", 1000, 70, 0x06fb7d0e73e62c9d},
    Recorded{"form:momentum", 1000, 70, 0x8143bb44b43c8c07},
    Recorded{"form:window", 1000, 70, 0xfd43480316e72977},
    Recorded{"form:rates", 1000, 70, 0xf2c72374e0f05f1b},
    Recorded{"plan:optimal", 1000, 70, 0x7bcc5d5654b95c0a},
    Recorded{"plan:blt", 1000, 70, 0xbb245babfe4d91a0},
    Recorded{"plan:blt-normalized", 1000, 70, 0xb5bf97e5016dc618},
    Recorded{"plan:blt-scaled", 1000, 70, 0x0d3bf0a679646373},
    Recorded{"plan:banded-toeplitz", 1000, 70, 0x2d8785f9d60ba721},
};

using dpftrl::DecoderForm;

std::vector<double> falling(std::int64_t size) {
  std::vector<double> values;
  for (std::int64_t i = 1; i <= size; ++i) values.push_back(1 / static_cast<double>(i));
  return values;
}

std::shared_ptr<const DecoderForm> share(DecoderForm form) {
  return std::make_shared<const DecoderForm>(std::move(form));
}

/// Forms of 1000 steps that none of the strategies above use.
DecoderForm form_named(const std::string& name) {
  const dpftrl::BandedDecoder banded{{1, 0.5, 0.375, 0.3125}};
  if (name == "kary") return dpftrl::KaryDecoder{3, false, 7};
  if (name == "kary-subtractive") return dpftrl::KaryDecoder{5, true, 5};
  if (name == "haar") return dpftrl::HaarDecoder{0.1, falling(10)};
  if (name == "banded") return banded;
  if (name == "banded-inverse") return dpftrl::BandedInverseDecoder{{1, -0.5, -0.125, -0.0625}};
  if (name == "buffered") return dpftrl::BufferedDecoder{{0.99, 0.7}, {0.1, 0.3}};
  if (name == "block")
    return dpftrl::BlockDecoder{
        {{.steps = 500, .form = share(banded), .num_measurements = 500, .closing_row = 499},
         {.steps = 400,
          .form = share(dpftrl::ToeplitzDecoder{falling(400)}),
          .num_measurements = 400,
          .closing_row = 399},
         {.steps = 100, .form = share(banded), .num_measurements = 100, .closing_row = 99}}};
  if (name == "momentum")
    return dpftrl::FilteredDecoder{share(banded), falling(1000),
                                   dpftrl::Workload::momentum({1000, 0.9, 0.99})};
  if (name == "window")
    return dpftrl::FilteredDecoder{
        share(dpftrl::KaryDecoder{3, false, 7}), {}, dpftrl::Workload::sliding_window({1000, 30})};
  return dpftrl::FilteredDecoder{
      share(banded), {}, dpftrl::Workload::learning_rates({falling(1000), 0.5})};
}

/// Plans of 1000 steps with numbers as a search might find them.
dpftrl::StrategyPlan plan_named(const std::string& mechanism) {
  if (mechanism == "optimal") {
    std::vector<double> weights = falling(1000);
    for (double& weight : weights) weight = 1 + std::sqrt(weight);
    return {.numbers = {{"column_weights", weights},
                        {"row_weights", {weights.rbegin(), weights.rend()}},
                        {"shifts", {1e-5, 1e-3, 0.05, 1.7}},
                        {"weights", {0.003, 0.02, 0.2, 1.3}},
                        {"direct", {0.4}},
                        {"decay", {1}}}};
  }
  if (mechanism == "blt-scaled") {
    std::vector<double> scales = falling(1000);
    for (double& scale : scales) scale = 2 - scale;
    return {.numbers = {{"decays", {0.998, 0.8, 0.1}},
                        {"weights", {0.03, 0.1, 0.3}},
                        {"row_scales", scales}}};
  }
  if (mechanism == "banded-toeplitz") return {.numbers = {{"coefficients", falling(7)}}};
  return {.numbers = {{"decays", {0.998, 0.8, 0.1}}, {"weights", {0.03, 0.1, 0.3}}}};
}

std::shared_ptr<const dpftrl::Strategy> strategy_of(const Recorded& run) {
  const std::string name = run.strategy;
  if (name.starts_with("form:"))
    return std::make_shared<dpftrl::testing::FormStrategy>(form_named(name.substr(5)), run.steps);
  if (name.starts_with("plan:"))
    return dpftrl::planned_strategy(name.substr(5), plan_named(name.substr(5)),
                                    dpftrl::Workload::prefix_sums(run.steps));
  return dpftrl::make_strategy({.name = name, .steps = run.steps});
}

/// FNV-1a over the bytes of every row.
std::uint64_t noise_hash(const Recorded& run) {
  const auto strategy = strategy_of(run);
  dpftrl::NoiseStream stream(
      *strategy, {.key = dpftrl::Key::insecure_from_seed(2026), .dimension = run.dimension});
  std::vector<double> row(static_cast<std::size_t>(run.dimension));
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::int64_t t = 0; t < run.steps; ++t) {
    stream.next(row);
    for (const double x : row)
      for (std::uint64_t bits = std::bit_cast<std::uint64_t>(x), byte = 0; byte < 8; ++byte)
        hash = (hash ^ (bits >> (8 * byte) & 0xff)) * 0x100000001b3;
  }
  return hash;
}

}  // namespace

int main(int argc, char** argv) {
  const bool print = argc > 1 && std::strcmp(argv[1], "--print") == 0;
  bool same = true;
  for (const Recorded& run : kRecorded) {
    const std::uint64_t hash = noise_hash(run);
    same = same && hash == run.hash;
    if (print || hash != run.hash)
      std::printf("%s n=%lld d=%lld 0x%016llx%s\n", run.strategy, static_cast<long long>(run.steps),
                  static_cast<long long>(run.dimension), static_cast<unsigned long long>(hash),
                  hash == run.hash ? "" : " DIFFERS");
  }
  if (same) std::puts("all hashes as recorded");
  return same || print ? 0 : 1;
}
