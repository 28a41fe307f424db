#include "core/standard_streams.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>

#include "core/utf8.h"

namespace natsl::core {

void KeepStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest number that is free: this one, as those below are taken by now.
    [[maybe_unused]] const int fd =
        ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
  ::signal(SIGXFSZ, SIG_IGN);
}

void PrintError(std::string_view program, std::string_view message) {
  std::cerr << program << ": error: " << Printable(message) << "\n";
}

std::string Printable(std::string_view message) {
  std::string printable;
  for (size_t at = 0; at < message.size();) {
    const size_t begin = at;
    const char32_t code_point = NextCodePoint(message, at);
    const std::string_view bytes = message.substr(begin, at - begin);
    const bool in_list = code_point == '\n' && message.substr(at).starts_with("  ");
    const bool control =
        code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);  // and those of 8 bits
    if (in_list || (!control && IsValidUtf8(bytes))) {
      printable += bytes;
    } else if (code_point == '\n') {
      printable += "\\n";
    } else {
      for (const char byte : bytes) {
        printable += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      }
    }
  }
  return printable;
}

}  // namespace natsl::core
