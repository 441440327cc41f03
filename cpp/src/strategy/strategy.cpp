// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/strategy.hpp"

#include "dpftrl/error.hpp"
#include "dpftrl/strategy/identity.hpp"
#include "dpftrl/strategy/prefix.hpp"
#include "dpftrl/strategy/square_root.hpp"
#include "dpftrl/strategy/tree.hpp"

namespace dpftrl {
namespace {

struct Family {
  StrategyInfo info;
  std::shared_ptr<const Strategy> (*make)(std::int64_t num_steps);
};

template <class Concrete>
std::shared_ptr<const Strategy> make_concrete(std::int64_t num_steps) {
  return std::make_shared<const Concrete>(num_steps);
}

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {{IndependentStrategy::kName, "noise on every record (input perturbation, C = I)", "O(1)",
        "1 vector"},
       make_concrete<IndependentStrategy>},
      {{OutputStrategy::kName, "independent noise on every total (output perturbation, C = A)",
        "O(1)", "1 vector"},
       make_concrete<OutputStrategy>},
      {{TreeStrategy::kName, "binary tree of noisy interval sums", "O(1) amortised",
        "O(log n) vectors"},
       make_concrete<TreeStrategy>},
      {{HonakerStrategy::kName, "binary tree, each node refined from its subtree", "O(1) amortised",
        "O(log n) vectors"},
       make_concrete<HonakerStrategy>},
      {{SquareRootStrategy::kName, "B = C = square root of the prefix-sum matrix",
        "O(log n) by FFT, generated in advance", "n vectors"},
       make_concrete<SquareRootStrategy>},
  };
  return all;
}

}  // namespace

Strategy::Strategy(std::int64_t num_steps)
    : num_steps_(require_between("strategy", "num_steps", num_steps, 1, kMaxNumSteps)) {}

void Strategy::require_step(std::int64_t step) const {
  require_between(name(), "step", step, 0, num_steps_ - 1);
}

Eigen::Index Strategy::dense_size() const {
  if (num_steps_ <= kMaxDenseSteps) return static_cast<Eigen::Index>(num_steps_);
  fail(ErrorCode::unsupported, std::string(name()) + ": matrices are made for num_steps up to " +
                                   to_text(kMaxDenseSteps) + ", got " + to_text(num_steps_));
}

std::shared_ptr<const Strategy> make_strategy(const StrategyOptions& options) {
  std::string known;
  for (const Family& family : families()) {
    if (family.info.name == options.name) return family.make(options.num_steps);
    known.append(known.empty() ? "" : ", ").append(family.info.name);
  }
  fail_argument("make_strategy", "strategy", "one of " + known, "\"" + options.name + "\"");
}

const std::vector<StrategyInfo>& strategy_catalogue() {
  static const std::vector<StrategyInfo> catalogue = [] {
    std::vector<StrategyInfo> infos;
    for (const Family& family : families()) infos.push_back(family.info);
    return infos;
  }();
  return catalogue;
}

}  // namespace dpftrl
