// Callbacks that decide about training, so that all workers of a run are to have the same ones.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "espalier/model.h"

namespace espalier {

class DecidingCallback : public Callback {
 public:
  // "EarlyStopping".
  virtual std::string name() const = 0;
  // Values by name.
  virtual std::map<std::string, std::string> options() const { return {}; }
};

// What says which of them there are: "EarlyStopping" is "set", "EarlyStopping patience" is "3". The second of
// a name is "EarlyStopping 2". Others are not looked at.
std::map<std::string, std::string> facts_of(std::span<const std::shared_ptr<Callback>> callbacks);

}  // namespace espalier
