// What the program asks of the terminal and of signals.
#pragma once

namespace natsl::cli {

/// From here on SIGINT, SIGTERM and SIGHUP (where nobody has it ignored) ask for a clean stop; a
/// second one ends the process.
void CatchStopSignals();
bool StopRequested();

bool StderrIsTerminal();

}  // namespace natsl::cli
