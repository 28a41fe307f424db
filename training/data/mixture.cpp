// Packing documents into rows.
#include "training/data/mixture.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/cast.h"
#include "core/error.h"

namespace natsl::training {
namespace {

DocumentKind KindOf(std::string_view name) {
  for (int k = 0; k < kDocumentKinds; ++k) {
    if (Name(static_cast<DocumentKind>(k)) == name) return static_cast<DocumentKind>(k);
  }
  throw UsageError(
      "mixture: there is no kind '{}', expected needle, needles, recall, phonebook or story", name);
}

double WeightOf(std::string_view text, std::string_view name) {
  double weight = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(weight) ||
      weight < 0) {
    throw UsageError("mixture: the weight of {} is '{}', expected a number of at least 0", name,
                     text);
  }
  return weight;
}

}  // namespace

Mixture ParseMixture(std::string_view text) {
  Mixture mixture;
  std::array<bool, kDocumentKinds> seen = {};
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      throw UsageError("mixture: '{}', expected kind=weight items like needle=1,recall=2", item);
    }
    const std::string_view name = item.substr(0, equals);
    const auto kind = static_cast<size_t>(KindOf(name));
    if (seen[kind]) throw UsageError("mixture: {} is given twice", name);
    seen[kind] = true;
    mixture.weights[kind] = WeightOf(item.substr(equals + 1), name);
  }
  if (std::ranges::all_of(mixture.weights, [](double weight) { return weight == 0; })) {
    throw UsageError("mixture: all weights are 0");
  }
  return mixture;
}

std::string ToString(const Mixture& mixture) {
  std::string text;
  for (int k = 0; k < kDocumentKinds; ++k) {
    const double weight = mixture.weights[static_cast<size_t>(k)];
    if (weight == 0) continue;
    text += fmt::format("{}{}={:g}", text.empty() ? "" : ",", Name(static_cast<DocumentKind>(k)),
                        weight);
  }
  return text;
}

RowMaker::RowMaker(std::shared_ptr<const model_adapters::Tokenizer> tokenizer,
                   const Mixture& mixture)
    : encoder_(tokenizer) {
  const model_adapters::SpecialTokens& special = tokenizer->special_tokens();
  if (!special.bos || !special.eos) {
    throw ModelError("tokenizer: no start or end token, expected both (bos_token, eos_token)");
  }
  bos_ = *special.bos;
  eos_ = *special.eos;
  double sum = 0;
  for (size_t k = 0; k < cumulative_.size(); ++k) cumulative_[k] = sum += mixture.weights[k];
  MeasureSizes();
}

void RowMaker::MeasureSizes() {
  core::PythonRandom random(StreamSeed(StreamDomain::kTokenizer, 0, 0, 0, 0));
  for (int k = 0; k < kDocumentKinds; ++k) {
    const auto kind = static_cast<DocumentKind>(k);
    const auto tokens_of = [&](int64_t size) {
      Tokens out;
      Append(MakeDocument(kind, size, random), out);
      return static_cast<double>(out.ids.size());
    };
    // A needle document's length hardly depends on its questions beyond these sizes.
    constexpr int64_t kSmall = 12, kLarge = 36;
    double small = 0, large = 0;
    for (int i = 0; i < 8; ++i) {
      small += tokens_of(kSmall) / 8;
      large += tokens_of(kLarge) / 8;
    }
    const auto at = static_cast<size_t>(k);
    each_[at] = (large - small) / (kLarge - kSmall);
    fixed_[at] = small - each_[at] * kSmall;
  }
}

void RowMaker::Append(const Document& document, Tokens& out) {
  out.ids.push_back(bos_);
  out.learn.push_back(false);
  bool learn = false;
  for (const Part& part : document) {
    encoder_.Append(part.text, out.ids);
    out.learn.resize(out.ids.size(), part.learn);
    learn = part.learn;
  }
  out.ids.push_back(eos_);
  out.learn.push_back(learn);
}

bool RowMaker::AppendFitting(DocumentKind kind, int64_t budget, core::PythonRandom& random,
                             Tokens& out) {
  const auto at = static_cast<size_t>(kind);
  double size = std::floor((static_cast<double>(budget) - fixed_[at]) / each_[at]);
  for (int i = 0; i < 6; ++i) {
    const auto wanted = std::max(static_cast<int64_t>(size), LeastSize(kind));
    Tokens trial;
    Append(MakeDocument(kind, wanted, random), trial);
    const int64_t excess = core::Size(trial.ids) - budget;
    if (excess <= 0) {
      out.ids.insert(out.ids.end(), trial.ids.begin(), trial.ids.end());
      out.learn.insert(out.learn.end(), trial.learn.begin(), trial.learn.end());
      return true;
    }
    if (wanted == LeastSize(kind)) return false;
    size = static_cast<double>(wanted) -
           std::max(1.0, std::ceil(static_cast<double>(excess) / each_[at]));
  }
  return false;
}

void RowMaker::FillWithStories(int64_t length, core::PythonRandom& random, Tokens& out) {
  while (core::Size(out.ids) < length) {
    Append(MakeDocument(DocumentKind::kStory, random.RandInt(6, 16), random), out);
  }
}

void RowMaker::Make(uint64_t stream_seed, std::span<int64_t> ids, std::span<int64_t> targets) {
  core::PythonRandom random(stream_seed);
  const int64_t length = core::Size(ids) + 1;  // the last token is a target alone
  const double at = random.Random() * cumulative_.back();
  const auto kind = static_cast<DocumentKind>(
      std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, at) - cumulative_.begin());
  Tokens row;
  if (kind != DocumentKind::kStory) {
    // Mostly long documents; some of any size, so that short ones are met at long contexts too.
    const double share = random.RandBelow(4) == 0 ? 0.1 + 0.9 * random.Random() : 1.0;
    const auto budget = static_cast<int64_t>(share * static_cast<double>(length));
    Tokens document;
    AppendFitting(kind, budget, random, document);
    if (random.RandBelow(2) == 0) {
      // Stories in front are cut at their beginning, so that the document ends the row.
      Tokens stories;
      const int64_t rest = length - core::Size(document.ids);
      FillWithStories(rest, random, stories);
      const auto cut = static_cast<std::ptrdiff_t>(core::Size(stories.ids) - rest);
      row.ids.assign(stories.ids.begin() + cut, stories.ids.end());
      row.learn.assign(stories.learn.begin() + cut, stories.learn.end());
    }
    row.ids.insert(row.ids.end(), document.ids.begin(), document.ids.end());
    row.learn.insert(row.learn.end(), document.learn.begin(), document.learn.end());
  }
  FillWithStories(length, random, row);
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = row.ids[i];
    targets[i] = row.learn[i + 1] ? row.ids[i + 1] : -1;
  }
}

}  // namespace natsl::training
