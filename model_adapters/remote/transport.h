// HTTP to one server: many requests in flight on kept connections. The contract, and the one
// implementation (libcurl's multi interface).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model_adapters/remote/retry.h"

namespace natsl::model_adapters {

struct HttpRequest {
  std::string url;
  std::string body;  ///< JSON; empty: a GET
};

class Transport {
 public:
  virtual ~Transport() = default;
  /// Starts a request that `ticket` names. Never blocks, never throws for what the network does.
  virtual void Start(uint64_t ticket, const HttpRequest& request) = 0;
  /// Waits at most `milliseconds` for something to end; the requests that did.
  virtual std::vector<std::pair<uint64_t, HttpAnswer>> Wait(int64_t milliseconds) = 0;
  /// Drops everything in flight.
  virtual void CancelAll() = 0;
};

struct TransportOptions {
  std::string key;      ///< sent as a bearer token; "" for none
  std::string ca_file;  ///< certificates to trust instead of the system's; "" for the system's
  int64_t in_flight = 8;
  int64_t timeout_ms = 300'000;
  int64_t max_answer_bytes = 0;
};

/// http and https alone; certificates are always verified; redirects aren't followed (they would
/// carry the key elsewhere). Where an answer or a message holds the key, "[key]" stands instead.
std::unique_ptr<Transport> MakeCurlTransport(const TransportOptions& options);

}  // namespace natsl::model_adapters
