#include "core/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace natsl::core {

FolderLock::FolderLock(const std::filesystem::path& folder, const std::string& file_name,
                       File after)
    : file_(folder / file_name), after_(after) {
  while (true) {
    descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) {
      throw UsageError("{}: the output folder is not writable: {}", folder.string(),
                       std::strerror(errno));
    }
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      const int reason = errno;
      ::close(descriptor_);
      if (reason == EWOULDBLOCK) {
        throw UsageError(
            "{}: another run is writing to this folder; wait for it, or choose another with "
            "--output",
            folder.string());
      }
      throw UsageError("{}: cannot lock it: {}", file_.string(), std::strerror(reason));
    }
    // A run that ended in between has removed the file: then this lock holds nothing.
    struct stat held {
    }, there{};
    if (::fstat(descriptor_, &held) == 0 && ::stat(file_.c_str(), &there) == 0 &&
        held.st_ino == there.st_ino) {
      return;
    }
    ::close(descriptor_);
  }
}

FolderLock::~FolderLock() {
  // While it is held: nobody else's goes.
  if (after_ == File::kGoes) ::unlink(file_.c_str());
  ::close(descriptor_);
}

}  // namespace natsl::core
