// gzip by zlib.
#include "model_adapters/tokenizers/inflate.h"

#include <zlib.h>

#include <memory>

#include "core/cast.h"
#include "core/error.h"
#include "core/limits.h"

namespace natsl::model_adapters::tokenizers {
namespace {

constexpr auto kMaxContent = static_cast<size_t>(limits::kMaxTokenizerBytes);

}  // namespace

bool IsGzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::string Gunzip(std::string_view bytes, std::string_view where) {
  z_stream stream{};
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  if (inflateInit2(&stream, kGzipOnly) != Z_OK) throw InternalError("zlib: no memory");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = core::CheckedCast<uInt>(bytes.size());
  std::string content;
  size_t size = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    content.resize(size == 0 ? bytes.size() * 5 + 4096 : size * 2);
    stream.next_out = reinterpret_cast<Bytef*>(content.data() + size);
    stream.avail_out = static_cast<uInt>(content.size() - size);
    status = inflate(&stream, Z_NO_FLUSH);
    size = content.size() - stream.avail_out;
    if (size > kMaxContent) throw ModelError("{}: more than {} bytes in gzip", where, kMaxContent);
  }
  if (status != Z_STREAM_END) {
    throw ModelError("{}: the gzip data is {}", where,
                     status == Z_BUF_ERROR ? "cut off" : "broken");
  }
  content.resize(size);
  return content;
}

}  // namespace natsl::model_adapters::tokenizers
