// SPDX-License-Identifier: Apache-2.0
#pragma once

/// No C++ exception crosses into JavaScript: a call gives {value} or {code, message}. An exception
/// of JavaScript is not caught here (`catch (...)` does not see it), and the facade gives the
/// instance up. So nothing that can throw on that side is called: inputs are the facade's copies.

#include <emscripten/val.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "dpftrl/base/error.hpp"

namespace dpftrl::wasm {

inline emscripten::val failure(std::string_view code, const std::string& message) {
  emscripten::val reply = emscripten::val::object();
  reply.set("code", std::string(code));
  reply.set("message", message);
  return reply;
}

inline constexpr const char* kNoMemory = "not enough memory for this request";

/// Runs `body`, which returns something an emscripten::val can hold.
template <typename Body>
emscripten::val guarded(Body&& body) {
  try {
    emscripten::val reply = emscripten::val::object();
    reply.set("value", std::forward<Body>(body)());
    return reply;
  } catch (const Error& error) {
    return failure(to_string(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return failure(to_string(ErrorCode::resource_exhausted), kNoMemory);
  } catch (const std::length_error&) {
    return failure(to_string(ErrorCode::resource_exhausted), kNoMemory);
  } catch (const std::exception& error) {
    return failure("internal", error.what());
  } catch (...) {
    return failure("internal", "unknown C++ exception");
  }
}

}  // namespace dpftrl::wasm
