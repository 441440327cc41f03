// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Arrays of rows, one after the other: batches of records, and noise.

#include <emscripten/val.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "guard.hpp"
#include "handles.hpp"

namespace dpftrl::wasm {

/// Entries of a Float64Array that only the facade holds.
inline std::vector<double> numbers_of(const emscripten::val& array) {
  return emscripten::convertJSArrayToNumberVector<double>(array);
}

/// Overwrites the beginning of a Float64Array, which only the facade holds, with a vector.
template <typename Values>
void write_to(const emscripten::val& target, const Values& values) {
  const auto size = static_cast<std::size_t>(values.size());
  target.call<void>("set", emscripten::val(emscripten::typed_memory_view(size, values.data())));
}

/// Calls `use(object, row, index)` for each row of `records`, a Float64Array that only the facade
/// holds, and overwrites it with the rows as modified by `use`, so that nothing is allocated in
/// JavaScript after a row has been processed. If a row is refused, the reply has `released`, the
/// number of entries before it, which are overwritten.
template <typename Object, typename Use>
emscripten::val over_rows(double handle, const emscripten::val& records, Use&& use) {
  std::size_t done = 0;
  bool complete = false;
  emscripten::val reply = guarded([&] {
    Object& object = handles().get<Object>(handle);
    std::vector<double> rows = numbers_of(records);
    const auto width = static_cast<std::size_t>(object.dimension());
    if (rows.size() % width != 0)
      fail(ErrorCode::wrong_length, "rows", "records",
           "must have a length that is a multiple of {dimension} = " + to_text(object.dimension()),
           to_text(static_cast<std::int64_t>(rows.size())));
    const auto write_back = [&] { write_to(records, std::span(rows).first(done)); };
    try {
      for (; done < rows.size(); done += width)
        use(object, std::span(rows).subspan(done, width), done / width);
    } catch (...) {
      write_back();
      throw;
    }
    write_back();
    complete = true;
    return emscripten::val::null();
  });
  if (!complete) reply.set("released", static_cast<double>(done));
  return reply;
}

/// Fills `out`, a typed array of `Value` that only the facade holds, with `num_rows` rows. `make`
/// writes some of them at a time to WebAssembly memory, from which they are copied once.
template <typename Value, typename Stored, typename Make>
void write_rows(const emscripten::val& out, std::int64_t num_rows, std::int64_t width,
                std::vector<Stored>& piece, Make&& make) {
  static_assert(sizeof(Value) == sizeof(Stored));
  // Streams make 16 rows at once. Short rows are grouped further, because each piece costs a call.
  constexpr std::int64_t kWindow = 16, kFew = 4096, kMost = std::int64_t{1} << 23;
  const std::int64_t most =
      std::max<std::int64_t>(1, std::min(kMost / width, std::max(kWindow, kFew / width)));
  for (std::int64_t done = 0; done < num_rows;) {
    const std::int64_t some = std::min(num_rows - done, most);
    piece.resize(static_cast<std::size_t>(some * width));
    make(std::span(piece), some);
    const auto* const values = reinterpret_cast<const Value*>(piece.data());
    out.call<void>("set", emscripten::val(emscripten::typed_memory_view(piece.size(), values)),
                   static_cast<double>(done * width));
    done += some;
  }
}

}  // namespace dpftrl::wasm
