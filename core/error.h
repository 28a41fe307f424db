// The one exception type of the project, and how its codes become exit statuses.
// Errors name where (file, line, field), what was found, what was expected and what to do.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace natsl {

/// Why an operation failed. The value is the process's exit status.
enum class ErrorCode {
  kRegression = 1,    ///< a gate found a regression
  kUsage = 2,         ///< wrong command line, or an output that can't be written
  kData = 3,          ///< a dataset or another input file is missing or wrong
  kModel = 4,         ///< a checkpoint or tokenizer is missing, wrong or unsupported
  kInternal = 5,      ///< a fault of ours, or the machine's (disk full, out of memory)
  kInconclusive = 6,  ///< the evidence does not decide, and the caller asked for certainty
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

  ErrorCode code() const { return code_; }

  /// The same error with `context` in front: "context: message".
  Error WithContext(std::string_view context) const {
    return Error(code_, fmt::format("{}: {}", context, what()));
  }

 private:
  ErrorCode code_;
};

template <typename... Args>
Error UsageError(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorCode::kUsage, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
Error DataError(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorCode::kData, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
Error ModelError(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorCode::kModel, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
Error InternalError(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorCode::kInternal, fmt::format(format, std::forward<Args>(args)...));
}

/// Runs `body`; an Error that leaves it gets `context` in front.
template <typename Body>
decltype(auto) InContext(std::string_view context, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const Error& error) {
    throw error.WithContext(context);
  }
}

}  // namespace natsl
