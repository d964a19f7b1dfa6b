// How those who join a run show that they know its secret without saying it. The coordinator sends each
// connection bytes that no other had; the answer has an HMAC-SHA256 of them and of all that the answer says,
// so that it is worth nothing on another connection, and nobody on the way can change it.
#pragma once

#include <string>

#include "launch/control_message.h"

namespace espalier {

// kNonceBytes that nobody can guess.
std::string random_nonce();
// The same with the proof of who knows `secret`, for the connection that got `nonce`.
ControlMessage::Join proved(ControlMessage::Join join, const std::string& secret, const std::string& nonce);
ControlMessage::HostJoin proved(ControlMessage::HostJoin join, const std::string& secret,
                                const std::string& nonce);
bool is_proved(const ControlMessage::Join& join, const std::string& secret, const std::string& nonce);
bool is_proved(const ControlMessage::HostJoin& join, const std::string& secret, const std::string& nonce);

}  // namespace espalier
