// SPDX-License-Identifier: Apache-2.0
#include "strategy/families.hpp"

#include <array>

namespace dpftrl {

FamilyRow independent_family();
FamilyRow output_family();
FamilyRow honaker_full_family();
FamilyRow haar_family();
FamilyRow kary_family();
FamilyRow square_root_family();
FamilyRow normalized_square_root_family();
FamilyRow nu_family();
FamilyRow log_perturbed_family();
FamilyRow banded_square_root_family();
FamilyRow banded_inverse_square_root_family();
FamilyRow lambda_cgd_family();
FamilyRow blt_rational_family();
FamilyRow blt_family();
FamilyRow blt_normalized_family();
FamilyRow blt_scaled_family();
FamilyRow banded_toeplitz_family();
FamilyRow banded_family();
FamilyRow optimal_family();
FamilyRow offset_ar_family();

namespace {

/// In the order in which documentation lists them.
constexpr std::array kFamilies = {
    independent_family,
    output_family,
    tree_family,
    honaker_family,
    honaker_full_family,
    haar_family,
    kary_family,
    square_root_family,
    normalized_square_root_family,
    nu_family,
    log_perturbed_family,
    banded_square_root_family,
    banded_inverse_square_root_family,
    lambda_cgd_family,
    blt_rational_family,
    blt_family,
    blt_normalized_family,
    blt_scaled_family,
    banded_toeplitz_family,
    banded_family,
    optimal_family,
    offset_ar_family,
};

}  // namespace

std::span<FamilyRow (*const)()> family_makers() {
  return kFamilies;
}

}  // namespace dpftrl
