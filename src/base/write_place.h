// Where a file is written, found so that no other user of the host can lead it elsewhere.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/own_folder.h"

namespace espalier {

// An open folder and a name in it. What is done goes through the folder, whatever its path stands for by
// then. Links on the way are followed where this user or root made them; one of another user is refused,
// since whoever may write into a folder of the path (/tmp, say) would choose the file that is overwritten.
class WritePlace {
 public:
  enum class Last { kFollow, kKeep };
  enum class Missing { kRefuse, kMake };

  // `verb` is for errors: "write", "make", "remove". With Last::kKeep the last name may be a link, and stands
  // for itself. With Missing::kMake folders above the last name are made. Raises IoError[file.<verb>], and
  // IoError[file.link] for a link of another user.
  WritePlace(const std::string& path, const char* verb, Last last = Last::kFollow,
             Missing missing = Missing::kRefuse);

  int folder() const { return folder_.number(); }
  const std::string& name() const { return name_; }
  // As the caller named it.
  const std::string& path() const { return path_; }
  // What /dev/stdout, /dev/fd/1 and the like stand for: an open file of this process, not a name.
  const Descriptor& stream() const { return stream_; }
  // Of what has the name now. Nothing where nothing has.
  std::optional<struct stat> status() const;

  [[noreturn]] void fail(int reason) const;

 private:
  void find(Last last, Missing missing);
  std::optional<std::string> walk(const std::vector<std::string>& names, Last last, Missing missing);
  void refuse_link(const std::string& link, const std::string& target, uid_t owner) const;
  void name_folder();

  std::string path_;
  const char* verb_;
  Descriptor folder_, stream_;
  std::string name_;
};

// Raises IoError[file.<verb>] that names the path and the reason of the system.
[[noreturn]] void raise_file_error(const char* verb, const std::string& path, int reason);

// What another process has open under this number, open here for reading and writing; not open, with errno,
// where the system does not let this user.
Descriptor open_of_process(int64_t process, int number);

// Whether what has this owner was made by nobody but this user or root.
bool is_of_us(uid_t owner);

}  // namespace espalier
