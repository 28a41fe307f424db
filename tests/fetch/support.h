// What the fetch tests share: a file server with faults, manifests, and a folder.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/error.h"
#include "fetch/fetch.h"
#include "tests/model_adapters/remote/http_server.h"

namespace natsl::fetch {

using model_adapters::HttpServer;
using model_adapters::RawAnswer;
using model_adapters::Reply;
using model_adapters::SeenRequest;

/// A folder that lives as long as this.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  void Write(const std::string& name, const std::string& content) const;
  std::string Read(const std::string& name) const;
  bool Has(const std::string& name) const;
  /// Files below it, relative, sorted, but for those whose last part is `but`.
  std::vector<std::string> Files(const std::string& but = "data.lock") const;

 private:
  std::filesystem::path path_;
};

/// Answers by path; the answer's function gets the request and how often the path was asked for
/// before. Other paths are HTTP 404.
class FileServer {
 public:
  using Answer = std::function<RawAnswer(const SeenRequest&, int before)>;

  FileServer();
  void On(const std::string& path, Answer answer);
  std::string url() const;  ///< "http://127.0.0.1:PORT"
  std::vector<SeenRequest> seen() const { return server_.seen(); }
  /// Requests of a path, in order.
  std::vector<SeenRequest> Seen(const std::string& path) const;
  int most_at_once() const { return server_.most_at_once(); }

 private:
  std::mutex mutex_;
  std::map<std::string, Answer> answers_;
  std::map<std::string, int> counts_;
  HttpServer server_;
};

/// A well-behaved answer with a file: Range and If-Range are honoured.
RawAnswer Serve(const SeenRequest& request, const std::string& content,
                const std::string& etag = "\"v1\"");
/// As Serve, but the connection is closed after `bytes` of the body.
RawAnswer Cut(const SeenRequest& request, const std::string& content, size_t bytes,
              const std::string& etag = "\"v1\"");
RawAnswer Redirect(const std::string& to, int status = 302);

/// Numbered lines, `bytes` long: no two parts of it are alike.
std::string Text(size_t bytes, const std::string& mark = "line");

/// A dataset "toy" with the files "toy/NAME" at `url`/NAME.
tasks::Manifest Toy(const std::string& url, const std::vector<std::string>& names = {"a.txt"});

/// Options with short waits.
FetchOptions Options(const TemporaryFolder& folder);

/// Runs a fetch of one dataset; progress lines go to `said`.
std::vector<FetchResult> Fetch(const tasks::Manifest& manifest, const FetchOptions& options,
                               std::string* said = nullptr);

}  // namespace natsl::fetch
