// Reading gzip.
#pragma once

#include <string>
#include <string_view>

namespace natsl::model_adapters::tokenizers {

bool IsGzip(std::string_view bytes);

/// The content of a gzip file. `where` names it in errors. Throws Error (model): broken, cut, or
/// larger than 1 GiB.
std::string Gunzip(std::string_view bytes, std::string_view where);

}  // namespace natsl::model_adapters::tokenizers
