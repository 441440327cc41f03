// SPDX-License-Identifier: Apache-2.0
// Oracles of the sensitivities, which visit every pattern.
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "base/span_of.hpp"
#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/base/error.hpp"

namespace dpftrl {
namespace {

constexpr std::int64_t kMaxVisits = std::int64_t{1} << 22;

/// Steps [first, last) at which a pattern may continue.
struct Range {
  Eigen::Index first;
  Eigen::Index last;
};

class PatternSearch {
 public:
  PatternSearch(const char* function, const Matrix& encoder, const Participation& participation)
      : function_(function), participation_(participation) {
    if (encoder.rows() < 1 || encoder.cols() < 1)
      fail_argument(function, "encoder", "a matrix that is not empty",
                    std::to_string(encoder.rows()) + " x " + std::to_string(encoder.cols()));
    require_all_finite(function, "encoder", detail::span_of(encoder));
    participation.require_horizon(encoder.cols());
    steps_ = encoder.cols();
  }

 protected:
  void count_visit() {
    if (++num_visits_ <= kMaxVisits) return;
    fail(ErrorCode::unsupported, function_, "participation",
         "must have at most " + to_text(kMaxVisits) + " patterns in " + to_text(steps_) + " steps",
         participation_.description());
  }

  /// Possible steps of the next participation; `last` is the latest one so far, or -1.
  Range next_steps(std::int64_t count, std::int64_t last) const {
    const std::int64_t b = participation_.apart();
    if (count == participation_.times()) return {0, 0};
    const bool is_fixed = participation_.kind() == Participation::Kind::fixed_epoch;
    const std::int64_t first = count == 0 ? 0 : std::min(last + b, steps_);
    const std::int64_t width = !is_fixed ? steps_ : count == 0 ? b : 1;
    return {static_cast<Eigen::Index>(first),
            static_cast<Eigen::Index>(std::min(first + width, steps_))};
  }

 private:
  const char* function_;
  const Participation& participation_;
  std::int64_t steps_ = 0;
  std::int64_t num_visits_ = 0;
};

class AbsoluteSearch : PatternSearch {
 public:
  AbsoluteSearch(const Matrix& encoder, const Participation& participation)
      : PatternSearch("brute_force_sensitivity", encoder, participation),
        gram_(encoder.transpose() * encoder) {
    visit(0);
  }

  Sensitivity result() const {
    return is_nonnegative_ ? Sensitivity{std::sqrt(largest_), Exactness::exact, "all patterns"}
                           : Sensitivity{std::sqrt(largest_), Exactness::upper_bound,
                                         "all patterns, absolute values"};
  }

 private:
  void visit(double sum) {
    largest_ = std::max(largest_, sum);
    const Range next = next_steps(std::ssize(pattern_), pattern_.empty() ? -1 : pattern_.back());
    for (Eigen::Index step = next.first; step < next.last; ++step) {
      count_visit();
      double longer = sum + gram_(step, step);
      for (const Eigen::Index earlier : pattern_) {
        longer += 2 * std::abs(gram_(earlier, step));
        is_nonnegative_ = is_nonnegative_ && gram_(earlier, step) >= 0;
      }
      pattern_.push_back(step);
      visit(longer);
      pattern_.pop_back();
    }
  }

  Matrix gram_;
  std::vector<Eigen::Index> pattern_;
  double largest_ = 0;
  bool is_nonnegative_ = true;
};

/// Tries all signs: ||C u|| is convex in u, so it is largest at a corner, signs on a longest
/// pattern.
class SignSearch : PatternSearch {
 public:
  SignSearch(const Matrix& encoder, const Participation& participation)
      : PatternSearch("brute_force_scalar_sensitivity", encoder, participation), encoder_(encoder) {
    visit(0, -1, Vector::Zero(encoder.rows()));
  }

  double result() const { return std::sqrt(largest_); }

 private:
  void visit(std::int64_t count, std::int64_t last, const Vector& image) {
    largest_ = std::max(largest_, image.squaredNorm());
    const Range next = next_steps(count, last);
    for (Eigen::Index step = next.first; step < next.last; ++step)
      for (const double sign : {1.0, -1.0}) {
        if (count == 0 && sign < 0) continue;  // u and -u have the same image up to sign
        count_visit();
        visit(count + 1, step, image + sign * encoder_.col(step));
      }
  }

  const Matrix& encoder_;
  double largest_ = 0;
};

}  // namespace

Sensitivity brute_force_sensitivity(const Matrix& encoder, const Participation& participation) {
  return AbsoluteSearch(encoder, participation).result();
}

double brute_force_scalar_sensitivity(const Matrix& encoder, const Participation& participation) {
  return SignSearch(encoder, participation).result();
}

}  // namespace dpftrl
