#include "dpftrl/strategy/decoder_form.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_strategy_decoder_form();
void dpftrl_strategy_decoder_form() {
  // Row t of B Z is w_0 + ... + w_t, w_t = z_t - z_{t-1} / 2.
  const dpftrl::DecoderForm form = dpftrl::BandedInverseDecoder{.coefficients = {1, -0.5}};
  assert(std::get<dpftrl::BandedInverseDecoder>(form).coefficients.size() == 2);
}
