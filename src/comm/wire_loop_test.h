// A wire between threads of one process, for tests.
#pragma once

#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "comm/wire.h"

namespace espalier {

// Where messages meet. A send is done when it is received, as a large one of a real engine is.
class WireLoop {
 public:
  explicit WireLoop(int world) : world_(world) {}
  std::unique_ptr<Wire> wire(int rank) { return std::make_unique<End>(*this, rank); }
  // The `number`-th message that is sent from here on breaks every wire.
  void break_at(int number) { break_at_ = number; }
  int messages() const { return messages_; }
  size_t bytes() const { return bytes_; }

 private:
  struct Side {
    std::byte* data;
    size_t bytes;
    bool* done;
  };
  using Key = std::tuple<int, int, uint64_t>;  // from, to, tag

  class End final : public Wire {
   public:
    End(WireLoop& loop, int rank) : loop_(loop), rank_(rank) {}
    // What it has not sent or received meets nobody any more.
    ~End() override {
      const std::lock_guard<std::mutex> lock(loop_.mutex_);
      std::erase_if(loop_.sends_, [&](const auto& entry) { return std::get<0>(entry.first) == rank_; });
      std::erase_if(loop_.receives_, [&](const auto& entry) { return std::get<1>(entry.first) == rank_; });
    }
    End(const End&) = delete;
    End& operator=(const End&) = delete;
    int rank() const override { return rank_; }
    int world() const override { return loop_.world_; }
    std::string name() const override { return "a loop"; }
    int send(const Message& message) override { return begin(message, true); }
    int receive(const Message& message) override { return begin(message, false); }
    State wait(int handle) override {
      std::unique_lock<std::mutex> lock(loop_.mutex_);
      bool& done = *flags_.at(static_cast<size_t>(handle));
      loop_.changed_.wait(lock, [&] { return done || woken_ || aborted_ || loop_.broken_; });
      if (done) return State::kDone;
      if (aborted_ || loop_.broken_) return State::kBroken;
      woken_ = false;
      return State::kWoken;
    }
    void wake() override { set(woken_); }
    void abort() override { set(aborted_); }
    std::string why() const override { return loop_.broken_ ? "the loop is cut" : "it was aborted"; }

   private:
    void set(bool& flag) {
      const std::lock_guard<std::mutex> lock(loop_.mutex_);
      flag = true;
      loop_.changed_.notify_all();
    }
    int begin(const Message& message, bool sends) {
      const std::lock_guard<std::mutex> lock(loop_.mutex_);
      if (aborted_ || loop_.broken_) return -1;
      if (sends && ++loop_.messages_ == loop_.break_at_) {
        loop_.broken_ = true;
        loop_.changed_.notify_all();
        return -1;
      }
      flags_.push_back(std::make_unique<bool>(false));
      const Key key = sends ? Key(rank_, message.peer, message.tag) : Key(message.peer, rank_, message.tag);
      const Side side{message.data, message.bytes, flags_.back().get()};
      EXPECT_GT(side.bytes, 0u);
      EXPECT_NE(message.peer, rank_);
      auto& own = sends ? loop_.sends_ : loop_.receives_;
      auto& others = sends ? loop_.receives_ : loop_.sends_;
      const auto other = others.find(key);
      if (other == others.end()) {
        EXPECT_TRUE(own.emplace(key, side).second) << "two messages of one tag";
      } else {
        EXPECT_EQ(other->second.bytes, side.bytes);
        std::memcpy(sends ? other->second.data : side.data, sends ? side.data : other->second.data,
                    side.bytes);
        loop_.bytes_ += side.bytes;
        *side.done = *other->second.done = true;
        others.erase(other);
        loop_.changed_.notify_all();
      }
      return static_cast<int>(flags_.size()) - 1;
    }

    WireLoop& loop_;
    const int rank_;
    std::vector<std::unique_ptr<bool>> flags_;
    bool woken_ = false, aborted_ = false;
  };

  const int world_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, Side> sends_, receives_;
  int messages_ = 0, break_at_ = -1;
  size_t bytes_ = 0;
  bool broken_ = false;
};

}  // namespace espalier
