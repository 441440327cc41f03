// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/strategy/strategy_info.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "dpftrl/strategy/catalogue.hpp"

namespace dpftrl {
namespace {

void set(std::optional<std::int64_t>& member) {
  member = 2;
}
void set(std::optional<double>& member) {
  member = 0.5;
}
void set(std::optional<bool>& member) {
  member = false;
}
void set(std::optional<Objective>& member) {
  member = Objective::max;
}
void set(std::vector<double>& member) {
  member = {0.5};
}
void set(bool& member) {
  member = true;
}

TEST(ParameterInfo, each_names_a_member_of_its_own) {
  EXPECT_EQ(std::ranges::count_if(
                parameter_infos(),
                [](const ParameterInfo& info) { return info.is_given(StrategyParameters{}); }),
            0);
  for (const ParameterInfo& info : parameter_infos()) {
    StrategyParameters parameters;
    std::visit([&](auto member) { set(parameters.*member); }, info.member);
    for (const ParameterInfo& other : parameter_infos())
      EXPECT_EQ(other.is_given(parameters), other.name == info.name)
          << info.name << ", " << other.name;
  }
}

TEST(ParameterInfo, they_are_the_parameters_that_families_take_and_the_general_ones) {
  std::set<std::string> taken;
  for (const StrategyInfo& family : strategy_catalogue()) {
    const std::string all(family.parameters);
    for (std::size_t from = 0; from < all.size();) {
      const std::size_t end = std::min(all.find(", ", from), all.size());
      taken.insert(all.substr(from, end - from));
      from = end + 2;
    }
  }
  std::set<std::string> known;
  for (const ParameterInfo& info : parameter_infos())
    if (!info.is_general) known.emplace(info.name);
  EXPECT_EQ(taken, known);
}

TEST(ParameterInfo, kinds_follow_from_the_member) {
  EXPECT_TRUE(find_parameter("decays")->is_list());
  EXPECT_FALSE(find_parameter("decays")->is_flag());
  EXPECT_TRUE(find_parameter("subtractive")->is_flag());
  EXPECT_TRUE(find_parameter("normalize_columns")->is_flag());
  EXPECT_FALSE(find_parameter("bands")->is_flag());
  EXPECT_FALSE(find_parameter("bands")->is_list());
  EXPECT_EQ(find_parameter("band"), nullptr);
}

}  // namespace
}  // namespace dpftrl
