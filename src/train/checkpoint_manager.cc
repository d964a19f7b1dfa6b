#include <algorithm>
#include <cstring>

#include "base/env.h"
#include "base/format.h"
#include "espalier/checkpoint.h"
#include "ir/sink.h"
#include "nn/seed.h"
#include "strategy/replicas.h"
#include "train/checkpoint_folder.h"
#include "train/checkpoint_writer.h"
#include "train/tracked_things.h"

namespace espalier {

namespace {

// Of the scope, or of a dataset that a strategy shares out; null: this process is alone.
std::shared_ptr<Replicas> replicas_of(const std::vector<Tracked>& tracked) {
  if (current_replicas()) return current_replicas();
  for (const Tracked& thing : tracked)
    if (const auto* const batches = std::get_if<DistributedDataset*>(&thing.is()))
      return (*batches)->replicas();
  return nullptr;
}

}  // namespace

struct CheckpointManager::Impl {
  Impl(std::string path, std::vector<Tracked> tracked, CheckpointManagerOptions given)
      : folder(std::move(path)),
        replicas(replicas_of(tracked)),
        things(std::move(tracked)),
        options(given),
        hosts(replicas ? replicas->hosts() : HostCollectives()),
        writer(replicas && replicas->host() ? replicas->host()->pool : RunContext::current().pool) {
    if (folder.path().empty()) throw ValueError("checkpoint.folder", "there is no path of a folder");
    if (options.max_to_keep < 0)
      throw ValueError("checkpoint.max_to_keep",
                       cat("max_to_keep must not be negative, got ", options.max_to_keep));
  }

  bool chief() const { return hosts.rank() == 0; }
  void says(Stage stage) const {
    if (replicas) replicas->says(stage);
  }

  // What worker 0 has in its folder: the newest number, 0 for none, and with `read` the bytes of that file.
  struct Newest {
    int64_t number = 0;
    std::string bytes = {};
  };
  Newest newest(bool read) const {
    Newest out;
    struct Head {
      int64_t number = 0;
      uint64_t bytes = 0, failed = 0;
    } head;
    std::string rule;
    if (chief()) {
      try {
        const std::vector<int64_t> numbers = folder.numbers();
        head.number = numbers.empty() ? 0 : numbers.back();
        if (head.number && read) out.bytes = posix_env().read_file(folder.file(head.number));
      } catch (const IoError& error) {
        rule = error.rule();
        out.bytes = error.message();
        head.failed = rule.size();
        out.bytes = rule + out.bytes;
      }
      head.bytes = out.bytes.size();
    }
    head = hosts.of_each("checkpoint", head)[0];
    out.number = head.number;
    if (hosts.world() > 1 && head.bytes > 0) {
      const TensorType type{DType::kU8, {static_cast<int64_t>(head.bytes)}};
      Literal own(type, allocate_buffer(head.bytes));
      std::memcpy(own.buffer().get(), out.bytes.data(), out.bytes.size());
      const EagerScope eager;
      const Variable sent(make_concrete(own), {.name = "checkpoint", .trainable = false});
      hosts.broadcast({&sent, 1});
      const Tensor all = sent.read();
      out.bytes.assign(static_cast<const char*>(all.bytes()), head.bytes);
    }
    if (head.failed) throw IoError(out.bytes.substr(0, head.failed), out.bytes.substr(head.failed));
    return out;
  }

  std::optional<int64_t> restore() {
    writer.finish();
    const Newest found = newest(true);
    if (found.number) {
      try {
        things.restore(checkpoint_in(found.bytes, folder.file(found.number)), folder.file(found.number));
      } catch (const FormatError& error) {
        throw FormatError(error.rule(), error.message(), "remove the file to go on from the one before it");
      }
    }
    number = found.number;
    return found.number ? std::optional(found.number) : std::nullopt;
  }

  int64_t save() {
    if (!number) number = newest(false).number;
    Checkpoint out{.seed = seed(), .cursor = things.places()};
    const NamedVariables variables = things.variables();
    if (replicas) {
      std::vector<Variable> all;
      for (const auto& [name, variable] : variables) all.push_back(variable);
      replicas->audits().require_equal_in("save", all, {});
    }
    std::vector<NamedArray> waiting = things.waiting();
    const int64_t now = ++*number;
    if (!chief()) return now;
    out.variables = std::move(waiting);
    writer.finish();
    if (!prepared) folder.prepare();
    prepared = true;
    writer.write(folder.file(now), std::move(out), variables,
                 [folder = folder, most = options.max_to_keep] { folder.keep(most); });
    if (replicas && replicas->membership().goes()) writer.finish();
    return now;
  }

  const CheckpointFolder folder;
  const std::shared_ptr<Replicas> replicas;
  TrackedThings things;
  const CheckpointManagerOptions options;
  const HostCollectives hosts;
  std::optional<int64_t> number;  // of the newest, the same on all workers; not known at first
  bool prepared = false;
  CheckpointWriter writer;
};

CheckpointManager::CheckpointManager(std::string folder, std::vector<Tracked> tracked,
                                     CheckpointManagerOptions options, Location at) {
  const CallScope scope(at);
  impl_ = std::make_unique<Impl>(std::move(folder), std::move(tracked), options);
}

CheckpointManager::~CheckpointManager() = default;

std::optional<int64_t> CheckpointManager::restore(Location at) {
  const CallScope scope(at);
  return impl_->restore();
}

int64_t CheckpointManager::save(Location at) {
  const CallScope scope(at);
  impl_->says(Stage::kSave);
  const int64_t out = impl_->save();
  impl_->says(Stage::kCallback);
  return out;
}

void CheckpointManager::finish(Location at) {
  const CallScope scope(at);
  impl_->writer.finish();
}

std::optional<std::string> CheckpointManager::latest() const {
  if (!impl_->number.value_or(0)) return std::nullopt;
  return impl_->folder.file(*impl_->number);
}

}  // namespace espalier
