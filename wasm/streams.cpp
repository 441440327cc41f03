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

#include "any_stream.hpp"
#include "columns.hpp"
#include "convert.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/release/stream.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "rows.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;

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

 private:
  C columns_;
};

std::shared_ptr<const Mechanism> make_mechanism(const val& options) {
  const bool is_pure = optional_flag(options, "pure").value_or(false);
  return is_pure ? make_pure_mechanism(options) : Mechanism::make(mechanism_options(options));
}

/// Converts the mechanism's certificate, completed by what the sums add to it.
val certificate_of(const PrefixSum& sums) {
  val certificate = to_object(sums.mechanism().certificate(), sums.lattice());
  if (const std::optional<LaplaceNoise> law = sums.laplace())
    set_laplace(certificate, *law, sums.grid());
  if (sums.is_clipped_by_caller()) certificate.set("clipping", "by the caller");
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

val stream_create(const val& options) {
  const MadeColumns made = make_columns(options);
  const bool has_people = optional_flag(options, "people").value_or(false);
  const bool is_nonprivate = optional_flag(options, "nonprivate").value_or(false);
  std::unique_ptr<AnyStream> stream = !made.kind->windows().empty()
                                          ? make_active_stream(made, options)
                                      : is_nonprivate ? make_nonprivate_stream(made, options)
                                      : has_people    ? make_stream<People>(made, options)
                                                      : make_stream<Records>(made, options);
  val object = val::object();
  object.set("certificate", certificate_of(stream->sums()));
  object.set("grid", stream->sums().grid());
  object.set("recordSize", static_cast<double>(made.kind->record_size()));
  const double reading_size = made.kind->reads_weights()
                                  ? static_cast<double>(made.kind->dimension())
                                  : static_cast<double>(stream->reading_of_nothing(0).size());
  object.set("readingSize", is_nonprivate ? 2 * reading_size : reading_size);
  made.kind->describe(*made.mechanism, object);
  object.set("id", handles().add(std::move(stream)));
  return object;
}

AnyStream& stream_of(double handle) {
  return handles().get<AnyStream>(handle);
}

/// Numbers of steps and of records.
val stream_place(double handle) {
  const AnyStream& stream = stream_of(handle);
  const RecordCounts counts = stream.counts();
  val object = val::object();
  object.set("step", static_cast<double>(stream.sums().step()));
  object.set("records", static_cast<double>(counts.records));
  object.set("waiting", static_cast<double>(counts.waiting()));
  object.set("dropped", static_cast<double>(counts.dropped));
  object.set("acknowledged", static_cast<double>(stream.num_acknowledged()));
  object.set("stored", stream.is_stored());
  return object;
}

/// Calls `make_steps(stream, readings)`, which makes steps and appends their readings, and writes
/// the readings to `out`, a Float64Array that only the facade holds. With a journal, or if readings
/// are not wanted, `out` is undefined and `readings` is null. A refusal has `released`, the number
/// of steps that were made, whose readings are in `out`.
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

/// Checks each record of a batch, and calls `use(stream, batch)` if all pass. Otherwise the refusal
/// has `record`, the index of the first that does not.
template <typename Use>
val with_batch(double handle, const val& people, const val& rows, Use&& use) {
  std::optional<std::size_t> checked;
  val reply = guarded([&] {
    AnyStream& stream = stream_of(handle);
    const Batch batch(people, rows, stream.kind().record_size());
    for (checked = 0; *checked < batch.records().size(); ++*checked)
      stream.check(batch.records()[*checked]);
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

/// Std of the first number of the reading of a past or future step; for a learner, the std of its
/// sums.
double stream_stddev(double handle, double step) {
  const AnyStream& stream = stream_of(handle);
  if (stream.kind().reads_weights()) return stream.sums().release_stddev(count_of(step));
  return stream.reading_of_nothing(count_of(step)).at(stream.kind().stddev_index());
}

/// Half width of the noise of the readings of a step, or of all steps if `step` is undefined.
double stream_half_width(double handle, const val& step, double probability) {
  const AnyStream& stream = stream_of(handle);
  std::optional<std::int64_t> wanted;
  if (!step.isUndefined()) wanted = count_of(step.as<double>());
  return stream.kind().half_width(stream.sums(), wanted, probability);
}

/// Readings of steps first_step .. first_step + steps - 1, concatenated.
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
  object.set("steps", static_cast<double>(part.steps));
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
