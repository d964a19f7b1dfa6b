#include "launch/control_socket.h"

#include <gtest/gtest.h>

#include "espalier/error.h"

namespace espalier {
namespace {

std::string refused_connection(const std::string& address, std::string_view whom) {
  try {
    connect_to(address, whom);
  } catch (const IoError& error) {
    return error.message();
  }
  return "";
}

// "0x7f.0.1.1" is 127.0.1.1, as the name of a host in /etc/hosts may be.
TEST(ControlSocket, ARefusalSaysWhomAndWhichAddressTheNameIs) {
  std::string address = "tcp:127.0.1.1:0";
  listen_at(address);  // and closed again: nobody listens there
  const std::string port = address.substr(address.rfind(':') + 1);
  EXPECT_EQ(refused_connection(address, "rank 0"),
            "cannot reach rank 0 at tcp:127.0.1.1:" + port + ": Connection refused");
  EXPECT_EQ(
      refused_connection("tcp:0x7f.0.1.1:" + port, "rank 0"),
      "cannot reach rank 0 at tcp:0x7f.0.1.1:" + port + " (127.0.1.1, this host itself): Connection refused");
  EXPECT_EQ(refused_connection("unix:@nobody-is-there", "the launcher"),
            "cannot reach the launcher at unix:@nobody-is-there: Connection refused");
}

}  // namespace
}  // namespace espalier
