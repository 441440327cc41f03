// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Streams of every kind of columns, of records and of people, in every place, behind one
/// interface, so that a law is written once for all of them.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dpftrl/release/increments.hpp"
#include "dpftrl/release/stream.hpp"
#include "dpftrl/statistics/statistics.hpp"
#include "special_values.hpp"

namespace dpftrl::testing {

using Numerals = std::vector<double>;
using Bytes = std::vector<std::byte>;

inline void append(Numerals& all, const Estimate& one) {
  for (const double x : {one.value, one.low, one.high, one.stddev}) all.push_back(x);
}
inline void append(Numerals& all, const Estimates& some) {
  all.insert(all.end(), some.values.begin(), some.values.end());
  all.push_back(some.stddev);
  all.push_back(some.half_width);
}
template <typename Some>
void append(Numerals& all, const std::vector<Some>& some) {
  for (const auto& one : some) append(all, one);
}
inline void append(Numerals& all, const Moments& moments) {
  append(all, moments.count);
  for (const auto* some :
       {&moments.mean, &moments.variance, &moments.covariance, &moments.standard_deviation})
    append(all, *some);
}
inline void append(Numerals& all, const Histogram& histogram) {
  append(all, histogram.count);
  append(all, histogram.total);
  append(all, histogram.share);
}

inline double record_of(const Number&, std::span<const double> numbers) {
  return numbers[0];
}
inline std::int64_t record_of(const HistogramColumns&, std::span<const double> numbers) {
  return static_cast<std::int64_t>(numbers[0]);
}
inline std::span<const double> record_of(const auto&, std::span<const double> numbers) {
  return numbers;
}

/// Columns whose records are numbers. A reading has the noisy sums, then all numbers of the
/// columns' own reading.
template <class C>
class Shown {
 public:
  using Record = Numerals;
  using Reading = Numerals;
  static constexpr bool kClips = true;  // the cells make the mechanisms of their columns

  explicit Shown(C columns) : columns_(std::move(columns)) {}

  std::int64_t dimension() const { return columns_.dimension(); }
  bool adds() const { return columns_.adds(); }
  void check(const Numerals& record) const { columns_.check(record_of(columns_, record)); }
  std::span<const double> write(const Numerals& record, std::span<double> row) const {
    return columns_.write(record_of(columns_, record), row);
  }
  Numerals read(const NoisySums& sums) const {
    Numerals all(sums.values.begin(), sums.values.end());
    append(all, columns_.read(sums));
    return all;
  }
  std::shared_ptr<const Mechanism> mechanism(const MechanismOptions& options) const {
    return columns_.mechanism(options);
  }
  PrefixSumOptions release_options(PrefixSumOptions options) const {
    return columns_.release_options(options);
  }

  void begin(const PrefixSum& sums)
    requires(FollowingColumns<C>)
  {
    columns_.begin(sums);
  }
  void follow(std::span<const double> noisy)
    requires(FollowingColumns<C>)
  {
    columns_.follow(noisy);
  }
  void require_going() const
    requires(FollowingColumns<C>)
  {
    columns_.require_going();
  }
  template <typename Released>
  void seek(std::int64_t step, Released&& released) const
    requires(FollowingColumns<C>)
  {
    columns_.seek(step, released);
  }

 private:
  C columns_;
};

struct PersonRecord {
  std::string person;
  Numerals record;
};

/// A stream. The functions from `at` on are called only on streams with a journal.
class AnyStream {
 public:
  virtual ~AnyStream() = default;
  virtual void add(const PersonRecord& record) = 0;
  virtual void add_many(const std::vector<PersonRecord>& records) = 0;
  /// Reading of the step; empty with a journal.
  virtual Numerals end() = 0;
  virtual Numerals release(const PersonRecord& record) = 0;
  virtual std::vector<Numerals> release_many(const std::vector<PersonRecord>& records) = 0;
  virtual std::int64_t step() const = 0;
  virtual RecordCounts counts() const = 0;
  virtual const PrefixSum& sums() const = 0;
  virtual bool has_journal() const = 0;
  /// Reading of the last step without noise, if the place keeps it.
  virtual Numerals nonprivate() const { return {}; }

  virtual Numerals at(std::int64_t) const { return {}; }
  virtual bool is_repeat(std::int64_t, const std::vector<PersonRecord>&) { return false; }
  virtual void release_at(std::int64_t, const std::vector<PersonRecord>&) {}
  virtual Bytes state() { return {}; }
  virtual void restore(std::span<const std::byte>) {}
  virtual LogTag log_tag(std::span<const std::byte>) const { return {}; }
  virtual LogPart frame(const LogTag&, std::int64_t = Journal::kAllSteps) { return {}; }
  virtual LogEnd replay(std::span<const std::byte>, const LogOptions&) { return {}; }
  virtual void acknowledge(std::int64_t) {}
  virtual std::int64_t num_acknowledged() const { return step(); }
};

template <class C, class Who, class Place>
class StreamOf final : public AnyStream {
  using Own = RecordStream<Shown<C>, Who, Place>;

 public:
  StreamOf(const C& columns, std::shared_ptr<const Mechanism> mechanism,
           const PrefixSumOptions& options, std::string_view about)
      : own_(Shown<C>(columns), std::move(mechanism), options, about) {}

  void add(const PersonRecord& given) override {
    if constexpr (Own::kPeople)
      own_.add(given.person, given.record);
    else
      own_.add(given.record);
  }
  void add_many(const std::vector<PersonRecord>& given) override {
    const Split split(given);
    if constexpr (Own::kPeople)
      own_.add_many(split.people, split.records);
    else
      own_.add_many(split.records);
  }
  Numerals end() override { return reading(own_.end()); }
  Numerals release(const PersonRecord& given) override {
    if constexpr (Own::kPeople)
      return reading(own_.release(given.person, given.record));
    else
      return reading(own_.release(given.record));
  }
  std::vector<Numerals> release_many(const std::vector<PersonRecord>& given) override {
    const Split split(given);
    std::vector<Numerals> all;
    const auto use = [&](auto&& ended) { all.push_back(reading(ended)); };
    if constexpr (Own::kPeople)
      own_.release_many(split.people, split.records, use);
    else
      own_.release_many(split.records, use);
    return all;
  }
  std::int64_t step() const override { return own_.step(); }
  RecordCounts counts() const override { return own_.counts(); }
  const PrefixSum& sums() const override { return own_.sums(); }
  bool has_journal() const override { return Own::kJournal; }
  Numerals nonprivate() const override {
    if constexpr (Own::kNonprivate) return own_.nonprivate();
    return {};
  }

  Numerals at(std::int64_t step) const override {
    if constexpr (Own::kJournal) return own_.at(step);
    return AnyStream::at(step);
  }
  bool is_repeat(std::int64_t step, const std::vector<PersonRecord>& given) override {
    const Split split(given);
    if constexpr (Own::kJournal) return own_.is_repeat(step, split.people, split.records);
    return false;
  }
  void release_at(std::int64_t step, const std::vector<PersonRecord>& given) override {
    const Split split(given);
    if constexpr (Own::kJournal) own_.release_at(step, split.people, split.records);
  }
  Bytes state() override {
    if constexpr (Own::kJournal) return own_.state();
    return {};
  }
  void restore(std::span<const std::byte> bytes) override {
    if constexpr (Own::kJournal) own_.restore(bytes);
  }
  LogTag log_tag(std::span<const std::byte> base) const override {
    if constexpr (Own::kJournal) return own_.log_tag(base);
    return {};
  }
  LogPart frame(const LogTag& before, std::int64_t max_steps) override {
    if constexpr (Own::kJournal) return own_.frame(before, max_steps);
    return {};
  }
  LogEnd replay(std::span<const std::byte> log, const LogOptions& options) override {
    if constexpr (Own::kJournal) return own_.replay(log, options);
    return {};
  }
  void acknowledge(std::int64_t steps) override {
    if constexpr (Own::kJournal) own_.acknowledge(steps);
  }
  std::int64_t num_acknowledged() const override {
    if constexpr (Own::kJournal) return own_.place().num_acknowledged();
    return step();
  }

 private:
  struct Split {
    explicit Split(const std::vector<PersonRecord>& given) {
      for (const PersonRecord& one : given) {
        people.push_back(one.person);
        records.push_back(one.record);
      }
    }
    std::vector<std::string_view> people;
    std::vector<Numerals> records;
  };

  static Numerals reading(Numerals ended) { return ended; }
  static Numerals reading(std::int64_t) { return {}; }

  Own own_;
};

/// One kind of stream, and records for it.
struct Cell {
  std::string name;
  bool people;
  bool journal;
  bool nonprivate;
  bool adds;                      ///< see Columns
  std::vector<Numerals> records;  ///< all different
  std::vector<Numerals> refused;  ///< records that it refuses
  std::shared_ptr<const Mechanism> mechanism;
  PrefixSumOptions options;  ///< of the sums
  std::function<std::unique_ptr<AnyStream>(const PrefixSumOptions&, std::string_view about)>
      make_of;
  std::function<Numerals(const Numerals&)> row;    ///< row of the sums for a record
  std::function<Numerals(const NoisySums&)> read;  ///< reading of each step in turn

  std::unique_ptr<AnyStream> make(std::string_view about = "test") const {
    return make_of(options, about);
  }
};

/// Appends the streams of some columns; if the caller clips records, only those without people.
template <class C>
void append_cells(std::vector<Cell>& cells, const std::string& name, const C& columns,
                  std::shared_ptr<const Mechanism> mechanism, std::vector<Numerals> records,
                  std::vector<Numerals> refused, bool clipped_by_caller = false) {
  const Shown<C> shown(columns);
  const auto cell = [&]<class Who, class Place>(const std::string& kind) {
    cells.push_back({.name = name + kind,
                     .people = std::same_as<Who, People>,
                     .journal = std::same_as<Place, Journal>,
                     .nonprivate = std::same_as<Place, NonprivateMemory>,
                     .adds = columns.adds(),
                     .records = records,
                     .refused = refused,
                     .mechanism = mechanism,
                     .options = columns.release_options({.key = Key::insecure_from_seed(7),
                                                         .clipped_by_caller = clipped_by_caller}),
                     .make_of =
                         [=](const PrefixSumOptions& options, std::string_view about) {
                           return std::make_unique<StreamOf<C, Who, Place>>(columns, mechanism,
                                                                            options, about);
                         },
                     .row =
                         [=](const Numerals& record) {
                           Numerals row(static_cast<std::size_t>(shown.dimension()));
                           const auto written = shown.write(record, row);
                           return Numerals(written.begin(), written.end());
                         },
                     .read =
                         [own = std::make_shared<Shown<C>>(columns)](const NoisySums& sums) {
                           if constexpr (FollowingColumns<C>) {
                             if (sums.step == 0) own->begin(sums.noise);
                             own->follow(sums.values);
                           }
                           return own->read(sums);
                         }});
  };
  cell.template operator()<Records, Memory>(" of records");
  cell.template operator()<Records, Journal>(" of records with a journal");
  if (clipped_by_caller) return;
  cell.template operator()<People, Memory>(" of people");
  cell.template operator()<People, Journal>(" of people with a journal");
  if constexpr (!FollowingColumns<C>) {
    cell.template operator()<Records, NonprivateMemory>(" of records, also without noise");
    cell.template operator()<People, NonprivateMemory>(" of people, also without noise");
  }
}

constexpr std::int64_t kCellSteps = 6;

/// All kinds of columns, for a participation.
inline std::vector<Cell> make_cells(
    const Participation& participation = Participation::min_separation({2, 2})) {
  const MechanismOptions options{.strategy = "honaker",
                                 .steps = kCellSteps,
                                 .target = {.epsilon = 1, .delta = 1e-6},
                                 .participation = participation};
  std::vector<Cell> cells;
  const auto append = [&](const std::string& name, const auto& columns,
                          std::vector<Numerals> records, std::vector<Numerals> refused) {
    append_cells(cells, name, columns, columns.mechanism(options), std::move(records),
                 std::move(refused));
  };
  append("a number", Number(), {{1}, {-0.25}, {7}, {0}}, {{kNan}, {kInfinity}});
  append("numbers", Numbers(3), {{1, 0, 0}, {0.5, -0.5, 0.25}, {3, 4, 5}, {0, 0, 0}},
         {{1, 2}, {1, 2, 3, 4}, {1, kNan, 0}});
  const std::vector<Numerals> pairs{{1, 0}, {0.5, -0.5}, {3, 4}, {0, 0}};
  append("increments", Increments(2), pairs, {{1}, {1, 2, 3}, {1, kNan}});
  // The last record exceeds the range of the sums.
  append_cells(cells, "increments that come clipped", Increments(2),
               Increments(2).mechanism(options), pairs, {{1}, {0, kInfinity}, {0, 1e300}},
               /*clipped_by_caller=*/true);
  append("moments",
         MomentColumns(
             {.ranges = {{.low = 0, .high = 10}, {.low = -1, .high = 1}}, .covariance = true}),
         {{1, 0.5}, {9, -1}, {25, 0}, {5, 0}}, {{1}, {kNan, 0}});
  append("a histogram", HistogramColumns({.num_categories = 3, .total = true}),
         {{0}, {1}, {2}, {0}}, {{3}, {-1}});
  append("sums",
         SumColumns({.workloads = {Workload::prefix_sums(kCellSteps),
                                   Workload::sliding_window({kCellSteps, 2})}},
                    2),
         {{1, 0}, {0.5, -0.5}, {3, 4}, {0, 0}}, {{1}, {1, 2, 3, 4}, {kInfinity, 0}});
  return cells;
}

}  // namespace dpftrl::testing
