# SPDX-License-Identifier: Apache-2.0
# Programs written before headers were sorted into folders include dpftrl/OLD; each line is OLD=NEW.
# Forwarding headers are generated here for installed copies and for projects that add the sources;
# this project itself includes only the new names.
set(dpftrl_old_names
    analysis/bounds.hpp=analysis/unit_error.hpp
    analysis/integer_encoder.hpp=release/lattice/lattice.hpp
    bands.hpp=optimal/optimum.hpp
    bounds.hpp=analysis/unit_error.hpp
    buffers.hpp=optimal/optimum.hpp
    contribution_bound.hpp=problem/participation.hpp
    decoder_form.hpp=strategy/decoder_form.hpp
    discrete_gaussian.hpp=random/discrete_gaussian.hpp
    error.hpp=base/error.hpp
    gaussian.hpp=random/gaussian.hpp
    integer_encoder.hpp=release/lattice/lattice.hpp
    lattice.hpp=release/lattice/lattice.hpp
    learn/average_loss.hpp=learn/losses/average_loss.hpp
    learn/descent.hpp=learn/rules/descent.hpp
    learn/domain.hpp=learn/rules/domain.hpp
    learn/ftrl.hpp=learn/rules/ftrl.hpp
    learn/function_loss.hpp=learn/losses/loss.hpp
    learn/loss.hpp=learn/losses/loss.hpp
    learn/losses/function_loss.hpp=learn/losses/loss.hpp
    learn/losses/softmax_loss.hpp=learn/losses/loss.hpp
    learn/regret_bound.hpp=learn/regret.hpp
    learn/rules.hpp=learn/rules/rules.hpp
    learn/softmax_loss.hpp=learn/losses/loss.hpp
    learn/streams.hpp=learn/simulation.hpp
    learn/twin.hpp=learn/simulation.hpp
    learn/update_rule.hpp=learn/rules/update_rule.hpp
    mechanism.hpp=analysis/mechanism.hpp
    noise_stream.hpp=noise/noise_stream.hpp
    optimal/banded/banded_optimum.hpp=optimal/family_optimum.hpp
    optimal/banded_optimum.hpp=optimal/family_optimum.hpp
    optimal/blt/blt_normalized_optimum.hpp=optimal/family_optimum.hpp
    optimal/blt/blt_optimum.hpp=optimal/family_optimum.hpp
    optimal/blt_normalized_optimum.hpp=optimal/family_optimum.hpp
    optimal/blt_optimum.hpp=optimal/family_optimum.hpp
    optimal/dense_optimum.hpp=optimal/optimum.hpp
    optimal/family.hpp=optimal/family_optimum.hpp
    optimal/varying_bands_form.hpp=optimal/optimum.hpp
    optimal/varying_buffers_form.hpp=optimal/optimum.hpp
    optimize.hpp=math/optimize.hpp
    participation.hpp=problem/participation.hpp
    people_sum.hpp=release/prefix_sum.hpp
    planner.hpp=analysis/planner.hpp
    prefix_sum.hpp=release/prefix_sum.hpp
    privacy.hpp=problem/privacy.hpp
    problem/contribution_bound.hpp=problem/participation.hpp
    queries/consistency.hpp=queries/query_mechanism.hpp
    queries/histogram.hpp=queries/query_workload.hpp
    queries/query_factorization.hpp=queries/query_mechanism.hpp
    random.hpp=random/random.hpp
    release_ledger.hpp=release/release_ledger.hpp
    release/people_sum.hpp=release/prefix_sum.hpp
    sensitivity.hpp=analysis/sensitivity/sensitivity.hpp
    strategy.hpp=strategy/catalogue.hpp
    strategy/banded.hpp=strategy/toeplitz/banded.hpp
    strategy/blt.hpp=strategy/toeplitz/blt.hpp
    strategy/blt_scaled.hpp=strategy/toeplitz/blt_scaled.hpp
    strategy/filtered.hpp=strategy/toeplitz/filtered.hpp
    strategy/group_algebra.hpp=strategy/toeplitz/group_algebra.hpp
    strategy/haar.hpp=strategy/trees/haar.hpp
    strategy/hybrid.hpp=strategy/trees/hybrid.hpp
    strategy/identity.hpp=strategy/toeplitz/identity.hpp
    strategy/kary.hpp=strategy/trees/kary.hpp
    strategy/lambda_cgd.hpp=strategy/toeplitz/lambda_cgd.hpp
    strategy/log_perturbed.hpp=strategy/toeplitz/log_perturbed.hpp
    strategy/nu.hpp=strategy/toeplitz/nu.hpp
    strategy/plan.hpp=strategy/strategy_info.hpp
    strategy/prefix.hpp=strategy/toeplitz/prefix.hpp
    strategy/restart.hpp=strategy/trees/restart.hpp
    strategy/smooth.hpp=strategy/trees/smooth.hpp
    strategy/square_root.hpp=strategy/toeplitz/square_root.hpp
    strategy/toeplitz_base.hpp=strategy/toeplitz/toeplitz_base.hpp
    strategy/tree.hpp=strategy/trees/tree.hpp
    strategy/varying.hpp=strategy/optimal.hpp
    toeplitz.hpp=math/toeplitz.hpp
    types.hpp=base/types.hpp
    unit_error.hpp=analysis/unit_error.hpp
    workload.hpp=problem/workload.hpp)

# Formerly public headers, now internal at cpp/src/NAME: older programs include dpftrl/NAME and get
# a copy. Of the internal headers, they include only those in this list.
set(dpftrl_once_public
    learn/adversary.hpp
    learn/losses/average_loss.hpp
    learn/rules/descent.hpp
    learn/rules/ftrl.hpp
    learn/rules/rules.hpp
    learn/rules/update_rule.hpp
    math/optimize.hpp
    math/toeplitz.hpp
    optimal/family_optimum.hpp
    random/discrete_gaussian.hpp
    random/gaussian.hpp
    strategy/dense.hpp
    strategy/toeplitz/banded.hpp
    strategy/toeplitz/blt.hpp
    strategy/toeplitz/blt_scaled.hpp
    strategy/toeplitz/filtered.hpp
    strategy/toeplitz/group_algebra.hpp
    strategy/toeplitz/identity.hpp
    strategy/toeplitz/lambda_cgd.hpp
    strategy/toeplitz/log_perturbed.hpp
    strategy/toeplitz/nu.hpp
    strategy/toeplitz/prefix.hpp
    strategy/toeplitz/square_root.hpp
    strategy/toeplitz/toeplitz_base.hpp
    strategy/trees/haar.hpp
    strategy/trees/hybrid.hpp
    strategy/trees/kary.hpp
    strategy/trees/restart.hpp
    strategy/trees/smooth.hpp
    strategy/trees/tree.hpp
    strategy/varying_bands.hpp)

set(dpftrl_old_names_folder "${CMAKE_CURRENT_BINARY_DIR}/old_names")
# Forwarding headers of an earlier configuration are removed: their names may be headers again.
file(GLOB_RECURSE dpftrl_stale_names RELATIVE "${dpftrl_old_names_folder}/dpftrl"
     "${dpftrl_old_names_folder}/dpftrl/*.hpp")
list(REMOVE_ITEM dpftrl_stale_names ${dpftrl_once_public})
foreach(pair IN LISTS dpftrl_old_names)
  string(REPLACE "=" ";" pair "${pair}")
  list(GET pair 0 old)
  list(GET pair 1 new)
  list(REMOVE_ITEM dpftrl_stale_names "${old}")
  file(CONFIGURE OUTPUT "${dpftrl_old_names_folder}/dpftrl/${old}" @ONLY CONTENT
"// SPDX-License-Identifier: Apache-2.0
// Deprecated: include dpftrl/${new}.
#pragma once
#include \"dpftrl/${new}\" // IWYU pragma: export
")
endforeach()
foreach(name IN LISTS dpftrl_once_public)
  set(source "${CMAKE_CURRENT_SOURCE_DIR}/cpp/src/${name}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
  file(READ "${source}" text)
  string(REGEX REPLACE "#include \"(dpftrl/)?" "#include \"dpftrl/" text "${text}")
  file(CONFIGURE OUTPUT "${dpftrl_old_names_folder}/dpftrl/${name}" @ONLY CONTENT
"// Deprecated: an internal header, which may change.
${text}")
endforeach()
foreach(name IN LISTS dpftrl_stale_names)
  file(REMOVE "${dpftrl_old_names_folder}/dpftrl/${name}")
endforeach()
if(NOT PROJECT_IS_TOP_LEVEL)
  target_include_directories(dpftrl INTERFACE $<BUILD_INTERFACE:${dpftrl_old_names_folder}>)
endif()
