// Opens a tokenizer from a model folder or from one file; what a file is, its content says.
#include "core/files.h"
#include "core/limits.h"
#include "model_adapters/model_folder.h"
#include "model_adapters/tokenizer.h"
#include "model_adapters/tokenizers/inflate.h"
#include "model_adapters/tokenizers/json_tokenizer.h"
#include "model_adapters/tokenizers/sentencepiece_tokenizer.h"

namespace natsl::model_adapters {
namespace {

namespace fs = std::filesystem;

/// The tokenizer file of a folder.
fs::path FindFile(const fs::path& folder) {
  constexpr const char* kNames[] = {"tokenizer.json", "tokenizer.json.gz", "tokenizer.model",
                                    "spiece.model"};
  for (const char* name : kNames) {
    // What can't be looked at is read, so that the error says why.
    std::error_code error;
    if (fs::exists(folder / name, error) || error) return FileInFolder(folder, name);
  }
  throw ModelError(
      "{}: no tokenizer, expected tokenizer.json, tokenizer.json.gz, tokenizer.model "
      "or spiece.model",
      folder.string());
}

std::shared_ptr<const Tokenizer> OpenFile(const fs::path& path,
                                          const tokenizers::TokenizerConfig& config) {
  std::string bytes = core::ReadFile(path, ErrorCode::kModel, limits::kMaxTokenizerBytes);
  const std::string where = path.string();
  if (tokenizers::IsGzip(bytes)) bytes = tokenizers::Gunzip(bytes, where);
  if (bytes.empty()) throw ModelError("{}: the file is empty, expected a tokenizer", where);
  const size_t first = bytes.find_first_not_of(" \t\r\n");
  const bool named_json = path.filename().string().find(".json") != std::string::npos;
  // A sentencepiece model begins with the tag of its first piece, a line feed.
  if (named_json || (first != std::string::npos && bytes[first] == '{' && bytes[0] != '\n')) {
    return tokenizers::OpenJsonTokenizer(bytes, where, config);
  }
  return tokenizers::OpenSentencePiece(bytes, where, config);
}

}  // namespace

std::shared_ptr<const Tokenizer> OpenTokenizer(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    if (error) throw ModelError("{}: {}", path.string(), error.message());
    throw ModelError("{}: not found, expected a tokenizer file or a model folder", path.string());
  }
  if (fs::is_directory(path)) {
    return OpenFile(FindFile(path), tokenizers::ReadTokenizerConfig(path));
  }
  return OpenFile(path, {});
}

}  // namespace natsl::model_adapters
