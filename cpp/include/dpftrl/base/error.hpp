// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Errors of the library, and the checks that raise them.
///
/// ```cpp
/// try {
///   dpftrl::require_positive("my_sum", "clip_norm", -1);
///   assert(false);
/// } catch (const dpftrl::Error& error) {
///   assert(error.code() == dpftrl::ErrorCode::invalid_argument);
/// }
/// ```
///
/// Misuse throws `Error`: a machine-readable code, and the function, the parameter, the constraint
/// and the value as data, so that every surface says it in its own words. In C++ they are one line:
/// "prefix_sum: clip_norm must be positive and finite, got -1". Checks are written so that NaN
/// fails them. Nothing is silently repaired.

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace dpftrl {

enum class ErrorCode {
  invalid_argument,     ///< a value outside its documented range, or not finite
  wrong_length,         ///< an array whose length does not match
  past_horizon,         ///< a step at or after the horizon the noise was calibrated for
  unsupported,          ///< a combination this version has no sound answer for
  resource_exhausted,   ///< memory or address space the request would need is not there
  entropy_unavailable,  ///< the platform gave no random bytes
  bad_state,            ///< stored bytes that are damaged, or of another version, mechanism or key
  already_released,     ///< a step that was released for another record
};

/// Stable name of a code, as it crosses into JavaScript: "invalid_argument", ...
std::string_view to_string(ErrorCode code);

/// A refusal as data: what an `Error` consists of.
struct ErrorFacts {
  ErrorCode code = ErrorCode::invalid_argument;
  /// Function that refused, or the mechanism or object it belongs to: "prefix_sum", "blt".
  std::string function = {};
  /// Parameter at fault, and the place in it: "clip_norm", "rates[3]". Empty where none is.
  std::string parameter = {};
  /// Condition that the parameter breaks: "must be positive and finite". Names of other
  /// parameters are in braces: "must be at most {num_steps} = 5". A sentence where no parameter is
  /// at fault.
  std::string constraint = {};
  /// The refused value, as text. Empty where there is none.
  std::string value = {};
};

/// Text of a refusal in C++'s own words: "function: parameter constraint, got value".
std::string to_text(const ErrorFacts& facts);

class Error : public std::runtime_error {
 public:
  explicit Error(ErrorFacts facts);
  const ErrorFacts& facts() const { return *facts_; }
  ErrorCode code() const { return facts_->code; }
  const std::string& function() const { return facts_->function; }
  const std::string& parameter() const { return facts_->parameter; }
  const std::string& constraint() const { return facts_->constraint; }
  const std::string& value() const { return facts_->value; }

 private:
  std::shared_ptr<const ErrorFacts> facts_;  // copies of an exception must not throw
};

/// Throws an Error of these facts.
[[noreturn]] void fail(ErrorCode code, std::string_view function, std::string_view parameter,
                       std::string_view constraint, std::string_view value = {});

/// Throws that the parameter "must be" `constraint`.
[[noreturn]] void fail_argument(std::string_view function, std::string_view parameter,
                                std::string_view constraint, std::string_view value);

/// Text of at least 6 digits that reads back as the same number.
std::string to_text(double value);
std::string to_text(std::int64_t value);

double require_finite(std::string_view function, std::string_view parameter, double value);
double require_positive(std::string_view function, std::string_view parameter, double value);
double require_non_negative(std::string_view function, std::string_view parameter, double value);
/// low < value < high.
double require_inside(std::string_view function, std::string_view parameter, double value,
                      double low, double high);
/// low <= value <= high.
std::int64_t require_between(std::string_view function, std::string_view parameter,
                             std::int64_t value, std::int64_t low, std::int64_t high);
/// `parameter` has `count` of `what`, which must be between low and high.
std::int64_t require_count(std::string_view function, std::string_view parameter,
                           std::string_view what, std::int64_t count, std::int64_t low,
                           std::int64_t high);
/// The error names the first entry that is NaN or infinite.
void require_all_finite(std::string_view function, std::string_view parameter,
                        std::span<const double> values);
void require_length(std::string_view function, std::string_view parameter, std::int64_t length,
                    std::int64_t expected);

}  // namespace dpftrl
