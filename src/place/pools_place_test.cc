#include "place/pools_place.h"

#include <new>

#include <gtest/gtest.h>

#include "comm/local.h"

namespace espalier {
namespace {

// A strategy may be made where another was: programs of the dead one hold its pools.
TEST(PoolsPlace, OneInThePlaceOfAnotherHasAKeyOfItsOwn) {
  const auto ranks = local_communicators(2);
  const RunContext first({.threads = 1, .communicator = ranks[0].get()}),
      second({.threads = 1, .communicator = ranks[1].get()});
  alignas(PoolsPlace) std::byte memory[sizeof(PoolsPlace)];
  const auto make = [&] { return new (memory) PoolsPlace({&first, &second}); };
  PoolsPlace* place = make();
  const PlaceKey before = place->key;
  EXPECT_EQ(before, place->key);
  place->~PoolsPlace();
  place = make();
  EXPECT_NE(before, place->key);
  place->~PoolsPlace();
}

}  // namespace
}  // namespace espalier
