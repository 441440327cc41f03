// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/release/lattice/lattice.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "analysis/sensitivity/tree_sensitivity.hpp"
#include "base/counting.hpp"
#include "dpftrl/base/error.hpp"
#include "math/toeplitz.hpp"

namespace dpftrl {
namespace {

constexpr std::int64_t kOne = std::int64_t{1} << kFactorBits;
constexpr int kMaxPrecisionBits = 30;
constexpr int kDefaultToeplitzBits = 16;
constexpr int kDefaultBufferedBits = 30;
/// Fractional bits of the coefficients of buffers, which are rounded up.
constexpr int kMajorantBits = 20;
/// Covers the rounding of a few dozen doubles.
constexpr double kEncoderRoundUp = 1 + 0x1p-45;
/// Largest number of steps for which all coefficients are computed.
constexpr std::int64_t kMaxToeplitzSteps = std::int64_t{1} << 24;

int require_bits(std::optional<int> bits, int fallback, int largest) {
  return static_cast<int>(
      require_between("lattice", "precision_bits", bits.value_or(fallback), 0, largest));
}

std::int64_t rounded(double value, int bits) {
  return static_cast<std::int64_t>(std::floor(std::ldexp(value, bits) + 0.5));
}

ToeplitzEncoder toeplitz_of(const Strategy& strategy, int bits) {
  const std::span<const double> c = strategy.toeplitz_encoder();
  double squares = 0;
  for (const double x : c) squares += x * x;
  // The integers of this horizon would not support a guarantee for a longer horizon.
  if (strategy.max_column_norm_squared() > squares * (1 + 1e-9))
    fail(ErrorCode::unsupported, "lattice", "horizon_cap",
         "must be at most {steps} = " + to_text(strategy.steps()) + " for an integer encoder",
         "a larger one");
  const std::int64_t length =
      strategy.bands() > 0 ? std::min(strategy.bands(), strategy.steps()) : strategy.steps();
  ToeplitzEncoder encoder;
  for (const double x : c.first(index_of(length))) {
    if (!(std::abs(x) <= 0x1p20))
      fail(ErrorCode::unsupported, "lattice", "coefficients", "must be at most 2^20", to_text(x));
    encoder.coefficients.push_back(rounded(x, bits));
  }
  if (encoder.coefficients.front() <= 0)
    fail_argument("lattice", "precision_bits",
                  "so many that the first coefficient " + to_text(c.front()) + " is not lost",
                  std::to_string(bits));
  return encoder;
}

BufferedEncoder buffered_of(const BufferedDecoder& decoder) {
  BufferedEncoder encoder;
  for (std::size_t i = 0; i < decoder.decays.size(); ++i) {
    const double weight = decoder.weights[i];
    if (!(weight >= 0 && weight <= 1))
      fail(ErrorCode::unsupported, "lattice", "weights",
           "must be between 0 and 1 for an integer encoder", to_text(weight));
    encoder.decays.push_back(std::min(rounded(decoder.decays[i], kFactorBits), kOne - 1));
    encoder.weights.push_back(rounded(weight, kFactorBits));
  }
  return encoder;
}

/// c_0, c_1, ... of the unrounded matrix, in units of 2^-kMajorantBits, rounded up.
std::vector<std::int64_t> majorant(const BufferedEncoder& encoder, std::int64_t steps) {
  constexpr int kGuardBits = 52 - kFactorBits;  // the powers are kept in units of 2^-52
  constexpr std::int64_t kUnit = std::int64_t{1} << (52 - kMajorantBits);
  std::vector<std::int64_t> powers;
  for (const std::int64_t weight : encoder.weights) powers.push_back(weight << kGuardBits);
  std::vector<std::int64_t> coefficients = {std::int64_t{1} << kMajorantBits};
  while (std::ssize(coefficients) < steps) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < powers.size(); ++i) {
      sum += powers[i];
      // ceil(power decay / 2^31), from two halves that fit.
      const std::int64_t low = (powers[i] & (kOne - 1)) * encoder.decays[i];
      powers[i] = (powers[i] >> kFactorBits) * encoder.decays[i] + (low + kOne - 1) / kOne;
    }
    coefficients.push_back((sum + kUnit - 1) / kUnit);
  }
  return coefficients;
}

bool is_non_increasing(const std::vector<std::int64_t>& values) {
  return std::is_sorted(values.rbegin(), values.rend());
}

/// ||C u||^2 for u = 1 at the k steps 0, b, 2b, ..., for coefficients that are not negative.
std::optional<std::int64_t> even_pattern_sum(const std::vector<std::int64_t>& c, std::int64_t n,
                                             std::int64_t k, std::int64_t b) {
  std::vector<std::int64_t> recent(index_of(std::min(b, n)), 0);  // y of the last b steps
  std::int64_t sum = 0;
  const auto at = [&](std::int64_t j) {
    return j >= 0 && j < std::ssize(c) ? c[index_of(j)] : std::int64_t{0};
  };
  for (std::int64_t t = 0; t < n; ++t) {
    std::int64_t& y = recent[index_of(t % b)];
    // k b may be beyond any horizon.
    y += at(t) - (k <= t / b ? at(t - k * b) : 0);
    if (y >= std::int64_t{1} << 31 || sum >= kMaxSquaredSensitivity - y * y) return std::nullopt;
    sum += y * y;
  }
  return sum;
}

/// Sum of |X_ij| over the columns 0, b, 2b, ... below n. Partial sums of products stay below the
/// sum of squares, which is checked.
std::optional<std::int64_t> absolute_product_sum(const std::vector<std::int64_t>& c, std::int64_t n,
                                                 std::int64_t b) {
  const std::int64_t bands = std::min<std::int64_t>(std::ssize(c), n);
  std::int64_t squares = 0;
  for (const std::int64_t x : c) {
    if (std::abs(x) >= std::int64_t{1} << 31 || squares >= kMaxSquaredSensitivity - x * x)
      return std::nullopt;
    squares += x * x;
  }
  std::int64_t sum = 0;
  for (std::int64_t lag = 0; lag < bands; lag += b) {
    std::int64_t product = 0, row = 0;
    for (std::int64_t column = (n - 1) / b * b; column >= lag; column -= b) {
      for (; row < std::min(n - column, bands - lag); ++row)
        product += c[index_of(row)] * c[index_of(row + lag)];
      for (int order = 0; order < (lag == 0 ? 1 : 2); ++order) {
        if (sum >= kMaxSquaredSensitivity - std::abs(product)) return std::nullopt;
        sum += std::abs(product);
      }
    }
  }
  return sum;
}

std::optional<IntegerSensitivity> toeplitz(std::vector<std::int64_t> c, std::int64_t steps,
                                           int bits, const Participation& participation) {
  participation.require_horizon(steps);
  const std::int64_t k = participation.times_within(steps);
  const std::int64_t b = k == 1 ? steps : participation.apart();
  const bool is_apart = b >= std::ssize(c);
  const bool is_fixed = participation.kind() == Participation::Kind::fixed_epoch;
  constexpr std::int64_t kMostProducts = std::int64_t{1} << 27;
  if (k > 1 && !is_apart && is_fixed && std::ranges::min(c) < 0 &&
      cost_of_absolute_products(std::ssize(c), steps, b) <= kMostProducts) {
    const std::optional<std::int64_t> squared = absolute_product_sum(c, steps, b);
    if (!squared) return std::nullopt;
    return IntegerSensitivity{*squared, bits, Exactness::upper_bound,
                              "integers: sum of |X_ij| over the first phase"};
  }
  bool is_exact = k == 1 || is_apart || std::ranges::min(c) >= 0;
  for (std::int64_t& x : c) x = std::abs(x);
  if (k > 1 && !is_apart && !is_fixed && !is_non_increasing(c)) {
    is_exact = false;
    for (std::size_t i = c.size() - 1; i-- > 0;) c[i] = std::max(c[i], c[i + 1]);
  }
  const std::optional<std::int64_t> squared = even_pattern_sum(c, steps, k, b);
  if (!squared) return std::nullopt;
  return IntegerSensitivity{*squared, bits, is_exact ? Exactness::exact : Exactness::upper_bound,
                            is_exact ? "integers: the first pattern is the worst"
                                     : "integers: a majorant of the absolute values"};
}

/// Recovers the squared sensitivity of a tree, an integer, from its rounded root.
std::optional<IntegerSensitivity> integer_of(const Sensitivity& tree) {
  constexpr double kRootsAreClear = 0x1p50;
  const double squared = tree.value * tree.value;
  if (!(squared < 0x1p61)) return std::nullopt;
  if (tree.exactness == Exactness::exact && squared < kRootsAreClear)
    return IntegerSensitivity{std::llround(squared), 0, Exactness::exact, tree.method};
  return IntegerSensitivity{static_cast<std::int64_t>(std::ceil(squared * kEncoderRoundUp)), 0,
                            Exactness::upper_bound, tree.method};
}

/// Reason why C has no integer encoder; empty if it has one.
std::string refusal(const Strategy& strategy, const DecoderForm& form) {
  if (std::holds_alternative<KaryDecoder>(form)) return "its nodes have no integer coder";
  if (std::holds_alternative<HaarDecoder>(form))
    return "some of its measurements read records of later steps";
  if (std::holds_alternative<BlockDecoder>(form))
    return "a restart has one encoder a block, and there is no integer one for several";
  if (std::holds_alternative<FilteredDecoder>(form) ||
      std::holds_alternative<VaryingBufferedDecoder>(form))
    return "its columns have a scale each, and C would have to be rounded as a whole matrix";
  if (std::holds_alternative<BufferedDecoder>(form) ||
      std::holds_alternative<IdentityDecoder>(form) || !strategy.toeplitz_encoder().empty())
    return "";
  return "its encoder is not Toeplitz, and would have to be rounded as a whole matrix";
}

}  // namespace

IntegerEncoder IntegerEncoder::of(const Strategy& strategy, std::optional<int> precision_bits) {
  if (!strategy.workload().is_prefix())
    fail(ErrorCode::unsupported, "lattice", "workload", "must be prefix",
         "\"" + strategy.workload().name() + "\"");
  const std::int64_t n = strategy.steps();
  const DecoderForm form = strategy.decoder_form();
  if (const auto* dyadic = std::get_if<DyadicDecoder>(&form))
    return {DyadicEncoder{dyadic->node_weights}, n, require_bits(precision_bits, 0, 0)};
  // For C = I, there is nothing to round.
  if (std::holds_alternative<RunningSumDecoder>(form))
    return {ToeplitzEncoder{{1}}, n, require_bits(precision_bits, 0, 0)};
  if (const std::string reason = refusal(strategy, form); !reason.empty())
    fail(ErrorCode::unsupported, "lattice", "strategy",
         "must be tree, honaker, blt or another with a Toeplitz encoder",
         "\"" + std::string(strategy.name()) + "\": " + reason);
  require_between("lattice", "steps", n, 1, kMaxToeplitzSteps);
  if (const auto* buffered = std::get_if<BufferedDecoder>(&form))
    return {buffered_of(*buffered), n,
            require_bits(precision_bits, kDefaultBufferedBits, kMaxPrecisionBits)};
  // For C = A, there is nothing to round, either.
  if (std::holds_alternative<IdentityDecoder>(form))
    return {ToeplitzEncoder{std::vector<std::int64_t>(index_of(n), 1)}, n,
            require_bits(precision_bits, 0, 0)};
  const int bits = require_bits(precision_bits, kDefaultToeplitzBits, kMaxPrecisionBits);
  return {toeplitz_of(strategy, bits), n, bits};
}

std::int64_t IntegerEncoder::num_measurements_before(std::int64_t step) const {
  if (!std::holds_alternative<DyadicEncoder>(form_)) return step;
  return 2 * step - std::popcount(static_cast<std::uint64_t>(step));
}

std::optional<IntegerSensitivity> IntegerEncoder::sensitivity(
    const Participation& participation) const {
  if (const auto* toeplitz_form = std::get_if<ToeplitzEncoder>(&form_))
    return toeplitz(toeplitz_form->coefficients, steps_, precision_bits_, participation);
  if (const auto* buffered = std::get_if<BufferedEncoder>(&form_)) {
    auto bound = toeplitz(majorant(*buffered, steps_), steps_, kMajorantBits, participation);
    if (!bound) return std::nullopt;
    bound->exactness = Exactness::upper_bound;
    bound->method = "integers: coefficients of the buffers, rounded up";
    return bound;
  }
  return integer_of(tree_sensitivity(steps_, participation));
}

double IntegerEncoder::rounding_deviation() const {
  const auto* buffered = std::get_if<BufferedEncoder>(&form_);
  if (buffered == nullptr) return 0;
  const double n = static_cast<double>(steps_), one = static_cast<double>(kOne);
  double sum = 0;
  for (std::size_t i = 0; i < buffered->decays.size(); ++i) {
    const double state = std::min(n, one / static_cast<double>(kOne - buffered->decays[i]));
    sum += 1 + static_cast<double>(buffered->weights[i]) / one * state;
  }
  return sum * kEncoderRoundUp;
}

double IntegerEncoder::largest_number() const {
  const double n = static_cast<double>(steps_);
  if (std::holds_alternative<DyadicEncoder>(form_)) return n;
  double sum = 0;
  if (const auto* toeplitz_form = std::get_if<ToeplitzEncoder>(&form_)) {
    for (const std::int64_t c : toeplitz_form->coefficients)
      sum += std::abs(static_cast<double>(c));
    return sum * kEncoderRoundUp;
  }
  // A state is at most 2^p (1 + theta + theta^2 + ...), and its rounding errors, 1/2 each, add at
  // most half of that.
  const auto& buffered = std::get<BufferedEncoder>(form_);
  double largest_state = 0;
  for (std::size_t i = 0; i < buffered.decays.size(); ++i) {
    const double decay = static_cast<double>(buffered.decays[i]) / static_cast<double>(kOne);
    const double state = 2 * std::min(n, 1 / (1 - decay)) * std::ldexp(1, precision_bits_);
    largest_state = std::max(largest_state, state);
    sum += static_cast<double>(buffered.weights[i]) / static_cast<double>(kOne) * state + 1;
  }
  return std::max(largest_state, sum + std::ldexp(1, precision_bits_)) * kEncoderRoundUp;
}

}  // namespace dpftrl
