// Training sentencepiece on generated text.
#include "training/data/tokenizer_trainer.h"

#include <sentencepiece_trainer.h>

#include <vector>

#include "core/cast.h"
#include "core/error.h"
#include "core/files.h"
#include "training/data/documents.h"
#include "training/data/stream.h"

namespace natsl::training {
namespace {

class LineIterator final : public sentencepiece::SentenceIterator {
 public:
  explicit LineIterator(std::vector<std::string> lines) : lines_(std::move(lines)) {}
  bool done() const override { return at_ >= lines_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return lines_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  std::vector<std::string> lines_;
  size_t at_ = 0;
};

/// How many documents of each kind, and of what size: words of templates become tokens, pairs of
/// key letters don't.
struct Amount {
  DocumentKind kind;
  int64_t documents, size;
};
constexpr Amount kAmounts[] = {{DocumentKind::kStory, 1500, 12},
                               {DocumentKind::kNeedle, 200, 3},
                               {DocumentKind::kNeedles, 300, 8},
                               {DocumentKind::kPhonebook, 120, 12},
                               {DocumentKind::kRecall, 40, 20}};

}  // namespace

std::string TokenizerText(uint64_t seed) {
  std::string text;
  for (const Amount& amount : kAmounts) {
    for (int64_t i = 0; i < amount.documents; ++i) {
      core::PythonRandom random(
          StreamSeed(StreamDomain::kTokenizer, seed, 0, static_cast<int64_t>(amount.kind) + 1, i));
      text += TextOf(MakeDocument(amount.kind, amount.size, random)) + "\n";
    }
  }
  return text;
}

std::string TrainTokenizer(const TokenizerOptions& options) {
  if (options.vocabulary < 512 || options.vocabulary > 2048) {
    throw UsageError("tokenizer: vocabulary {}, expected 512 to 2048", options.vocabulary);
  }
  const std::string text = TokenizerText(options.seed);
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  LineIterator iterator(std::move(lines));
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(
      {{"model_type", "bpe"},
       {"vocab_size", std::to_string(options.vocabulary)},
       {"character_coverage", "1.0"},
       {"byte_fallback", "true"},
       {"split_digits", "true"},
       {"normalization_rule_name", "identity"},
       {"add_dummy_prefix", "false"},
       {"remove_extra_whitespaces", "false"},
       {"max_sentence_length", "100000"},
       {"num_threads", "1"},
       {"minloglevel", "2"},
       {"unk_id", "0"},
       {"bos_id", "1"},
       {"eos_id", "2"},
       {"pad_id", "-1"}},
      &iterator, &model);
  if (!status.ok()) throw InternalError("tokenizer: sentencepiece: {}", status.ToString());
  return model;
}

void WriteTokenizer(const std::filesystem::path& folder, const std::string& model) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw UsageError("{}: {}", folder.string(), error.message());
  core::WriteFileAtomic(folder / "tokenizer.model", model);
  core::WriteFileAtomic(folder / "tokenizer_config.json",
                        "{\n"
                        "  \"tokenizer_class\": \"LlamaTokenizer\",\n"
                        "  \"bos_token\": \"<s>\",\n"
                        "  \"eos_token\": \"</s>\",\n"
                        "  \"unk_token\": \"<unk>\",\n"
                        "  \"add_bos_token\": true,\n"
                        "  \"add_eos_token\": false,\n"
                        "  \"legacy\": false,\n"
                        "  \"clean_up_tokenization_spaces\": false\n"
                        "}\n");
}

}  // namespace natsl::training
