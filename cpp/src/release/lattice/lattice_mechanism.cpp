// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "dpftrl/release/lattice/lattice.hpp"
#include "dpftrl/release/record.hpp"
#include "random/discrete_gaussian.hpp"
#include "random/integer_variance.hpp"
#include "random/normal_tail.hpp"
#include "release/grid/quantiser.hpp"
#include "release/lattice/coder.hpp"

namespace dpftrl {
namespace {

/// Without noise, measurements and buffers stay below this; noise stays below 2^60.
constexpr double kMaxInteger = 0x1p61;
/// Covers the rounding of the few doubles between the integers and the variance.
constexpr double kLatticeRoundUp = 1 + 0x1p-40;
/// Bits of the variance, few enough that platforms use the same noise even if they compute a rho
/// or mu that differs in the last bit.
constexpr int kVarianceBits = 32;
/// The default precision is reduced until a step has room for kComfortableRoom contributions, but
/// not below kComfortableBits bits for this reason.
constexpr std::int64_t kComfortableRoom = std::int64_t{1} << 20;
constexpr int kComfortableBits = 16;

struct Scaled {
  IntegerSensitivity sensitivity;
  double rounding_deviation;
  double distance;
  double noise_variance;
  std::int64_t max_contributions;
};

double rounded_up(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::ceil(std::ldexp(mantissa, kVarianceBits)), exponent - kVarianceBits);
}

double grid_of(const Mechanism& mechanism, const LatticeOptions& lattice) {
  if (mechanism.num_readers() > 1)
    fail(ErrorCode::unsupported, "lattice", "mode", "must be grid for several workloads",
         mechanism.certificate().workload);
  const double grid = lattice.grid ? *lattice.grid : default_grid(mechanism, lattice.dimension);
  if (!detail::is_power_of_two(grid))
    fail_argument("lattice", "grid", "a power of two", to_text(grid));
  const double clip_in_grids = mechanism.clip() / grid;
  if (!(clip_in_grids >= 1 && clip_in_grids <= detail::kMaxNormInGrids))
    fail_argument("lattice", "grid", "at most the clip norm and at least 2^-31 of it",
                  to_text(grid));
  return grid;
}

/// Computes the numbers that belong to an encoder; nullopt if some number does not fit.
std::optional<Scaled> scale(const IntegerEncoder& encoder, const Mechanism& mechanism,
                            const LatticeOptions& lattice, std::int64_t max_norm_squared) {
  const Certificate& claim = mechanism.certificate();
  const ApproximateDp target{.epsilon = claim.epsilon, .delta = claim.delta};
  const double norm = std::sqrt(static_cast<double>(max_norm_squared));
  const double largest = encoder.largest_number() * norm * kLatticeRoundUp;
  if (!(largest <= kMaxInteger)) return std::nullopt;
  const std::optional<IntegerSensitivity> sensitivity =
      encoder.sensitivity(mechanism.participation());
  if (!sensitivity) return std::nullopt;
  const double moved = std::ldexp(std::sqrt(static_cast<double>(sensitivity->squared)),
                                  encoder.precision_bits() - sensitivity->fraction_bits) *
                       norm * neighbour_distance(claim.neighbours);
  const double num_entries =
      static_cast<double>(encoder.num_measurements()) * static_cast<double>(lattice.dimension);
  const double deviation = encoder.rounding_deviation();
  const double distance = (moved + std::sqrt(num_entries) * deviation) * kLatticeRoundUp;
  const double mu = mu_from_approximate_dp(target);
  const double variance = lattice.noise == LatticeNoise::discrete_gaussian
                              ? distance * distance / (2 * rho_from_approximate_dp(target))
                              : distance * distance / (mu * mu);
  const double enough = rounded_up(variance * kLatticeRoundUp);
  if (!(enough <= kMaxDiscreteVariance)) return std::nullopt;
  return Scaled{.sensitivity = *sensitivity,
                .rounding_deviation = deviation,
                .distance = distance,
                .noise_variance = enough,
                .max_contributions = static_cast<std::int64_t>(kMaxInteger / largest)};
}

/// An encoder and the numbers that belong to it.
struct Choice {
  IntegerEncoder encoder;
  std::optional<Scaled> scaled;

  bool has_room() const { return scaled && scaled->max_contributions >= kComfortableRoom; }
};

/// Takes the requested precision, or the best precision that leaves room.
Choice choose(const Mechanism& mechanism, const LatticeOptions& lattice,
              std::int64_t max_norm_squared) {
  const auto make = [&](std::optional<int> bits) {
    IntegerEncoder encoder = IntegerEncoder::of(mechanism.strategy(), bits);
    std::optional<Scaled> scaled = scale(encoder, mechanism, lattice, max_norm_squared);
    return Choice{std::move(encoder), std::move(scaled)};
  };
  Choice choice = make(lattice.precision_bits);
  if (lattice.precision_bits) return choice;
  const auto bits = [&] { return choice.encoder.precision_bits(); };
  while (!choice.has_room() && bits() > kComfortableBits) choice = make(bits() - 1);
  while (!choice.scaled && bits() > 0) choice = make(bits() - 1);
  return choice;
}

}  // namespace

std::string_view to_string(LatticeNoise noise) {
  return noise == LatticeNoise::discrete_gaussian ? "discrete-gaussian" : "rounded-gaussian";
}

/// Sums over the first column of the decoder of a Toeplitz encoder, in the unit of the record
/// entries. Decodes the measurements 1, 0, 0, ... entry by entry and keeps only sums.
class LatticeMechanism::DecoderNorms {
 public:
  explicit DecoderNorms(const IntegerEncoder& encoder) : encoder_(encoder) {}

  struct Sums {
    double squares = 0;  ///< b_0^2 + ... + b_t^2
    double sizes = 0;    ///< |b_0| + ... + |b_t|
  };
  Sums up_to(std::int64_t step) {
    const std::scoped_lock lock(mutex_);
    if (!coder_) coder_ = lattice::make_coder(encoder_, 1);
    while (std::ssize(sums_) <= step) {
      const std::int64_t measured = sums_.empty() ? 1 : 0;
      double entry = 0;
      coder_->decode(std::ssize(sums_), {&measured, 1}, {&entry, 1});
      Sums sums = sums_.empty() ? Sums{} : sums_.back();
      sums.squares += entry * entry;
      sums.sizes += std::abs(entry);
      sums_.push_back(sums);
    }
    return sums_[static_cast<std::size_t>(step)];
  }

 private:
  const IntegerEncoder encoder_;
  std::mutex mutex_;
  std::unique_ptr<lattice::Coder> coder_;
  std::vector<Sums> sums_;
};

LatticeMechanism::LatticeMechanism(std::shared_ptr<const Mechanism> real, IntegerEncoder encoder,
                                   LatticeCertificate certificate)
    : real_(std::move(real)),
      encoder_(std::move(encoder)),
      certificate_(std::move(certificate)),
      norms_(std::make_shared<DecoderNorms>(encoder_)) {}

std::shared_ptr<const LatticeMechanism> LatticeMechanism::make(
    std::shared_ptr<const Mechanism> mechanism, const LatticeOptions& lattice) {
  if (!mechanism) fail(ErrorCode::invalid_argument, "lattice", "mechanism", "must be given");
  const std::shared_ptr<const Mechanism> real = std::move(mechanism);
  if (real->is_pure())
    fail_argument("lattice", "mode", "grid for a mechanism without a delta", "lattice");
  const Certificate& claim = real->certificate();
  require_between("lattice", "dimension", lattice.dimension, 1, kMaxDimension);
  const double grid = grid_of(*real, lattice);
  const std::int64_t max_norm_squared = detail::max_norm_squared(claim.clip, grid);

  const auto [encoder, scaled] = choose(*real, lattice, max_norm_squared);
  if (!scaled)
    fail(lattice.precision_bits ? ErrorCode::invalid_argument : ErrorCode::unsupported, "lattice",
         lattice.precision_bits ? "precision_bits" : "grid",
         "must be such that measurements fit 61 bits, their noise variance 2^92 and the squared "
         "sensitivity 2^62",
         to_text(grid) + " with " + std::to_string(encoder.precision_bits()) + " bits");
  if (!(scaled->noise_variance >= kMinDiscreteVariance))
    fail_argument("lattice", "epsilon", "so small that the noise variance reaches 2^-10 grids",
                  to_text(claim.epsilon));

  const bool is_discrete = lattice.noise == LatticeNoise::discrete_gaussian;
  return std::shared_ptr<const LatticeMechanism>(new LatticeMechanism(
      real, encoder,
      {.strategy = claim.strategy,
       .participation = claim.participation,
       .steps = claim.steps,
       .dimension = lattice.dimension,
       .neighbours = claim.neighbours,
       .noise = lattice.noise,
       .epsilon = claim.epsilon,
       .delta = claim.delta,
       .rho = is_discrete
                  ? rho_from_approximate_dp({.epsilon = claim.epsilon, .delta = claim.delta})
                  : claim.rho,
       .mu = is_discrete ? std::nullopt : std::optional<double>(claim.mu),
       .clip = claim.clip,
       .grid = grid,
       .max_norm_squared = max_norm_squared,
       .precision_bits = encoder.precision_bits(),
       .sensitivity = scaled->sensitivity,
       .rounding_deviation = scaled->rounding_deviation,
       .distance = scaled->distance,
       .noise_variance = scaled->noise_variance,
       .measurement_unit = std::ldexp(grid, -encoder.precision_bits()),
       .max_contributions = scaled->max_contributions}));
}

double LatticeMechanism::release_stddev(std::int64_t step) const {
  const double variance =
      certificate_.noise == LatticeNoise::discrete_gaussian
          ? detail::discrete_gaussian_variance(certificate_.noise_variance)
          : detail::rounded_gaussian_variance(std::sqrt(certificate_.noise_variance));
  return ideal_stddev(step) * std::sqrt(variance / certificate_.noise_variance);
}

double LatticeMechanism::ideal_stddev(std::int64_t step) const {
  require_between("lattice", "step", step, 0, steps() - 1);
  const double noise = std::sqrt(certificate_.noise_variance);
  if (std::holds_alternative<DyadicEncoder>(encoder_.form()))
    return certificate_.grid * noise * std::sqrt(real_->strategy().row_norm_squared(step));
  return certificate_.grid * noise * std::sqrt(norms_->up_to(step).squares);
}

double LatticeMechanism::half_width(double stddev, double probability) const {
  // Noise and its rounding depend on each other, so their sub-Gaussian parameters add up.
  const double rounding = certificate_.noise == LatticeNoise::discrete_gaussian
                              ? 0
                              : 0.5 / std::sqrt(certificate_.noise_variance);
  return stddev * (1 + rounding) * detail::sub_gaussian_half_width(probability) + decoding_bias();
}

double LatticeMechanism::release_half_width(std::int64_t step, double probability) const {
  return half_width(ideal_stddev(step), probability);
}

/// Largest of ideal_stddev over all steps.
double LatticeMechanism::largest_stddev() const {
  if (std::holds_alternative<DyadicEncoder>(encoder_.form()))
    return certificate_.grid * std::sqrt(certificate_.noise_variance) *
           std::sqrt(real_->strategy().row_norms().max_squared);
  double largest = 0;
  for (std::int64_t t = 0; t < steps(); ++t) largest = std::max(largest, ideal_stddev(t));
  return largest;
}

double LatticeMechanism::simultaneous_half_width(double probability) const {
  const double num_entries =
      static_cast<double>(steps()) * static_cast<double>(certificate_.dimension);
  return half_width(largest_stddev(), probability / num_entries);
}

double LatticeMechanism::decoding_bias() const {
  if (encoder_.rounding_deviation() == 0) return 0;
  // A rounding is off by up to 1/2; the deviation counts two streams.
  return certificate_.grid * norms_->up_to(steps() - 1).sizes * encoder_.rounding_deviation() / 2;
}

}  // namespace dpftrl
