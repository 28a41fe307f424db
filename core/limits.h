// Every limit on what bytes that others wrote may make us read, build or wait for, in one place.
// Beyond one of them an input is refused by an Error that names it.
#pragma once

#include <cstdint>

namespace natsl::limits {

inline constexpr int64_t kKiB = int64_t{1} << 10;
inline constexpr int64_t kMiB = int64_t{1} << 20;
inline constexpr int64_t kGiB = int64_t{1} << 30;

// JSON of any file: core::JsonOptions has 128 levels of nesting; these have fewer.
inline constexpr int kMaxConfigDepth = 32;
inline constexpr int kMaxIndexDepth = 32;
inline constexpr int64_t kMaxTokenizerDepth = 64;
inline constexpr int kMaxRemoteJsonDepth = 32;

// Checkpoints.
inline constexpr int64_t kMaxConfigBytes = kMiB;
/// A width, a head count, a vocabulary that a config.json may state.
inline constexpr int64_t kMaxConfigSize = int64_t{1} << 31;
/// Elements of one weight or one state.
inline constexpr int64_t kMaxElements = int64_t{1} << 40;
inline constexpr int64_t kMaxLayers = 4096;
/// The safetensors format's own limit.
inline constexpr int64_t kMaxSafetensorsHeader = 100'000'000;
inline constexpr int64_t kMaxTensorDimensions = 32;
inline constexpr int64_t kMaxIndexBytes = 64 * kMiB;

// Tokenizers.
inline constexpr int64_t kMaxTokenizerBytes = kGiB;  ///< as stored, and unpacked
inline constexpr int64_t kMaxVocabulary = int64_t{1} << 24;
/// Keys of one object of a tokenizer.json, but for its vocabulary.
inline constexpr int64_t kMaxTokenizerKeys = 20'000;
/// Bytes that the replacements of a normalizer may make.
inline constexpr int64_t kMaxReplacedBytes = int64_t{1} << 28;

// Data files.
inline constexpr int64_t kMaxUnpackedBytes = 16 * kGiB;
inline constexpr int64_t kMaxLockBytes = 16 * kMiB;

// Servers and model processes.
/// One HTTP answer, after decompression. A vocabulary's worth of log-probs is far below.
inline constexpr int64_t kMaxAnswerBytes = 256 * kMiB;
/// One line of a model process.
inline constexpr int64_t kMaxLineBytes = 64 * kMiB;
/// A key, from its variable or file.
inline constexpr int64_t kMaxKeyBytes = 16 * kKiB;
/// Of a server's error message, what is passed on.
inline constexpr int64_t kMaxQuotedBytes = 300;
/// A "Retry-After" beyond this is read as this.
inline constexpr int64_t kMaxRetryAfterMs = int64_t{24} * 3600 * 1000;

// Downloads and archives.
/// Requests of one download that redirects lead through.
inline constexpr int kMaxHops = 10;
/// A hub's answer about a repository, and the files in it.
inline constexpr int64_t kMaxListingBytes = 64 * kMiB;
inline constexpr int64_t kMaxListedFiles = 200'000;
/// One file whose size nobody told.
inline constexpr int64_t kMaxDownloadBytes = 64 * kGiB;
/// A server's headers, all together.
inline constexpr int64_t kMaxHeaderBytes = 256 * kKiB;
/// Entries of an archive that are looked at.
inline constexpr int64_t kMaxArchiveEntries = 2'000'000;
/// What an archive may unpack to: so many times its own size, or kFreeArchiveBytes.
inline constexpr int64_t kMaxArchiveRatio = 200;
inline constexpr int64_t kFreeArchiveBytes = 256 * kMiB;
/// Bytes that are left free on a disk.
inline constexpr int64_t kSpareDiskBytes = 64 * kMiB;
/// Attempts of one file, however much each of them brought.
inline constexpr int kMaxAttempts = 200;
/// A transfer that brings less than a byte a second for this long is given up.
inline constexpr int64_t kStallSeconds = 60;
inline constexpr int64_t kConnectSeconds = 30;

// The command line.
inline constexpr int64_t kMaxLength = int64_t{1} << 30;
inline constexpr int64_t kMaxLengths = 4096;

}  // namespace natsl::limits
