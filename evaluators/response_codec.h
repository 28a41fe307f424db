// Answers as bytes, exactly: what the journal and the response cache store.
#pragma once

#include <string>
#include <string_view>

#include "model_adapters/language_model.h"

namespace natsl::evaluators {

/// Version of the layout; a stored answer of another version is never read.
inline constexpr int kResponseSchema = 1;

std::string Encode(const model_adapters::LoglikelihoodResult& result);
std::string Encode(const model_adapters::RollingResult& result);
std::string Encode(const model_adapters::GenerateResult& result);

/// Throws Error (data) where the bytes aren't an encoded answer of this kind.
void Decode(std::string_view bytes, model_adapters::LoglikelihoodResult& result);
void Decode(std::string_view bytes, model_adapters::RollingResult& result);
void Decode(std::string_view bytes, model_adapters::GenerateResult& result);

}  // namespace natsl::evaluators
