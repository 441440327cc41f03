// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/base/error.hpp"

#include <gtest/gtest-spi.h>

#include <limits>

#include "special_values.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::kInfinity;
using testing::kNan;

TEST(Error, message_names_function_parameter_constraint_and_value) {
  EXPECT_EQ(testing::error_text([] { require_positive("release", "clip", -1.5); }),
            "invalid_argument | release: clip must be positive and finite, got -1.5");
}

TEST(Error, tells_function_parameter_constraint_and_value_apart) {
  try {
    require_between("noise_stream", "step", 9, 0, 5);
    FAIL() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.function(), "noise_stream");
    EXPECT_EQ(error.parameter(), "step");
    EXPECT_EQ(error.constraint(), "must be between 0 and 5");
    EXPECT_EQ(error.value(), "9");
  }
}

TEST(Error, what_leaves_out_braces_and_fields_that_are_empty) {
  EXPECT_EQ(testing::error_text([] {
              fail(ErrorCode::unsupported, "f", "rates[3]", "must be at most {steps} = 5", "6");
            }),
            "unsupported | f: rates[3] must be at most steps = 5, got 6");
  EXPECT_EQ(testing::error_text([] { fail(ErrorCode::bad_state, "f", "", "it has ended"); }),
            "bad_state | f: it has ended");
}

TEST(Error, a_count_is_told_with_its_unit) {
  EXPECT_EQ(require_count("f", "rates", "entries", 2, 1, 3), 2);
  EXPECT_ERROR(require_count("f", "rates", "entries", 0, 1, 3), "invalid_argument",
               "f: rates must have between 1 and 3 entries, got 0");
}

TEST(Error, soundness_is_refused_to_names_that_are_none) {
  for (const char* parameter : {"rates", "rates[3]", "matrix(1, 2)", "factors[0].encoder"})
    EXPECT_TRUE(testing::is_parameter(parameter)) << parameter;
  for (const char* parameter : {"number of rates", "Rates", "rates[3", "rates must"})
    EXPECT_FALSE(testing::is_parameter(parameter)) << parameter;
}

TEST(Error, a_test_fails_where_code_or_text_is_another_or_nothing_is_thrown) {
  const auto refuse = [] { fail(ErrorCode::bad_state, "f", "p", "must be there"); };
  EXPECT_ERROR(refuse(), "bad_state", "p must be there");
  EXPECT_NONFATAL_FAILURE(EXPECT_ERROR(refuse(), "unsupported", "p must be there"),
                          "wanted the code unsupported, got: bad_state | f: p must be there");
  EXPECT_NONFATAL_FAILURE(EXPECT_ERROR(refuse(), "bad_state", "be here"), "wanted \"be here\"");
  EXPECT_NONFATAL_FAILURE(EXPECT_ERROR(static_cast<void>(refuse), "", "there"), "got: ");
}

TEST(Error, every_check_fails_for_nan) {
  EXPECT_ERROR(require_finite("f", "x", kNan), "invalid_argument", "got NaN");
  EXPECT_ERROR(require_positive("f", "x", kNan), "invalid_argument", "got NaN");
  EXPECT_ERROR(require_non_negative("f", "x", kNan), "invalid_argument", "got NaN");
  EXPECT_ERROR(require_inside("f", "x", kNan, 0, 1), "invalid_argument", "got NaN");
  const std::vector<double> values = {1, kNan};
  EXPECT_ERROR(require_all_finite("f", "x", values), "invalid_argument", "x[1] must be finite");
}

TEST(Error, every_check_fails_for_infinity) {
  EXPECT_ERROR(require_finite("f", "x", kInfinity), "invalid_argument", "got inf");
  EXPECT_ERROR(require_positive("f", "x", kInfinity), "invalid_argument", "got inf");
  EXPECT_ERROR(require_non_negative("f", "x", -kInfinity), "invalid_argument", "got -inf");
}

TEST(Error, bounds_are_inclusive_for_integers_and_exclusive_for_reals) {
  EXPECT_EQ(require_between("f", "n", 1, 1, 3), 1);
  EXPECT_EQ(require_between("f", "n", 3, 1, 3), 3);
  EXPECT_ERROR(require_between("f", "n", 0, 1, 3), "invalid_argument",
               "n must be between 1 and 3, got 0");
  EXPECT_EQ(require_inside("f", "x", 0.5, 0, 1), 0.5);
  EXPECT_ERROR(require_inside("f", "x", 1.0, 0, 1), "invalid_argument",
               "x must be strictly between 0 and 1, got 1");
}

TEST(Error, length_mismatch_has_its_own_code) {
  EXPECT_ERROR(require_length("f", "row", 2, 3), "wrong_length", "row must have 3 entries, got 2");
}

TEST(Error, numbers_are_printed_so_that_they_read_back) {
  EXPECT_EQ(to_text(0.1), "0.1");
  EXPECT_EQ(to_text(1e-6), "1e-06");
  EXPECT_EQ(to_text(std::int64_t{-7}), "-7");
}

}  // namespace
}  // namespace dpftrl
