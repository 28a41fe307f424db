// The three streams that a program expects to be open.
#pragma once

namespace natsl::core {

/// First thing in a program: where the caller closed stdin, stdout or stderr, the next file opened
/// would take its number, and messages would be written into it. In their place stands /dev/null,
/// opened the wrong way round, so that using the stream still fails.
void KeepStandardStreams();

}  // namespace natsl::core
