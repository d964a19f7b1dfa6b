// Pages in a browser without a window.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "base/comes_true_test.h"
#include "base/format.h"

namespace espalier {

inline bool has_chromium() { return std::system("chromium --version > /dev/null 2>&1") == 0; }

inline std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Opened {
  std::string dom;       // as it stands after the scripts
  std::string messages;  // lines of the console
  std::string requests;  // addresses that the page asked for, itself left out
};

// Opens a file of `folder`, an absolute path, in a browser whose own files go there too.
inline Opened open_in_chromium(const std::string& folder, const std::string& file,
                               const std::string& flags = "") {
  const std::string log = folder + "/net.json", dom = folder + "/dom.html", errors = folder + "/errors";
  const std::string command =
      cat("timeout ", kTooLong,
          " chromium --headless --no-sandbox --disable-gpu --disable-background-networking "
          "--disable-component-update --no-first-run --host-resolver-rules='MAP * ~NOTFOUND' "
          "--user-data-dir='",
          folder, "/profile' --enable-logging=stderr --log-net-log='", log,
          "' --net-log-capture-mode=Everything --window-size=1400,1100 --virtual-time-budget=5000 ", flags,
          " --dump-dom 'file://", folder, "/", file, "' > '", dom, "' 2> '", errors, "'");
  Opened out;
  if (std::system(command.c_str()) != 0) return out;
  out.dom = contents(dom);
  std::ifstream lines(errors);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(":CONSOLE") != line.npos) out.messages += line + "\n";
  }
  // The browser asks for things of its own; what pages ask for goes through blink_resource_loader, whose
  // number this is.
  const std::string net = contents(log), mark = "\"traffic_annotation\":101845102,\"url\":\"";
  for (size_t at = net.find(mark); at != net.npos; at = net.find(mark, at + 1)) {
    const size_t begin = at + mark.size();
    out.requests += net.substr(begin, net.find('"', begin) - begin) + "\n";
  }
  return out;
}

// What the element of this id holds, as text without markup in it.
inline std::string text_of_id(const std::string& dom, const std::string& id) {
  const size_t at = dom.find(cat("id=\"", id, "\""));
  if (at == dom.npos) return "";
  const size_t begin = dom.find('>', at) + 1;
  return dom.substr(begin, dom.find('<', begin) - begin);
}

}  // namespace espalier
