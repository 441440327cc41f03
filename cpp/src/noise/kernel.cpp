// SPDX-License-Identifier: Apache-2.0
#include "noise/kernel.hpp"

#include "dpftrl/gaussian.hpp"

namespace dpftrl::noise {

void fill_measurement(const KernelOptions& options, std::int64_t measurement,
                      std::span<double> out) {
  fill_normals(options.key, Stream::noise,
               static_cast<std::uint64_t>(options.first_measurement + measurement),
               static_cast<std::uint64_t>(options.first_coordinate), out);
}

KernelPointer make_kernel(const KernelOptions& options, const DecoderForm& form) {
  return std::visit([&](const auto& decoder) { return make(options, decoder); }, form);
}

}  // namespace dpftrl::noise
