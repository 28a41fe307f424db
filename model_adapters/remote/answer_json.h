// Reading the JSON of a server's answer with errors that say what was expected.
#pragma once

#include <cmath>
#include <string>

#include "core/json.h"
#include "core/limits.h"
#include "model_adapters/remote/request_pool.h"
#include "model_adapters/remote/retry.h"

namespace natsl::model_adapters {

/// A whole answer. Python servers write NaN for what isn't a number: it is read, and refused where
/// it stands. Throws CutAnswer where it isn't JSON, Error (model) where it is an error object.
inline core::Json ParseAnswer(const std::string& body) {
  core::Json json;
  try {
    json = core::ParseJson(body, "the answer", ErrorCode::kModel,
                           {.max_depth = limits::kMaxRemoteJsonDepth, .python_numbers = true});
  } catch (const Error& error) {
    throw CutAnswer(error.what());
  }
  if (!json.is_object()) {
    throw ModelError("the answer is {}, expected an object", core::Describe(json));
  }
  if (json.contains("error") && !json["error"].is_null()) {
    throw ModelError("the server answered with an error: {}", ErrorMessage(body));
  }
  return json;
}

/// Runs `read`; a value of the wrong kind that it didn't look for is an Error (model) too.
template <typename Read>
auto WithJsonErrors(const Read& read) {
  try {
    return read();
  } catch (const core::Json::exception& error) {
    throw ModelError("the answer isn't of the expected form: {}", error.what());
  }
}

/// choices[0] of an answer in OpenAI's form.
inline const core::Json& FirstChoice(const core::Json& answer) {
  if (!answer.contains("choices") || !answer["choices"].is_array() || answer["choices"].empty() ||
      !answer["choices"][0].is_object()) {
    throw ModelError("the answer has no \"choices\" with an object in it");
  }
  return answer["choices"][0];
}

/// A log-prob: a finite number of at most 0 (less rounding).
inline float ReadLogProb(const core::Json& value, const char* what, size_t at) {
  if (!value.is_number()) {
    throw ModelError("{} {} is {}, expected a log-probability", what, at, core::Describe(value));
  }
  const double number = value.get<double>();
  // The smallest float stands for log(0) in llama.cpp, -9999 in vLLM and OpenAI's own.
  if (!std::isfinite(number) || number > 1e-3 || number <= -9999) {
    throw ModelError("{} {} is {}, expected a finite log-probability of at most 0", what, at,
                     core::Describe(value));
  }
  return static_cast<float>(number);
}

}  // namespace natsl::model_adapters
