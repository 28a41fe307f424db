// The program, its libraries, and what this processor gets. Versions are those of the libraries
// that run, where they tell; of headers alone and of modules, those of the build.
#include "cli/version_json.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <openssl/crypto.h>
#include <re2/re2.h>
#include <sqlite3.h>
#include <unicode/uversion.h>
#include <zlib.h>
#include <zstd.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <sstream>

#include "cli/commit.h"
#include "core/build_info.h"
#include "core/json.h"
#include "core/modules.h"
#include "evaluators/response_codec.h"
#include "kernels/instruction_sets.h"

namespace natsl::cli {
namespace {

using core::Json;

constexpr int kVersionSchema = 1;

/// Those of x86-64 that dense products, kernels and tokenizers can gain from, as Linux names them.
constexpr const char* kProcessorFlags[] = {"sse4_2",   "avx",         "avx2",        "fma",
                                           "f16c",     "avx512f",     "avx512bw",    "avx512dq",
                                           "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16",
                                           "amx_tile", "amx_bf16",    "amx_int8"};

Json OrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

/// "9.0.0" of libre2.so.9.0.0, for a library that tells no version of its own.
std::string VersionOfFile(const void* symbol) {
  Dl_info info;
  if (dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) return "";
  std::error_code error;
  const std::string file = std::filesystem::canonical(info.dli_fname, error).filename().string();
  const size_t suffix = file.find(".so.");
  return suffix == std::string::npos ? "" : file.substr(suffix + 4);
}

std::string IcuVersion() {
  UVersionInfo version;
  u_getVersion(version);
  char text[U_MAX_VERSION_STRING_LENGTH];
  u_versionToString(version, text);
  return text;
}

Json Libraries() {
  const core::BuildInfo& build = core::ThisBuild();
  const auto dotted = [](int major, int minor, int patch) {
    return fmt::format("{}.{}.{}", major, minor, patch);
  };
  Json libraries;
  libraries["libtorch"] = build.libtorch;
  libraries["arrow"] = OrNull(build.arrow);
  libraries["highway"] = build.highway;
  libraries["nlohmann_json"] =
      dotted(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH);
  libraries["fmt"] = dotted(FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100);
  libraries["cli11"] = CLI11_VERSION;
  libraries["re2"] = OrNull(VersionOfFile(reinterpret_cast<const void*>(&RE2::QuoteMeta)));
  libraries["icu"] = IcuVersion();
  libraries["sentencepiece"] = build.sentencepiece;
  libraries["sqlite"] = sqlite3_libversion();
  libraries["libcurl"] = curl_version_info(CURLVERSION_NOW)->version;
  libraries["openssl"] = OpenSSL_version(OPENSSL_VERSION_STRING);
  libraries["zlib"] = zlibVersion();
  libraries["zstd"] = ZSTD_versionString();
  libraries["mpi"] = OrNull(build.mpi);
  return libraries;
}

Json Processor() {
  std::string model;
  std::vector<std::string> flags;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && (model.empty() || flags.empty());) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    if (line.starts_with("model name")) model = line.substr(colon + 2);
    if (line.starts_with("flags")) {
      std::istringstream words(line.substr(colon + 2));
      for (std::string word; words >> word;) flags.push_back(word);
    }
  }
  const kernels::InstructionSets sets = kernels::DispatchedInstructionSets();
  Json cpu;
  cpu["model"] = OrNull(model);
  cpu["instruction_sets"] = Json::array();
  for (const char* flag : kProcessorFlags) {
    if (std::find(flags.begin(), flags.end(), flag) != flags.end()) {
      cpu["instruction_sets"].push_back(flag);
    }
  }
  cpu["compiled"] = sets.compiled;
  cpu["dispatched"] = sets.dispatched;
  cpu["amx"] = sets.amx;
  return cpu;
}

Json Modules() {
  Json modules;
  for (const char* name : {"natsl_native", "natsl_parquet", "natsl_mpi", "natsl_native_cuda"}) {
    modules[name] = OrNull(core::FindModule(std::string(name) + ".so").string());
  }
  return modules;
}

}  // namespace

std::string VersionJson() {
  const core::BuildInfo& build = core::ThisBuild();
  const Commit commit = BuiltFrom();
  Json json;
  json["schema"] = kVersionSchema;
  json["name"] = "natsl-bench";
  json["version"] = build.version;
  json["commit"] = OrNull(commit.hash);
  json["modified"] = commit.modified;
  json["compiler"] = build.compiler;
  json["build_type"] = build.build_type;
  json["stored_answers"] = evaluators::kResponseSchema;
  json["libraries"] = Libraries();
  json["cpu"] = Processor();
  json["cuda"] = nullptr;
  if (!build.cuda_toolkit.empty()) {
    json["cuda"] = {{"toolkit", build.cuda_toolkit}, {"architectures", build.cuda_architectures}};
  }
  json["modules"] = Modules();
  return json.dump(2);
}

}  // namespace natsl::cli
