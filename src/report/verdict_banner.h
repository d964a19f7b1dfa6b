// What a page says first.
#pragma once

#include <string>
#include <vector>

#include "report/html.h"

namespace espalier {

// The worst first; of what warns or is waived a release does not stop.
enum class Standing { kBlocked, kUndecided, kWarns, kWaived, kPass, kUnjudged };

struct VerdictItem {
  Standing standing = Standing::kBlocked;
  std::string what;           // "true positive rate, sex=Female"
  std::string number, limit;  // "0.53, gap 0.09 (95 % interval 0.04 to 0.13)", "0.05"; limit may be ""
  std::string note = {};      // "waived by A. Person until 2031-12-31: we know"
  std::string next = {};      // one command
  std::string link = {};      // the id of the section that tells more; a page without it links nothing
};
struct VerdictBanner {
  Standing standing = Standing::kUnjudged;
  std::string word;                     // "Blocked"
  std::string sentence;                 // that says why in full
  std::vector<VerdictItem> items = {};  // the worst first: the first three are open
  std::string next = {};                // the command after this
};
Html drawn(const VerdictBanner& verdict);

}  // namespace espalier
