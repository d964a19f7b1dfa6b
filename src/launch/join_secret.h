// The secret of a run that no launcher of ours started.
#pragma once

#include <string>

#include "launch/cluster.h"

namespace espalier {

// Whether ranks meet where other hosts may connect.
bool meets_beyond_host(const ClusterPlace& place);
// What speaks against a run that meets there while nobody has set ESPALIER_SECRET, and what to do.
inline constexpr const char* kGuessable =
    "who can connect and knows the job and its user can guess the secret of the run, and join";
inline constexpr const char* kSecretCure = "set ESPALIER_SECRET to the same random text for all ranks";

struct JoinSecret {
  std::string secret = {};
  std::string warning = {};  // a sentence; "" where nothing speaks against it
};
// Of ESPALIER_SECRET, which leaves the environment (launch/control_secret.h); otherwise made of where ranks
// meet, the job and the user: it keeps other runs out, and nobody who knows these.
JoinSecret join_secret(const ClusterPlace& place);

}  // namespace espalier
