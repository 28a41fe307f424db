#include "fetch/download.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <random>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/limits.h"

namespace natsl::fetch {
namespace {

namespace fs = std::filesystem;

/// What is known of a partial file.
struct PartialState {
  std::string url, validator;
  std::optional<int64_t> total;
};

fs::path StateFile(const fs::path& partial) { return partial.string() + ".json"; }

PartialState ReadState(const fs::path& partial) {
  PartialState state;
  try {
    const core::Json json = core::ReadJsonFile(StateFile(partial), ErrorCode::kData);
    const core::JsonObject object(json, partial.string(), ErrorCode::kData);
    PartialState read{object.String("url"), object.String("validator"), std::nullopt};
    if (object.Has("total")) read.total = object.Int("total");
    state = std::move(read);
  } catch (const Error&) {  // none, or damaged: the file is fetched from its start
  }
  return state;
}

void WriteState(const fs::path& partial, const PartialState& state) {
  core::Json json;
  json["url"] = state.url;
  json["validator"] = state.validator;
  json["total"] = state.total ? core::Json(*state.total) : core::Json(nullptr);
  core::WriteFileAtomic(StateFile(partial), json.dump() + "\n");
}

/// What "If-Range" may hold: a strong entity tag, else the date.
std::string ValidatorOf(const HttpHead& head) {
  const std::string tag = head.Header("etag");
  if (!tag.empty() && !tag.starts_with("W/")) return tag;
  return head.Header("last-modified");
}

int64_t SizeOf(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  return error ? 0 : static_cast<int64_t>(size);
}

/// One attempt: takes the answer into the file.
class Attempt {
 public:
  Attempt(const DownloadRequest& request, const DownloadContext& context, PartialState state,
          int64_t offset)
      : request_(request), context_(context), state_(std::move(state)), offset_(offset) {}
  ~Attempt() {
    if (fd_ >= 0) ::close(fd_);
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  HttpOutcome Run() {
    std::vector<std::string> headers;
    if (offset_ > 0) {
      headers.push_back(fmt::format("Range: bytes={}-", offset_));
      if (!state_.validator.empty()) headers.push_back("If-Range: " + state_.validator);
    }
    // libcurl's callbacks can't let exceptions through.
    HttpOutcome outcome = context_.client.Get(
        request_.url, headers,
        {[this](const HttpHead& head) { return Guarded([&] { return Begin(head); }); },
         [this](std::string_view bytes) { return Guarded([&] { return Write(bytes); }); }});
    if (error_) std::rethrow_exception(error_);
    if (fd_ >= 0 && ::fsync(fd_) != 0) throw Unwritable();
    return outcome;
  }

  bool restart() const { return restart_; }
  bool resumed() const { return resumed_; }
  std::optional<int64_t> total() const { return state_.total; }

 private:
  template <typename Body>
  std::string Guarded(const Body& body) {
    try {
      return body();
    } catch (...) {
      error_ = std::current_exception();
      return "the file can't be written";
    }
  }

  std::string Restart(std::string why) {
    restart_ = true;
    return why;
  }

  std::string Begin(const HttpHead& head) {
    const std::string validator = ValidatorOf(head);
    std::optional<int64_t> total;
    if (head.status == 206) {
      const auto range = ParseContentRange(head.Header("content-range"));
      if (!range || range->first != offset_) return Restart("the server sent another part");
      if (!validator.empty() && !state_.validator.empty() && validator != state_.validator) {
        return Restart("the file has changed at the server");
      }
      total = range->total;
      if (total && state_.total && *total != *state_.total) {
        return Restart("the file has another size now at the server");
      }
      resumed_ = true;
    } else {
      offset_ = 0;  // the whole file, whether a part of it was asked for or not
      total = head.ContentLength();
      const bool chunked = head.Header("transfer-encoding").find("chunked") != std::string::npos;
      if (!total && !chunked && !request_.bytes && !request_.hash_known) {
        return "the server tells no length, and nobody knows the file's: a cut file couldn't be "
               "told from a whole one";
      }
    }
    if (total && request_.bytes && *total != *request_.bytes) {
      return fmt::format("the server has {} bytes, expected {}", *total, *request_.bytes);
    }
    limit_ = total.value_or(request_.bytes.value_or(request_.most_bytes));
    if (limit_ > request_.most_bytes) {
      return fmt::format("the server has {} bytes, more than the {} that are taken", limit_,
                         request_.most_bytes);
    }
    if (total) claim_.emplace(context_.disk, *total - offset_);
    state_ = {request_.url, validator, total};
    fd_ = ::open(request_.partial.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd_ < 0 || ::ftruncate(fd_, offset_) != 0 || ::lseek(fd_, offset_, SEEK_SET) < 0) {
      throw Unwritable();
    }
    WriteState(request_.partial, state_);
    return "";
  }

  std::string Write(std::string_view bytes) {
    if (offset_ + static_cast<int64_t>(bytes.size()) > limit_) {
      return fmt::format("the server sends more than {} bytes", limit_);
    }
    const auto size = static_cast<int64_t>(bytes.size());
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw Unwritable();
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    offset_ += size;
    if (claim_) claim_->Written(size);
    context_.advance(size);
    return "";
  }

  Error Unwritable() const {
    const int reason = errno;
    const bool full = reason == ENOSPC || reason == EDQUOT || reason == EIO;
    return Error(
        full ? ErrorCode::kInternal : ErrorCode::kUsage,
        fmt::format("{}: cannot write it: {}", request_.partial.string(), std::strerror(reason)));
  }

  const DownloadRequest& request_;
  const DownloadContext& context_;
  PartialState state_;
  int64_t offset_, limit_ = 0;
  int fd_ = -1;
  bool restart_ = false, resumed_ = false;
  std::optional<DiskClaim> claim_;
  std::exception_ptr error_;
};

/// False where a stop was asked for.
bool Sleep(int64_t milliseconds, const std::function<bool()>& stopped) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::milliseconds(milliseconds);
  while (Clock::now() < until) {
    if (stopped()) return false;
    constexpr std::chrono::milliseconds kSlice(50);
    std::this_thread::sleep_for(std::min<Clock::duration>(until - Clock::now(), kSlice));
  }
  return !stopped();
}

/// The whole size that a 416 tells ("bytes */TOTAL").
std::optional<int64_t> TotalOf416(const HttpHead& head) {
  constexpr std::string_view kStart = "bytes */";
  const std::string text = head.Header("content-range");
  if (!text.starts_with(kStart)) return std::nullopt;
  HttpHead length;
  length.headers["content-length"] = text.substr(kStart.size());
  return length.ContentLength();
}

}  // namespace

void RemovePartial(const fs::path& partial) {
  std::error_code error;
  fs::remove(partial, error);
  fs::remove(StateFile(partial), error);
}

DownloadResult Download(const DownloadRequest& request, const DownloadContext& context) {
  DownloadResult result;
  std::mt19937_64 random(std::random_device{}());
  std::uniform_real_distribution<double> jitter(0, 1);
  int failures = 0;  // in a row, without the file getting longer than ever before
  int64_t longest = SizeOf(request.partial);
  for (int attempt = 1;; ++attempt) {
    const PartialState state = ReadState(request.partial);
    int64_t offset = SizeOf(request.partial);
    const bool same = state.url == request.url && (!state.validator.empty() || request.hash_known);
    const std::optional<int64_t> total = request.bytes ? request.bytes : state.total;
    if (!same || (total && offset > *total)) offset = 0;
    if (offset > 0 && total && offset == *total) {
      result.resumed = true;
      return result;  // it was whole; the caller looks at its hash
    }
    Attempt one(request, context, state, offset);
    const HttpOutcome outcome = one.Run();
    result.resumed |= one.resumed();
    const int64_t size = SizeOf(request.partial);
    const int64_t whole = one.total().value_or(request.bytes.value_or(size));
    if (outcome.failure.empty() && size == whole) return result;
    if (context.stopped()) {
      result.failure = "stopped";
      return result;
    }
    std::string why = outcome.failure;
    bool again = outcome.transient || one.restart();
    if (why.empty()) {
      why = fmt::format("{} bytes came, expected {}", size, whole);
      again = size < whole;
    }
    if (outcome.head.status == 416 && offset > 0) {
      if (TotalOf416(outcome.head) == offset) {
        result.resumed = true;
        return result;
      }
      again = true;
      RemovePartial(request.partial);
    }
    if (one.restart()) RemovePartial(request.partial);
    failures = size > longest ? 1 : failures + 1;
    longest = std::max(longest, size);
    const int64_t wait_ms =
        model_adapters::BackoffMs(context.retry, failures, jitter(random), outcome.retry_after_ms);
    if (!again || failures >= context.retry.attempts || attempt >= limits::kMaxAttempts ||
        wait_ms > context.retry.budget_ms) {
      result.denied = outcome.head.status == 401 || outcome.head.status == 403;
      result.failure = why;
      if (again && attempt > 1) result.failure += fmt::format(", after {} attempts", attempt);
      if (wait_ms > context.retry.budget_ms) {
        result.failure += fmt::format(" (the server asks to wait {} s)", wait_ms / 1000);
      }
      return result;
    }
    context.note(fmt::format("{}: {}; again in {:.1f} s", OriginOf(request.url), why,
                             static_cast<double>(wait_ms) / 1000));
    if (!Sleep(wait_ms, context.stopped)) {
      result.failure = "stopped";
      return result;
    }
  }
}

}  // namespace natsl::fetch
