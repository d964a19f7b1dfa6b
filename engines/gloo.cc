// The engine `gloo`: messages over TCP by the library Gloo. One connection for each two ranks, and a thread
// of Gloo's that serves them all.
#include <gloo/common/error.h>
#include <gloo/transport/address.h>
#include <gloo/transport/context.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/wire.h"
#include "comm/wire_module.h"

namespace espalier {
namespace {

using std::chrono::milliseconds;

// Until two ranks are connected, and of their greeting behind it.
constexpr milliseconds kConnect = std::chrono::seconds(60), kGreeting = std::chrono::seconds(5);
// Somebody else who connects to the port of a rank takes the place of its peer; then all begin again.
constexpr int kJoins = 3;
// Of the greeting, which is over before there are others.
constexpr uint64_t kGreetingTag = UINT64_MAX;

std::string text_of_rank(int rank) { return "rank " + std::to_string(rank); }

// Threads that are made while it lives leave signals to those of the program.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// Gloo does not look whether a name has an address at all, so only what is there reaches it.
gloo::transport::tcp::attr place_of(const std::string& given) {
  ifaddrs* all = nullptr;
  if (given.empty() || ::getifaddrs(&all) != 0)
    throw std::runtime_error("no interface or address is given to listen at");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(all, ::freeifaddrs);
  gloo::transport::tcp::attr out;
  std::string known;
  int family = AF_UNSPEC;
  for (const ifaddrs* at = all; at; at = at->ifa_next) {
    const int one = at->ifa_addr ? at->ifa_addr->sa_family : AF_UNSPEC;
    if (one != AF_INET && one != AF_INET6) continue;
    const std::string name = at->ifa_name;
    if ((", " + known + ",").find(", " + name + ",") == std::string::npos)
      known += (known.empty() ? "" : ", ") + name;
    if (name == given && family != AF_INET) family = one;
  }
  if (family != AF_UNSPEC) {
    out.iface = given;
    out.ai_family = family;
    return out;
  }
  addrinfo wanted = {}, *found = nullptr;
  wanted.ai_flags = AI_NUMERICHOST;
  if (::getaddrinfo(given.c_str(), nullptr, &wanted, &found) != 0)
    throw std::runtime_error("\"" + given +
                             "\" is no interface with an address, and no address; interfaces are " + known);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> found_owner(found, ::freeaddrinfo);
  const int socket = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int error = ::bind(socket, found->ai_addr, found->ai_addrlen) == 0 ? 0 : errno;
  ::close(socket);
  if (error != 0) throw std::runtime_error("cannot listen at " + given + ": " + std::strerror(error));
  out.hostname = given;
  return out;
}

std::shared_ptr<gloo::transport::tcp::Device> device_at(const std::string& interface) {
  const SignalsBlocked blocked;
  return std::static_pointer_cast<gloo::transport::tcp::Device>(
      gloo::transport::tcp::CreateDevice(place_of(interface)));
}

// "10.9.0.1 (eth0)" of what Gloo says: "tcp, pci=, iface=eth0, speed=-1, addr=[10.9.0.1]".
std::string name_of(const std::string& device) {
  const auto part = [&](const std::string& begin, char end) {
    const size_t at = device.find(begin);
    if (at == std::string::npos) return std::string();
    const size_t from = at + begin.size();
    return device.substr(from, device.find(end, from) - from);
  };
  return part("addr=[", ']') + " (" + part("iface=", ',') + ")";
}

// Ends all that waits in a context, from any thread: what Gloo does where a wait has timed out.
void end_all(gloo::transport::Context& context) {
  try {
    char byte = 0;
    context.createUnboundBuffer(&byte, 1)->waitRecv(milliseconds(0));
  } catch (const std::exception&) {
  }
}

// One try to connect all ranks.
class Mesh {
 public:
  Mesh(gloo::transport::Device& device, const WireOptions& options, int join)
      : options_(options),
        prefix_(options.generation + "/gloo/" + std::to_string(join) + "/"),
        context_(device.createContext(options.rank, options.world)) {
    // Gloo waits five times as long for a connection.
    context_->setTimeout(kConnect / 5);
    each_peer([&](int rank) { context_->createPair(rank); });
  }

  // Whether it went well on all ranks; where not, why() is what the first of them says that it did not.
  // Throws what the store throws.
  bool connect() {
    std::exception_ptr watched;
    std::thread watch = watch_others(watched);
    std::exception_ptr own;
    std::string failed;
    try {
      meet();
    } catch (const std::exception& error) {
      failed = text_of_rank(options_.rank) + ": " + error.what();
      if (store_failed_) own = std::current_exception();
    }
    try {
      // Whatever happened, nobody is to wait for what this rank has not said.
      if (!failed.empty()) options_.store->put(prefix_ + "over", failed);
      for (const char* what : {"met", "done"}) {
        if (options_.rank != 0)
          options_.store->put(prefix_ + what + "/" + std::to_string(options_.rank), "");
        else if (!failed.empty())
          options_.store->put(prefix_ + what, "");
      }
      if (options_.rank == 0 && failed.empty()) {
        gather("done");
        options_.store->put(prefix_ + "over", "");
      }
    } catch (const std::exception&) {
      if (!own) own = std::current_exception();
    }
    watch.join();
    if (own) std::rethrow_exception(own);
    if (watched) std::rethrow_exception(watched);
    return over_.empty();
  }
  const std::string& why() const { return over_; }
  std::shared_ptr<gloo::transport::Context> take() { return std::move(context_); }

 private:
  template <class F>
  void each_peer(const F& call) {
    for (int rank = 0; rank < options_.world; ++rank)
      if (rank != options_.rank) call(rank);
  }

  // Waits in Gloo end when another rank has failed, or the run is given up.
  std::thread watch_others(std::exception_ptr& error) {
    const SignalsBlocked blocked;
    return std::thread([this, &error] {
      try {
        over_ = options_.store->get(prefix_ + "over");
        if (over_.empty()) return;
      } catch (const std::exception&) {
        error = std::current_exception();
      }
      end_all(*context_);
    });
  }

  std::string get(const std::string& what) {
    try {
      return options_.store->get(prefix_ + what);
    } catch (const std::exception&) {
      store_failed_ = true;
      throw;
    }
  }
  void gather(const std::string& what) {
    each_peer([&](int rank) { get(what + "/" + std::to_string(rank)); });
  }

  void meet() {
    const auto place = [](int rank) { return "at/" + std::to_string(rank); };
    // Of each rank the addresses at which it waits for the others, one after the other.
    std::string places;
    each_peer([&](int rank) {
      const std::vector<char> bytes = context_->getPair(rank)->address().bytes();
      places.append(bytes.data(), bytes.size());
    });
    options_.store->put(prefix_ + place(options_.rank), places);
    each_peer([&](int rank) {
      const std::string at = get(place(rank));
      if (at.size() != places.size())
        throw std::runtime_error(text_of_rank(rank) + " leaves addresses of another form");
      const size_t size = at.size() / static_cast<size_t>(options_.world - 1);
      const auto mine = static_cast<size_t>(options_.rank - (options_.rank > rank ? 1 : 0));
      const char* begin = at.data() + mine * size;
      context_->getPair(rank)->connect(std::vector<char>(begin, begin + size));
    });
    // Nobody greets before all can answer.
    if (options_.rank == 0) {
      gather("met");
      options_.store->put(prefix_ + "met", "");
    } else {
      options_.store->put(prefix_ + "met/" + std::to_string(options_.rank), "");
      get("met");
    }
    greet();
  }

  // So that at the other end there is the peer, and nobody else.
  void greet() {
    struct Greeting {
      uint64_t magic = 0x6573'7061'6c69'6572;
      int32_t rank = 0, world = 0;
      bool operator==(const Greeting&) const = default;
    };
    each_peer([&](int rank) {
      Greeting sent{.rank = options_.rank, .world = options_.world}, got;
      const auto out = context_->createUnboundBuffer(&sent, sizeof sent);
      const auto in = context_->createUnboundBuffer(&got, sizeof got);
      out->send(rank, kGreetingTag);
      in->recv(rank, kGreetingTag);
      if (!in->waitRecv(kGreeting) || !out->waitSend(kGreeting) ||
          got != Greeting{.rank = rank, .world = options_.world})
        throw std::runtime_error("somebody else answers for " + text_of_rank(rank));
    });
  }

  const WireOptions& options_;
  const std::string prefix_;
  std::shared_ptr<gloo::transport::Context> context_;
  bool store_failed_ = false;
  std::string over_;
};

// A message begins on Gloo's thread, which looks for events again and again while another thread is inside of
// a connection: for a whole slice of time where that other thread waits for this processor.
class GlooWire : public Wire, private gloo::transport::tcp::Handler {
 public:
  explicit GlooWire(const WireOptions& options) : options_(options), device_(device_at(options.interface)) {
    if (!options.store) throw std::runtime_error("there is no store to meet in");
    std::string why;
    for (int join = 0; join < kJoins && !context_; ++join) {
      Mesh mesh(*device_, options, join);
      if (mesh.connect()) context_ = mesh.take();
      why = mesh.why();
    }
    if (!context_) throw std::runtime_error(why);
    begun_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (begun_ < 0) throw std::runtime_error(std::string("eventfd: ") + std::strerror(errno));
    device_->registerDescriptor(begun_, EPOLLIN, this);
  }
  ~GlooWire() override {
    // Returns when Gloo's thread is not in handleEvents() and will not be.
    device_->unregisterDescriptor(begun_, this);
    // How Gloo tells the two threads apart orders no memory of ours: that thread's last lock does.
    { const std::lock_guard lock(mutex_); }
    ::close(begun_);
  }

  int rank() const override { return options_.rank; }
  int world() const override { return options_.world; }
  std::string name() const override { return "gloo over " + name_of(device_->str()); }

  int send(const Message& message) override { return begin(message, true); }
  int receive(const Message& message) override { return begin(message, false); }

  State wait(int handle) override {
    Started& message = messages_[static_cast<size_t>(handle)];
    if (!broken_ && !finish(message)) return State::kWoken;
    // With the buffer goes what Gloo knows of the memory of the message.
    message.buffer.reset();
    free_.push_back(handle);
    return broken_ ? State::kBroken : State::kDone;
  }

  void wake() override { interrupt(woken_); }
  void abort() override { interrupt(aborted_); }
  std::string why() const override { return why_; }

 private:
  struct Started {
    std::shared_ptr<gloo::transport::UnboundBuffer> buffer;
    uint64_t tag = 0;
    int peer = 0;
    bool is_send = false;
  };

  int begin(const Message& message, bool is_send) {
    if (broken_) return -1;
    if (free_.empty()) {
      free_.push_back(static_cast<int>(messages_.size()));
      messages_.emplace_back();
    }
    const int handle = free_.back();
    Started& started = messages_[static_cast<size_t>(handle)];
    try {
      started = {context_->createUnboundBuffer(message.data, message.bytes), message.tag, message.peer,
                 is_send};
    } catch (const std::exception& error) {
      fail(text_of_rank(message.peer) + ": " + error.what());
      return -1;
    }
    free_.pop_back();
    {
      const std::lock_guard lock(mutex_);
      to_begin_.push_back(started);
      if (to_begin_.size() > 1) return handle;
    }
    const uint64_t one = 1;
    (void)!::write(begun_, &one, sizeof one);
    return handle;
  }

  // Of Gloo's thread.
  void handleEvents(int) override {
    uint64_t times = 0;
    (void)!::read(begun_, &times, sizeof times);
    // fail() has it: nothing begins any more, and what it does waits for this thread to go on.
    const std::unique_lock beginning(beginning_, std::try_to_lock);
    std::unique_lock lock(mutex_);
    if (!beginning) return;
    while (!to_begin_.empty()) {
      const Started message = to_begin_.front();
      to_begin_.pop_front();
      lock.unlock();
      std::string error;
      try {
        if (message.is_send)
          message.buffer->send(message.peer, message.tag);
        else
          message.buffer->recv(message.peer, message.tag);
      } catch (const std::exception& thrown) {
        error = text_of_rank(message.peer) + ": " + thrown.what();
      }
      lock.lock();
      if (error.empty()) continue;
      if (error_.empty()) error_ = error;
      end_wait();
    }
  }

  // False where wake() was called.
  bool finish(Started& message) {
    std::unique_lock lock(mutex_);
    bool done = false;
    std::string error;
    if (!woken_ && !aborted_ && error_.empty()) {
      waited_ = &message;
      lock.unlock();
      try {
        const milliseconds most(static_cast<int64_t>(options_.timeout * 1000));
        done = message.is_send ? message.buffer->waitSend(most) : message.buffer->waitRecv(most);
      } catch (const std::exception& thrown) {
        error = text_of_rank(message.peer) + ": " + thrown.what();
      }
      lock.lock();
      waited_ = nullptr;
    }
    if (done) return true;
    if (error.empty()) error = aborted_ ? "it was told to end" : error_;
    if (error.empty()) woken_ = false;
    lock.unlock();
    if (!error.empty()) fail(error);
    return broken_;
  }
  void interrupt(bool& flag) {
    const std::lock_guard lock(mutex_);
    flag = true;
    end_wait();
  }
  void end_wait() {
    if (!waited_) return;
    if (waited_->is_send)
      waited_->buffer->abortWaitSend();
    else
      waited_->buffer->abortWaitRecv();
  }

  // Peers hear of it, and nothing is read from the memory of messages or written there any more.
  void fail(const std::string& why) {
    if (std::exchange(broken_, true)) return;
    why_ = why;
    const std::lock_guard beginning(beginning_);
    {
      const std::lock_guard lock(mutex_);
      to_begin_.clear();
    }
    end_all(*context_);
  }

  const WireOptions options_;
  const std::shared_ptr<gloo::transport::tcp::Device> device_;
  std::shared_ptr<gloo::transport::Context> context_;
  int begun_ = -1;                 // tells Gloo's thread of to_begin_
  std::vector<Started> messages_;  // by handle
  std::vector<int> free_;          // handles
  bool broken_ = false;
  std::string why_;
  std::mutex beginning_;  // held while a message begins; before mutex_
  std::mutex mutex_;
  // Below: of whoever holds mutex_.
  std::deque<Started> to_begin_;
  std::string error_;  // of one that did not begin
  bool woken_ = false, aborted_ = false;
  const Started* waited_ = nullptr;
};

std::unique_ptr<Wire> make_gloo(const WireOptions& options) { return std::make_unique<GlooWire>(options); }

}  // namespace
}  // namespace espalier

extern "C" {
extern const espalier::WireModule espalier_wire_module;
const espalier::WireModule espalier_wire_module = {espalier::kWireVersion, espalier::make_gloo};
}
