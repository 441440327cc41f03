// SPDX-License-Identifier: Apache-2.0

/// Streams whose readings are followed by the same readings without noise.

#include "dpftrl/release/nonprivate.hpp"

#include <emscripten/val.h>

#include <memory>

#include "any_stream.hpp"
#include "columns.hpp"
#include "convert.hpp"

namespace dpftrl::wasm {
namespace {

template <class Who>
std::unique_ptr<AnyStream> make_of(const MadeColumns& made, const emscripten::val& options) {
  using Kind = StreamOf<Who, NonprivateMemory>;
  return std::make_unique<Kind>(
      typename Kind::Own(AnyColumns(made.kind), made.mechanism, sums_options(options)));
}

}  // namespace

std::unique_ptr<AnyStream> make_nonprivate_stream(const MadeColumns& made,
                                                  const emscripten::val& options) {
  const bool has_people = optional_flag(options, "people").value_or(false);
  return has_people ? make_of<People>(made, options) : make_of<Records>(made, options);
}

}  // namespace dpftrl::wasm
