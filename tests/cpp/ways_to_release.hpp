// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collected.hpp"
#include "dpftrl/release/prefix_sum.hpp"

namespace dpftrl::testing {

/// Releases the same records through every interface and expects identical bits: one by one, in
/// place over a record as long as its release, as a contribution, to a sink, as a product, with
/// exact digits alone, and in batches of several lengths.
///
/// @param record_of  function that returns the record of a step.
template <class RecordOf>
void expect_one_release_in_every_way(const std::shared_ptr<const Mechanism>& how,
                                     PrefixSumOptions options, std::int64_t steps,
                                     RecordOf record_of) {
  const auto width = static_cast<std::size_t>(options.dimension);
  PrefixSum single(how, options), in_place(how, options), parts(how, options),
      with_sink(how, options), product(how, options), batches(how, options),
      one_batch(how, options);
  options.exact_only = true;
  PrefixSum exact(how, options);
  std::vector<double> all, expected, noisy(width), again(width);
  for (std::int64_t t = 0; t < steps; ++t) {
    const std::vector<double> record = record_of(t);
    all.insert(all.end(), record.begin(), record.end());
    single.release(record, noisy);
    expected.insert(expected.end(), noisy.begin(), noisy.end());
    if (record.size() == width) {
      again = record;
      in_place.release(again, again);
      ASSERT_EQ(again, noisy) << t;
    }
    parts.contribute(record);
    parts.release(again);
    ASSERT_EQ(again, noisy) << t;
    Collected plain, multiplied;
    with_sink.release(record, again, &plain);
    ASSERT_EQ(again, noisy) << t;
    ASSERT_EQ(plain.values, noisy) << t;
    product.release({std::array{1.0}, record}, again, &multiplied);
    ASSERT_EQ(again, noisy) << t;
    ASSERT_EQ(multiplied.values, noisy) << t;
    exact.release(record, again);
    ASSERT_EQ(again, noisy) << t;
  }
  EXPECT_EQ(exact.num_recomputed(), steps * options.dimension);
  std::vector<double> released(expected.size());
  const std::size_t record_width = all.size() / static_cast<std::size_t>(steps);
  std::size_t begin = 0;
  for (const std::int64_t count : {std::int64_t{1}, std::int64_t{7}, std::int64_t{0}, steps - 8}) {
    const auto size = static_cast<std::size_t>(count);
    batches.release_batch(std::span(all).subspan(begin * record_width, size * record_width),
                          std::span(released).subspan(begin * width, size * width), count);
    begin += size;
  }
  EXPECT_EQ(released, expected);
  if (record_width != width) return;
  one_batch.release_batch(all, all, steps);
  EXPECT_EQ(all, expected);
}

}  // namespace dpftrl::testing
