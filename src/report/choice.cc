#include "report/choice.h"

#include "base/format.h"

namespace espalier {

Html choice(const std::string& id, const std::string& label, const std::vector<ChoicePanel>& panels) {
  Html options, shown;
  for (const ChoicePanel& panel : panels) {
    options += element("option", panel.name);
    shown += element("div", {{"class", "panel"}},
                     element("p", {{"class", "panel-name"}}, panel.name) + panel.content);
  }
  const Html select = element("label", {{"for", id}}, cat(label, " ")) +
                      element("select", {{"id", id}, {"autocomplete", "off"}}, options);
  return element("div", {{"class", "choice"}}, element("p", {{"class", "scripted"}}, select) + shown);
}

}  // namespace espalier
