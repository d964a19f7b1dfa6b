#include "pjrt/find.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "base/format.h"
#include "base/shortened.h"
#include "base/split.h"
#include "espalier/error.h"
#include "pjrt/nvml.h"

namespace espalier::pjrt {
namespace {

namespace fs = std::filesystem;

// Below a folder of Python packages; a * stands for what follows in a folder's name.
struct Wheel {
  const char* kind;
  const char* folder;
  const char* prefix;  // of folders in it that hold one; "" for itself
  const char* file;
};
constexpr Wheel kWheels[] = {
    {"cuda", "jax_plugins", "xla_cuda", "xla_cuda_plugin.so"},
    {"rocm", "jax_plugins", "xla_rocm", "xla_rocm_plugin.so"},
    {"tpu", "libtpu", "", "libtpu.so"},
    {"xla-cpu", "lammps_jax_pjrt_cpu", "", "pjrt_c_api_cpu_plugin.so"},
    {"xla-cpu", "fastatomstruct_xla_cpu", "", "libpjrt_cpu.so"},
    {"xla-cpu", "xla_plugins/xla_cpu_pjrt", "", "xla_cpu_pjrt.so"},
};

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
       !error && it != end; it.increment(error))
    out.push_back(it->path());
  std::ranges::sort(out);
  return out;
}

std::vector<fs::path> package_folders() {
  std::vector<fs::path> out;
  const auto add = [&](const fs::path& library, const char* packages) {
    for (const fs::path& version : sorted_entries(library)) {
      if (version.filename().string().starts_with("python3")) out.push_back(version / packages);
    }
  };
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const char* const environment = std::getenv(variable);
    if (!environment || !*environment) continue;
    add(fs::path(environment) / "lib", "site-packages");
    return out;
  }
  if (const char* home = std::getenv("HOME"); home && *home)
    add(fs::path(home) / ".local/lib", "site-packages");
  for (const char* prefix : {"/usr/local/lib", "/usr/lib"}) {
    add(prefix, "site-packages");
    add(prefix, "dist-packages");
  }
  return out;
}

std::string kind_of(const std::string& path) {
  const std::string file = fs::path(path).filename().string();
  const auto has = [&](const char* part) { return file.find(part) != file.npos; };
  if (has("cuda")) return "cuda";
  if (has("rocm")) return "rocm";
  if (has("tpu")) return "tpu";
  if (has("cpu")) return "xla-cpu";
  return "";
}

bool is_gpu(const std::string& kind) { return kind == "cuda" || kind == "rocm"; }
std::string device_name(const std::string& kind, const std::string& path) {
  if (is_gpu(kind)) return "gpu";
  return kind.empty() ? fs::path(path).stem().string() : kind;
}
// A name without a folder is of a file here, not one that the system's loader looks for.
Found found_at(const std::string& path, const char* from) {
  const std::string kind = kind_of(path);
  std::error_code error;
  const bool here = path.find('/') == path.npos && fs::exists(path, error);
  return {device_name(kind, path), kind, here ? "./" + path : path, from};
}
bool is_there(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// One a chip.
size_t tpu_files() {
  size_t accelerators = 0, groups = 0;
  for (const fs::path& entry : sorted_entries("/dev"))
    accelerators += entry.filename().string().starts_with("accel");
  for (const fs::path& entry : sorted_entries("/dev/vfio")) groups += entry.filename().string() != "vfio";
  return std::max(accelerators, groups);
}

// How many devices XLA for CPUs makes of this machine.
constexpr char kCpuDevices[] = "ESPALIER_XLA_CPU_DEVICES";

bool is_file_name(const std::string& name) { return name.find('/') != name.npos || name.ends_with(".so"); }

// Without blanks around them, each as plain_name() has it.
std::vector<std::string> split_at_commas(const std::string& names) {
  std::vector<std::string> out;
  for (const std::string_view part : split_at(names, ','))
    out.push_back(plain_name(std::string(without_blanks_around(part))));
  return out;
}

// What somebody lacks who asks for a device of a kind that no plugin was found for.
std::string missing_plugin(const std::string& base) {
  if (base == "gpu" || base == "cuda")
    return "no plugin for GPUs was found: pip install jax-cuda13-pjrt, or name one by --plugin or "
           "ESPALIER_PJRT_PLUGINS";
  if (base == "rocm")
    return "no plugin for AMD GPUs was found: pip install jax-rocm7-pjrt, or name one by --plugin or "
           "ESPALIER_PJRT_PLUGINS";
  if (base == "tpu")
    return "no plugin for TPUs was found: pip install libtpu, or name one by --plugin or "
           "ESPALIER_PJRT_PLUGINS";
  if (base == "xla-cpu")
    return "no plugin of XLA for CPUs was found: pip install lammps-jax-pjrt-cpu, or name one by --plugin or "
           "ESPALIER_PJRT_PLUGINS";
  return "";
}

}  // namespace

int64_t cpu_devices_asked() {
  const char* const given = std::getenv(kCpuDevices);
  if (!given || !*given) return 1;
  int devices = 0;
  const char* const end = given + std::string_view(given).size();
  const auto [rest, error] = std::from_chars(given, end, devices);
  if (error != std::errc() || rest != end || devices < 1 || devices > 1024)
    throw ValueError("device.count", cat(kCpuDevices, " is \"", given,
                                         "\", and needed is a number of devices from 1 to 1024"));
  return devices;
}

std::vector<Found> find_plugins(const std::vector<std::string>& given) {
  std::vector<Found> out;
  std::vector<fs::path> seen;
  const auto add = [&](Found found) {
    std::error_code unknown;
    const fs::path real = fs::weakly_canonical(found.path, unknown);
    if (std::ranges::count(seen, real)) return;
    seen.push_back(real);
    const std::string name = found.name;
    for (int next = 2; std::ranges::count(out, found.name, &Found::name); ++next)
      found.name = cat(name, ".", next);
    out.push_back(std::move(found));
  };
  for (const std::string& path : given) add(found_at(path, "--plugin"));
  if (const char* listed = std::getenv("ESPALIER_PJRT_PLUGINS")) {
    for (const std::string_view path : split_at(listed, ':'))
      if (!path.empty()) add(found_at(std::string(path), "ESPALIER_PJRT_PLUGINS"));
  }
  for (const fs::path& packages : package_folders()) {
    for (const Wheel& wheel : kWheels) {
      const fs::path folder = packages / wheel.folder;
      std::vector<fs::path> holders = {folder};
      if (*wheel.prefix) {
        holders = sorted_entries(folder);
        std::erase_if(holders, [&](const fs::path& path) {
          return !path.filename().string().starts_with(wheel.prefix);
        });
      }
      for (const fs::path& holder : holders) {
        const fs::path file = holder / wheel.file;
        std::error_code error;
        if (fs::exists(file, error))
          add({device_name(wheel.kind, ""), wheel.kind, file.string(), packages.string()});
      }
    }
  }
  return out;
}

std::string plain_name(const std::string& name) {
  static constexpr std::string_view kPlace = "/device:";
  std::string out = name;
  if (out.starts_with(kPlace))
    out.erase(0, kPlace.size());
  else if (const std::string base = out.substr(0, out.rfind(':'));
           out.starts_with('/') && out.find('/', 1) == out.npos && !base.ends_with(".so") && !is_there(base))
    out.erase(0, 1);
  if (is_file_name(out)) return name;
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return c == '_' ? '-' : std::tolower(c); });
  return out == "cpu:0" ? "cpu" : out;
}

FoundDevice find_device(const std::string& wanted, const std::vector<std::string>& given) {
  FoundDevice out;
  for (const std::string& path : given)
    if (!is_there(path))
      throw DeviceError("device.plugin", cat("there is no plugin ", path, ": it is no file"));
  const std::vector<Found> all = find_plugins(given);
  const auto has = [&](const std::string& name) {
    const std::string plugin = name.substr(0, name.rfind(':'));
    return std::ranges::any_of(
        all, [&](const Found& found) { return found.name == name || found.name == plugin; });
  };
  const std::string name = has(wanted) ? wanted : plain_name(wanted);
  std::string base = name;
  if (const size_t colon = name.rfind(':'); colon != name.npos) {
    const char *begin = name.data() + colon + 1, *end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(begin, end, out.number);
    if (error == std::errc() && rest == end) base = name.substr(0, colon);
  }
  for (const Found& found : all) {
    if (found.name == base || found.kind == base || found.path == base) {
      out.plugin = found;
      return out;
    }
  }
  if (is_file_name(base)) {
    out.plugin = found_at(base, "--device");
    return out;
  }
  if (base == "cpu")
    throw DeviceError(
        "device.unknown",
        cat("there is no device \"", shortened(name), "\": the CPU is one device, \"cpu\", with all cores"),
        "--device cpu --strategy mirrored --devices 2, for two replicas that share its cores");
  std::string known, missing_file;
  for (const Found& found : all) {
    if (is_there(found.path))
      known += cat(known.empty() ? "" : ", ", found.name);
    else
      missing_file += cat("; ", found.from, " names ", found.path, ", which is no file");
  }
  if (const std::string missing = missing_plugin(base); missing_file.empty() && !missing.empty())
    throw DeviceError("device.unknown", cat("there is no device \"", shortened(name), "\": ", missing),
                      "espalier devices");
  throw DeviceError("device.unknown",
                    cat("there is no device \"", shortened(name), "\": ",
                        known.empty() ? std::string("no PJRT plugin was found beside our own cpu")
                                      : cat("known are cpu, ", known),
                        missing_file),
                    "espalier devices");
}

std::vector<std::string> single_devices(const std::string& names) {
  const size_t colon = names.rfind(':');
  const bool listed = colon != names.npos && names.find_first_not_of("0123456789,-", colon + 1) == names.npos;
  if (!listed && names.find(',') == names.npos) return {names};
  std::vector<std::string> parts = split_at_commas(names);
  const auto has_comma_of_its_own = [](const std::string& part) {
    const std::string base = part.substr(0, part.rfind(':'));
    return is_file_name(base) && !is_there(base);
  };
  if (is_file_name(names) && std::ranges::any_of(parts, has_comma_of_its_own)) {
    // A file's name may have commas, but not behind the number of its device.
    if (!listed) return {names};
    const size_t end = std::min(names.find(',', colon), names.size());
    parts = {names.substr(0, end)};
    if (end < names.size())
      std::ranges::move(split_at_commas(names.substr(end + 1)), std::back_inserter(parts));
  }
  std::vector<std::string> out;
  std::string base;
  const auto fail = [&](const std::string& part) {
    throw ValueError("device.several",
                     cat("\"", shortened(names), "\" lists devices, and \"", shortened(part),
                         "\" is none: gpu:0,gpu:2, gpu:0,2 and gpu:0-3 are lists"));
  };
  for (const std::string& part : parts) {
    const size_t number = part.rfind(':');
    if (number != part.npos) base = part.substr(0, number);
    const std::string text = part.substr(number == part.npos ? 0 : number + 1);
    unsigned first = 0, last = 0;
    const char* const stop = text.data() + text.size();
    auto [rest, error] = std::from_chars(text.data(), stop, first);
    if (error != std::errc() || base.empty()) fail(part);
    last = first;
    if (rest != stop && *rest == '-') {
      const auto range = std::from_chars(rest + 1, stop, last);
      rest = range.ptr;
      if (range.ec != std::errc()) fail(part);
    }
    constexpr unsigned kMost = 1024, kLast = 1u << 20;
    if (rest != stop || last < first || last - first >= kMost || last > kLast) fail(part);
    for (unsigned i = first; i <= last; ++i) out.push_back(cat(base, ":", i));
  }
  return out;
}

std::string joined_name(const std::vector<std::string>& names) {
  std::vector<int> numbers;
  std::string base, list;
  for (const std::string& name : names) {
    const size_t colon = name.rfind(':');
    base = name.substr(0, colon);
    const std::string number = name.substr(colon + 1);
    numbers.push_back(std::stoi(number));
    list += cat(list.empty() ? "" : ",", number);
  }
  const bool run =
      std::ranges::adjacent_find(numbers, [](int a, int b) { return b != a + 1; }) == numbers.end();
  return cat(base, ":", run ? cat(numbers.front(), "-", numbers.back()) : list);
}

std::string missing_driver(const Found& plugin) {
  std::error_code error;
  if (plugin.kind == "cuda" && !fs::exists("/dev/nvidiactl", error))
    return "no NVIDIA driver: there is no /dev/nvidiactl; in a container, give it the GPUs (--gpus all)";
  if (plugin.kind == "rocm" && !fs::exists("/dev/kfd", error)) return "no AMD driver: there is no /dev/kfd";
  if (plugin.kind == "tpu" && tpu_files() == 0) return "no TPU: there is neither /dev/accel* nor /dev/vfio/*";
  return "";
}

std::vector<KnownDevice> known_devices(const Found& plugin) {
  if (!missing_driver(plugin).empty()) return {};
  std::vector<KnownDevice> out;
  if (plugin.kind == "cuda") {
    for (const Gpu& gpu : visible_gpus(nvidia_gpus().gpus, std::getenv("CUDA_VISIBLE_DEVICES")))
      out.push_back({cat(gpu.name, ", compute capability ", gpu.major, ".", gpu.minor), gpu.memory_bytes});
  }
  // Without the management library: as many as the driver has files for.
  if (plugin.kind == "cuda" && out.empty() && !std::getenv("CUDA_VISIBLE_DEVICES")) {
    for (const fs::path& entry : sorted_entries("/dev")) {
      const std::string name = entry.filename().string();
      if (name.starts_with("nvidia") && name.size() > 6 && std::isdigit(static_cast<unsigned char>(name[6])))
        out.push_back({});
    }
  }
  if (plugin.kind == "tpu") out.resize(tpu_files());
  if (plugin.kind == "xla-cpu") out.resize(static_cast<size_t>(cpu_devices_asked()));
  if (out.empty()) out.resize(1);
  return out;
}

}  // namespace espalier::pjrt
