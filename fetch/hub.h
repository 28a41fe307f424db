// The Hugging Face hub: addresses, what a dataset's repository holds, the token, and the layout of
// its cache (datasets--ORG--NAME/{blobs, refs, snapshots}).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace natsl::fetch {

inline constexpr const char* kHubUrl = "https://huggingface.co";

struct HubFile {
  std::string path;  ///< in the repository
  int64_t bytes = 0;
  std::string blob;  ///< name in the cache's blobs: SHA-256 of large files, git's id of others
  bool is_sha256 = false;
};
struct HubListing {
  std::string commit;  ///< 40 hex digits
  std::vector<HubFile> files;
};

/// The answer of ListingUrl. Throws Error (data): of another form, a name that leaves the
/// repository, more files than the limit.
HubListing ParseHubListing(std::string_view text, const std::string& where);

/// `hub`: "https://huggingface.co" or another with its interface; `repository`: ORG/NAME.
std::string ListingUrl(const std::string& hub, const std::string& repository,
                       const std::string& revision);
std::string ResolveUrl(const std::string& hub, const std::string& repository,
                       const std::string& revision, const std::string& path);
/// The revision of a ResolveUrl; "" where the address is none.
std::string RevisionOf(const std::string& resolve_url);

/// The user's token: HF_TOKEN, else the file that HF_TOKEN_PATH names, else HF_HOME/token, else
/// ~/.cache/huggingface/token; "" where there is none. `file`, where it isn't empty, goes before
/// all of them. Throws Error (usage): a file that was asked for and can't be read, or a token with
/// characters that a header can't hold (its text isn't shown).
std::string ReadHubToken(const std::filesystem::path& file);

/// git's id of a file's content: SHA-1 over "blob SIZE\0" and the bytes, in hex.
std::string GitBlobId(const std::filesystem::path& file);

/// "datasets--ORG--NAME".
std::string CacheFolderName(const std::string& repository);

/// Makes snapshots/COMMIT/PATH a link to blobs/BLOB, in the hub's own way, and refs/main name the
/// commit. `entry`: the cache's datasets--ORG--NAME. Returns the link.
std::filesystem::path LinkSnapshot(const std::filesystem::path& entry, const std::string& commit,
                                   const HubFile& file);

}  // namespace natsl::fetch
