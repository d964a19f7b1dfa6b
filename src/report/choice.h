// One of several panels, chosen by a person.
#pragma once

#include <string>
#include <vector>

#include "report/html.h"

namespace espalier {

struct ChoicePanel {
  std::string name;
  Html content;
};
// The first is open. Without scripts all panels show, each below its name.
Html choice(const std::string& id, const std::string& label, const std::vector<ChoicePanel>& panels);

}  // namespace espalier
