#include "tests/model_adapters/remote/http_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace natsl::model_adapters {
namespace {

bool SendAll(int fd, const std::string& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = ::send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += static_cast<size_t>(n);
  }
  return true;
}

/// Takes one whole request off the front of `buffer`; false while there is none.
bool Parse(std::string& buffer, SeenRequest& request) {
  const size_t end = buffer.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  size_t at = buffer.find("\r\n");
  const std::string first = buffer.substr(0, at);
  request.method = first.substr(0, first.find(' '));
  request.path = first.substr(first.find(' ') + 1);
  request.path = request.path.substr(0, request.path.find(' '));
  while (at < end) {
    at += 2;
    const size_t next = buffer.find("\r\n", at);
    const std::string line = buffer.substr(at, next - at);
    const size_t colon = line.find(':');
    std::string name = line.substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    request.headers[name] = line.substr(line.find_first_not_of(' ', colon + 1));
    at = next;
  }
  const size_t length = request.headers.contains("content-length")
                            ? std::stoul(request.headers["content-length"])
                            : 0;
  if (buffer.size() < end + 4 + length) return false;
  request.body = buffer.substr(end + 4, length);
  buffer.erase(0, end + 4 + length);
  return true;
}

}  // namespace

RawAnswer Reply(int status, const std::string& body, const std::string& headers) {
  return {
      fmt::format("HTTP/1.1 {} Some reason\r\nContent-Type: application/json\r\n"
                  "Content-Length: {}\r\n{}\r\n{}",
                  status, body.size(), headers, body)};
}

HttpServer::HttpServer(Handler handler) : handler_(std::move(handler)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("the test server can't listen");
  }
  port_ = ntohs(address.sin_port);
  threads_.emplace_back([this] { Accept(); });
}

HttpServer::~HttpServer() {
  stopping_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  threads_.front().join();  // no thread is added from here on
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : sockets_) ::shutdown(fd, SHUT_RDWR);
  }
  for (size_t i = 1; i < threads_.size(); ++i) threads_[i].join();
  for (const int fd : sockets_) ::close(fd);
  ::close(listener_);
}

std::string HttpServer::url() const { return fmt::format("http://127.0.0.1:{}/v1", port_); }

std::vector<SeenRequest> HttpServer::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void HttpServer::Accept() {
  while (!stopping_) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const std::lock_guard lock(mutex_);
    sockets_.push_back(fd);
    threads_.emplace_back([this, fd, number = connections_++] { Serve(fd, number); });
  }
}

void HttpServer::Serve(int fd, int number) {
  std::string buffer;
  char block[4096];
  while (true) {
    SeenRequest request;
    request.connection = number;
    while (!Parse(buffer, request)) {
      const ssize_t got = ::recv(fd, block, sizeof(block), 0);
      if (got <= 0) return;
      buffer.append(block, static_cast<size_t>(got));
    }
    {
      const std::lock_guard lock(mutex_);
      seen_.push_back(request);
      most_ = std::max(most_.load(), ++open_);
    }
    const RawAnswer answer = handler_(request);
    --open_;
    if (!SendAll(fd, answer.bytes)) return;
    if (answer.hang) {
      while (::recv(fd, block, sizeof(block), 0) > 0) {
      }
      return;
    }
    if (answer.close) {
      ::shutdown(fd, SHUT_RDWR);
      return;
    }
  }
}

}  // namespace natsl::model_adapters
