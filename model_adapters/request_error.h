// The error of one request among those of a call.
#pragma once

#include <cstddef>

#include "core/error.h"

namespace natsl::model_adapters {

/// A request that ends the call, by its place among the call's requests: the caller knows whose it
/// is.
class RequestError final : public Error {
 public:
  RequestError(const Error& error, size_t request) : Error(error), request_(request) {}
  size_t request() const { return request_; }

 private:
  size_t request_;
};

}  // namespace natsl::model_adapters
