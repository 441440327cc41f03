// SPDX-License-Identifier: Apache-2.0
#include "strategy/toeplitz/filtered.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>

#include "base/counting.hpp"
#include "base/double_double.hpp"
#include "dpftrl/base/error.hpp"
#include "math/linear_algebra.hpp"
#include "math/toeplitz.hpp"
#include "strategy/family_row.hpp"
#include "strategy/toeplitz/scaled_square_root.hpp"
#include "strategy/toeplitz/scaled_toeplitz.hpp"
#include "strategy/toeplitz/scaled_window.hpp"
#include "strategy/toeplitz/square_root.hpp"
#include "strategy/toeplitz/toeplitz_base.hpp"

namespace dpftrl {
namespace {

/// Uses several partial sums, so that additions do not wait for each other.
double norm_squared(std::span<const double> values) {
  std::array<double, 8> sums{};
  std::size_t i = 0;
  for (; i + 8 <= values.size(); i += 8)
    for (std::size_t k = 0; k < 8; ++k) sums[k] += values[i + k] * values[i + k];
  for (; i < values.size(); ++i) sums[0] += values[i] * values[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/// Coefficients of the inverse of a lower-triangular Toeplitz encoder; empty for other encoders,
/// and if more are needed than are kept.
std::vector<double> inverse_encoder(const Strategy& base) {
  const std::int64_t n = base.steps();
  const DecoderForm form = base.decoder_form();
  if (std::holds_alternative<RunningSumDecoder>(form)) {
    std::vector<double> inverse(index_of(n));
    inverse[0] = 1;
    return inverse;
  }
  if (const auto* banded = std::get_if<BandedInverseDecoder>(&form)) {
    std::vector<double> inverse = banded->coefficients;
    inverse.resize(index_of(n));
    return inverse;
  }
  const std::span<const double> kept = base.toeplitz_decoder();
  std::vector<double> decoder;
  if (std::holds_alternative<IdentityDecoder>(form)) {
    decoder.resize(index_of(n));
    decoder[0] = 1;
  } else if (!kept.empty() && n <= std::ssize(kept)) {
    decoder.assign(kept.begin(), kept.end());
  } else if (const auto* bands = std::get_if<BandedDecoder>(&form)) {
    return reciprocal_series(bands->coefficients, n);
  } else if (const auto* stored = std::get_if<ToeplitzDecoder>(&form)) {
    decoder.assign(stored->coefficients.begin(),
                   stored->coefficients.begin() + static_cast<std::ptrdiff_t>(n));
  }
  if (decoder.empty()) return {};
  return solve_workload(Workload::prefix_sums(n), std::move(decoder));
}

/// Smallest number of steps at which norms of Toeplitz rows are computed by transforms.
constexpr std::int64_t kMinTransformedSteps = 4096;

/// True if the norms of a window are computed faster, or only, lag by lag.
bool is_narrow_window(const Workload& workload) {
  if (workload.kind() != Workload::Kind::window) return false;
  const std::int64_t n = workload.steps();
  return n > FilteredStrategy::kMaxToeplitzSteps || workload.window() <= n / 32;
}

/// True if B = C, both Toeplitz, for prefix sums; one list of coefficients then serves both.
bool is_square_root(const Strategy& base) {
  const std::span<const double> encoder = base.toeplitz_encoder();
  return !encoder.empty() && base.toeplitz_decoder().data() == encoder.data();
}

/// Computes the row norms of A_workload D G, G the Toeplitz matrix of `inverse`, row by row as in a
/// stream: m <- momentum m + D_t G_t, out <- decay out + rate_t m.
class ToeplitzRowNorms {
 public:
  ToeplitzRowNorms(const Workload& workload, std::span<const double> column_scales,
                   std::span<const double> inverse)
      : workload_(workload), scales_(column_scales), reversed_(inverse.rbegin(), inverse.rend()) {}

  std::vector<double> norms() {
    const std::size_t n = reversed_.size();
    const bool has_window = workload_.kind() == Workload::Kind::window;
    const auto width = index_of(workload_.window());
    std::vector<double> out(n), average(workload_.momentum() == 0 ? 0 : n), norms(n);
    std::size_t t = 0;
    if (!has_window && average.empty() && workload_.decay() == 1)
      for (; t + kRowsAtOnce <= n; t += kRowsAtOnce) add_several(t, out, norms);
    for (; t < n; ++t) {
      const double rate = rate_at(t);
      if (average.empty()) {
        accumulate(t, rate, workload_.decay(), out);
      } else {
        accumulate(t, 1, workload_.momentum(), average);
        const double decay = workload_.decay();
        for (std::size_t j = 0; j <= t; ++j) out[j] = decay * out[j] + rate * average[j];
      }
      if (has_window && t >= width) accumulate(t - width, -1, 1, out);
      norms[t] = norm_squared(std::span(out).first(t + 1));
    }
    return norms;
  }

 private:
  static constexpr std::size_t kRowsAtOnce = 4;
  static constexpr std::size_t kLanes = 4;

  double rate_at(std::size_t t) const {
    return workload_.rates().empty() ? 1 : workload_.rates()[t];
  }

  /// Adds four rows in one pass over `out`, for the simplest workloads, out <- out + rate_t D_t
  /// G_t.
  void add_several(std::size_t first, std::span<double> out, std::span<double> norms) const {
    std::array<double, kRowsAtOnce> factors;
    std::array<const double*, kRowsAtOnce> rows;
    for (std::size_t k = 0; k < kRowsAtOnce; ++k) {
      factors[k] = rate_at(first + k) * scales_[first + k];
      rows[k] = reversed_.data() + (reversed_.size() - 1 - first - k);
    }
    std::array<std::array<double, kLanes>, kRowsAtOnce> sums{};
    std::size_t j = 0;
    for (; j + kLanes <= first; j += kLanes) {
      std::array<double, kLanes> entries;
      for (std::size_t i = 0; i < kLanes; ++i) entries[i] = out[j + i];
      for (std::size_t k = 0; k < kRowsAtOnce; ++k)
        for (std::size_t i = 0; i < kLanes; ++i) {
          entries[i] += factors[k] * rows[k][j + i];
          sums[k][i] += entries[i] * entries[i];
        }
      for (std::size_t i = 0; i < kLanes; ++i) out[j + i] = entries[i];
    }
    for (std::size_t k = 0; k < kRowsAtOnce; ++k) {
      for (std::size_t i = j; i <= first + k; ++i) {
        out[i] += factors[k] * rows[k][i];
        sums[k][0] += out[i] * out[i];
      }
      norms[first + k] = (sums[k][0] + sums[k][1]) + (sums[k][2] + sums[k][3]);
    }
  }

  /// row <- keep row + factor D_t G_t.
  void accumulate(std::size_t t, double factor, double keep, std::span<double> row) const {
    const double scaled = factor * scales_[t];
    const double* const entries = reversed_.data() + (reversed_.size() - 1 - t);
    if (keep == 1) {
      for (std::size_t j = 0; j <= t; ++j) row[j] += scaled * entries[j];
    } else {
      for (std::size_t j = 0; j <= t; ++j) row[j] = keep * row[j] + scaled * entries[j];
    }
  }

  const Workload& workload_;
  std::span<const double> scales_;
  std::vector<double> reversed_;
};

/// Computes the squared row norms of A_workload D C^-1 for a buffered C, the variances of the
/// stream
///     w = z - weights . s,  s <- decays * s + w,  m <- momentum m + D_t w,
///     out <- decay out + rate_t m
/// by the recursion of the covariance matrix of (s, m, out).
class BufferedRowNorms {
 public:
  explicit BufferedRowNorms(const BufferedDecoder& buffers)
      : decays_(buffers.decays),
        weights_(buffers.weights),
        ss_(decays_.size() * decays_.size()),
        sm_(decays_.size()),
        so_(decays_.size()),
        sw_(decays_.size()) {}

  std::vector<double> norms(const Workload& workload, std::span<const double> column_scales) {
    std::vector<double> norms;
    norms.reserve(column_scales.size());
    for (std::size_t t = 0; t < column_scales.size(); ++t) {
      const double rate = workload.rates().empty() ? 1 : workload.rates()[t];
      advance(column_scales[t], workload.momentum(), workload.decay(), rate);
      norms.push_back(oo_);
    }
    return norms;
  }

 private:
  void advance(double scale, double momentum, double decay, double rate) {
    const std::size_t d = decays_.size();
    double ww = 1, mw = 0, ow = 0;
    for (std::size_t i = 0; i < d; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < d; ++j) sum += ss_[i * d + j] * weights_[j];
      sw_[i] = -sum;
      ww += weights_[i] * sum;
      mw -= weights_[i] * sm_[i];
      ow -= weights_[i] * so_[i];
    }
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < d; ++j)
        ss_[i * d + j] = decays_[i] * decays_[j] * ss_[i * d + j] + decays_[i] * sw_[i] +
                         decays_[j] * sw_[j] + ww;
    for (std::size_t i = 0; i < d; ++i) {
      const double with_m = momentum * sm_[i] + scale * sw_[i];
      sm_[i] = decays_[i] * with_m + momentum * mw + scale * ww;
      so_[i] = decay * (decays_[i] * so_[i] + ow) + rate * sm_[i];
    }
    const double with_out = momentum * mo_ + scale * ow;
    mm_ = momentum * momentum * mm_ + 2 * momentum * scale * mw + scale * scale * ww;
    mo_ = decay * with_out + rate * mm_;
    oo_ = decay * decay * oo_ + 2 * decay * rate * with_out + rate * rate * mm_;
  }

  std::vector<double> decays_, weights_;
  std::vector<double> ss_, sm_, so_, sw_;
  double mm_ = 0, mo_ = 0, oo_ = 0;
};

/// A_workload D A^-1 B_base, computed row by row as in a stream.
Matrix filtered_decoder(const Strategy& base, const Workload& workload,
                        std::span<const double> column_scales) {
  Matrix rows = base.decoder();
  for (Eigen::Index t = rows.rows() - 1; t > 0; --t) rows.row(t) -= rows.row(t - 1);
  for (Eigen::Index t = 0; t < rows.rows(); ++t)
    rows.row(t) *= column_scales[static_cast<std::size_t>(t)];
  if (workload.kind() == Workload::Kind::matrix) return detail::multiply(workload.matrix(), rows);
  const Matrix inputs = workload.kind() == Workload::Kind::window ? rows : Matrix();
  const auto width = static_cast<Eigen::Index>(workload.window());
  for (Eigen::Index t = 1; t < rows.rows(); ++t)
    rows.row(t) += workload.momentum() * rows.row(t - 1);
  for (Eigen::Index t = 0; t < rows.rows(); ++t) {
    if (!workload.rates().empty()) rows.row(t) *= workload.rates()[static_cast<std::size_t>(t)];
    if (t > 0) rows.row(t) += workload.decay() * rows.row(t - 1);
    if (inputs.rows() > 0 && t >= width) rows.row(t) -= inputs.row(t - width);
  }
  return rows;
}

/// Largest number of steps at which row norms are known for a lower-triangular Toeplitz base.
std::int64_t max_toeplitz_steps(const Workload& workload) {
  constexpr std::int64_t kMaxProducts = std::int64_t{1} << 28;  // steps times width
  if (workload.kind() == Workload::Kind::matrix) return 0;
  if (workload.kind() == Workload::Kind::window)
    return std::clamp(kMaxProducts / workload.window(), FilteredStrategy::kMaxToeplitzSteps,
                      FilteredStrategy::kMaxTransformedSteps);
  return has_scaled_toeplitz_rows(workload) ? FilteredStrategy::kMaxTransformedSteps
                                            : FilteredStrategy::kMaxToeplitzSteps;
}

/// Largest number of steps at which row norms are known if the column scales are not all equal.
std::int64_t max_row_steps(const Strategy& base, const Workload& workload) {
  const bool has_short_state =
      workload.kind() != Workload::Kind::window && workload.kind() != Workload::Kind::matrix;
  if (has_short_state && std::holds_alternative<BufferedDecoder>(base.decoder_form()))
    return FilteredStrategy::kMaxSteps;
  if (base.toeplitz_encoder().empty() || workload.kind() == Workload::Kind::matrix)
    return FilteredStrategy::kMaxDenseRowSteps;
  return max_toeplitz_steps(workload);
}

/// Also names the limit for errors, so that callers who need errors meet only one limit.
void require_steps(std::string_view name, const Strategy& base, const Workload& workload) {
  const std::int64_t n = base.steps();
  if (n <= FilteredStrategy::kMaxSteps) return;
  const std::int64_t limit = max_row_steps(base, workload);
  const std::string most = to_text(FilteredStrategy::kMaxSteps);
  fail_argument(name, "steps",
                limit == FilteredStrategy::kMaxSteps
                    ? "at most " + most
                    : "at most " + to_text(limit) + " for errors, " + most + " for noise",
                to_text(n));
}

}  // namespace

FilteredStrategy::FilteredStrategy(Options options)
    : Strategy(options.workload), options_(std::move(options)) {
  require_steps(name(), *options_.base, workload());
  if (!options_.base->workload().is_prefix())
    fail_argument(name(), "base", "a strategy for prefix sums",
                  "one for " + options_.base->workload().name());
  require_length(name(), "base", options_.base->steps(), steps());
}

double FilteredStrategy::scale(std::int64_t step) const {
  return options_.column_scales.empty() ? 1 : options_.column_scales[index_of(step)];
}

std::vector<double> FilteredStrategy::squared_row_norms() const {
  const Strategy& base = *options_.base;
  const std::int64_t n = steps();
  std::vector<double> scales = options_.column_scales;
  scales.resize(index_of(n), 1.0);
  const bool equal_columns =
      std::all_of(scales.begin(), scales.end(), [&](double value) { return value == scales[0]; });
  if (equal_columns && workload().is_prefix()) {
    std::vector<double> rows;
    rows.reserve(scales.size());
    for (std::int64_t t = 0; t < n; ++t)
      rows.push_back(scales[0] * scales[0] * base.row_norm_squared(t));
    return rows;
  }
  if (workload().is_prefix() && is_square_root(base))
    return n <= kMaxTransformedSteps ? scaled_square_root_rows(scales) : std::vector<double>();
  const DecoderForm form = base.decoder_form();
  const bool has_short_state =
      workload().kind() != Workload::Kind::window && workload().kind() != Workload::Kind::matrix;
  if (const auto* buffers = std::get_if<BufferedDecoder>(&form); buffers && has_short_state)
    return BufferedRowNorms(*buffers).norms(workload(), scales);
  if (n <= max_toeplitz_steps(workload())) {
    const std::vector<double> inverse = inverse_encoder(base);
    if (!inverse.empty() && is_narrow_window(workload()))
      return scaled_window_rows(workload().window(), inverse, scales);
    if (!inverse.empty())
      return n >= kMinTransformedSteps && has_scaled_toeplitz_rows(workload())
                 ? scaled_toeplitz_rows(workload(), inverse, scales)
                 : ToeplitzRowNorms(workload(), scales, inverse).norms();
  }
  if (n > kMaxDenseRowSteps) return {};
  const Vector rows = decoder().rowwise().squaredNorm();
  return {rows.begin(), rows.end()};
}

const std::vector<double>& FilteredStrategy::rows() const {
  std::call_once(are_rows_made_, [this] {
    rows_ = squared_row_norms();
    require_all_finite(name(), "workload", rows_);
  });
  if (!rows_.empty()) return rows_;
  fail(ErrorCode::unsupported, options_.name, "steps",
       "must be at most " + to_text(max_row_steps(*options_.base, workload())) +
           " for row norms for " + workload().name(),
       to_text(steps()));
}

double FilteredStrategy::column_norm_squared(std::int64_t step) const {
  require_step(step);
  return options_.base->column_norm_squared(step) / scale(step) / scale(step);
}

double FilteredStrategy::max_column_norm_squared() const {
  if (options_.column_scales.empty()) return options_.base->max_column_norm_squared();
  double largest = 0;
  for (std::int64_t step = 0; step < steps(); ++step)
    largest = std::max(largest, column_norm_squared(step));
  return largest;
}

double FilteredStrategy::row_norm_squared(std::int64_t step) const {
  require_step(step);
  return rows()[index_of(step)];
}

RowNorms FilteredStrategy::row_norms() const {
  DoubleDouble total;
  for (const double row : rows()) total = add(total, row);
  const auto [smallest, largest] = std::minmax_element(rows().begin(), rows().end());
  return {*smallest, *largest, total.high / static_cast<double>(steps())};
}

Matrix FilteredStrategy::encoder() const {
  Matrix encoder = options_.base->encoder();
  for (Eigen::Index j = 0; j < encoder.cols(); ++j) encoder.col(j) /= scale(j);
  return encoder;
}

Matrix FilteredStrategy::decoder() const {
  (void)dense_size();
  std::vector<double> scales = options_.column_scales;
  scales.resize(index_of(steps()), 1.0);
  return filtered_decoder(*options_.base, workload(), scales);
}

DecoderForm FilteredStrategy::decoder_form() const {
  return FilteredDecoder{.base = std::make_shared<const DecoderForm>(options_.base->decoder_form()),
                         .column_scales = options_.column_scales,
                         .workload = workload()};
}

std::span<const double> FilteredStrategy::toeplitz_encoder() const {
  if (!options_.column_scales.empty()) return {};
  return options_.base->toeplitz_encoder();
}

std::shared_ptr<const Strategy> normalized_strategy(std::shared_ptr<const Strategy> base,
                                                    const Workload& workload, std::string name) {
  if (name.empty()) name = "normalized-" + std::string(base->name());
  require_steps(name, *base, workload);
  std::vector<double> norms;
  norms.reserve(index_of(base->steps()));
  for (std::int64_t step = 0; step < base->steps(); ++step)
    norms.push_back(std::sqrt(base->column_norm_squared(step)));
  return std::make_shared<const FilteredStrategy>(
      FilteredStrategy::Options{.base = std::move(base),
                                .workload = workload,
                                .column_scales = std::move(norms),
                                .name = std::move(name)});
}

std::shared_ptr<const Strategy> decoded_strategy(std::shared_ptr<const Strategy> base,
                                                 const Workload& workload) {
  std::string name(base->name());
  return std::make_shared<const FilteredStrategy>(FilteredStrategy::Options{
      .base = std::move(base), .workload = workload, .column_scales = {}, .name = std::move(name)});
}

std::shared_ptr<const Strategy> decoded_toeplitz_strategy(
    const Workload& workload,
    const std::function<std::shared_ptr<const Strategy>(const ToeplitzRequest&)>& make) {
  const Workload prefix = Workload::prefix_sums(workload.steps());
  if (workload.is_toeplitz()) return make({.designed_for = prefix, .workload = workload});
  return decoded_strategy(make({.designed_for = prefix, .workload = prefix}), workload);
}

FamilyRow normalized_square_root_family() {
  return {.info = {.name = kNormalizedSquareRoot,
                   .summary = "square root with columns scaled to norm 1",
                   .step_cost = "O(log n) by FFT, generated in advance",
                   .memory_cost = "n vectors",
                   .parameters = "",
                   .workloads = WorkloadSupport::adapted,
                   .max_steps = FilteredStrategy::kMaxTransformedSteps,
                   .is_causal = true},
          .makes = Makes::toeplitz,
          .make = [](const ToeplitzRequest& request,
                     const StrategyParameters&) { return square_root_strategy(request); },
          .normalizes_columns = true};
}

}  // namespace dpftrl
