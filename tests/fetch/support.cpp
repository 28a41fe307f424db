#include "tests/fetch/support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace natsl::fetch {
namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::path(testing::TempDir()) / "natsl-fetch-XXXXXX").string();
  path_ = ::mkdtemp(name.data());
}
TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}
void TemporaryFolder::Write(const std::string& name, const std::string& content) const {
  fs::create_directories((path_ / name).parent_path());
  std::ofstream(path_ / name, std::ios::binary) << content;
}
std::string TemporaryFolder::Read(const std::string& name) const {
  std::ifstream in(path_ / name, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}
bool TemporaryFolder::Has(const std::string& name) const { return fs::exists(path_ / name); }
std::vector<std::string> TemporaryFolder::Files(const std::string& but) const {
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path_)) {
    if (entry.is_directory() && !entry.is_symlink()) continue;
    if (entry.path().filename() != but) files.push_back(entry.path().lexically_relative(path_));
  }
  std::sort(files.begin(), files.end());
  return files;
}

FileServer::FileServer()
    : server_([this](const SeenRequest& request) {
        Answer answer;
        int before = 0;
        {
          const std::lock_guard lock(mutex_);
          const auto found = answers_.find(request.path);
          if (found != answers_.end()) answer = found->second;
          before = counts_[request.path]++;
        }
        return answer ? answer(request, before) : Reply(404, "no");
      }) {}

void FileServer::On(const std::string& path, Answer answer) {
  const std::lock_guard lock(mutex_);
  answers_[path] = std::move(answer);
}

std::string FileServer::url() const {
  const std::string url = server_.url();
  return url.substr(0, url.rfind('/'));
}

std::vector<SeenRequest> FileServer::Seen(const std::string& path) const {
  std::vector<SeenRequest> all = server_.seen();
  std::erase_if(all, [&](const SeenRequest& request) { return request.path != path; });
  return all;
}

RawAnswer Serve(const SeenRequest& request, const std::string& content, const std::string& etag) {
  const std::string tag = "ETag: " + etag + "\r\n";
  const auto range = request.headers.find("range");
  const auto condition = request.headers.find("if-range");
  const bool same = condition == request.headers.end() || condition->second == etag;
  if (range == request.headers.end() || !same) return Reply(200, content, tag);
  const size_t first = std::stoul(range->second.substr(range->second.find('=') + 1));
  if (first >= content.size()) {
    return Reply(416, "", fmt::format("Content-Range: bytes */{}\r\n", content.size()));
  }
  return Reply(206, content.substr(first),
               tag + fmt::format("Content-Range: bytes {}-{}/{}\r\n", first, content.size() - 1,
                                 content.size()));
}

RawAnswer Cut(const SeenRequest& request, const std::string& content, size_t bytes,
              const std::string& etag) {
  RawAnswer answer = Serve(request, content, etag);
  const size_t body = answer.bytes.find("\r\n\r\n") + 4;
  answer.bytes.resize(std::min(answer.bytes.size(), body + bytes));
  answer.close = true;
  return answer;
}

RawAnswer Redirect(const std::string& to, int status) {
  return Reply(status, "elsewhere", "Location: " + to + "\r\n");
}

std::string Text(size_t bytes, const std::string& mark) {
  std::string text;
  for (int64_t i = 0; text.size() < bytes; ++i) text += fmt::format("{} {}\n", mark, i);
  text.resize(bytes);
  return text;
}

tasks::Manifest Toy(const std::string& url, const std::vector<std::string>& names) {
  tasks::Manifest manifest;
  manifest.name = "toy";
  manifest.home = "https://example.org/toy";
  for (const std::string& name : names) {
    tasks::ManifestFile file;
    file.path = "toy/" + name;
    file.split = "test";
    file.sources.push_back({url + "/" + name, "", ""});
    manifest.files.push_back(std::move(file));
  }
  return manifest;
}

FetchOptions Options(const TemporaryFolder& folder) {
  FetchOptions options;
  options.data = folder.path() / "data";
  options.retry.base_ms = 1;
  options.retry.cap_ms = 5;
  options.retry.attempts = 4;
  return options;
}

std::vector<FetchResult> Fetch(const tasks::Manifest& manifest, const FetchOptions& options,
                               std::string* said) {
  static const core::SteadyClock clock;
  FetchProgress progress(ProgressStyle::kPlain, clock, [said](const std::string& text) {
    if (said != nullptr) *said += text;
  });
  return FetchData({&manifest}, options, progress);
}

}  // namespace natsl::fetch
