// HTTP by libcurl's easy interface, one hop a transfer.
#include "fetch/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "core/curl.h"
#include "core/error.h"
#include "core/limits.h"

namespace natsl::fetch {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.remove_suffix(1);
  }
  return text;
}

std::optional<int64_t> Number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty() || value < 0) {
    return std::nullopt;
  }
  return value;
}

bool IsLoopback(const std::string& origin) {
  const size_t host = origin.find("://") + 3;
  const std::string name =
      origin.substr(host, origin.rfind(':') > host ? origin.rfind(':') - host : std::string::npos);
  return name == "127.0.0.1" || name == "localhost" || name == "[::1]";
}

struct Url {
  Url() : handle(curl_url()) {}
  ~Url() { curl_url_cleanup(handle); }
  Url(const Url&) = delete;
  Url& operator=(const Url&) = delete;
  std::string Part(CURLUPart part, unsigned flags = 0) const {
    char* text = nullptr;
    if (curl_url_get(handle, part, &text, flags) != CURLUE_OK) return "";
    std::string copy(text);
    curl_free(text);
    return copy;
  }
  CURLU* handle;
};

/// One hop's transfer, as libcurl's callbacks see it.
struct Transfer {
  CURL* easy = nullptr;
  const HttpSink* sink = nullptr;
  const HttpOptions* options = nullptr;
  HttpHead head;
  int64_t header_bytes = 0;
  bool begun = false;
  std::string refusal;
};

size_t OnHeader(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const size_t bytes = size * count;
  transfer.header_bytes += static_cast<int64_t>(bytes);
  if (transfer.header_bytes > limits::kMaxHeaderBytes) {
    transfer.refusal = fmt::format("more than {} bytes of headers", limits::kMaxHeaderBytes);
    return 0;
  }
  const std::string_view line(data, bytes);
  if (line.starts_with("HTTP/")) {
    transfer.head.headers.clear();  // those of an interim answer
  } else if (const size_t colon = line.find(':'); colon != std::string_view::npos) {
    transfer.head.headers[Lower(Trim(line.substr(0, colon)))] = Trim(line.substr(colon + 1));
  }
  return bytes;
}

bool IsSuccess(int status) { return status >= 200 && status < 300; }

/// Tells the sink of the answer before its first byte.
bool Begin(Transfer& transfer) {
  if (transfer.begun) return transfer.refusal.empty();
  transfer.begun = true;
  long status = 0;
  curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &status);
  transfer.head.status = static_cast<int>(status);
  if (IsSuccess(transfer.head.status)) transfer.refusal = transfer.sink->begin(transfer.head);
  return transfer.refusal.empty();
}

size_t OnBody(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const size_t bytes = size * count;
  if (!Begin(transfer)) return 0;
  // What an error or a redirect says is for nobody.
  if (!IsSuccess(transfer.head.status)) return bytes;
  transfer.refusal = transfer.sink->write({data, bytes});
  return transfer.refusal.empty() ? bytes : 0;
}

int OnProgress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<Transfer*>(user)->options->stopped() ? 1 : 0;
}

}  // namespace

std::string HttpHead::Header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

std::optional<int64_t> HttpHead::ContentLength() const { return Number(Header("content-length")); }

std::optional<ContentRange> ParseContentRange(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  if (!text.starts_with(kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  const size_t dash = text.find('-'), slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || slash < dash) {
    return std::nullopt;
  }
  const auto first = Number(text.substr(0, dash));
  const auto last = Number(text.substr(dash + 1, slash - dash - 1));
  if (!first || !last || *last < *first) return std::nullopt;
  ContentRange range{*first, *last, std::nullopt};
  if (text.substr(slash + 1) != "*") {
    range.total = Number(text.substr(slash + 1));
    if (!range.total || *range.total <= *last) return std::nullopt;
  }
  return range;
}

std::string OriginOf(const std::string& url) {
  const Url parsed;
  if (curl_url_set(parsed.handle, CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return "";
  const std::string scheme = Lower(parsed.Part(CURLUPART_SCHEME));
  if (scheme != "http" && scheme != "https") return "";
  const std::string port = parsed.Part(CURLUPART_PORT, CURLU_NO_DEFAULT_PORT);
  return scheme + "://" + Lower(parsed.Part(CURLUPART_HOST)) + (port.empty() ? "" : ":" + port);
}

struct HttpClient::State {
  CURL* easy = nullptr;
};

HttpClient::HttpClient(HttpOptions options)
    : options_(std::move(options)), state_(std::make_unique<State>()) {
  core::InitialiseCurl();
  state_->easy = curl_easy_init();
  if (state_->easy == nullptr) throw InternalError("libcurl gives no handle");
}

HttpClient::~HttpClient() { curl_easy_cleanup(state_->easy); }

HttpOutcome HttpClient::Hop(const std::string& url, const std::vector<std::string>& headers,
                            const HttpSink& sink, std::string& next) {
  CURL* easy = state_->easy;
  curl_easy_reset(easy);  // its connections stay
  Transfer transfer;
  transfer.easy = easy;
  transfer.sink = &sink;
  transfer.options = &options_;
  curl_slist* list = nullptr;
  for (const std::string& header : headers) list = curl_slist_append(list, header.c_str());
  const std::string origin = OriginOf(url);
  if (!options_.token.empty() && origin == options_.token_origin &&
      (origin.starts_with("https://") || IsLoopback(origin))) {
    list = curl_slist_append(list, ("Authorization: Bearer " + options_.token).c_str());
  }
  const std::unique_ptr<curl_slist, void (*)(curl_slist*)> guard(list, curl_slist_free_all);
  char reason[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "natsl-bench");
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, static_cast<long>(limits::kConnectSeconds));
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, static_cast<long>(limits::kStallSeconds));
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  if (!options_.ca_file.empty()) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, options_.ca_file.c_str());
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
  }
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, reason);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, OnHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, OnProgress);
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &transfer);
  const CURLcode code = curl_easy_perform(easy);
  if (code == CURLE_OK) Begin(transfer);  // an empty body
  HttpOutcome outcome;
  outcome.head = std::move(transfer.head);
  if (!transfer.refusal.empty()) {
    outcome.failure = transfer.refusal;
    outcome.refused = true;
    return outcome;
  }
  if (code != CURLE_OK) {
    outcome.failure = reason[0] != '\0' ? reason : curl_easy_strerror(code);
    // libcurl's text may hold the address.
    for (size_t at; url.size() > 8 && (at = outcome.failure.find(url)) != std::string::npos;) {
      outcome.failure.replace(at, url.size(), origin);
    }
    outcome.transient = core::IsTransient(code);
    return outcome;
  }
  char* redirect = nullptr;
  curl_easy_getinfo(easy, CURLINFO_REDIRECT_URL, &redirect);
  if (redirect != nullptr) next = redirect;
  curl_off_t seconds = 0;
  curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds);
  if (seconds > 0) {
    outcome.retry_after_ms = std::min<int64_t>(seconds, limits::kMaxRetryAfterMs / 1000) * 1000;
  }
  const int status = outcome.head.status;
  if (next.empty() && !IsSuccess(status)) {
    outcome.failure = fmt::format("HTTP {}", status);
    outcome.transient = status == 408 || status == 429 || status >= 500;
  }
  return outcome;
}

HttpOutcome HttpClient::Get(const std::string& url, const std::vector<std::string>& headers,
                            const HttpSink& sink) {
  std::string at = url;
  for (int hop = 0; hop < limits::kMaxHops; ++hop) {
    const std::string origin = OriginOf(at);
    HttpOutcome outcome;
    if (origin.empty()) {
      outcome.failure = "not an http or https address";
      return outcome;
    }
    std::string next;
    outcome = Hop(at, headers, sink, next);
    if (next.empty() || !outcome.failure.empty()) {
      if (!outcome.failure.empty() && hop > 0) {
        outcome.failure += fmt::format(" (of {}, where {} redirects)", origin, OriginOf(url));
      }
      return outcome;
    }
    if (origin.starts_with("https://") && !OriginOf(next).starts_with("https://")) {
      outcome.failure = fmt::format("{} redirects from https to {}, which is refused", origin,
                                    OriginOf(next).empty() ? "something else" : "http");
      return outcome;
    }
    at = next;
  }
  HttpOutcome outcome;
  outcome.failure = fmt::format("more than {} redirects", limits::kMaxHops - 1);
  return outcome;
}

}  // namespace natsl::fetch
