// What a program sets right about its process before anything else, and how it tells an error.
#pragma once

#include <string>
#include <string_view>

namespace natsl::core {

/// First thing in a program. Where the caller closed stdin, stdout or stderr, the next file opened
/// would take its number, and messages would be written into it. In their place stands /dev/null,
/// opened the wrong way round, so that using the stream still fails. And a file that reaches the
/// process's limit of sizes (ulimit -f) fails to be written, rather than end the process.
void KeepStandardStreams();

/// `message` on stderr, as one line; a list's lines ("\n  ...") stay apart. What a message quotes
/// comes from files of others: control characters, and bytes that are no UTF-8, are shown as \xNN.
void PrintError(std::string_view program, std::string_view message);
std::string Printable(std::string_view message);

}  // namespace natsl::core
