// SPDX-License-Identifier: Apache-2.0
#pragma once

/// No C++ exception crosses into JavaScript: a call returns {value}, or a refusal as data,
/// {code, function, parameter, constraint, value}. A JavaScript exception is not caught here
/// (`catch (...)` does not see it) and makes the facade abandon the instance. So nothing that can
/// throw in JavaScript is called; in particular, all inputs are copies made by the facade.

#include <emscripten/bind.h>
#include <emscripten/val.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
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

/// Makes the reply for a failure that no input should cause.
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

/// Wraps a function so that it returns its result in a reply; null for void.
template <auto function>
struct Replying;

template <typename Result, typename... Arguments, Result (*function)(Arguments...)>
struct Replying<function> {
  static emscripten::val call(Arguments... arguments) {
    return guarded([&] {
      if constexpr (std::is_void_v<Result>) {
        function(arguments...);
        return emscripten::val::null();
      } else {
        return function(arguments...);
      }
    });
  }
};

/// Binds a function that returns a value. A function that makes the reply itself, as the functions
/// over rows do, is bound with emscripten::function.
template <auto function>
void bind(const char* name) {
  emscripten::function(name, &Replying<function>::call);
}

}  // namespace dpftrl::wasm
