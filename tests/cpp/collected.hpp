// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <vector>

#include "dpftrl/release/record.hpp"

namespace dpftrl::testing {

/// Sink that collects the blocks of a release.
class Collected final : public ReleaseSink {
 public:
  void take(std::size_t first, std::span<const double> block) override {
    EXPECT_EQ(first, values.size());
    values.insert(values.end(), block.begin(), block.end());
  }
  std::vector<double> values;
};

}  // namespace dpftrl::testing
