#include "launch/join_secret.h"

#include <unistd.h>

#include "base/format.h"
#include "base/sha256.h"
#include "launch/control_secret.h"
#include "launch/host_port.h"

namespace espalier {

bool meets_beyond_host(const ClusterPlace& place) {
  const auto meet = parse_host_port(place.coordinator);
  return meet && !is_loopback(meet->host);
}

JoinSecret join_secret(const ClusterPlace& place) {
  JoinSecret out{.secret = take_secret()};
  if (!out.secret.empty()) return out;
  out.secret = sha256_of(cat(place.coordinator, " ", place.job, " ", ::getuid()));
  if (meets_beyond_host(place))
    out.warning = cat("ranks meet at ", place.coordinator, ", and ESPALIER_SECRET is not set: ", kGuessable,
                      "; ", kSecretCure);
  return out;
}

}  // namespace espalier
