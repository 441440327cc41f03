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
/// Misuse throws `Error` with a machine-readable code and one line that names the function, the
/// parameter, the constraint and the value: "prefix_sum: clip_norm must be positive, got -1".
/// Checks are written so that NaN fails them. Nothing is silently repaired.

#include <cmath>
#include <cstdint>
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

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

[[noreturn]] void fail(ErrorCode code, const std::string& message);

/// Throws "function: parameter must be constraint, got value".
[[noreturn]] void fail_argument(std::string_view function, std::string_view parameter,
                                std::string_view constraint, const std::string& value);

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
/// The message names the first entry that is NaN or infinite.
void require_all_finite(std::string_view function, std::string_view parameter,
                        std::span<const double> values);
void require_length(std::string_view function, std::string_view parameter, std::int64_t length,
                    std::int64_t expected);

}  // namespace dpftrl
