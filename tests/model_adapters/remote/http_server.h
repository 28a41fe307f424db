// An HTTP server of our own for tests: a handler a request says what goes back, byte by byte where
// it wants to, so that every way to answer badly can be played.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace natsl::model_adapters {

struct SeenRequest {
  std::string method, path, body;
  std::map<std::string, std::string> headers;  ///< names in lower case
  int connection = 0;                          ///< which connection brought it, from 0
};

/// What is written back, and whether the connection is closed behind it.
struct RawAnswer {
  std::string bytes;
  bool close = false;
  bool hang = false;  ///< write `bytes`, then nothing until the client leaves
};

/// A well-formed answer. `headers`: more lines, each ending in "\r\n".
RawAnswer Reply(int status, const std::string& body, const std::string& headers = "");

class HttpServer {
 public:
  using Handler = std::function<RawAnswer(const SeenRequest&)>;
  /// Listens on a free port of 127.0.0.1; the handler is called from one thread a connection.
  explicit HttpServer(Handler handler);
  ~HttpServer();

  std::string url() const;  ///< "http://127.0.0.1:PORT/v1"
  int connections() const { return connections_; }
  std::vector<SeenRequest> seen() const;
  /// Most requests that were open at once.
  int most_at_once() const { return most_; }

 private:
  void Accept();
  void Serve(int fd, int number);

  Handler handler_;
  int listener_ = -1, port_ = 0;
  std::atomic<int> connections_{0}, open_{0}, most_{0};
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::vector<SeenRequest> seen_;
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;
};

}  // namespace natsl::model_adapters
