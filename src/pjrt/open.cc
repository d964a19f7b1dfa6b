#include "pjrt/open.h"

#include <map>
#include <mutex>

#include "base/format.h"
#include "pjrt/find.h"

namespace espalier::pjrt {

ClientPtr open_device(const std::string& name, const std::vector<std::string>& plugins) {
  const Found found = find_plugin(name, plugins);
  if (const std::string why = missing_driver(found); !why.empty())
    throw DeviceError("device.client", cat(found.path, " has no device: ", why));
  static std::mutex mutex;
  // Kept until the process ends: a plugin's threads are.
  static auto* const clients = new std::map<const Plugin*, ClientPtr>;
  const Plugin& plugin = Plugin::load(found.path);
  const std::lock_guard<std::mutex> lock(mutex);
  ClientPtr& client = (*clients)[&plugin];
  if (!client) client = Client::create(plugin, found.name);
  return client;
}

}  // namespace espalier::pjrt
