#include <glob.h>

#include "base/env.h"
#include "data/dataset_node.h"
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

class FilesNode final : public DatasetNode {
 public:
  FilesNode(const std::vector<std::string>& paths, FileReader reader, Location at)
      : DatasetNode({}, at), reader_(std::move(reader)) {
    if (!reader_) throw ValueError("from_files.reader", "the function is empty");
    for (const std::string& path : paths) {
      const auto files = files_of(path);
      files_.insert(files_.end(), files.begin(), files.end());
    }
  }
  ElementIteratorPtr iterate(const DatasetPass&) const override;
  int64_t cardinality() const override { return files_.empty() ? 0 : Dataset::kUnknown; }
  std::string text() const override { return cat("from_files(", files_.size(), " files)"); }
  const std::vector<std::string>& files() const { return files_; }
  Tensors read(const std::string& path) const { return reader_(path); }

 private:
  std::vector<std::string> files_;
  FileReader reader_;
};

class FileRows final : public ElementIterator {
 public:
  explicit FileRows(const FilesNode& node) : node_(node) {}

  bool next(Tensors& element) override {
    if (!open()) return false;
    element.clear();
    // Copies: a row that is kept does not keep its file.
    for (size_t i = 0; i < arrays_.size(); ++i) {
      const auto* from = static_cast<const std::byte*>(arrays_[i].bytes());
      const size_t bytes = types_[i].bytes();
      element.push_back(Tensor::from_bytes(types_[i], from + static_cast<size_t>(row_) * bytes));
    }
    ++row_;
    return true;
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

 private:
  // Whether there is a row, perhaps of the next file.
  bool open() {
    while (row_ == rows_ && file_ < node_.files().size()) {
      const CallScope scope(node_.at());
      const std::string& path = node_.files()[file_++];
      arrays_.clear();
      arrays_ = node_.read(path);
      check_element(arrays_, "the reader");
      rows_ = common_rows("from_files.rows", arrays_, path + ": ");
      row_ = 0;
      check_signature(path);
    }
    if (row_ < rows_) return true;
    arrays_.clear();
    return false;
  }

  void check_signature(const std::string& path) {
    std::vector<TensorType> types = row_types(arrays_);
    if (file_ == 1) {
      types_ = std::move(types);
    } else if (types != types_) {
      throw ShapeError("from_files.signature",
                       cat("all files must have the same rows: those of ", node_.files()[0], " are ",
                           types_text(types_), ", those of ", path, " are ", types_text(types)));
    }
  }

  const FilesNode& node_;
  size_t file_ = 0;
  Tensors arrays_;
  int64_t row_ = 0, rows_ = 0;
  std::vector<TensorType> types_;  // of a row
};

ElementIteratorPtr FilesNode::iterate(const DatasetPass&) const { return std::make_unique<FileRows>(*this); }

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

Dataset Dataset::from_files(const std::vector<std::string>& paths, FileReader reader, Location at) {
  const CallScope scope(at);
  return make<FilesNode>(paths, std::move(reader), at);
}

}  // namespace espalier
