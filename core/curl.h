// What everything that uses libcurl shares: its initialisation, and which failures pass. Inline, so
// that natsl_core itself doesn't need it.
#pragma once

#include <curl/curl.h>

#include <mutex>

#include "core/error.h"

namespace natsl::core {

/// Before the first use of libcurl; any number of times, from any thread.
inline void InitialiseCurl() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
      throw InternalError("libcurl can't be initialised");
    }
  });
}

/// Whether another attempt may succeed.
inline bool IsTransient(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_BAD_CONTENT_ENCODING:
      return true;
    default:
      return false;
  }
}

}  // namespace natsl::core
