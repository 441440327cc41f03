// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Factorizations A = B C of the prefix-sum workload A.
///
/// A strategy knows its encoder C (num_measurements x num_steps), the decoder B with B C = A
/// (num_steps x num_measurements), their column and row norms in closed form, and a DecoderForm:
/// the small description from which the noise stream makes rows of B Z without any matrix.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dpftrl/types.hpp"

namespace dpftrl {

/// B = I: row t of B Z is z_t.
struct IdentityDecoder {};

/// B = A: row t of B Z is z_0 + ... + z_t.
struct RunningSumDecoder {};

/// Dyadic tree. Node (l, i) covers steps i 2^l .. (i+1) 2^l - 1 and is measured, in post-order,
/// when its last step has arrived. Its estimate is
///     est_0 = z,    est_l = w_l z + (1 - w_l) (est_left + est_right),
/// and row t of B Z adds the estimates of the nodes in the binary expansion of t + 1.
struct DyadicDecoder {
  /// w_l for levels 0 .. floor(lg num_steps), in [1/2, 1], w_0 = 1. B C = A whatever they are.
  std::vector<double> node_weights;
};

/// B lower-triangular Toeplitz, with exactly these doubles. Where they are roundings of the
/// coefficients that the strategy's closed forms are about, C = B^-1 A differs from its closed form
/// too; the noise std allows for relative errors up to 2^-52 (docs/math/grid.md).
struct ToeplitzDecoder {
  std::vector<double> coefficients;  ///< first column of B, num_steps entries, at most 2^20
};

using DecoderForm =
    std::variant<IdentityDecoder, RunningSumDecoder, DyadicDecoder, ToeplitzDecoder>;

/// Norms over the rows of B.
struct RowNorms {
  double min_squared;   ///< min_t ||B_t||^2
  double max_squared;   ///< max_t ||B_t||^2
  double mean_squared;  ///< ||B||_F^2 / num_steps
};

class Strategy {
 public:
  virtual ~Strategy() = default;

  virtual std::string_view name() const = 0;
  std::int64_t num_steps() const { return num_steps_; }
  /// Rows of C, and of the noise matrix Z.
  virtual std::int64_t num_measurements() const = 0;

  /// ||C_{:,step}||^2.
  virtual double column_norm_squared(std::int64_t step) const = 0;
  /// max over columns: the squared l2-sensitivity under single participation.
  virtual double max_column_norm_squared() const = 0;
  /// ||B_{step,:}||^2: the variance of the release at that step with unit noise.
  virtual double row_norm_squared(std::int64_t step) const = 0;
  virtual RowNorms row_norms() const = 0;

  /// Dense C and B, the oracles of everything above.
  /// @throws Error{unsupported} more than kMaxDenseSteps steps.
  virtual Matrix encoder() const = 0;
  virtual Matrix decoder() const = 0;

  virtual DecoderForm decoder_form() const = 0;

 protected:
  /// @throws Error{invalid_argument} num_steps outside 1..kMaxNumSteps.
  explicit Strategy(std::int64_t num_steps);
  void require_step(std::int64_t step) const;
  /// num_steps, if matrices are made for that many.
  Eigen::Index dense_size() const;

 private:
  std::int64_t num_steps_;
};

struct StrategyOptions {
  std::string name;
  std::int64_t num_steps = 0;
};

/// @throws Error{invalid_argument} unknown name (the message lists the known ones) or bad
/// num_steps.
std::shared_ptr<const Strategy> make_strategy(const StrategyOptions& options);

struct StrategyInfo {
  std::string_view name;
  std::string_view summary;      ///< one line
  std::string_view step_cost;    ///< time per step and coordinate
  std::string_view memory_cost;  ///< vectors of state
};
/// All known strategies, in the order in which they are best explained.
const std::vector<StrategyInfo>& strategy_catalogue();

}  // namespace dpftrl
