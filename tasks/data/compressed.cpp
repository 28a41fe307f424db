// gzip by zlib (several members follow each other), zstd by libzstd (several frames).
#include "tasks/data/compressed.h"

#include <zlib.h>
#include <zstd.h>

#include <memory>

#include "core/cast.h"
#include "core/files.h"
#include "core/limits.h"

namespace natsl::tasks {
namespace {

constexpr size_t kBlock = size_t{1} << 18;
constexpr auto kLargest = static_cast<size_t>(limits::kMaxUnpackedBytes);

void Append(std::string& out, const std::string& block, size_t size, const std::string& shown) {
  if (out.size() + size > kLargest) {
    throw DataError("{}: unpacks to more than 16 GiB", shown);
  }
  out.append(block, 0, size);
}

std::string Gunzip(const std::string& packed, const std::string& shown) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) throw InternalError("zlib failed to start");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> guard(&stream, &inflateEnd);
  std::string out;
  std::string block(kBlock, '\0');
  size_t position = 0;
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      const size_t size = std::min(packed.size() - position, kBlock);
      if (size == 0) {
        throw DataError("{}: the gzip stream ends early; fetch the file again", shown);
      }
      stream.next_in =
          reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + position));  // zlib reads only
      stream.avail_in = core::CheckedCast<uInt>(size);
      position += size;
    }
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = core::CheckedCast<uInt>(block.size());
    status = inflate(&stream, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END) {
      throw DataError("{}: not a valid gzip file ({}); fetch it again", shown,
                      stream.msg == nullptr ? "wrong header" : stream.msg);
    }
    Append(out, block, block.size() - stream.avail_out, shown);
    const bool more = stream.avail_in > 0 || position < packed.size();
    if (status == Z_STREAM_END && more) {
      if (inflateReset(&stream) != Z_OK) throw InternalError("zlib failed to restart");
      status = Z_OK;
    }
  }
  return out;
}

std::string Unzstd(const std::string& packed, const std::string& shown) {
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(),
                                                                          &ZSTD_freeDStream);
  if (stream == nullptr) throw InternalError("zstd failed to start");
  std::string out;
  std::string block(kBlock, '\0');
  ZSTD_inBuffer input{packed.data(), packed.size(), 0};
  size_t left = 1;
  while (input.pos < input.size) {
    ZSTD_outBuffer output{block.data(), block.size(), 0};
    left = ZSTD_decompressStream(stream.get(), &output, &input);
    if (ZSTD_isError(left) != 0U) {
      throw DataError("{}: not a valid zstd file ({}); fetch it again", shown,
                      ZSTD_getErrorName(left));
    }
    Append(out, block, output.pos, shown);
  }
  // What the decoder still holds after the last input.
  while (left != 0) {
    ZSTD_outBuffer output{block.data(), block.size(), 0};
    left = ZSTD_decompressStream(stream.get(), &output, &input);
    if (ZSTD_isError(left) != 0U || (left != 0 && output.pos == 0)) {
      throw DataError("{}: the zstd stream ends early; fetch the file again", shown);
    }
    Append(out, block, output.pos, shown);
  }
  return out;
}

}  // namespace

FileBytes ReadPossiblyCompressed(const std::filesystem::path& file, const std::string& shown) {
  FileBytes bytes;
  bytes.stored = core::ReadFile(file, ErrorCode::kData);
  const std::string ending = file.extension().string();
  bytes.compressed = ending == ".gz" || ending == ".zst";
  if (ending == ".gz") bytes.unpacked = Gunzip(bytes.stored, shown);
  if (ending == ".zst") bytes.unpacked = Unzstd(bytes.stored, shown);
  return bytes;
}

}  // namespace natsl::tasks
