// SPDX-License-Identifier: Apache-2.0
#include "analysis/sensitivity/joint_activity.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <vector>

namespace dpftrl {
namespace {

constexpr double kUnreachable = -std::numeric_limits<double>::infinity();
constexpr std::int64_t kNoEvent = std::numeric_limits<std::int64_t>::max();
/// Number of iterations of the search; the step length is halved after 50.
constexpr int kNumRounds = 200;

/// Energy of the patterns of one window in units of s^2, f - kappa g^2: f is a sum of the weights
/// of active steps, runs and ends, g of those of active steps and ends.
struct WindowEnergy {
  std::int64_t window;
  double step, run, end;       ///< weights in f
  double mean_step, mean_end;  ///< weights in g
  double kappa;

  WindowEnergy(std::int64_t steps, const ActiveWindow& given) : window(given.window) {
    const auto [theta, offset] = given.parameters;
    const double one = 1 - theta * theta, square = given.sensitivity * given.sensitivity;
    const double sum = ((1 - theta) * static_cast<double>(steps) + 2 * theta) / (1 + theta);
    step = (1 - theta) * (1 - theta) / one / square;
    run = 2 * theta / one / square;
    end = -theta * theta / one / square;
    mean_step = (1 - theta) * (1 - theta) / one;
    mean_end = theta * (1 - theta) / one;
    kappa = offset / (1 + offset * sum) / square;
  }
};

/// Largest sums over events of weights of active steps and of runs, for all windows together.
///
/// best_[t] is the largest sum of the steps from t on and of the runs that begin after t, if there
/// is an event at step t. The gap to the next event ends the runs of all shorter windows. For gaps
/// between two consecutive window lengths, the terms of the two events therefore separate, and a
/// sliding queue holds the best next events.
class EventProgram {
 public:
  /// @param windows  in increasing order.
  EventProgram(std::int64_t steps, bool has_open_start, const std::vector<WindowEnergy>& windows,
               const std::vector<double>& levels)
      : steps_(steps), windows_(windows), queues_(windows.size() + 1) {
    const std::int64_t earliest = has_open_start ? 1 - windows.back().window : 0;
    first_ = earliest;
    for (std::size_t i = 0; i < windows.size(); ++i) add_weights(windows[i], levels[i]);
    best_.resize(static_cast<std::size_t>(steps - earliest), kUnreachable);
    next_.resize(best_.size(), kNoEvent);
    for (std::int64_t t = steps - 1; t >= earliest; --t) visit(t);
  }

  /// Largest sum of the energies at these levels, plus an allowance for its rounding errors: each
  /// step adds a few numbers per window, all below `magnitude_`.
  double largest() const {
    const double roundings = static_cast<double>(steps_) * static_cast<double>(windows_.size() + 8);
    return constant_ + start_value_ + magnitude_ * roundings * 0x1p-48;
  }

  /// g of each window, for the maximising events.
  std::vector<double> means() const {
    std::vector<double> means(windows_.size());
    for (std::int64_t t = start_; t != kNoEvent; t = next_[place(t)])
      for (std::size_t i = 0; i < windows_.size(); ++i) {
        const std::int64_t until = std::min(next_[place(t)], t + windows_[i].window);
        const std::int64_t end = std::min(until, steps_), begin = std::max<std::int64_t>(0, t);
        if (end <= begin) continue;
        means[i] += windows_[i].mean_step * static_cast<double>(end - begin);
        if (begin == 0) means[i] += windows_[i].mean_end;
        if (end == steps_) means[i] += windows_[i].mean_end;
      }
    return means;
  }

 private:
  struct Candidate {
    std::int64_t step;
    double value;
  };

  void add_weights(const WindowEnergy& energy, double level) {
    const double slope = 2 * energy.kappa * level;
    const double weight = energy.step - slope * energy.mean_step;
    const double end = energy.end - slope * energy.mean_end;
    std::vector<double>& sums = sums_.emplace_back(1, 0.0);
    for (std::int64_t t = 0; t < steps_; ++t) {
      double own = weight;
      if (t == 0) own += end;
      if (t == steps_ - 1) own += end;
      sums.push_back(sums.back() + own);
    }
    const double constant = energy.kappa * level * level;
    constant_ += constant;
    magnitude_ +=
        constant + 2 * (slope * energy.mean_end - energy.end) +
        static_cast<double>(steps_) * (energy.step + energy.run + slope * energy.mean_step);
  }

  std::size_t place(std::int64_t t) const { return static_cast<std::size_t>(t - first_); }
  /// Sum of the weights of a window before step t.
  double before(std::size_t i, std::int64_t t) const {
    return sums_[i][static_cast<std::size_t>(std::clamp<std::int64_t>(t, 0, steps_))];
  }

  /// Enters the event at step t into the queue of gaps longer than the first `count` windows only.
  void enter(std::size_t count, std::int64_t t) {
    if (t < 0 || t >= steps_) return;
    double value = best_[place(t)];
    for (std::size_t i = count; i < windows_.size(); ++i) value += before(i, t);
    std::deque<Candidate>& queue = queues_[count];
    while (!queue.empty() && queue.back().value <= value) queue.pop_back();
    queue.push_back({t, value});
  }

  void visit(std::int64_t t) {
    // Candidates also include the weights of the steps before t, which are subtracted.
    double own = 0;
    for (std::size_t i = 0; i < windows_.size(); ++i) own -= before(i, t);
    double& best = best_[place(t)];
    for (std::size_t count = 0; count <= windows_.size(); ++count) {
      const std::int64_t ended = count == 0 ? 0 : windows_[count - 1].window;
      enter(count, t + ended + 1);
      std::deque<Candidate>& queue = queues_[count];
      if (count < windows_.size())
        while (!queue.empty() && queue.front().step > t + windows_[count].window) queue.pop_front();
      if (!queue.empty() && own + queue.front().value > best) {
        best = own + queue.front().value;
        next_[place(t)] = queue.front().step;
      }
      // From here on, the gap is longer than this window.
      if (count < windows_.size())
        own += before(count, t + windows_[count].window) + windows_[count].run;
    }
    double alone = 0, begun = 0;
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      alone += before(i, t + windows_[i].window) - before(i, t);
      if (t + windows_[i].window > 0) begun += windows_[i].run;
    }
    if (alone >= best) {
      best = alone;
      next_[place(t)] = kNoEvent;
    }
    if (best + begun <= start_value_) return;
    start_value_ = best + begun;
    start_ = t;
  }

  std::int64_t steps_;
  const std::vector<WindowEnergy>& windows_;
  std::int64_t first_ = 0;                 ///< earliest event
  std::vector<std::vector<double>> sums_;  ///< per window: sums of the weights of the leading steps
  std::vector<std::deque<Candidate>> queues_;
  std::vector<double> best_;
  std::vector<std::int64_t> next_;
  double start_value_ = 0;
  std::int64_t start_ = kNoEvent;  ///< first of the maximising events
  double constant_ = 0;
  double magnitude_ = 0;
};
}  // namespace

double joint_activity(std::int64_t steps, bool has_open_start,
                      std::span<const ActiveWindow> windows) {
  std::vector<WindowEnergy> energies;
  for (const ActiveWindow& window : windows) energies.emplace_back(steps, window);
  std::ranges::sort(energies, {}, &WindowEnergy::window);
  std::vector<double> levels(energies.size());
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kNumRounds; ++round) {
    const EventProgram program(steps, has_open_start, energies, levels);
    least = std::min(least, program.largest());
    const std::vector<double> means = program.means();
    const double pace = (round < 50 ? 2.0 : 1.0) / (round + 2);
    for (std::size_t i = 0; i < levels.size(); ++i) levels[i] += pace * (means[i] - levels[i]);
  }
  return std::sqrt(least);
}

}  // namespace dpftrl
