// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Objects owned by JavaScript handles.

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "convert.hpp"

namespace dpftrl::wasm {

/// Map from numbers to objects. A number is never reused.
class Handles {
 public:
  template <typename Object>
  double add(std::unique_ptr<Object> object) {
    ++last_;
    objects_.emplace(last_, Entry{{object.release(), &destroy<Object>}, &kKind<Object>});
    return static_cast<double>(last_);
  }

  template <typename Object>
  Object& get(double handle) {
    const auto found = objects_.find(count_of(handle));
    if (found == objects_.end() || found->second.kind != &kKind<Object>)
      throw std::logic_error("no such handle");
    return *static_cast<Object*>(found->second.object.get());
  }

  void remove(double handle) { objects_.erase(count_of(handle)); }
  double size() const { return static_cast<double>(objects_.size()); }

 private:
  /// Variable whose address identifies the type.
  template <typename Object>
  static inline char kKind = 0;

  template <typename Object>
  static void destroy(void* object) {
    delete static_cast<Object*>(object);
  }

  struct Entry {
    std::unique_ptr<void, void (*)(void*)> object;
    const char* kind;
  };

  std::unordered_map<std::int64_t, Entry> objects_;
  std::int64_t last_ = 0;
};

inline Handles& handles() {
  static Handles all;
  return all;
}

}  // namespace dpftrl::wasm
