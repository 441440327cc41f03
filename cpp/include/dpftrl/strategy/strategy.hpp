// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Factorizations A = B C of a workload A.
///
/// A strategy provides its encoder C (num_measurements x steps), the decoder B with B C = A
/// (steps x num_measurements), their column and row norms, and a DecoderForm: a compact
/// description from which the noise stream generates rows of B Z without a matrix.
///
/// ```cpp
/// #include <Eigen/Core>
/// // Noise on every record, C = I and B = A, as a strategy of one's own:
/// struct InputNoise final : dpftrl::Strategy {
///   explicit InputNoise(std::int64_t steps)
///       : Strategy(dpftrl::Workload::prefix_sums(steps)) {}
///   std::string_view name() const override { return "input-noise"; }
///   std::int64_t num_measurements() const override { return steps(); }
///   double column_norm_squared(std::int64_t) const override { return 1; }
///   double max_column_norm_squared() const override { return 1; }
///   double row_norm_squared(std::int64_t step) const override {
///     return static_cast<double>(step + 1);
///   }
///   dpftrl::RowNorms row_norms() const override {
///     const auto n = static_cast<double>(steps());
///     return {.min_squared = 1, .max_squared = n, .mean_squared = (n + 1) / 2};
///   }
///   dpftrl::Matrix encoder() const override {
///     return dpftrl::Matrix::Identity(dense_size(), dense_size());
///   }
///   dpftrl::Matrix decoder() const override { return workload().matrix(); }
///   dpftrl::DecoderForm decoder_form() const override { return dpftrl::RunningSumDecoder{}; }
/// };
/// const InputNoise strategy(4);
/// assert(strategy.decoder() * strategy.encoder() == strategy.workload().matrix());
/// ```

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "dpftrl/base/types.hpp"
#include "dpftrl/optimal/optimum.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/problem/workload.hpp"
#include "dpftrl/strategy/decoder_form.hpp"

namespace dpftrl {

/// A named list of numbers, part of what defines a strategy.
struct PlanNumbers {
  std::string name;
  std::vector<double> values;
};

/// Norms over the rows of B.
struct RowNorms {
  double min_squared;   ///< min_t ||B_t||^2
  double max_squared;   ///< max_t ||B_t||^2
  double mean_squared;  ///< ||B||_F^2 / steps
};

/// Cost of generating rows of noise, in words.
struct StreamCost {
  std::string_view step;    ///< time per step and coordinate
  std::string_view memory;  ///< vectors of state
};

class Strategy;

/// C has one row for every dyadic interval completed within the steps, with 1 on its steps and 0
/// elsewhere.
struct DyadicColumns {};
/// C measures Haar coefficients; the HaarDecoder has their scales.
struct HaarColumns {};
/// Nodes of level l of a tree cover arity^l steps. Each used node has a row of C, with 1 on its
/// steps.
struct KaryColumns {
  std::int64_t arity;
  std::int64_t num_levels;
  std::function<bool(std::size_t level, std::int64_t node)> is_used;
};
/// C = C_base D^-1, or C_base if `scales` is empty. Valid during the lifetime of the strategy.
struct ScaledColumns {
  const Strategy* base;
  std::span<const double> scales;  ///< D
};
/// The encoder of `epoch`, restarted every `epoch_length` steps. Valid during the lifetime of the
/// strategy.
struct RestartedColumns {
  const Strategy* epoch;
  std::int64_t epoch_length;
};
/// Columns with no known structure beyond what the functions of Strategy return.
struct OtherColumns {};

/// Structure of the columns of an encoder, from which its sensitivity under several participations
/// follows.
using ColumnStructure = std::variant<OtherColumns, DyadicColumns, HaarColumns, KaryColumns,
                                     ScaledColumns, RestartedColumns>;

class Strategy {
 public:
  virtual ~Strategy() = default;

  virtual std::string_view name() const = 0;
  const Workload& workload() const { return workload_; }
  std::int64_t steps() const { return workload_.steps(); }
  /// Number of rows of C, and of the noise matrix Z.
  virtual std::int64_t num_measurements() const = 0;

  /// ||C_{:,step}||^2.
  virtual double column_norm_squared(std::int64_t step) const = 0;
  /// Largest squared column norm: the squared l2-sensitivity under single participation.
  virtual double max_column_norm_squared() const = 0;
  /// ||B_{step,:}||^2, the variance of the release at that step with unit noise.
  /// @throws Error{unsupported} no formula at this size; the message says which sizes have one.
  virtual double row_norm_squared(std::int64_t step) const = 0;
  virtual RowNorms row_norms() const = 0;

  /// Dense C and B, the oracle for all of the above.
  /// @throws Error{unsupported} more than kMaxDenseSteps steps.
  virtual Matrix encoder() const = 0;
  virtual Matrix decoder() const = 0;

  virtual DecoderForm decoder_form() const = 0;

  virtual ColumnStructure columns() const { return OtherColumns{}; }
  /// First column of a lower-triangular Toeplitz C (one entry per step); empty for any other C.
  virtual std::span<const double> toeplitz_encoder() const { return {}; }
  /// First column of a lower-triangular Toeplitz B, or as many of its entries as are stored; empty
  /// for any other B, and if only the DecoderForm defines it.
  virtual std::span<const double> toeplitz_decoder() const { return {}; }
  /// b if C is square and C_ij = 0 unless 0 <= i - j < b, so that columns b or more apart are
  /// orthogonal; 0 if unknown.
  virtual std::int64_t bands() const { return 0; }
  /// True if the inner products of columns of C are known to be non-negative.
  virtual bool has_nonnegative_gram() const { return false; }
  /// Bound on the relative amount by which the column norms of the exact C, the one with B C = A
  /// for the B that decoder_form() defines, can exceed those stated here, because coefficients are
  /// rounded.
  virtual double encoder_slack() const { return 0; }
  /// True if row i of C reads no step later than the one at which the decoder first uses it. If
  /// not, the proof for adaptive streams must bring C into lower-triangular form, which changes
  /// nothing for Gaussian noise but rules out other noise.
  virtual bool is_causal() const { return true; }
  /// Cost of the noise stream, if it differs from the family's.
  virtual std::optional<StreamCost> stream_cost() const { return std::nullopt; }
  /// Parameters of the strategy by name, including those that the family chose. Lists with at least
  /// one number per step are in its plan instead.
  virtual std::vector<PlanNumbers> parameters() const { return {}; }
  /// For s = 0 .. b - 1, the sum of |C_i . C_j| over columns i, j = s, s + b, ..., rounding errors
  /// included, or ||C_s + C_{s+b} + ...||^2 if C has no negative entry. Empty if the family has
  /// none, or if it would take too long.
  virtual std::vector<double> epoch_norms_squared([[maybe_unused]] std::int64_t separation) const {
    return {};
  }
  /// For every step i, an upper bound on |C_i . C_j| for all j >= i + lag, lag > 0, rounding errors
  /// included; empty if the family has none.
  virtual std::vector<double> later_products([[maybe_unused]] std::int64_t lag) const { return {}; }
  /// ||C_0 + C_b + ... + C_{(k-1)b}||^2, if no pattern of at most k steps at least b apart has a
  /// longer sum of columns and there is a closed form; else 0.
  virtual double spaced_norm_squared([[maybe_unused]] std::int64_t num_participations,
                                     [[maybe_unused]] std::int64_t separation) const {
    return 0;
  }
  /// Largest squared distance, after encoding, between streams that differ in the activity of one
  /// user, divided by neighbour_distance^2; `is_exact` if it is attained, else an upper bound.
  /// Empty if there is no closed form.
  struct PatternNorm {
    double squared;
    bool is_exact;
  };
  virtual std::optional<PatternNorm> active_norm_squared(
      [[maybe_unused]] const ActivePattern& pattern) const {
    return std::nullopt;
  }
  /// Lower bound from the search that made the strategy, on the error of every factorization of its
  /// workload under that participation (unit noise). Value 0 means none.
  struct OwnBound {
    double value = 0;
    std::int64_t min_dimension = 1;  ///< of the records; see LowerBound
    double every_dimension = value;  ///< for records of every dimension; 0 means none
    bool is_of_dense_search = false;
  };
  virtual OwnBound certified_lower_bound(
      [[maybe_unused]] Objective objective,
      [[maybe_unused]] const Participation& participation) const {
    return {};
  }

 protected:
  explicit Strategy(Workload workload) : workload_(std::move(workload)) {}
  void require_step(std::int64_t step) const;
  /// n, as the size of dense matrices.
  /// @throws Error{unsupported} more than kMaxDenseSteps steps.
  std::ptrdiff_t dense_size() const;

 private:
  Workload workload_;
};

}  // namespace dpftrl
