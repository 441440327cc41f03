// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Streams behind one interface, so that the functions that JavaScript calls are written once for
/// streams in memory and with a journal, of records and of people.

#include <emscripten/val.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "convert.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/release/stream.hpp"
#include "key.hpp"
#include "rows.hpp"

namespace dpftrl::wasm {

using Row = std::span<const double>;

/// Options of the releases; the facade has checked the names.
inline PrefixSumOptions sums_options(const emscripten::val& options) {
  const std::optional<std::int64_t> bits = optional_count(options, "precisionBits");
  return {.key = key_of(options),
          .dimension = optional_count(options, "dimension").value_or(1),
          .mode = text(options, "mode") == "lattice" ? ReleaseMode::lattice : ReleaseMode::grid,
          .grid = optional_number(options, "grid"),
          .lattice_noise = text(options, "latticeNoise") == "rounded-gaussian"
                               ? LatticeNoise::rounded_gaussian
                               : LatticeNoise::discrete_gaussian,
          .precision_bits =
              bits ? std::optional<int>(static_cast<int>(std::min<std::int64_t>(*bits, 1000)))
                   : std::nullopt,
          .clipped_by_caller = optional_flag(options, "clippedByCaller").value_or(false)};
}

/// Records of a call, and the people they belong to.
class Batch {
 public:
  /// @param people  the names: {bytes, ends}, their bytes concatenated and where each name ends;
  ///                undefined without people.
  Batch(const emscripten::val& people, const emscripten::val& rows, std::int64_t record_size)
      : numbers_(numbers_of(rows)) {
    const auto width = static_cast<std::size_t>(record_size);
    if (numbers_.size() % width != 0)
      fail(ErrorCode::wrong_length, "stream", "records",
           "must have a length that is a multiple of " + to_text(record_size),
           to_text(static_cast<std::int64_t>(numbers_.size())));
    for (std::size_t begin = 0; begin < numbers_.size(); begin += width)
      records_.push_back(Row(numbers_).subspan(begin, width));
    if (people.isUndefined()) return;
    bytes_ = bytes_of(people["bytes"]);
    const std::string_view all(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
    std::size_t begin = 0;
    for (const double given : numbers_of(people["ends"])) {
      const auto end = static_cast<std::size_t>(count_of(given));
      if (end < begin || end > all.size()) throw std::logic_error("no such name");
      people_.push_back(all.substr(begin, end - begin));
      begin = end;
    }
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  std::span<const Row> records() const { return records_; }
  std::span<const std::string_view> people() const { return people_; }

 private:
  std::vector<double> numbers_;
  std::vector<Row> records_;
  std::vector<std::byte> bytes_;
  std::vector<std::string_view> people_;
};

/// A stream of any kind. A stream without a journal refuses the functions that need one.
class AnyStream {
 public:
  using Readings = std::vector<double>;

  virtual ~AnyStream() = default;
  virtual ColumnsKind& kind() const = 0;
  virtual const PrefixSum& sums() const = 0;
  virtual RecordCounts counts() const = 0;
  /// Throws if the stream would refuse the record.
  virtual void check(Row record) = 0;
  virtual void add(const Batch& batch) = 0;
  /// Ends a step. Without a journal, appends its reading, unless `readings` is null.
  virtual void end(Readings* readings) = 0;
  virtual void release(const Batch& batch, Readings* readings) = 0;
  /// Reading of a step at which all sums are zero.
  virtual Readings reading_of_nothing(std::int64_t step) const = 0;

  virtual std::int64_t num_acknowledged() const { return sums().step(); }
  /// See RecordStream::is_stored.
  virtual bool is_stored() const { return true; }
  /// Appends the reading of an acknowledged step.
  virtual void read(std::int64_t, Readings&) const { refuse(); }
  virtual bool is_repeat(std::int64_t, const Batch&) { refuse(); }
  virtual LogTag key_commitment() const { refuse(); }
  virtual std::vector<std::byte> state() { refuse(); }
  virtual void restore(std::span<const std::byte>) { refuse(); }
  virtual LogTag log_tag(std::span<const std::byte>) const { refuse(); }
  virtual LogPart frame(const LogTag&, std::int64_t) { refuse(); }
  virtual LogEnd replay(std::span<const std::byte>, const LogOptions&) { refuse(); }
  virtual void acknowledge(std::int64_t) { refuse(); }

 private:
  [[noreturn]] static void refuse() { throw std::logic_error("no journal"); }
};

template <class Who, class Place>
class StreamOf : public AnyStream {
 public:
  using Own = RecordStream<AnyColumns, Who, Place>;

  explicit StreamOf(Own own) : own_(std::move(own)) {}

  ColumnsKind& kind() const final { return own_.columns().kind(); }
  const PrefixSum& sums() const final { return own_.sums(); }
  RecordCounts counts() const final { return own_.counts(); }
  void check(Row record) final { own_.check(record); }
  void add(const Batch& batch) final {
    if constexpr (Own::kPeople)
      own_.add_many(batch.people(), batch.records());
    else
      own_.add_many(batch.records());
  }
  void end(Readings* readings) final { take(own_.end(), readings); }
  void release(const Batch& batch, Readings* readings) final {
    const auto use = [&](auto&& ended) { take(ended, readings); };
    if constexpr (Own::kPeople)
      own_.release_many(batch.people(), batch.records(), use);
    else
      own_.release_many(batch.records(), use);
  }
  Readings reading_of_nothing(std::int64_t step) const final {
    const Readings zeros(static_cast<std::size_t>(sums().dimension()));
    Readings reading;
    own_.columns().read({.step = step, .values = zeros, .noise = sums()}).append_to(reading);
    return reading;
  }

 protected:
  Own own_;

 private:
  /// Appends a reading and, if sums are also kept without noise, their reading.
  void take(const NumbersOfReading& reading, Readings* readings) const {
    if (readings == nullptr) return;
    reading.append_to(*readings);
    if constexpr (Own::kNonprivate) own_.nonprivate().append_to(*readings);
  }
  void take(std::int64_t, Readings*) const {}
};

template <class Who>
class JournalOf final : public StreamOf<Who, Journal> {
  using Base = StreamOf<Who, Journal>;
  using Base::own_;

 public:
  using Base::Base;
  using typename AnyStream::Readings;

  std::int64_t num_acknowledged() const override { return own_.place().num_acknowledged(); }
  bool is_stored() const override { return own_.is_stored(); }
  void read(std::int64_t step, Readings& readings) const override {
    own_.at(step).append_to(readings);
  }
  bool is_repeat(std::int64_t step, const Batch& batch) override {
    return own_.is_repeat(step, batch.people(), batch.records());
  }
  LogTag key_commitment() const override { return own_.place().key_commitment(); }
  std::vector<std::byte> state() override { return own_.state(); }
  void restore(std::span<const std::byte> bytes) override { own_.restore(bytes); }
  LogTag log_tag(std::span<const std::byte> base) const override { return own_.log_tag(base); }
  LogPart frame(const LogTag& before, std::int64_t max_steps) override {
    return own_.frame(before, max_steps);
  }
  LogEnd replay(std::span<const std::byte> log, const LogOptions& options) override {
    return own_.replay(log, options);
  }
  void acknowledge(std::int64_t steps) override { own_.acknowledge(steps); }
};

template <class Who>
std::unique_ptr<AnyStream> make_stream(const MadeColumns& made, const emscripten::val& options) {
  const PrefixSumOptions how = sums_options(options);
  const AnyColumns columns(made.kind);
  if (!optional_flag(options, "journal").value_or(false)) {
    using Kind = StreamOf<Who, Memory>;
    return std::make_unique<Kind>(typename Kind::Own(columns, made.mechanism, how));
  }
  using Kind = JournalOf<Who>;
  auto stream = std::make_unique<Kind>(
      typename Kind::Own(columns, made.mechanism, how, text(options, "about")));
  if (!options["state"].isUndefined()) stream->restore(bytes_of(options["state"]));
  return stream;
}

/// A stream whose readings are followed by readings without noise, in the whole package only.
std::unique_ptr<AnyStream> make_nonprivate_stream(const MadeColumns& made,
                                                  const emscripten::val& options);
/// A stream of active people, in the whole package only.
std::unique_ptr<AnyStream> make_active_stream(const MadeColumns& made,
                                              const emscripten::val& options);

}  // namespace dpftrl::wasm
