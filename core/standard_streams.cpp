#include "core/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace natsl::core {

void KeepStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest number that is free: this one, as those below are taken by now.
    [[maybe_unused]] const int fd =
        ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace natsl::core
