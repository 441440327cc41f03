// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Columns of a stream behind one interface, so that each stream of people or of records, in memory
/// or with a journal, is compiled once and not for every kind of columns. JavaScript passes a
/// record as a row of numbers, and gets a reading as numbers.

#include <emscripten/val.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "convert.hpp"
#include "dpftrl/release/columns.hpp"

namespace dpftrl::wasm {

/// One kind of columns.
class ColumnsKind {
 public:
  virtual ~ColumnsKind() = default;
  /// Entries of a row.
  virtual std::int64_t dimension() const = 0;
  /// Entries of a record, as JavaScript passes it.
  virtual std::int64_t record_size() const = 0;
  virtual bool adds() const = 0;
  virtual void check(std::span<const double> record) = 0;
  virtual ProductRecord write(std::span<const double> record, std::span<double> row) = 0;
  virtual void append_reading(const NoisySums& sums, std::vector<double>& numbers) const = 0;
  virtual PrefixSumOptions release_options(PrefixSumOptions options) const = 0;
  /// Index, within a reading, of the std of its first number.
  virtual std::size_t stddev_index() const = 0;
  /// Half width of the noise of the readings of one step or of all steps; by default the half width
  /// of the sums.
  virtual double half_width(const PrefixSum& sums, std::optional<std::int64_t> step,
                            double probability) const {
    if (!step) return sums.simultaneous_half_width(probability);
    return sums.release_half_width({.step = *step, .probability = probability});
  }
  /// Whether a reading consists of weights; its std is then the std of the sums.
  virtual bool reads_weights() const { return false; }
  // Overridden by kinds that follow the noisy sums: see FollowingColumns.
  virtual void begin(const PrefixSum&) {}
  virtual void follow(std::span<const double>) {}
  virtual void require_going() const {}
  using Released = std::function<std::span<const double>(std::int64_t)>;
  virtual void seek(std::int64_t, const Released&) {}
  /// The numbers that identify a record; by default the numbers of its row.
  virtual std::span<const double> identity(std::span<const double>, const ProductRecord& row) {
    return row.features;
  }
  /// Windows of active people; empty for everything else.
  virtual std::span<const std::int64_t> windows() const { return {}; }
  /// Adds properties to a stream, and overrides those of its certificate that concern records.
  virtual void describe(const Mechanism&, emscripten::val& /*stream*/) const {}
};

/// Reading whose numbers are computed when they are appended to a list, which has to happen before
/// the next step.
struct NumbersOfReading {
  const ColumnsKind* kind;
  NoisySums sums;

  void append_to(std::vector<double>& numbers) const { kind->append_reading(sums, numbers); }
};

/// The kind as Columns, whose records and readings are numbers.
class AnyColumns {
 public:
  using Record = std::span<const double>;
  using Reading = NumbersOfReading;
  static constexpr bool kClips = true;  // each kind is made together with a mechanism for it
  static constexpr bool kMayFollow =
      true;  // the facade refuses sums without noise for the kinds that follow

  explicit AnyColumns(std::shared_ptr<ColumnsKind> kind) : kind_(std::move(kind)) {}

  ColumnsKind& kind() const { return *kind_; }
  std::int64_t dimension() const { return kind_->dimension(); }
  bool adds() const { return kind_->adds(); }
  std::span<const std::int64_t> windows() const { return kind_->windows(); }
  void check(std::span<const double> record) const { kind_->check(record); }
  ProductRecord write(std::span<const double> record, std::span<double> row) const {
    return kind_->write(record, row);
  }
  void begin(const PrefixSum& sums) const { kind_->begin(sums); }
  void follow(std::span<const double> noisy) const { kind_->follow(noisy); }
  void require_going() const { kind_->require_going(); }
  void seek(std::int64_t step, const ColumnsKind::Released& released) const {
    kind_->seek(step, released);
  }
  std::span<const double> identity(std::span<const double> record, const ProductRecord& row) const {
    return kind_->identity(record, row);
  }
  NumbersOfReading read(const NoisySums& sums) const { return {kind_.get(), sums}; }
  std::shared_ptr<const Mechanism> mechanism(const MechanismOptions& options) const {
    return Mechanism::make(options);
  }
  PrefixSumOptions release_options(PrefixSumOptions options) const {
    return kind_->release_options(options);
  }

 private:
  std::shared_ptr<ColumnsKind> kind_;
};

/// A row that is not a product.
inline ProductRecord plain_row(std::span<const double> row) {
  static constexpr double kOne = 1;
  return {.scales = {&kOne, 1}, .features = row};
}

/// Columns and the mechanism for them.
struct MadeColumns {
  std::shared_ptr<ColumnsKind> kind;
  std::shared_ptr<const Mechanism> mechanism;
};

inline void append(std::vector<double>& numbers, const Estimate& estimate) {
  numbers.insert(numbers.end(), {estimate.value, estimate.low, estimate.high, estimate.stddev});
}

inline void append(std::vector<double>& numbers, const Estimates& estimates) {
  numbers.insert(numbers.end(), estimates.values.begin(), estimates.values.end());
  numbers.push_back(estimates.stddev);
  numbers.push_back(estimates.half_width);
}

inline double confidence_of(const emscripten::val& options) {
  return optional_number(options, "confidence").value_or(0.95);
}

// The module of counters refuses to make any of the following.

/// The kinds that only the whole package has.
MadeColumns make_statistic(const std::string& kind, const emscripten::val& options);
/// The mechanism of sums without a delta.
std::shared_ptr<const Mechanism> make_pure_mechanism(const emscripten::val& options);
/// Adds the discrete Laplace noise to the certificate of sums without a delta, and sets its
/// `noiseStddev` accordingly.
void set_laplace(emscripten::val& certificate, const LaplaceNoise& law, double grid);
MadeColumns make_increments(const emscripten::val& options);
MadeColumns make_learner(const emscripten::val& options);
/// Counts of active people.
MadeColumns make_active(const emscripten::val& options);

/// The columns of the stream with this handle.
ColumnsKind& kind_of_stream(double handle);

}  // namespace dpftrl::wasm
