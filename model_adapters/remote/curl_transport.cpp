// HTTP by libcurl's multi interface.
#include <curl/curl.h>

#include <algorithm>
#include <map>

#include "core/curl.h"
#include "core/error.h"
#include "core/limits.h"
#include "model_adapters/remote/transport.h"

namespace natsl::model_adapters {
namespace {

constexpr long kConnectTimeoutMs = 15'000;

struct Transfer {
  CURL* easy = nullptr;
  uint64_t ticket = 0;
  std::string request_body;
  std::string answer;
  int64_t limit = 0;
  bool too_large = false;
  char reason[CURL_ERROR_SIZE] = "";
};

size_t Receive(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const size_t bytes = size * count;
  if (static_cast<int64_t>(transfer.answer.size() + bytes) > transfer.limit) {
    transfer.too_large = true;
    return 0;
  }
  transfer.answer.append(data, bytes);
  return bytes;
}

class CurlTransport final : public Transport {
 public:
  explicit CurlTransport(const TransportOptions& options) : options_(options) {
    core::InitialiseCurl();
    if (options_.max_answer_bytes == 0) options_.max_answer_bytes = limits::kMaxAnswerBytes;
    multi_ = curl_multi_init();
    if (multi_ == nullptr) throw InternalError("libcurl gives no handle");
    const auto kept = static_cast<long>(options_.in_flight);
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kept);
    curl_multi_setopt(multi_, CURLMOPT_MAX_TOTAL_CONNECTIONS, kept);
    for (const char* header :
         {"Content-Type: application/json", "Accept: application/json", "Expect:"}) {
      headers_ = curl_slist_append(headers_, header);
    }
    if (!options_.key.empty()) {
      headers_ = curl_slist_append(headers_, ("Authorization: Bearer " + options_.key).c_str());
    }
  }

  ~CurlTransport() override {
    CancelAll();
    for (CURL* easy : idle_) curl_easy_cleanup(easy);
    curl_multi_cleanup(multi_);
    curl_slist_free_all(headers_);
  }

  CurlTransport(const CurlTransport&) = delete;
  CurlTransport& operator=(const CurlTransport&) = delete;

  void Start(uint64_t ticket, const HttpRequest& request) override {
    auto transfer = std::make_unique<Transfer>();
    transfer->ticket = ticket;
    transfer->request_body = request.body;
    transfer->limit = options_.max_answer_bytes;
    transfer->easy = Handle();
    CURL* easy = transfer->easy;
    curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers_);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "natsl-bench");
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                     std::min(kConnectTimeoutMs, static_cast<long>(options_.timeout_ms)));
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(options_.timeout_ms));
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    if (!options_.ca_file.empty()) {
      curl_easy_setopt(easy, CURLOPT_CAINFO, options_.ca_file.c_str());
      curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
    }
    if (!request.body.empty()) {
      curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(transfer->request_body.size()));
      curl_easy_setopt(easy, CURLOPT_POSTFIELDS, transfer->request_body.data());
    }
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->reason);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, Receive);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer.get());
    curl_multi_add_handle(multi_, easy);
    transfers_.emplace(easy, std::move(transfer));
  }

  std::vector<std::pair<uint64_t, HttpAnswer>> Wait(int64_t milliseconds) override {
    int running = 0;
    curl_multi_perform(multi_, &running);
    std::vector<std::pair<uint64_t, HttpAnswer>> ended = Collect();
    if (!ended.empty()) return ended;
    curl_multi_poll(multi_, nullptr, 0, static_cast<int>(std::max<int64_t>(0, milliseconds)),
                    nullptr);
    curl_multi_perform(multi_, &running);
    return Collect();
  }

  void CancelAll() override {
    for (auto& [easy, transfer] : transfers_) {
      curl_multi_remove_handle(multi_, easy);
      curl_easy_cleanup(easy);
    }
    transfers_.clear();
  }

 private:
  CURL* Handle() {
    if (idle_.empty()) {
      CURL* easy = curl_easy_init();
      if (easy == nullptr) throw InternalError("libcurl gives no handle");
      return easy;
    }
    CURL* easy = idle_.back();
    idle_.pop_back();
    curl_easy_reset(easy);  // its connection stays with the multi handle
    return easy;
  }

  std::vector<std::pair<uint64_t, HttpAnswer>> Collect() {
    std::vector<std::pair<uint64_t, HttpAnswer>> ended;
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* easy = message->easy_handle;
      const CURLcode code = message->data.result;
      const auto found = transfers_.find(easy);
      ended.emplace_back(found->second->ticket, ToAnswer(*found->second, code));
      curl_multi_remove_handle(multi_, easy);
      transfers_.erase(found);
      idle_.push_back(easy);
    }
    return ended;
  }

  HttpAnswer ToAnswer(Transfer& transfer, CURLcode code) const {
    HttpAnswer answer;
    if (transfer.too_large) {
      answer.failure = fmt::format("the answer is larger than {} bytes", transfer.limit);
      return answer;
    }
    if (code != CURLE_OK) {
      const char* reason = transfer.reason[0] != '\0' ? transfer.reason : curl_easy_strerror(code);
      answer.failure = code == CURLE_OPERATION_TIMEDOUT
                           ? fmt::format("time-out ({})", reason)
                           : fmt::format("{} (libcurl error {})", reason, static_cast<int>(code));
      answer.transient = core::IsTransient(code);
      Redact(answer.failure);
      return answer;
    }
    long status = 0;
    curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &status);
    answer.status = static_cast<int>(status);
    curl_off_t seconds = 0;
    curl_easy_getinfo(transfer.easy, CURLINFO_RETRY_AFTER, &seconds);
    if (seconds > 0) {
      answer.retry_after_ms = std::min<int64_t>(seconds, limits::kMaxRetryAfterMs / 1000) * 1000;
    }
    answer.body = std::move(transfer.answer);
    Redact(answer.body);
    return answer;
  }

  /// A server may echo what it was sent: the key must not reach a report by that way.
  void Redact(std::string& text) const {
    if (options_.key.empty()) return;
    for (size_t at = text.find(options_.key); at != std::string::npos;
         at = text.find(options_.key, at)) {
      text.replace(at, options_.key.size(), "[key]");
    }
  }

  TransportOptions options_;
  CURLM* multi_ = nullptr;
  curl_slist* headers_ = nullptr;
  std::map<CURL*, std::unique_ptr<Transfer>> transfers_;
  std::vector<CURL*> idle_;
};

}  // namespace

std::unique_ptr<Transport> MakeCurlTransport(const TransportOptions& options) {
  return std::make_unique<CurlTransport>(options);
}

}  // namespace natsl::model_adapters
