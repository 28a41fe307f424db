// HTTP GETs whose bodies go somewhere as they come: redirects hop by hop, with the token sent to
// one host alone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace natsl::fetch {

/// The headers of an answer that isn't a redirect.
struct HttpHead {
  int status = 0;
  std::map<std::string, std::string> headers;  ///< names in lower case; the last of its name

  std::string Header(const std::string& name) const;  ///< "" where there is none
  std::optional<int64_t> ContentLength() const;
};

/// "bytes FIRST-LAST/TOTAL": where the body starts, and the whole size where it is told.
struct ContentRange {
  int64_t first = 0, last = 0;
  std::optional<int64_t> total;
};
/// Nothing where the text is no such range.
std::optional<ContentRange> ParseContentRange(std::string_view text);

/// Takes an answer with status 2xx. A text that `begin` or `write` returns ends the transfer with
/// that text as its failure.
struct HttpSink {
  std::function<std::string(const HttpHead&)> begin;
  std::function<std::string(std::string_view)> write;
};

struct HttpOutcome {
  HttpHead head;                          ///< status 0: no answer came
  std::string failure;                    ///< "" where the whole body came with status 2xx
  bool transient = false;                 ///< another attempt may succeed
  bool refused = false;                   ///< the sink ended it
  std::optional<int64_t> retry_after_ms;  ///< asked for by the server
};

struct HttpOptions {
  std::string token;         ///< "": none. Sent as a bearer token to `token_origin` alone
  std::string token_origin;  ///< "https://host[:port]"
  std::string ca_file;       ///< certificates to trust instead of the system's
  std::function<bool()> stopped = [] { return false; };  ///< asked often; true ends a transfer
};

/// "https://host:port" of an address, in lower case, without the scheme's own port; "" where it is
/// no http or https address.
std::string OriginOf(const std::string& url);

/// One connection at a time; not for several threads. Certificates are always verified. A redirect
/// from https to http is refused. Neither the token nor an address behind a redirect (it may be
/// signed) stands in a failure's text.
class HttpClient {
 public:
  explicit HttpClient(HttpOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// `headers`: lines such as "Range: bytes=5-".
  HttpOutcome Get(const std::string& url, const std::vector<std::string>& headers,
                  const HttpSink& sink);

 private:
  struct State;
  HttpOutcome Hop(const std::string& url, const std::vector<std::string>& headers,
                  const HttpSink& sink, std::string& next);

  HttpOptions options_;
  std::unique_ptr<State> state_;
};

}  // namespace natsl::fetch
