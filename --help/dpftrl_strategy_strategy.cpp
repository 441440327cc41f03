#include "dpftrl/strategy/strategy.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_strategy_strategy();
void dpftrl_strategy_strategy() {
  // Noise on every record, C = I and B = A, as a strategy of one's own:
  struct InputNoise final : dpftrl::Strategy {
    explicit InputNoise(std::int64_t num_steps)
        : Strategy(dpftrl::Workload::prefix_sums(num_steps)) {}
    std::string_view name() const override { return "input-noise"; }
    std::int64_t num_measurements() const override { return num_steps(); }
    double column_norm_squared(std::int64_t) const override { return 1; }
    double max_column_norm_squared() const override { return 1; }
    double row_norm_squared(std::int64_t step) const override {
      return static_cast<double>(step + 1);
    }
    dpftrl::RowNorms row_norms() const override {
      const auto n = static_cast<double>(num_steps());
      return {.min_squared = 1, .max_squared = n, .mean_squared = (n + 1) / 2};
    }
    dpftrl::Matrix encoder() const override {
      return dpftrl::Matrix::Identity(dense_size(), dense_size());
    }
    dpftrl::Matrix decoder() const override { return workload().matrix(); }
    dpftrl::DecoderForm decoder_form() const override { return dpftrl::RunningSumDecoder{}; }
  };
  const InputNoise strategy(4);
  assert(strategy.decoder() * strategy.encoder() == strategy.workload().matrix());
}
