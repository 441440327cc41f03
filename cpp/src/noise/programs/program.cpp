// SPDX-License-Identifier: Apache-2.0
#include "noise/programs/program.hpp"

#include <algorithm>
#include <utility>

namespace dpftrl::noise {
namespace {

/// Largest error of a row, times num_rows, for plain precision. With up to 2^20 grid units per
/// standard deviation, recomputing the entries that the rounding test leaves open then takes a few
/// nanoseconds per entry.
constexpr double kLargestPlainError = 0x1p-22;
/// Beyond this many rows, the error is not worth computing in advance.
constexpr std::int64_t kMaxPlainRows = std::int64_t{1} << 16;
/// Beyond this many rows, refined normals cost less than recomputing the entries that unrefined
/// normals leave open, each of which needs all earlier normals again.
constexpr std::int64_t kMaxUnrefinedRows = std::int64_t{1} << 17;

std::vector<Bound> bounds_of(const ProgramOptions& options, const DecoderForm& form) {
  SlotAllocator slots;
  const ProgramPointer program = make_program(options, form, slots);
  std::vector<Bound> bounds;
  bounds.reserve(static_cast<std::size_t>(options.num_rows));
  for (std::int64_t step = 0; step < options.num_rows; ++step)
    bounds.push_back(program->bound(step));
  return bounds;
}

/// True if plain precision is an option for this form.
bool may_be_plain(const DecoderForm& form) {
  if (const auto* filter = std::get_if<FilteredDecoder>(&form))
    return filter->workload.is_prefix() &&
           !std::holds_alternative<ToeplitzDecoder>(*filter->base) && may_be_plain(*filter->base);
  return !std::holds_alternative<RunningSumDecoder>(form) &&
         !std::holds_alternative<KaryDecoder>(form) && !std::holds_alternative<BlockDecoder>(form);
}

/// True for forms whose rows are sums of few terms each, or come from a convolution.
bool is_always_plain(const DecoderForm& form) {
  return std::holds_alternative<IdentityDecoder>(form) ||
         std::holds_alternative<DyadicDecoder>(form) || std::holds_alternative<HaarDecoder>(form) ||
         std::holds_alternative<ToeplitzDecoder>(form) ||
         std::holds_alternative<MovingSumDecoder>(form);
}

/// True if a filter leaves the rows of its base unchanged.
bool changes_nothing(const FilteredDecoder& filter) {
  return filter.workload.is_prefix() && filter.column_scales.empty();
}

/// True for decoders B = A C^-1 that compute w = C^-1 z by a recursion.
bool is_recursive(const DecoderForm& form) {
  return std::holds_alternative<BandedDecoder>(form) ||
         std::holds_alternative<BandedInverseDecoder>(form) ||
         std::holds_alternative<BufferedDecoder>(form) ||
         std::holds_alternative<VaryingBufferedDecoder>(form) ||
         std::holds_alternative<VaryingBandedDecoder>(form);
}

}  // namespace

void fill_measurement(const ProgramOptions& options, std::int64_t measurement,
                      std::span<double> out) {
  fill_normals(options.key, Stream::noise,
               static_cast<std::uint64_t>(options.first_measurement + measurement),
               static_cast<std::uint64_t>(options.first_coordinate), out);
}

ProgramPointer make_program(const ProgramOptions& options, const DecoderForm& form,
                            SlotAllocator& slots) {
  return program_makers()[form.index()](options, form, slots);
}

bool adds_up(const DecoderForm& form) {
  if (const auto* dyadic = std::get_if<DyadicDecoder>(&form))
    return std::ranges::any_of(dyadic->node_weights, [](double weight) { return weight != 1; });
  if (const auto* blocks = std::get_if<BlockDecoder>(&form))
    return std::ranges::any_of(blocks->blocks,
                               [](const auto& block) { return adds_up(*block.form); });
  if (const auto* filter = std::get_if<FilteredDecoder>(&form)) {
    const DecoderForm& base = *filter->base;
    return !std::holds_alternative<ToeplitzDecoder>(base) &&
           (adds_up(base) || !changes_nothing(*filter));
  }
  return std::holds_alternative<RunningSumDecoder>(form) ||
         std::holds_alternative<AutoregressiveDecoder>(form) || is_recursive(form);
}

std::int64_t resume_point(const DecoderForm& form, std::int64_t step) {
  if (const auto* dyadic = std::get_if<DyadicDecoder>(&form)) {
    // The estimate of a node whose weight is not 1 depends on the normals of all steps below it.
    for (std::size_t level = 0; level < dyadic->node_weights.size(); ++level)
      if (step >> level & 1 && dyadic->node_weights[level] != 1) return 0;
    return step;
  }
  if (const auto* filter = std::get_if<FilteredDecoder>(&form)) {
    return changes_nothing(*filter) ? resume_point(*filter->base, step) : 0;
  }
  if (const auto* blocks = std::get_if<BlockDecoder>(&form)) {
    std::int64_t first = 0;
    for (const BlockDecoder::Block& block : blocks->blocks) {
      if (step - first < block.steps) return first + resume_point(*block.form, step - first);
      if (block.closing_row > 0 && resume_point(*block.form, block.closing_row) < block.closing_row)
        return first;
      first += block.steps;
    }
    return first;
  }
  return adds_up(form) ? 0 : step;
}

PrecisionChoice choose_precision(const ProgramOptions& options, const DecoderForm& form) {
  if (options.num_rows > kMaxUnrefinedRows && adds_up(form)) return {Precision::refined, {}};
  if (is_always_plain(form)) return {Precision::plain, {}};
  if (!may_be_plain(form) || options.num_rows > kMaxPlainRows) return {Precision::extended, {}};
  ProgramOptions plain = options;
  plain.precision = Precision::plain;
  std::vector<Bound> bounds = bounds_of(plain, form);
  double worst = 0;
  for (const Bound& bound : bounds) worst = larger_error(worst, bound.error);
  if (worst * static_cast<double>(options.num_rows) <= kLargestPlainError)
    return {Precision::plain, std::move(bounds)};
  return {Precision::extended, {}};
}

}  // namespace dpftrl::noise
