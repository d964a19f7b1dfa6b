// Sockets of the control of a run, by address: "unix:@NAME", which leaves no file, and "tcp:HOST:PORT".
#pragma once

#include <string>
#include <string_view>

#include "comm/control_fd.h"

namespace espalier {

// Not blocking, and no started program gets it. `address` becomes the one to connect to: port 0 the port that
// the system chose. Raises ValueError[control.address], IoError[control.listen].
ControlFd listen_at(std::string& address);
// Not blocking from here on; it waits at most 10 s until it is connected. Raises ValueError[control.address],
// IoError[control.connect], which calls the other side `whom` and says which address its name is here.
ControlFd connect_to(const std::string& address, std::string_view whom = "the launcher");

}  // namespace espalier
