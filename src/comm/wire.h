// Messages between ranks of several hosts: what an engine (Gloo, MPI) gives. Engines are modules that are
// loaded on demand (comm/wire_module.h); collectives are made of messages in comm/wire_communicator.h, so
// that all engines give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace espalier {

// One thread makes it, calls it and ends it; wake() and abort() may be any thread. Functions that can fail
// say so by their results: a module throws nothing beyond its factory.
class Wire {
 public:
  struct Message {
    int peer = 0;               // not this rank
    uint64_t tag = 0;           // a message is received by the call of the same tag at its peer
    std::byte* data = nullptr;  // of send(): only read
    size_t bytes = 0;           // the same on both sides; at least 1
  };
  enum class State : uint8_t { kDone, kWoken, kBroken };

  virtual ~Wire() = default;
  virtual int rank() const = 0;
  virtual int world() const = 0;
  // What it is, for people: "gloo over 10.9.0.1 (eth0)".
  virtual std::string name() const = 0;

  // Begin, and do not wait. `data` stay where they are until wait() has returned, or the wire is gone. Two
  // messages of one direction between two ranks never have one tag while both are on their way. Give a
  // handle, not negative; -1: the wire is broken.
  virtual int send(const Message& message) = 0;
  virtual int receive(const Message& message) = 0;
  // Sleeps until it is done, and gives the handle back: once for each. Messages go on meanwhile and between
  // calls, whichever is waited for. kWoken: it is not done, and can be waited for again. kBroken: it is lost,
  // this wire is of no more use, and why() says what the engine says of it.
  virtual State wait(int handle) = 0;
  // The wait() of this moment, or else the next one that would sleep, gives kWoken.
  virtual void wake() = 0;
  // Ends waits soon, and all later ones: they give kBroken.
  virtual void abort() = 0;
  // In the engine's words; "" before anything broke. Of the thread that calls wait().
  virtual std::string why() const = 0;
};

// Where ranks leave texts for others to find, before they have a wire.
class KeyStore {
 public:
  virtual ~KeyStore() = default;
  // Of a key that is put twice, by whomever, the first counts. Any bytes. Both functions: any thread.
  virtual void put(const std::string& key, const std::string& value) = 0;
  // Waits until somebody has put it. Raises RunError[comm.join] after the time that the store has for it,
  // [comm.verdict] where the run is given up.
  virtual std::string get(const std::string& key) = 0;
};

}  // namespace espalier
