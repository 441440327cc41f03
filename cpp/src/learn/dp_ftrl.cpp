// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/dp_ftrl.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <string_view>

#include "dpftrl/base/error.hpp"
#include "dpftrl/learn/regret.hpp"
#include "learn/learner_options.hpp"
#include "learn/rules/update_rule.hpp"
#include "noise/checkpoint.hpp"

namespace dpftrl {
namespace {

const DpFtrlOptions& require_parts(const DpFtrlOptions& options) {
  if (!options.mechanism)
    fail(ErrorCode::invalid_argument, "dp_ftrl", "mechanism", "must be given");
  detail::require_learnable("dp_ftrl", *options.mechanism);
  detail::require_learner("dp_ftrl", options);
  return options;
}

class RuleSink final : public ReleaseSink {
 public:
  explicit RuleSink(UpdateRule& rule) : rule_(rule) {}
  void take(std::size_t first, std::span<const double> block) override {
    rule_.advance(first, block);
  }

 private:
  UpdateRule& rule_;
};

void append_text(detail::Sha256& hash, std::string_view text) {
  hash.append(std::int64_t{std::ssize(text)});
  hash.append(std::as_bytes(std::span(text)));
}

void append_numbers(detail::Sha256& hash, const std::vector<double>& numbers) {
  hash.append(std::int64_t{std::ssize(numbers)});
  hash.append(std::span(numbers));
}

/// Fingerprint of the options other than those of the sums, whose checkpoints identify the
/// mechanism.
detail::ShortDigest fingerprint_of(const DpFtrlOptions& options, double lambda) {
  detail::Sha256 hash;
  hash.append(options.dimension);
  hash.append(options.loss->num_scores());
  append_text(hash, options.loss->name());
  append_numbers(hash, options.loss->parameters());
  append_text(hash, options.domain->name());
  append_numbers(hash, options.domain->parameters());
  hash.append(lambda);
  hash.append(std::int64_t{options.descent.has_value()});
  if (options.descent) {
    append_numbers(hash, options.descent->rates);
    hash.append(options.descent->momentum);
  }
  hash.append(std::int64_t{options.doubling});
  hash.append(options.batch_size);
  if (options.penalty.strength > 0) {
    append_text(hash, "penalty");
    hash.append(options.penalty.strength);
    hash.append(std::int64_t{std::ssize(options.penalty.groups)});
    for (const std::int64_t size : options.penalty.groups) hash.append(size);
    hash.append(options.penalty.num_unpenalised);
  }
  return detail::shortened(hash.finish());
}

/// Bytes for the number of examples, the number of waiting ones, whether an iterate left the
/// doubles, and the length of the checkpoint of the sums.
constexpr std::size_t kCountsSize = 4 * 8;

void append_doubles(std::vector<std::byte>& out, std::span<const double> values) {
  for (const double value : values) detail::append_word(out, std::bit_cast<std::uint64_t>(value));
}

std::vector<double> doubles_of(std::span<const std::byte> bytes) {
  std::vector<double> values(bytes.size() / 8);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::bit_cast<double>(detail::word_at(bytes, 8 * i));
  return values;
}

}  // namespace

DpFtrl::DpFtrl(const DpFtrlOptions& options)
    : loss_(require_parts(options).loss),
      dimension_(options.dimension),
      batch_size_(options.batch_size),
      sums_(options.mechanism, {.key = options.key,
                                .dimension = detail::model_size_of(options),
                                .mode = options.mode,
                                .grid = options.grid,
                                .lattice_noise = options.lattice_noise,
                                .precision_bits = options.precision_bits}),
      lambda_(detail::lambda_of(options, sums_)),
      rule_(detail::rule_of(options, lambda_)),
      follows_at_once_(options.mode == ReleaseMode::grid &&
                       rule_->is_finite_for(0x1p63 * sums_.grid())),
      fingerprint_(fingerprint_of(options, lambda_)),
      commitment_(detail::key_commitment(options.key)),
      scales_(static_cast<std::size_t>(options.loss->num_scores())),
      release_(static_cast<std::size_t>(detail::model_size_of(options))) {
  detail::require_finite_iterates("dp_ftrl", sums_, rule_->lambda());
  if (follows_at_once_) rule_->follow(release_);
}

DpFtrl::~DpFtrl() = default;
DpFtrl::DpFtrl(DpFtrl&&) noexcept = default;
DpFtrl& DpFtrl::operator=(DpFtrl&&) noexcept = default;

const Vector& DpFtrl::iterate() const {
  return rule_->iterate();
}

Vector DpFtrl::average() const {
  return rule_->average();
}

double DpFtrl::lambda() const {
  return rule_->lambda() / static_cast<double>(batch_size_);
}

void DpFtrl::step(std::span<const double> features, double label, std::span<double> scores) {
  require_going();
  predict(features, scores);
  const double known_label = loss_->label(label);
  loss_->evaluate(scores, known_label, scales_);
  take_gradient(features);
}

void DpFtrl::step_along(std::span<const double> features, std::span<const double> slopes) {
  require_going();
  require_length("dp_ftrl", "features", static_cast<std::int64_t>(features.size()), dimension());
  require_length("dp_ftrl", "slopes", static_cast<std::int64_t>(slopes.size()), num_scores());
  require_all_finite("dp_ftrl", "slopes", slopes);
  std::ranges::copy(slopes, scales_.begin());
  take_gradient(features);
}

void DpFtrl::take_gradient(std::span<const double> features) {
  // Features are read while the iterate is written.
  const std::less<> is_before;
  const double* const begin = rule_->place_of_iterate();
  if (is_before(features.data(), begin + model_size()) &&
      is_before(begin, features.data() + features.size()))
    fail_argument("dp_ftrl", "features", "apart from the iterate", "a part of it");
  scales_of_clipped_gradient(scales_, features, mechanism().clip(), scales_);
  const ProductRecord gradient{scales_, features};
  if (num_waiting_ + 1 < batch_size_) {
    sums_.contribute(gradient);
    ++num_waiting_;
  } else {
    // Adds and releases in one call: an example whose release failed was not learned from, and may
    // be passed again.
    end_step([&](ReleaseSink* sink) { sums_.release(gradient, release_, sink); });
  }
  ++num_examples_;
}

template <class Release>
void DpFtrl::end_step(Release&& release) {
  RuleSink sink(*rule_);
  release(follows_at_once_ ? &sink : nullptr);
  num_waiting_ = 0;
  // The noise is spent, so an error now would make the caller pass the same example again, for
  // another step.
  try {
    if (follows_at_once_)
      rule_->finish();
    else
      rule_->update(release_);
  } catch (...) {
    has_left_doubles_ = true;
  }
}

void DpFtrl::require_going() {
  if (has_left_doubles_)
    fail(ErrorCode::bad_state, "dp_ftrl", "",
         "the last iterate left the doubles; its examples were learned from, and there are no more "
         "steps");
  // Refuses past the horizon, before any example is read.
  if (sums_.step() == sums_.steps()) sums_.release(release_);
}

double DpFtrl::step(std::span<const double> features, double label) {
  double score = 0;
  step(features, label, {&score, 1});
  return score;
}

void DpFtrl::end_batch() {
  require_going();
  end_step([this](ReleaseSink* sink) { sums_.release(release_, sink); });
}

std::vector<std::byte> DpFtrl::checkpoint() {
  const std::vector<std::byte> sums = sums_.checkpoint();
  const std::vector<double> rule = rule_->state();
  std::vector<std::byte> bytes = detail::begin_checkpoint();
  bytes.reserve(bytes.size() + kCountsSize + sums.size() + 8 * (rule.size() + release_.size()));
  detail::append_word(bytes, static_cast<std::uint64_t>(num_examples_));
  detail::append_word(bytes, static_cast<std::uint64_t>(num_waiting_));
  detail::append_word(bytes, has_left_doubles_ ? 1 : 0);
  detail::append_word(bytes, sums.size());
  bytes.insert(bytes.end(), sums.begin(), sums.end());
  append_doubles(bytes, rule);
  append_doubles(bytes, release_);
  detail::seal_checkpoint({.kind = detail::CheckpointKind::learner,
                           .step = steps_done(),
                           .fingerprint = fingerprint_,
                           .commitment = commitment_},
                          bytes);
  return bytes;
}

void DpFtrl::restore_without_ledger(std::span<const std::byte> bytes) {
  const detail::CheckpointHeader header =
      detail::open_checkpoint("dp_ftrl",
                              {.kind = detail::CheckpointKind::learner,
                               .fingerprint = fingerprint_,
                               .commitment = commitment_},
                              steps(), bytes);
  const std::span<const std::byte> rest = bytes.subspan(detail::kCheckpointHeaderSize);
  const auto word = [&](std::size_t i) {
    return 8 * i + 8 <= rest.size() ? detail::word_at(rest, 8 * i) : 0;
  };
  const std::uint64_t num_examples = word(0), num_waiting = word(1), has_left_doubles = word(2);
  const std::uint64_t sums_size = word(3);
  // The sums must be at the step of the learner, which the header of their checkpoint states.
  const bool is_whole =
      rest.size() >= kCountsSize && sums_size <= rest.size() - kCountsSize &&
      sums_size >= detail::kCheckpointHeaderSize &&
      detail::word_at(rest, kCountsSize + 8) == static_cast<std::uint64_t>(header.step) &&
      has_left_doubles <= 1 && num_waiting <= num_examples &&
      num_waiting < static_cast<std::uint64_t>(batch_size_) &&
      num_examples < std::uint64_t{1} << 63 &&
      static_cast<std::uint64_t>(header.step) >= has_left_doubles;
  const std::size_t after = kCountsSize + static_cast<std::size_t>(is_whole ? sums_size : 0);
  const std::size_t release_size = 8 * release_.size();
  if (!is_whole || rest.size() - after < release_size || (rest.size() - after) % 8 != 0)
    fail(ErrorCode::bad_state, "dp_ftrl", "checkpoint",
         "must contain the sums and the model of " + to_text(header.step) + " steps",
         "something else");
  const std::vector<double> rule =
      doubles_of(rest.subspan(after, rest.size() - after - release_size));
  const std::vector<double> release = doubles_of(rest.last(release_size));
  rule_->require_state(rule);
  sums_.restore_without_ledger(rest.subspan(kCountsSize, static_cast<std::size_t>(sums_size)));
  rule_->restore(header.step - static_cast<std::int64_t>(has_left_doubles), rule);
  std::ranges::copy(release, release_.begin());  // in place, because the rule refers to it
  num_examples_ = static_cast<std::int64_t>(num_examples);
  num_waiting_ = static_cast<std::int64_t>(num_waiting);
  has_left_doubles_ = has_left_doubles == 1;
}

void DpFtrl::predict(std::span<const double> features, std::span<double> scores) const {
  require_length("dp_ftrl", "features", static_cast<std::int64_t>(features.size()), dimension());
  require_length("dp_ftrl", "scores", static_cast<std::int64_t>(scores.size()), num_scores());
  for (std::size_t k = 0; k < scores.size(); ++k) {
    scores[k] = rule_->score(k * features.size(), features);
    if (std::isfinite(scores[k])) continue;
    require_all_finite("dp_ftrl", "features", features);
    require_finite("dp_ftrl", "prediction", scores[k]);
  }
}

double DpFtrl::predict(std::span<const double> features) const {
  double score = 0;
  predict(features, {&score, 1});
  return score;
}

}  // namespace dpftrl
