// SPDX-License-Identifier: Apache-2.0

/// Streams of active people.

#include <emscripten/val.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "any_stream.hpp"
#include "columns.hpp"
#include "convert.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/release/active_people.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;

/// A record is one number, a PersonEvent.
class Active final : public ColumnsKind {
 public:
  explicit Active(ActiveCounts columns) : columns_(std::move(columns)) {}

  std::int64_t dimension() const override { return columns_.dimension(); }
  std::int64_t record_size() const override { return 1; }
  bool adds() const override { return true; }
  void check(std::span<const double>) override {}
  ProductRecord write(std::span<const double> record, std::span<double>) override {
    return plain_row(record);
  }
  void append_reading(const NoisySums& sums, std::vector<double>& numbers) const override {
    for (const Estimate& count : columns_.read(sums)) append(numbers, count);
  }
  PrefixSumOptions release_options(PrefixSumOptions options) const override {
    return columns_.release_options(options);
  }
  std::size_t stddev_index() const override { return 3; }
  double half_width(const PrefixSum&, std::optional<std::int64_t>, double) const override {
    fail(ErrorCode::unsupported, "half_width", {},
         "a half-width is for sums; the readings of this stream have intervals");
  }
  std::span<const std::int64_t> windows() const override { return columns_.windows(); }
  void describe(const Mechanism& mechanism, val& stream) const override {
    val windows = val::array();
    for (std::int64_t i = 0; i < mechanism.num_readers(); ++i)
      windows.call<double>("push", claim_of(mechanism.reader(i)->certificate()));
    stream.set("windows", windows);
    val certificate = stream["certificate"];
    certificate.set("clipNorm", 1);
    if (const auto steps = mechanism.certificate().protected_steps)
      certificate.set("protectedSteps", static_cast<double>(*steps));
  }

 private:
  static val claim_of(const Certificate& claim) {
    val own = val::object();
    own.set("window", static_cast<double>(claim.active->window));
    own.set("closedStart", !claim.active->has_open_start);
    own.set("mechanism", claim.strategy);
    own.set("sensitivity", claim.sensitivity);
    own.set("sensitivityExactness", std::string(to_string(claim.exactness)));
    own.set("noiseStddev", claim.noise_stddev);
    own.set("stddev", claim.noise_multiplier * claim.clip * neighbour_distance(claim.neighbours) *
                          claim.max_error);
    own.set("effectiveParameters", to_object(claim.parameters));
    return own;
  }

  ActiveCounts columns_;
};

}  // namespace

MadeColumns make_active(const val& options) {
  ActiveCountsOptions what{.windows = {},
                           .has_open_start = !optional_flag(options, "closedStart").value_or(false),
                           .neighbours = neighbours_from_string(text(options, "neighbours")),
                           .confidence = confidence_of(options)};
  what.is_endless = optional_flag(options, "endless").value_or(false);
  for (const double window : numbers(options, "windows")) what.windows.push_back(count_of(window));
  ActiveCounts columns(std::move(what));
  std::shared_ptr<const Mechanism> mechanism = columns.mechanism(
      {.steps = count(options, "steps"),
       .target = {.epsilon = number(options, "epsilon"), .delta = number(options, "delta")}});
  return {.kind = std::make_shared<Active>(std::move(columns)), .mechanism = std::move(mechanism)};
}

std::unique_ptr<AnyStream> make_active_stream(const MadeColumns& made, const val& options) {
  return make_stream<ActivePeople>(made, options);
}

}  // namespace dpftrl::wasm
