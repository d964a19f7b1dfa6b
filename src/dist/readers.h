// Workers as the readers of a source that they share out.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "data/dataset_shards.h"
#include "dist/replicas.h"

namespace espalier {

// One reader that reads all where there is one worker. REQUIRES: the readers do not outlive `replicas`.
inline Readers readers_of(const Replicas* replicas) {
  if (!replicas || replicas->workers() == 1) return {};
  return {replicas->worker(), replicas->workers(), [replicas](std::string_view name, std::string_view mine) {
            std::string all(mine.size() * static_cast<size_t>(replicas->workers()), '\0');
            replicas->all_gather(name, std::as_bytes(std::span(mine)),
                                 reinterpret_cast<std::byte*>(all.data()));
            return all;
          }};
}

}  // namespace espalier
