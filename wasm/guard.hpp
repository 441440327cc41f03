// SPDX-License-Identifier: Apache-2.0
#pragma once

/// No C++ exception crosses into JavaScript: a call gives {value} or a refusal as data,
/// {code, function, parameter, constraint, value}. An exception of JavaScript is not caught here
/// (`catch (...)` does not see it), and the facade gives the instance up. So nothing that can throw
/// on that side is called: inputs are the facade's copies.

#include <emscripten/val.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "dpftrl/base/error.hpp"

namespace dpftrl::wasm {

inline emscripten::val failure(const ErrorFacts& facts) {
  emscripten::val reply = emscripten::val::object();
  reply.set("code", std::string(to_string(facts.code)));
  reply.set("function", facts.function);
  reply.set("parameter", facts.parameter);
  reply.set("constraint", facts.constraint);
  reply.set("value", facts.value);
  return reply;
}

inline emscripten::val no_memory() {
  return failure(
      {.code = ErrorCode::resource_exhausted, .constraint = "not enough memory for this request"});
}

/// A failure that no input should cause.
inline emscripten::val internal_failure(const char* what) {
  emscripten::val reply = failure({.code = ErrorCode::unsupported, .constraint = what});
  reply.set("code", std::string("internal"));
  return reply;
}

/// Runs `body`, which returns something an emscripten::val can hold.
template <typename Body>
emscripten::val guarded(Body&& body) {
  try {
    emscripten::val reply = emscripten::val::object();
    reply.set("value", std::forward<Body>(body)());
    return reply;
  } catch (const Error& error) {
    return failure(error.facts());
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const std::length_error&) {
    return no_memory();
  } catch (const std::exception& error) {
    return internal_failure(error.what());
  } catch (...) {
    return internal_failure("unknown C++ exception");
  }
}

}  // namespace dpftrl::wasm
