// SPDX-License-Identifier: Apache-2.0

/// Streams of records or people, in memory or with a journal, of any kind of columns.

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
#include <type_traits>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "convert.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/release/stream.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "key.hpp"
#include "rows.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;
using Row = std::span<const double>;

/// Records of one number, or of several.
template <typename C>
class Plain final : public ColumnsKind {
 public:
  explicit Plain(C columns) : columns_(std::move(columns)) {}

  std::int64_t dimension() const override { return columns_.dimension(); }
  std::int64_t record_size() const override { return columns_.dimension(); }
  bool adds() const override { return true; }
  void check(Row record) override {
    if constexpr (std::is_same_v<C, Number>)
      columns_.check(record[0]);
    else
      columns_.check(record);
  }
  ProductRecord write(Row record, std::span<double>) override { return plain_row(record); }
  void append_reading(const NoisySums& sums, std::vector<double>& numbers) const override {
    append(numbers, columns_.read(sums));
  }
  PrefixSumOptions release_options(PrefixSumOptions options) const override {
    return columns_.release_options(options);
  }
  std::size_t stddev_index() const override {
    return std::is_same_v<C, Number> ? 3 : static_cast<std::size_t>(columns_.dimension());
  }
  bool reads_sums() const override { return true; }

 private:
  C columns_;
};

/// Returns the options of the releases; the facade has checked the names.
PrefixSumOptions sums_options(const val& options) {
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
                   : std::nullopt};
}

std::shared_ptr<const Mechanism> make_mechanism(const val& options) {
  const bool is_pure = optional_flag(options, "pure").value_or(false);
  return is_pure ? make_pure_mechanism(options) : Mechanism::make(mechanism_options(options));
}

/// Converts the certificate of sums, with what their noise adds to the mechanism's claims.
val certificate_of(const PrefixSum& sums) {
  val certificate = to_object(sums.mechanism().certificate(), sums.lattice());
  if (const std::optional<LaplaceNoise> law = sums.laplace())
    set_laplace(certificate, *law, sums.grid());
  return certificate;
}

MadeColumns make_columns(const val& options) {
  const std::string kind = text(options, "kind");
  if (kind != "counter" && kind != "totals") return make_statistic(kind, options);
  MadeColumns made{.kind = nullptr, .mechanism = make_mechanism(options)};
  if (kind == "counter")
    made.kind = std::make_shared<Plain<Number>>(Number(confidence_of(options)));
  else
    made.kind = std::make_shared<Plain<Numbers>>(
        Numbers(count(options, "dimension"), confidence_of(options)));
  return made;
}

/// Records of a call, and whose they are.
class Batch {
 public:
  /// @param people  {bytes, ends} of the names; undefined without people.
  Batch(const val& people, const val& rows, std::int64_t record_size) : numbers_(numbers_of(rows)) {
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

/// A stream of any kind. What only one with a journal has is refused by the others.
class AnyStream {
 public:
  using Readings = std::vector<double>;

  virtual ~AnyStream() = default;
  virtual ColumnsKind& kind() const = 0;
  virtual const PrefixSum& sums() const = 0;
  virtual RecordCounts counts() const = 0;
  virtual void add(const Batch& batch) = 0;
  /// Ends a step. Without a journal, appends its reading, unless that is not wanted.
  virtual void end(Readings* readings) = 0;
  virtual void release(const Batch& batch, Readings* readings) = 0;
  /// Reading of no records.
  virtual Readings reading_of_nothing(std::int64_t step) const = 0;

  virtual std::int64_t num_acknowledged() const { return sums().step(); }
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
  static void take(const NumbersOfReading& reading, Readings* readings) {
    if (readings != nullptr) reading.append_to(*readings);
  }
  static void take(std::int64_t, Readings*) {}
};

template <class Who>
class JournalOf final : public StreamOf<Who, Journal> {
  using Base = StreamOf<Who, Journal>;
  using Base::own_;

 public:
  using Base::Base;
  using typename AnyStream::Readings;

  std::int64_t num_acknowledged() const override { return own_.place().num_acknowledged(); }
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
std::unique_ptr<AnyStream> make_stream(const MadeColumns& made, const val& options) {
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

val stream_create(const val& options) {
  const MadeColumns made = make_columns(options);
  const bool has_people = optional_flag(options, "people").value_or(false);
  std::unique_ptr<AnyStream> stream =
      has_people ? make_stream<People>(made, options) : make_stream<Records>(made, options);
  val object = val::object();
  object.set("certificate", certificate_of(stream->sums()));
  object.set("grid", stream->sums().grid());
  object.set("recordSize", static_cast<double>(made.kind->record_size()));
  object.set("readingSize", made.kind->follows()
                                ? static_cast<double>(made.kind->dimension())
                                : static_cast<double>(stream->reading_of_nothing(0).size()));
  made.kind->describe(*made.mechanism, object);
  object.set("id", handles().add(std::move(stream)));
  return object;
}

AnyStream& stream_of(double handle) {
  return handles().get<AnyStream>(handle);
}

/// Returns the numbers of steps and of records.
val stream_place(double handle) {
  const AnyStream& stream = stream_of(handle);
  const RecordCounts counts = stream.counts();
  val object = val::object();
  object.set("step", static_cast<double>(stream.sums().step()));
  object.set("records", static_cast<double>(counts.records));
  object.set("waiting", static_cast<double>(counts.waiting()));
  object.set("dropped", static_cast<double>(counts.dropped));
  object.set("acknowledged", static_cast<double>(stream.num_acknowledged()));
  return object;
}

/// Calls `make_steps(stream, readings)`, which makes steps and appends their readings, and writes
/// these to `out`, a Float64Array that only the facade holds; undefined with a journal, and where
/// they are not wanted, so that `readings` is null. A refusal
/// has `released`, the number of steps that were made, whose readings are in `out`.
template <typename MakeSteps>
val with_readings(double handle, const val& out, MakeSteps&& make_steps) {
  double num_made = 0;
  bool complete = false;
  val reply = guarded([&] {
    AnyStream& stream = stream_of(handle);
    std::vector<double> readings;
    const std::int64_t before = stream.sums().step();
    const auto write_back = [&] {
      num_made = static_cast<double>(stream.sums().step() - before);
      if (!out.isUndefined()) write_to(out, readings);
    };
    try {
      make_steps(stream, out.isUndefined() ? nullptr : &readings);
    } catch (...) {
      write_back();
      throw;
    }
    write_back();
    complete = true;
    return val::null();
  });
  if (!complete) reply.set("released", num_made);
  return reply;
}

/// Calls `use(stream, batch)` with records that all pass their own checks. If one does not, the
/// refusal has `record`, its index.
template <typename Use>
val with_batch(double handle, const val& people, const val& rows, Use&& use) {
  std::optional<std::size_t> checked;
  val reply = guarded([&] {
    AnyStream& stream = stream_of(handle);
    const Batch batch(people, rows, stream.kind().record_size());
    for (checked = 0; *checked < batch.records().size(); ++*checked)
      stream.kind().check(batch.records()[*checked]);
    checked.reset();
    return use(stream, batch);
  });
  if (checked) reply.set("record", static_cast<double>(*checked));
  return reply;
}

val stream_check(double handle, const val& people, const val& rows) {
  return with_batch(handle, people, rows, [](AnyStream&, const Batch&) { return val::null(); });
}

val stream_add(double handle, const val& people, const val& rows) {
  return with_batch(handle, people, rows, [](AnyStream& stream, const Batch& batch) {
    stream.add(batch);
    return val::null();
  });
}

val stream_end(double handle, double steps, const val& out) {
  return with_readings(handle, out, [&](AnyStream& stream, std::vector<double>* readings) {
    for (std::int64_t i = 0; i < count_of(steps); ++i) stream.end(readings);
  });
}

val stream_release(double handle, const val& people, const val& rows, const val& out) {
  return with_readings(handle, out, [&](AnyStream& stream, std::vector<double>* readings) {
    stream.release(Batch(people, rows, stream.kind().record_size()), readings);
  });
}

val stream_release_batch(double handle, const val& people, const val& rows, const val& out) {
  return with_batch(handle, people, rows, [&](AnyStream& stream, const Batch& batch) {
    std::vector<double> reading;
    stream.add(batch);
    stream.end(out.isUndefined() ? nullptr : &reading);
    if (!out.isUndefined()) write_to(out, reading);
    return val::null();
  });
}

/// Std of the first number of the reading of a step, made or to come; of a learner, of its sums.
double stream_stddev(double handle, double step) {
  const AnyStream& stream = stream_of(handle);
  if (stream.kind().follows()) return stream.sums().release_stddev(count_of(step));
  return stream.reading_of_nothing(count_of(step)).at(stream.kind().stddev_index());
}

/// Half width of the noise of a step's readings, or of all steps' if `step` is undefined.
double stream_half_width(double handle, const val& step, double probability) {
  const AnyStream& stream = stream_of(handle);
  if (!stream.kind().reads_sums())
    fail(ErrorCode::unsupported, "half_width", {},
         "a half-width is for sums; the readings of this stream have intervals");
  if (step.isUndefined()) return stream.sums().simultaneous_half_width(probability);
  return stream.sums().release_half_width(
      {.step = count_of(step.as<double>()), .probability = probability});
}

/// Returns the readings of steps first_step .. first_step + steps - 1, concatenated.
val stream_at(double handle, double first_step, double steps) {
  const AnyStream& stream = stream_of(handle);
  std::vector<double> readings;
  for (std::int64_t i = 0; i < count_of(steps); ++i)
    stream.read(count_of(first_step) + i, readings);
  return owned_array(readings);
}

val stream_is_repeat(double handle, double step, const val& people, const val& rows) {
  return with_batch(handle, people, rows, [&](AnyStream& stream, const Batch& batch) {
    return stream.is_repeat(count_of(step), batch);
  });
}

val stream_commitment(double handle) {
  const LogTag commitment = stream_of(handle).key_commitment();
  return owned_bytes(commitment);
}

val stream_state(double handle) {
  return owned_bytes(stream_of(handle).state());
}

LogTag tag_of(const val& bytes) {
  const std::vector<std::byte> given = bytes_of(bytes);
  LogTag tag{};
  std::copy_n(given.begin(), std::min(given.size(), tag.size()), tag.begin());
  return tag;
}

val stream_log_tag(double handle, const val& base) {
  return owned_bytes(stream_of(handle).log_tag(bytes_of(base)));
}

val stream_log_frame(double handle, const val& before, double max_steps) {
  const LogPart part = stream_of(handle).frame(tag_of(before), count_of(max_steps));
  val object = val::object();
  object.set("bytes", owned_bytes(part.bytes));
  object.set("tag", owned_bytes(part.tag));
  object.set("numSteps", static_cast<double>(part.steps));
  return object;
}

val stream_replay(double handle, const val& log, const val& before, double position) {
  const LogEnd end = stream_of(handle).replay(
      bytes_of(log), {.before = tag_of(before), .position = count_of(position)});
  val object = val::object();
  object.set("tag", owned_bytes(end.tag));
  object.set("size", static_cast<double>(end.size));
  return object;
}

void stream_acknowledge(double handle, double steps) {
  stream_of(handle).acknowledge(count_of(steps));
}

}  // namespace

ColumnsKind& kind_of_stream(double handle) {
  return stream_of(handle).kind();
}

EMSCRIPTEN_BINDINGS(dpftrl_streams) {
  bind<&stream_create>("streamCreate");
  bind<&stream_place>("streamPlace");
  emscripten::function("streamCheck", &stream_check);
  emscripten::function("streamAdd", &stream_add);
  emscripten::function("streamEnd", &stream_end);
  emscripten::function("streamRelease", &stream_release);
  emscripten::function("streamReleaseBatch", &stream_release_batch);
  bind<&stream_stddev>("streamStddev");
  bind<&stream_half_width>("streamHalfWidth");
  bind<&stream_at>("streamAt");
  emscripten::function("streamIsRepeat", &stream_is_repeat);
  bind<&stream_commitment>("streamCommitment");
  bind<&stream_state>("streamState");
  bind<&stream_log_tag>("streamLogTag");
  bind<&stream_log_frame>("streamLogFrame");
  bind<&stream_replay>("streamReplay");
  bind<&stream_acknowledge>("streamAcknowledge");
}

}  // namespace dpftrl::wasm
