// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl {

/// Request to a family of Toeplitz encoders: the encoder is made for `designed_for`, the decoder
/// for `workload`, B = A_workload C^-1. Both are Toeplitz. For families that use `designed_for`,
/// `workload` is the same workload or prefix sums; other families ignore `designed_for`.
struct ToeplitzRequest {
  Workload designed_for;
  Workload workload;
  Participation participation = Participation::single();  ///< used by families that search
};

/// A lower-triangular Toeplitz encoder C for a Toeplitz workload. n = 4:
///
///     [c0         ]
///     [c1 c0      ]
///     [c2 c1 c0   ]
///     [c3 c2 c1 c0]
///
/// B = A C^-1 is of the same kind, with first column b. Columns of C are shifts of the first and
/// rows of B reversals of b, so all norms are prefix sums of the squares of c and of b.
class ToeplitzStrategy : public Strategy {
 public:
  static constexpr std::int64_t kMaxSteps = std::int64_t{1} << 24;
  /// Largest number of decoder coefficients that are kept.
  static constexpr std::int64_t kMaxDecoderCoefficients = std::int64_t{1} << 16;

  struct Parts {
    std::string_view name;             ///< static storage
    std::vector<double> encoder = {};  ///< c, one per step
    std::vector<double> decoder = {};  ///< b; empty if B = C
    DecoderForm form = {};
    double encoder_slack = 0;
    std::int64_t bands = 0;
    std::vector<PlanNumbers> parameters = {};
  };
  /// @throws Error{invalid_argument} the norms are not finite.
  ToeplitzStrategy(Workload workload, Parts parts);

  std::string_view name() const override { return parts_.name; }
  std::int64_t num_measurements() const override { return steps(); }
  double column_norm_squared(std::int64_t step) const override;
  double max_column_norm_squared() const override { return column_sums_.back(); }
  double row_norm_squared(std::int64_t step) const override;
  RowNorms row_norms() const override { return row_norms_; }
  Matrix encoder() const override;
  Matrix decoder() const override;
  DecoderForm decoder_form() const override { return parts_.form; }
  std::span<const double> toeplitz_encoder() const override { return parts_.encoder; }
  std::int64_t bands() const override { return parts_.bands; }
  bool has_nonnegative_gram() const override { return has_nonnegative_gram_; }
  double encoder_slack() const override { return parts_.encoder_slack; }
  std::vector<PlanNumbers> parameters() const override { return parts_.parameters; }

  /// First min(steps, kMaxDecoderCoefficients) entries of b.
  std::span<const double> toeplitz_decoder() const override;

 private:
  const std::vector<double>& row_sums() const;

  Parts parts_;
  std::vector<double> column_sums_;  ///< c_0^2 + ... + c_{j-1}^2 for j = 1 .. n
  std::vector<double> row_sums_;     ///< the same sums for b; empty if B = C
  RowNorms row_norms_;
  bool has_nonnegative_gram_;
};

/// `base`, filtered if the workload is not the prefix sums.
DecoderForm form_for_workload(DecoderForm base, const Workload& workload);

/// A^-1 w for w = `sequence` and a Toeplitz workload; undoes Workload::apply up to rounding.
std::vector<double> solve_workload(const Workload& workload, std::vector<double> sequence);

/// Slack of decoder coefficients that were rounded to doubles, |e_j| <= 2^-52 |b_j|: columns of the
/// exact C = (B+E)^-1 A are longer than the columns of B^-1 A by a factor of at most 1 plus the
/// slack. docs/math/grid.md.
/// @param workload  workload of the rounded decoder.
double slack_of_rounded_decoder(const Workload& workload, std::span<const double> encoder,
                                std::span<const double> decoder);

}  // namespace dpftrl
