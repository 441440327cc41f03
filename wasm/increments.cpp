// SPDX-License-Identifier: Apache-2.0

/// Streams of increments.

#include "dpftrl/release/increments.hpp"

#include <emscripten/val.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "convert.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;
using Row = std::span<const double>;

class IncrementsKind final : public ColumnsKind {
 public:
  explicit IncrementsKind(Increments columns) : columns_(std::move(columns)) {}

  std::int64_t dimension() const override { return columns_.dimension(); }
  std::int64_t record_size() const override { return columns_.dimension(); }
  bool adds() const override { return Increments::adds(); }
  void check(Row record) override { columns_.check(record); }
  ProductRecord write(Row record, std::span<double> row) override {
    return plain_row(columns_.write(record, row));
  }
  void append_reading(const NoisySums& sums, std::vector<double>& numbers) const override {
    append(numbers, columns_.read(sums));
  }
  PrefixSumOptions release_options(PrefixSumOptions options) const override {
    return columns_.release_options(options);
  }
  std::size_t stddev_index() const override {
    return static_cast<std::size_t>(columns_.dimension());
  }
  double half_width(const PrefixSum&, std::optional<std::int64_t> step,
                    double probability) const override {
    return step ? columns_.half_width({.step = *step, .probability = probability})
                : columns_.simultaneous_half_width(probability);
  }
  void begin(const PrefixSum& sums) override { columns_.begin(sums); }
  void follow(Row noisy) override { columns_.follow(noisy); }
  void seek(std::int64_t step, const Released& released) override { columns_.seek(step, released); }

 private:
  Increments columns_;
};

}  // namespace

MadeColumns make_increments(const val& options) {
  const Increments columns(count(options, "dimension"), confidence_of(options));
  return {.kind = std::make_shared<IncrementsKind>(columns),
          .mechanism = columns.mechanism(mechanism_options(options))};
}

}  // namespace dpftrl::wasm
