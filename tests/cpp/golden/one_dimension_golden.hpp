// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A factorization of the prefix sums of 9 steps for records of one number each, 3 epochs of 3
/// steps, objective max, found by 3,800 multiplicative updates of dual weights in double precision
/// (NumPy).
///
///     w  weights of the 4 sign vectors of each phase, Lambda = sum w s s^T;  u  weights of the
///     rows G = A^T D_u A,   P = (Lambda^(1/2) G Lambda^(1/2))^(1/2),   X = Lambda^(-1/2) P
///     Lambda^(-1/2) w <- w (s^T X s)^(1/2),   u <- u (A X^-1 A^T)_ii^(1/2),   both scaled to sum 1
///
/// until tr P and the error of X agreed to 10^-9: 3.2272558186. C is the lower-triangular root of
/// X, C^T C = X, at nine digits.

namespace dpftrl::testing::golden {

inline constexpr double kOneDimensionError = 3.2272558;  ///< to 10^-8
inline constexpr int kOneDimensionSteps = 9;
// clang-format off
inline constexpr double kOneDimensionEncoder[9][9] = {
    {0.309860778},
    {0.220272377, 0.328079317},
    {0.329827163, 0.271816829, 0.315640049},
    {-0.0639433592, 0.299386753, 0.312816916, 0.497304695},
    {0.104214361, -0.0730647834, 0.209822636, 0.222130996, 0.468173947},
    {0.248296889, 0.11341681, -0.0201791584, 0.0783734373, 0.190551698, 0.432688129},
    {-0.0500209975, 0.051483575, 0.0351946273, 0.00684722138, 0.218510781, 0.291275673, 0.53155774},
    {0.036428612, -0.0158669466, 0.0404035329, 0.0406148959, -0.0105455417, 0.142281025, 0.200180851,
     0.593179974},
    {0.0720914114, 0.0421043329, 0.0106847262, 0.0217213806, 0.0279834777, -0.0106847262,
     0.0802312743, 0.223539001, 0.669605287},
};
// clang-format on

}  // namespace dpftrl::testing::golden
