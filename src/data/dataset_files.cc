#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>

#include "base/env.h"
#include "data/dataset_source.h"
#include "format/csv_numbers.h"
#include "format/idx.h"
#include "format/npy.h"
#include "ir/sink.h"

namespace espalier {
namespace {

// The files of a path or pattern, sorted.
std::vector<std::string> files_of(const std::string& pattern) {
  if (posix_env().exists(pattern) || pattern.find_first_of("*?[") == std::string::npos) return {pattern};
  glob_t found{};
  std::vector<std::string> out;
  const int failure = ::glob(pattern.c_str(), 0, nullptr, &found);
  for (size_t i = 0; i < found.gl_pathc; ++i) out.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  if (failure == 0 && !out.empty()) return out;
  throw IoError("from_files.pattern", cat("no file fits ", pattern));
}

// Of their names, sizes and times.
uint64_t hash_of(const std::vector<std::string>& paths) {
  uint64_t out = 0;
  for (const std::string& path : paths) {
    struct stat found = {};
    if (::stat(path.c_str(), &found) != 0) continue;
    for (const uint64_t part :
         {hash_text(path), static_cast<uint64_t>(found.st_size), static_cast<uint64_t>(found.st_mtim.tv_sec),
          static_cast<uint64_t>(found.st_mtim.tv_nsec)})
      out = hash_combine(out, part);
  }
  return out;
}

// Files that many iterators read.
struct Files {
  std::vector<std::string> paths;
  FileReader read;
};

// Rows of the files of a shard. A place is the number of a file in the shard and of a row in it.
class FileRows final : public DataSource {
 public:
  FileRows(std::shared_ptr<const Files> files, DataShard shard)
      : files_(std::move(files)), shard_(shard), file_(shard.index) {}

  std::optional<Tensors> next() override {
    if (!open()) return std::nullopt;
    Tensors element;
    // Copies: a row that is kept does not keep its file.
    for (size_t i = 0; i < arrays_.size(); ++i) {
      const auto* from = static_cast<const std::byte*>(arrays_[i].bytes());
      const size_t bytes = types_[i].bytes();
      element.push_back(Tensor::from_bytes(types_[i], from + static_cast<size_t>(row_) * bytes));
    }
    ++row_;
    return element;
  }

  int64_t skip(int64_t count) override {
    int64_t skipped = 0;
    while (skipped < count && open()) {
      const int64_t passed = std::min(count - skipped, rows_ - row_);
      row_ += passed;
      skipped += passed;
    }
    return skipped;
  }

  std::optional<std::string> save() override {
    return row_ < rows_ ? cat(file_ - shard_.count, " ", row_) : cat(file_, " 0");
  }

  void restore(std::string_view bytes) override {
    int64_t file = -1, row = -1;
    const char* const end = bytes.data() + bytes.size();
    const auto [space, error] = std::from_chars(bytes.data(), end, file);
    if (error == std::errc() && space != end && *space == ' ') {
      const auto [last, row_error] = std::from_chars(space + 1, end, row);
      if (row_error != std::errc() || last != end) row = -1;
    }
    const auto files = static_cast<int64_t>(files_->paths.size());
    const int64_t most_file = files + shard_.count;
    if (file < 0 || row < 0 || file % shard_.count != shard_.index || file >= most_file)
      throw FormatError("from_files.restore",
                        cat("a place in ", files, " files must be the numbers of a file of shard ",
                            shard_.index, " of ", shard_.count, " and of a row, got \"", bytes, "\""));
    file_ = file;
    rows_ = row_ = 0;
    if (row == 0) return;
    if (file_ < files) read_file();
    if (row >= rows_) {
      throw FormatError("from_files.restore",
                        cat("the place is row ", row, " of file ", file, ", which has ", rows_, " rows"));
    }
    row_ = row;
  }

 private:
  // Whether there is a row, perhaps of the next file.
  bool open() {
    while (row_ == rows_ && file_ < static_cast<int64_t>(files_->paths.size())) read_file();
    if (row_ < rows_) return true;
    arrays_.clear();
    return false;
  }

  void read_file() {
    const std::string& path = files_->paths[static_cast<size_t>(file_)];
    file_ += shard_.count;
    arrays_.clear();
    arrays_ = files_->read(path);
    check_element(arrays_, "the reader");
    rows_ = common_rows("from_files.rows", arrays_, path + ": ");
    row_ = 0;
    check_signature(path);
  }

  void check_signature(const std::string& path) {
    std::vector<TensorType> types = row_types(arrays_);
    if (types_.empty()) {
      types_ = std::move(types);
      first_ = path;
    } else if (types != types_) {
      throw ShapeError("from_files.signature",
                       cat("all files must have the same rows: those of ", first_, " are ",
                           types_text(types_), ", those of ", path, " are ", types_text(types)));
    }
  }

  std::shared_ptr<const Files> files_;
  DataShard shard_;
  int64_t file_;  // that is read next
  Tensors arrays_;
  int64_t row_ = 0, rows_ = 0;
  std::vector<TensorType> types_;  // of a row
  std::string first_;              // the file whose rows they are
};

}  // namespace

Tensors read_rows(const std::string& path, Location at) {
  const CallScope scope(at);
  std::string_view name = path;
  if (name.ends_with(".npy")) return {make_concrete(read_npy(path))};
  if (name.ends_with(".gz")) name.remove_suffix(3);
  if (name.ends_with("-ubyte")) return {make_concrete(read_idx(path))};
  if (name.ends_with(".csv")) {
    try {
      return {make_concrete(read_csv_numbers(path))};
    } catch (const FormatError& error) {
      if (error.rule() == "csv.exact") {
        throw FormatError(
            error.rule(), error.message(),
            "keep whole numbers in a .npy of i64 or f64, whose dtype read_rows() keeps; read_csv() "
            "gives cells as text");
      }
      if (error.rule() != "csv.number") throw;
      throw FormatError(error.rule(), error.message(),
                        "a file here is numbers alone, without a header: read_csv() takes one with names or "
                        "text, and a ColumnProgram makes tensors of it");
    }
  }
  throw ValueError("read_rows.path",
                   cat(path,
                       " must end in .npy, -ubyte or .csv, the latter two perhaps "
                       "with .gz"),
                   "give from_files() a reader");
}

Dataset Dataset::from_files(const std::vector<std::string>& paths, FileReader reader, FilesOptions options,
                            Location at) {
  const CallScope scope(at);
  if (!reader) throw ValueError("from_files.reader", "the function is empty");
  auto files = std::make_shared<Files>();
  files->read = std::move(reader);
  for (const std::string& path : paths) {
    const auto found = files_of(path);
    files->paths.insert(files->paths.end(), found.begin(), found.end());
  }
  SourceFormat format{
      "from_files",
      cat(files->paths.size(), " files", options.shards == 1 ? "" : cat(" in ", options.shards, " shards")),
      options.shards,
      std::nullopt,
      false,
      [files] { return hash_of(files->paths); }};
  if (files->paths.empty()) format.elements = 0;
  return make<SourceNode>(
      [files](DataShard shard, uint64_t) { return std::make_unique<FileRows>(files, shard); },
      std::move(format), at);
}

}  // namespace espalier
