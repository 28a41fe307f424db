#include "fetch/hub.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "core/check.h"
#include "core/files.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/utf8.h"
#include "tasks/data/manifest.h"

namespace natsl::fetch {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxTokenBytes = 4096;
constexpr std::string_view kResolve = "/resolve/";

bool IsHex(std::string_view text, size_t digits) {
  return text.size() == digits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

/// Percent signs for what an address can't hold; "/" stays.
std::string Escape(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if ((std::isalnum(byte) != 0 && byte < 0x80) ||
        std::string_view("-._~/").find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", byte);
    }
  }
  return out;
}

HubFile ReadSibling(const core::JsonObject& object) {
  HubFile file;
  file.path = object.String("rfilename");
  if (!tasks::StaysBelow(file.path)) throw object.Wrong("rfilename", "a path in the repository");
  file.bytes = object.Has("size") ? object.Int("size") : -1;
  if (object.Has("lfs")) {
    const core::JsonObject large = object.Object("lfs");
    file.blob = large.String("sha256");
    file.bytes = large.Int("size");
    if (!IsHex(file.blob, 64)) throw large.Wrong("sha256", "64 lower-case hex digits");
    file.is_sha256 = true;
  } else {
    file.blob = object.String("blobId");
    if (!IsHex(file.blob, 40)) throw object.Wrong("blobId", "40 lower-case hex digits");
  }
  if (file.bytes < 0) throw object.Wrong("size", "a size");
  return file;
}

std::string ReadTokenFile(const fs::path& file) {
  const std::string content = core::ReadFile(file, ErrorCode::kUsage, kMaxTokenBytes);
  return std::string(core::PythonStrip(content));
}

const char* Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

}  // namespace

HubListing ParseHubListing(std::string_view text, const std::string& where) {
  const core::Json json = core::ParseJson(text, where, ErrorCode::kData);
  const core::JsonObject object(json, where, ErrorCode::kData);
  HubListing listing;
  listing.commit = object.String("sha");
  if (!IsHex(listing.commit, 40)) throw object.Wrong("sha", "40 lower-case hex digits");
  const core::Json& siblings = object.At("siblings");
  if (!siblings.is_array() || std::cmp_greater(siblings.size(), limits::kMaxListedFiles)) {
    throw object.Wrong("siblings",
                       fmt::format("a list of at most {} files", limits::kMaxListedFiles));
  }
  for (size_t i = 0; i < siblings.size(); ++i) {
    listing.files.push_back(ReadSibling(core::JsonObject(
        siblings[i], fmt::format("{}: \"siblings\"[{}]", where, i), ErrorCode::kData)));
  }
  return listing;
}

std::string ListingUrl(const std::string& hub, const std::string& repository,
                       const std::string& revision) {
  return fmt::format("{}/api/datasets/{}/revision/{}?blobs=true", hub, Escape(repository),
                     Escape(revision));
}

std::string ResolveUrl(const std::string& hub, const std::string& repository,
                       const std::string& revision, const std::string& path) {
  return fmt::format("{}/datasets/{}{}{}/{}", hub, Escape(repository), kResolve, Escape(revision),
                     Escape(path));
}

std::string RevisionOf(const std::string& resolve_url) {
  const size_t at = resolve_url.find(kResolve);
  if (at == std::string::npos) return "";
  const size_t begin = at + kResolve.size();
  return resolve_url.substr(begin, resolve_url.find('/', begin) - begin);
}

std::string ReadHubToken(const fs::path& file) {
  std::string token;
  std::error_code error;
  if (!file.empty()) {
    token = ReadTokenFile(file);
  } else if (const char* value = Variable("HF_TOKEN")) {
    token = core::PythonStrip(value);
  } else if (const char* path = Variable("HF_TOKEN_PATH")) {
    token = ReadTokenFile(path);
  } else {
    fs::path home;
    if (const char* folder = Variable("HF_HOME")) {
      home = folder;
    } else if (const char* user = Variable("HOME")) {
      home = fs::path(user) / ".cache" / "huggingface";
    }
    if (!home.empty() && fs::is_regular_file(home / "token", error)) {
      token = ReadTokenFile(home / "token");
    }
  }
  const bool plain =
      std::all_of(token.begin(), token.end(), [](unsigned char c) { return c > 0x20 && c < 0x7F; });
  if (!plain) throw UsageError("the hub's token holds characters that no token has");
  return token;
}

std::string GitBlobId(const fs::path& file) {
  const core::MappedFile content(file, ErrorCode::kData);
  const std::string head = fmt::format("blob {}", content.bytes().size());
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                   EVP_MD_CTX_free);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  NATSL_CHECK(EVP_DigestInit_ex(context.get(), EVP_sha1(), nullptr) == 1);
  NATSL_CHECK(EVP_DigestUpdate(context.get(), head.c_str(), head.size() + 1) == 1);
  NATSL_CHECK(EVP_DigestUpdate(context.get(), content.bytes().data(), content.bytes().size()) == 1);
  NATSL_CHECK(EVP_DigestFinal_ex(context.get(), digest, &size) == 1);
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

std::string CacheFolderName(const std::string& repository) {
  std::string name = "datasets--" + repository;
  if (const size_t slash = name.find('/'); slash != std::string::npos) name.replace(slash, 1, "--");
  return name;
}

fs::path LinkSnapshot(const fs::path& entry, const std::string& commit, const HubFile& file) {
  const fs::path link = entry / "snapshots" / commit / file.path;
  fs::create_directories(link.parent_path());
  const fs::path blob = entry / "blobs" / file.blob;
  const fs::path target = blob.lexically_relative(link.parent_path());
  const fs::path next = link.string() + ".next";
  std::error_code error;
  fs::remove(next, error);
  fs::create_symlink(target, next);
  fs::rename(next, link);
  fs::create_directories(entry / "refs");
  core::WriteFileAtomic(entry / "refs" / "main", commit);
  return link;
}

}  // namespace natsl::fetch
