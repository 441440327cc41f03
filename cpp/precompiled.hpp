// SPDX-License-Identifier: Apache-2.0
// Headers that nearly every file of the library and its tests needs, compiled once.
#pragma once

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>
