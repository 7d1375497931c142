// The processes below this one: its children, their children, and so on, whatever their session or
// process group. Complete in a subreaper (PR_SET_CHILD_SUBREAPER), which adopts the orphans among
// them. They are found in /proc. For a process with one thread.
#pragma once

namespace wqctl {

// Sends the signal to every descendant. Returns whether one that had not ended yet could get it:
// not one of another user. False without /proc.
bool SignalDescendants(int signal);

}  // namespace wqctl
