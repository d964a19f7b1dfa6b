// A file descriptor with an owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace espalier {

class ControlFd {
 public:
  ControlFd() = default;
  explicit ControlFd(int number) : number_(number) {}
  ControlFd(ControlFd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  ControlFd& operator=(ControlFd&& other) noexcept {
    std::swap(number_, other.number_);
    other.close();
    return *this;
  }
  ~ControlFd() { close(); }

  // -1: none.
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  // Nobody's from here on.
  int release() { return std::exchange(number_, -1); }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

}  // namespace espalier
