#include "launch/control_proof.h"

#include "base/env.h"
#include "base/sha256.h"

namespace espalier {
namespace {

// All nonces are equally long, so no nonce and answer are the bytes of another two.
template <class AnyJoin>
std::string proof_of(AnyJoin join, const std::string& secret, const std::string& nonce) {
  join.proof.clear();
  return hmac_sha256(secret, nonce + frame_of({join}));
}

template <class AnyJoin>
AnyJoin with_proof(AnyJoin join, const std::string& secret, const std::string& nonce) {
  join.proof = proof_of(join, secret, nonce);
  return join;
}

}  // namespace

std::string random_nonce() {
  std::string out;
  while (out.size() < kNonceBytes) {
    uint64_t bits = posix_env().entropy();
    for (int i = 0; i < 8; ++i, bits >>= 8) out += static_cast<char>(bits & 0xff);
  }
  return out;
}

ControlMessage::Join proved(ControlMessage::Join join, const std::string& secret, const std::string& nonce) {
  return with_proof(std::move(join), secret, nonce);
}
ControlMessage::HostJoin proved(ControlMessage::HostJoin join, const std::string& secret,
                                const std::string& nonce) {
  return with_proof(std::move(join), secret, nonce);
}

bool is_proved(const ControlMessage::Join& join, const std::string& secret, const std::string& nonce) {
  return same_digest(join.proof, proof_of(join, secret, nonce));
}
bool is_proved(const ControlMessage::HostJoin& join, const std::string& secret, const std::string& nonce) {
  return same_digest(join.proof, proof_of(join, secret, nonce));
}

}  // namespace espalier
