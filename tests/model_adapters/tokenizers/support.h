// What the tokenizer tests share: tokenizers from text, in a folder of their own.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "core/files.h"
#include "core/json.h"
#include "model_adapters/tokenizer.h"

namespace natsl::model_adapters {

/// A folder that lives as long as this.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "natsl_tokenizer_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw InternalError("no temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path Write(std::string_view name, std::string_view content) const {
    core::WriteFileAtomic(path_ / name, content);
    return path_ / name;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::shared_ptr<const Tokenizer> OpenText(std::string_view tokenizer_json) {
  const TemporaryFolder folder;
  return OpenTokenizer(folder.Write("tokenizer.json", tokenizer_json));
}

/// A whole tokenizer.json around a model; `more` is further fields, each with a comma after it.
inline std::string Around(std::string_view model, std::string_view more = "") {
  return fmt::format(R"({{"version": "1.0", {} "model": {}}})", more, model);
}

/// A byte-level BPE: the printable letters that the tests use, and a few merges.
inline std::string TinyBpe(std::string_view more = "") {
  return Around(R"({"type": "BPE", "unk_token": null, "vocab": {"h": 0, "e": 1, "l": 2, "o": 3,
      "Ġ": 4, "w": 5, "r": 6, "d": 7, "Ã": 8, "©": 9, "he": 10, "ll": 11, "hell": 12, "hello": 13,
      "Ġw": 14, "Ġwo": 15, "Ã©": 16, "'": 17, "1": 18, "Ċ": 19},
      "merges": ["h e", "l l", "he ll", "hell o", "Ġ w", "Ġw o", "Ã ©"]})",
                std::string(R"("pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
      "decoder": {"type": "ByteLevel"}, )") +
                    std::string(more));
}

using Ids = std::vector<TokenId>;

}  // namespace natsl::model_adapters
