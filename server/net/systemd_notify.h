// Reports this process's state to systemd: the protocol of sd_notify(3), which is one datagram.
// (libsystemd would be one more library for these thirty lines.)
//
//   Notify(kNotifyReady);
//   Notify("STATUS=" + text);
#pragma once

#include <string>
#include <string_view>

#include "wq/status.h"

namespace wq {

inline constexpr std::string_view kNotifyReady = "READY=1";
inline constexpr std::string_view kNotifyStopping = "STOPPING=1";

// "RELOADING=1" with the present time, which Type=notify-reload requires. READY=1 follows it.
std::string NotifyReloading();

// Sends lines of VARIABLE=VALUE to the socket that NOTIFY_SOCKET names. Ok if it is not set.
// InvalidArgument: it is no address. IOError: nothing receives there. Does not block.
Status Notify(std::string_view lines);

}  // namespace wq
