// SPDX-License-Identifier: Apache-2.0
// The digest by which a checkpoint identifies its mechanism, tested with the same law for every
// form.
#include <limits>
#include <set>

#include "dpftrl/noise/noise_stream.hpp"
#include "exact_forms.hpp"
#include "form_strategy.hpp"
#include "noise/checkpoint.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

detail::Digest digest_of(const DecoderForm& form) {
  detail::Sha256 hash;
  detail::append_form(hash, form);
  return hash.finish();
}

double changed(double number) {
  return std::nextafter(number, std::numeric_limits<double>::infinity());
}
std::int64_t changed(std::int64_t number) {
  return number + 1;
}
bool changed(bool flag) {
  return !flag;
}

/// All workloads that differ from a given one in a single number.
std::vector<Workload> changes_of(const Workload& workload) {
  const std::int64_t n = workload.steps();
  const double beta = workload.momentum(), alpha = workload.decay();
  std::vector<Workload> others;
  switch (workload.kind()) {
    case Workload::Kind::prefix:
      return {Workload::prefix_sums(n + 1)};
    case Workload::Kind::momentum:
      return {Workload::momentum({.steps = n + 1, .momentum = beta, .decay = alpha}),
              Workload::momentum({.steps = n, .momentum = changed(beta), .decay = alpha}),
              Workload::momentum({.steps = n, .momentum = beta, .decay = changed(alpha)})};
    case Workload::Kind::window:
      return {Workload::sliding_window({.steps = n + 1, .window = workload.window()}),
              Workload::sliding_window({.steps = n, .window = workload.window() + 1})};
    case Workload::Kind::rates:
      others.push_back(
          Workload::learning_rates({.rates = workload.rates(), .momentum = changed(beta)}));
      for (std::size_t t = 0; t < workload.rates().size(); ++t) {
        std::vector<double> rates = workload.rates();
        rates[t] = changed(rates[t]);
        others.push_back(Workload::learning_rates({.rates = rates, .momentum = beta}));
      }
      return others;
    case Workload::Kind::matrix:
      for (Eigen::Index row = 0; row < workload.matrix().rows(); ++row)
        for (Eigen::Index column = 0; column <= row; ++column) {
          Matrix matrix = workload.matrix();
          matrix(row, column) = changed(matrix(row, column));
          others.push_back(Workload::lower_triangular(matrix));
        }
      return others;
  }
  return others;
}

/// All forms that differ from a given one in a single number. The structured bindings name all
/// members of a form, so adding a member breaks compilation here until its change is added.
class Changes {
 public:
  static std::vector<DecoderForm> of(const DecoderForm& form) {
    Changes changes;
    std::visit(changes, form);
    return std::move(changes.forms_);
  }

  void operator()(const IdentityDecoder&) {}
  void operator()(const RunningSumDecoder&) {}
  void operator()(DyadicDecoder form) {
    auto& [weights] = form;
    change(form, weights);
  }
  void operator()(KaryDecoder form) {
    auto& [arity, subtractive, num_levels] = form;
    change(form, arity, subtractive, num_levels);
  }
  void operator()(HaarDecoder form) {
    auto& [mean_scale, scales] = form;
    change(form, mean_scale, scales);
  }
  void operator()(ToeplitzDecoder form) {
    auto& [coefficients] = form;
    change(form, coefficients);
  }
  void operator()(BandedDecoder form) { change(form, form.coefficients); }
  void operator()(BandedInverseDecoder form) { change(form, form.coefficients); }
  void operator()(MovingSumDecoder form) { change(form, form.coefficients); }
  void operator()(AutoregressiveDecoder form) {
    auto& [offset, decay, innovation] = form;
    change(form, offset, decay, innovation);
  }
  void operator()(BufferedDecoder form) {
    auto& [decays, weights] = form;
    change(form, decays, weights);
  }
  void operator()(const VaryingBufferedDecoder& form) {
    const auto numbers = std::make_shared<VaryingBuffers>(*form.numbers);
    // B is computed from these; the other members bound the rounding of its rows, or pack the
    // contents of the lists.
    auto& [buffers, inverse_scales, gains, factors, row_stddev, state_stddev, packed] = *numbers;
    change_shared<VaryingBufferedDecoder>(numbers, buffers, inverse_scales, gains, factors);
  }
  void operator()(const VaryingBandedDecoder& form) {
    const auto numbers = std::make_shared<VaryingBands>(*form.numbers);
    auto& [bands, entries, row_stddev] = *numbers;
    change_shared<VaryingBandedDecoder>(numbers, bands, entries);
  }
  void operator()(BlockDecoder form) {
    for (std::size_t i = 0; i < form.blocks.size(); ++i) {
      auto& [steps, inner, num_measurements, closing_row] = form.blocks[i];
      change(form, steps, num_measurements, closing_row);
      change_inner(form, inner);
    }
    form.blocks.pop_back();
    forms_.push_back(form);
  }
  void operator()(FilteredDecoder form) {
    auto& [base, column_scales, workload] = form;
    change(form, column_scales);
    change_inner(form, base);
    for (const Workload& other : changes_of(workload)) {
      FilteredDecoder filtered = form;
      filtered.workload = other;
      forms_.push_back(filtered);
    }
  }

 private:
  /// Adds a copy of `form` for every number in `parts`, with that number changed.
  template <class Form, class... Parts>
  void change(Form& form, Parts&... parts) {
    (for_each_change(parts, [&] { forms_.push_back(form); }), ...);
  }

  template <class Form, class Shared, class... Parts>
  void change_shared(const std::shared_ptr<Shared>& shared, Parts&... parts) {
    const auto keep = [&] { forms_.push_back(Form{std::make_shared<const Shared>(*shared)}); };
    (for_each_change(parts, keep), ...);
  }

  template <class Form>
  void change_inner(Form& form, std::shared_ptr<const DecoderForm>& inner) {
    const auto before = inner;
    for (DecoderForm& other : of(*before)) {
      inner = testing::shared(std::move(other));
      forms_.push_back(form);
    }
    inner = before;
  }

  template <class Number, class Keep>
  static void for_each_change(Number& number, Keep&& keep) {
    const Number before = number;
    number = changed(number);
    keep();
    number = before;
  }

  template <class Keep>
  static void for_each_change(std::vector<double>& numbers, Keep&& keep) {
    for (double& number : numbers) for_each_change(number, keep);
    numbers.push_back(1);
    keep();
    numbers.pop_back();
  }

  std::vector<DecoderForm> forms_;
};

TEST(Fingerprint, changing_any_number_of_a_form_changes_it) {
  for (const testing::NamedForm& named : testing::named_forms()) {
    std::set<detail::Digest> digests = {digest_of(named.form)};
    const std::vector<DecoderForm> others = Changes::of(named.form);
    for (const DecoderForm& other : others) digests.insert(digest_of(other));
    // No two of them share a digest.
    EXPECT_EQ(digests.size(), others.size() + 1) << named.name;
  }
}

TEST(Fingerprint, forms_of_the_same_numbers_differ) {
  const std::vector<double> numbers = {1, 0.5, 0.25};
  const std::vector<DecoderForm> forms = {
      IdentityDecoder{},        RunningSumDecoder{},           DyadicDecoder{numbers},
      BandedDecoder{numbers},   BandedInverseDecoder{numbers}, MovingSumDecoder{numbers},
      ToeplitzDecoder{numbers}, BufferedDecoder{{}, numbers},  BufferedDecoder{numbers, {}}};
  std::set<detail::Digest> digests;
  for (const DecoderForm& form : forms) digests.insert(digest_of(form));
  EXPECT_EQ(digests.size(), forms.size());
}

TEST(Fingerprint, is_that_of_version_0_3_which_had_more_forms) {
  const std::vector<double> numbers = {1, 0.5, 0.25};
  const auto tree = testing::shared(KaryDecoder{3, false, 2});
  const std::vector<DecoderForm> forms = {IdentityDecoder{},
                                          RunningSumDecoder{},
                                          DyadicDecoder{numbers},
                                          *tree,
                                          HaarDecoder{0.5, numbers},
                                          ToeplitzDecoder{numbers},
                                          BandedDecoder{numbers},
                                          BandedInverseDecoder{numbers},
                                          BufferedDecoder{numbers, numbers},
                                          MovingSumDecoder{numbers},
                                          BlockDecoder{{{3, tree, 12, 7}}},
                                          FilteredDecoder{tree, numbers, Workload::prefix_sums(3)}};
  detail::Sha256 hash;
  for (const DecoderForm& form : forms) detail::append_form(hash, form);
  EXPECT_EQ(detail::word_at(hash.finish(), 0), 0x485abd90aa344afcU);
}

TEST(Fingerprint, that_of_a_stream_covers_horizon_dimension_and_coordinates) {
  const auto of = [](std::int64_t steps, std::int64_t dimension, std::int64_t first) {
    const testing::FormStrategy strategy(BandedDecoder{{1, 0.5}}, steps);
    NoiseStream stream(
        strategy,
        {.key = Key::insecure_from_seed(1), .dimension = dimension, .first_coordinate = first});
    const std::vector<std::byte> bytes = stream.checkpoint();
    detail::ShortDigest fingerprint;
    std::copy_n(bytes.begin() + 24, fingerprint.size(), fingerprint.begin());
    return fingerprint;
  };
  EXPECT_EQ(std::set({of(9, 3, 0), of(10, 3, 0), of(9, 4, 0), of(9, 3, 1)}).size(), 4U);
  EXPECT_EQ(of(9, 3, 0), of(9, 3, 0));
}

}  // namespace
}  // namespace dpftrl
