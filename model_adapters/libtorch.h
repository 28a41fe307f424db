// Which LibTorch the native modules use where their own run path finds none, or another is wanted.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace natsl::model_adapters {

/// Loads LibTorch's libraries from `folder`/torch/lib, so that a module that is loaded afterwards
/// uses them; with those for CUDA where `cuda` asks for them and they are there. Throws Error
/// (usage) where the folder doesn't hold them or they don't load; `origin` says where the folder
/// comes from.
void PreloadLibTorch(const std::filesystem::path& folder, bool cuda, const std::string& origin);

/// $NATSL_LIBTORCH.
std::optional<std::filesystem::path> AskedForLibTorch();

/// The folder that set-up unpacks it into, in the user's cache; nothing where it isn't there.
std::optional<std::filesystem::path> CachedLibTorch();

/// Whether a message of the dynamic linker is about LibTorch's libraries, not found.
bool LacksLibTorch(const std::string& linker_message);

/// What to do where none is found.
std::string LibTorchAdvice();

}  // namespace natsl::model_adapters
