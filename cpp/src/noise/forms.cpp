// SPDX-License-Identifier: Apache-2.0

/// Tables of makers for all forms of decoders.

#include "noise/exact/exact_rows.hpp"
#include "noise/programs/program.hpp"

namespace dpftrl {

const noise::ProgramMakers& noise::program_makers() {
  static constexpr ProgramMakers kAll = program_makers_of(Alternatives<DecoderForm::variant>{});
  return kAll;
}

const detail::ExactRowsMakers& detail::exact_rows_makers() {
  static constexpr ExactRowsMakers kAll =
      exact_rows_makers_of(Alternatives<DecoderForm::variant>{});
  return kAll;
}

}  // namespace dpftrl
