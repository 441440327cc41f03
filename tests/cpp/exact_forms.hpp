// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Small decoder forms of every kind, with B by definition as oracles for exact_entry.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dpftrl/strategy/decoder_form.hpp"

namespace dpftrl::testing {

DyadicDecoder honaker_form(int num_levels);

std::shared_ptr<const DecoderForm> shared(DecoderForm form);

BlockDecoder block_form();

std::vector<double> numbers(int count, double (*number)(int));

Workload alternating_rates(int steps);

Workload some_matrix(int steps);

/// Recursion of the optimum, before its columns are scaled.
DecoderForm varying_form(int steps, int buffers);

struct NamedForm {
  const char* name;
  std::int64_t steps;
  DecoderForm form;
};

/// All forms by name. A form with an entry in tests/golden/exact_entry.json has the same numbers in
/// tests/reference/exact_entry_oracle.py.
std::vector<NamedForm> named_forms();

/// Map from measurement to weight.
using NaiveRow = std::map<std::int64_t, long double>;

void add_scaled(NaiveRow& sum, long double factor, const NaiveRow& row, std::int64_t first = 0);

std::vector<NaiveRow> naive_rows(const DecoderForm& form, std::int64_t num_rows);

}  // namespace dpftrl::testing
