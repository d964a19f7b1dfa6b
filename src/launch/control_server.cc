#include "launch/control_server.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/env.h"
#include "base/format.h"
#include "espalier/error.h"
#include "launch/control_proof.h"
#include "launch/control_socket.h"

namespace espalier {
namespace {

// Beside those of the ranks.
constexpr int kStrangers = 64;
// What whoever comes has to answer in before others may take its place: more than a way there and back, with
// a packet that is lost.
constexpr double kAnswering = 0.25;  // seconds
constexpr uint64_t kListener = UINT64_MAX;

}  // namespace

ControlServer::ControlServer(std::string address, ControlCoordinator::Options options)
    : address_(std::move(address)),
      coordinator_(options),
      most_links_(options.world + static_cast<int>(options.hosts.size()) + kStrangers),
      listener_(listen_at(address_)),
      ready_(::epoll_create1(EPOLL_CLOEXEC)) {
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = kListener;
  if (!ready_ || ::epoll_ctl(ready_.get(), EPOLL_CTL_ADD, listener_.get(), &event) != 0)
    throw IoError("control.listen", cat("cannot wait for ranks: ", std::strerror(errno)));
}

int ControlServer::ranks_here() const {
  return static_cast<int>(
      std::ranges::count_if(links_, [&](const auto& link) { return coordinator_.is_known(link.first); }));
}

double ControlServer::now() { return posix_env().steady_seconds(); }

void ControlServer::serve() {
  epoll_event events[64];
  const int count = ::epoll_wait(ready_.get(), events, 64, 0);
  for (int i = 0; i < count; ++i) {
    if (events[i].data.u64 == kListener)
      accept_all();
    else
      read(static_cast<int>(events[i].data.u64));
    act();
  }
  if (full_) accept_all();
  coordinator_.tick(now());
  act();
}

// Those who come faster than they are taken do not keep it from its ranks.
void ControlServer::accept_all() {
  for (int i = 0; i < most_links_; ++i) {
    pollfd ready{listener_.get(), POLLIN, 0};
    if (::poll(&ready, 1, 0) <= 0) return wait_for_room(false);
    if (!make_room()) return wait_for_room(true);
    ControlFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return wait_for_room(false);
    const int number = next_link_++;
    links_.emplace(number, Peer{ControlLink(std::move(socket)), now()});
    watch(number, false);
    coordinator_.connected(number, random_nonce(), now());
    act();
  }
}

// Whoever is not taken yet stays in the queue of the system, which would go on to say so.
void ControlServer::wait_for_room(bool waits) {
  if (std::exchange(full_, waits) == waits) return;
  epoll_event event = {};
  event.events = waits ? 0u : EPOLLIN;
  event.data.u64 = kListener;
  ::epoll_ctl(ready_.get(), EPOLL_CTL_MOD, listener_.get(), &event);
}

// Strangers may not keep ranks out: the one who has been there longest goes, unless it has said by now who it
// is, or has just come. Whether there is room.
bool ControlServer::make_room() {
  const auto stranger = [&] {
    return std::ranges::find_if(links_, [&](const auto& link) { return !coordinator_.is_known(link.first); });
  };
  while (std::ssize(links_) >= most_links_) {
    const auto first = stranger();
    if (first == links_.end()) return false;
    const int number = first->first;
    read(number);
    act();
    if (!links_.contains(number) || coordinator_.is_known(number)) continue;
    if (now() - first->second.since < kAnswering) return false;
    coordinator_.bad_message(number, "others came before it had said who it is", now());
    act();
  }
  return true;
}

void ControlServer::read(int number) {
  const auto at = links_.find(number);
  if (at == links_.end()) return;
  ControlLink& link = at->second.link;
  bool is_there = link.flush();
  watch(number, link.waiting() > 0);
  try {
    is_there &=
        link.receive([&](const ControlMessage& message) { coordinator_.received(number, message, now()); });
  } catch (const FormatError& error) {
    coordinator_.bad_message(number, error.message(), now());
    return;
  }
  if (!is_there) drop(number);
}

void ControlServer::drop(int number) {
  links_.erase(number);
  coordinator_.lost(number, now());
}

void ControlServer::watch(int number, bool writes) {
  epoll_event event = {};
  event.events = EPOLLIN | (writes ? EPOLLOUT : 0u);
  event.data.u64 = static_cast<uint64_t>(number);
  const int socket = links_.at(number).link.descriptor();
  if (::epoll_ctl(ready_.get(), EPOLL_CTL_MOD, socket, &event) != 0)
    ::epoll_ctl(ready_.get(), EPOLL_CTL_ADD, socket, &event);
}

void ControlServer::act() {
  for (auto actions = coordinator_.take(); !actions.empty(); actions = coordinator_.take()) {
    for (const ControlAction& action : actions) {
      if (const auto* send = std::get_if<ControlAction::Send>(&action.is)) {
        const auto at = links_.find(send->link);
        if (at == links_.end()) continue;
        if (!at->second.link.send(send->message))
          drop(send->link);
        else if (at->second.link.waiting() > 0)
          watch(send->link, true);
      } else if (const auto* close = std::get_if<ControlAction::Close>(&action.is)) {
        links_.erase(close->link);
      } else {
        news_.push_back(action);
      }
    }
  }
}

}  // namespace espalier
