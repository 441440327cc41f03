// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Errors of the library, and the checks that raise them.
///
/// ```cpp
/// try {
///   dpftrl::require_positive("my_sum", "clip", -1);
///   assert(false);
/// } catch (const dpftrl::Error& error) {
///   assert(error.code() == dpftrl::ErrorCode::invalid_argument);
/// }
/// ```
///
/// Misuse throws `Error`, which carries a machine-readable code and, as data, the function, the
/// parameter, the constraint and the value, so that every language binding can word its own
/// message. In C++ the message is one line: "prefix_sum: clip must be positive and finite, got
/// -1". Checks are written so that NaN fails them. No value is silently repaired.

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
  unsupported,          ///< a combination for which this version has no sound answer
  resource_exhausted,   ///< the request needs more memory or address space than is available
  entropy_unavailable,  ///< the platform provided no random bytes
  bad_state,  ///< stored bytes that are damaged, or belong to another version, mechanism or key
  already_released,  ///< a step that was already released for other records
};

/// Stable name of a code, also used in JavaScript: "invalid_argument", ...
std::string_view to_string(ErrorCode code);

/// Contents of an `Error`.
struct ErrorFacts {
  ErrorCode code = ErrorCode::invalid_argument;
  /// Function that threw, or the mechanism or object it belongs to: "prefix_sum", "blt".
  std::string function = {};
  /// Offending parameter; an entry of a list with its index: "clip", "rates[3]". Empty if no
  /// parameter is at fault.
  std::string parameter = {};
  /// Condition that the parameter violates: "must be positive and finite". Names of other
  /// parameters are in braces: "must be at most {steps} = 5". A full sentence if no parameter
  /// is at fault.
  std::string constraint = {};
  /// The rejected value, as text. Empty if there is none.
  std::string value = {};
};

/// Message of `Error::what()`: "function: parameter constraint, got value".
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
  std::shared_ptr<const ErrorFacts> facts_;  // copying an exception must not throw
};

/// Throws an Error with these facts.
[[noreturn]] void fail(ErrorCode code, std::string_view function, std::string_view parameter,
                       std::string_view constraint, std::string_view value = {});

/// Throws Error{invalid_argument}: the parameter "must be" `constraint`.
[[noreturn]] void fail_argument(std::string_view function, std::string_view parameter,
                                std::string_view constraint, std::string_view value);

/// Decimal text that reads back as the same number.
std::string to_text(double value);
std::string to_text(std::int64_t value);

double require_finite(std::string_view function, std::string_view parameter, double value);
double require_positive(std::string_view function, std::string_view parameter, double value);
double require_non_negative(std::string_view function, std::string_view parameter, double value);
/// Requires low < value < high.
double require_inside(std::string_view function, std::string_view parameter, double value,
                      double low, double high);
/// Requires low <= value <= high.
std::int64_t require_between(std::string_view function, std::string_view parameter,
                             std::int64_t value, std::int64_t low, std::int64_t high);
/// Requires low <= count <= high for the number of `what` in `parameter`.
std::int64_t require_count(std::string_view function, std::string_view parameter,
                           std::string_view what, std::int64_t count, std::int64_t low,
                           std::int64_t high);
/// The error names the first entry that is NaN or infinite.
void require_all_finite(std::string_view function, std::string_view parameter,
                        std::span<const double> values);
void require_length(std::string_view function, std::string_view parameter, std::int64_t length,
                    std::int64_t expected);

}  // namespace dpftrl
