// SPDX-License-Identifier: Apache-2.0
#include "optimal/quadrature.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "dpftrl/base/error.hpp"

namespace dpftrl::detail {
namespace {

double arithmetic_geometric_mean(double a, double b) {
  while (std::abs(a - b) > 4e-16 * a) {
    const double mean = (a + b) / 2;
    b = std::sqrt(a * b);
    a = mean;
  }
  return a;
}

/// Jacobi's functions of modulus k near 1, from their partial fractions in hyperbolic functions:
///     sn = c sum (-1)^j tanh(r (y - 2jK)) / k,    cn: sech,    dn: sech without signs and 1/k
/// with c = r = pi / (2 K(kc)), kc^2 = 1 - k^2. The sums converge faster the nearer k is to 1, and
/// nothing cancels for 0 <= y <= K / 2.
class EllipticFunctions {
 public:
  explicit EllipticFunctions(double complementary_modulus)
      : kc_(complementary_modulus),
        k_(std::sqrt((1 - kc_) * (1 + kc_))),
        quarter_(std::numbers::pi / (2 * arithmetic_geometric_mean(1, kc_))),
        rate_(arithmetic_geometric_mean(1, k_)) {}

  double quarter_period() const { return quarter_; }

  struct Values {
    double sn, cn, dn;
  };
  Values at(double y) const {
    const double v = rate_ * y, period = 2 * rate_ * quarter_;
    double sn = std::tanh(v), cn = 1 / std::cosh(v), dn = cn;
    double sign = -1;
    for (int j = 1; j * period - v < 80; ++j, sign = -sign) {
      const double right = 1 / std::cosh(j * period - v), left = 1 / std::cosh(j * period + v);
      // tanh(v - jp) + tanh(v + jp) = sinh(2v) / (cosh(v - jp) cosh(v + jp))
      sn += sign * std::sinh(2 * v) * right * left;
      cn += sign * (right + left);
      dn += right + left;
    }
    return {rate_ * sn / k_, rate_ * cn / k_, rate_ * dn};
  }

 private:
  double kc_, k_;
  double quarter_;  ///< K(k)
  double rate_;     ///< pi / (2 K(kc)) = agm(1, k)
};

/// Upper bound on p^(2 cells), p the nome, from K'/K < (2/pi) ln(4 / modulus)
/// (docs/math/optimal.md).
double nome_power(double ratio_of_ends, double cells) {
  constexpr double kTwiceLogOfFour = 2.7725887222397816;  // rounded up
  return std::exp(-2 * std::numbers::pi * std::numbers::pi * cells /
                  (std::log(ratio_of_ends) + kTwiceLogOfFour) * (1 - 0x1p-40));
}

/// Relative error of nodes and weights: a few hundred units in the last place at high / low =
/// 10^40.
constexpr double kNodeRounding = 0x1p-43;

/// An interval whose ends have a smaller ratio is widened, because the functions need k away from
/// 0.
constexpr double kSmallestRatio = 16;

InverseRoot with_spacing(const SpectralInterval& interval, std::int64_t num_nodes,
                         bool has_direct_term) {
  const double low = interval.low;
  const double high = std::max(interval.high, kSmallestRatio * low);
  const double kc = std::sqrt(low / high);
  const EllipticFunctions functions(kc);
  const double quarter = functions.quarter_period();
  const double cells = static_cast<double>(num_nodes) + (has_direct_term ? 0.5 : 0);
  const double spacing = quarter / cells;
  InverseRoot root;
  for (std::int64_t j = 0; j < num_nodes; ++j) {
    const double y = (static_cast<double>(j) + 0.5) * spacing;
    double ratio = 0, slope = 0;  // sn / cn and dn / cn^2
    if (y <= quarter / 2) {
      const auto [sn, cn, dn] = functions.at(y);
      ratio = sn / cn;
      slope = dn / (cn * cn);
    } else {
      // sn = cn' / dn', cn = kc sn' / dn', dn = kc / dn' at the reflected argument.
      const auto [sn, cn, dn] = functions.at(quarter - y);
      ratio = cn / (kc * sn);
      slope = dn / (kc * sn * sn);
    }
    root.shifts.push_back(low * ratio * ratio);
    root.weights.push_back(2 * spacing * std::sqrt(low) / std::numbers::pi * slope);
  }
  if (has_direct_term) root.direct = spacing / (std::numbers::pi * std::sqrt(high));
  const double power = nome_power(high / low, cells);
  root.relative_error = 4 * power / (1 - power) + kNodeRounding;
  return root;
}

void require_interval(const SpectralInterval& interval) {
  if (!(interval.low > 0 && interval.low <= interval.high && std::isfinite(interval.high)))
    fail_argument("inverse_root", "interval", "positive, finite and not empty",
                  "[" + to_text(interval.low) + ", " + to_text(interval.high) + "]");
}

}  // namespace

InverseRoot inverse_root(const SpectralInterval& interval, std::int64_t num_nodes) {
  require_interval(interval);
  require_between("inverse_root", "num_nodes", num_nodes, 1, 1000);
  return with_spacing(interval, num_nodes, false);
}

InverseRoot inverse_root_within(const SpectralInterval& interval, double relative_error,
                                std::int64_t multiple_of) {
  require_interval(interval);
  require_inside("inverse_root", "relative_error", relative_error, 0, 1);
  const double ratio = std::max(interval.high / interval.low, kSmallestRatio);
  const double wanted = std::max(relative_error - kNodeRounding, kNodeRounding);
  const double cells = std::log(1 + 4 / wanted) / -std::log(nome_power(ratio, 1));
  const auto groups =
      static_cast<std::int64_t>(std::ceil(cells / static_cast<double>(multiple_of)));
  return inverse_root(interval, std::max<std::int64_t>(1, groups) * multiple_of);
}

InverseRoot inverse_root_with_direct_term(const SpectralInterval& interval,
                                          std::int64_t num_nodes) {
  require_interval(interval);
  require_between("inverse_root", "num_nodes", num_nodes, 1, 1000);
  return with_spacing(interval, num_nodes, true);
}

}  // namespace dpftrl::detail
