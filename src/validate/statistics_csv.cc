#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>

#include "base/format.h"
#include "base/shortened.h"
#include "base/thread_pool.h"
#include "espalier/error.h"
#include "validate/statistics.h"

namespace espalier {
namespace {

// Runs f, whose mistakes are those of `file`.
template <class F>
auto about(const TableFile& file, const F& f) {
  try {
    return f();
  } catch (const FormatError& error) {
    throw FormatError(error.rule(), cat(file.name, ": ", error.message()), error.fix());
  } catch (const ValueError& error) {
    throw ValueError(error.rule(), cat(file.name, ": ", error.message()), error.fix());
  }
}

// The blocks of all files in order, each to one thread.
class Feed {
 public:
  Feed(const std::vector<TableFile>& files, const StatisticsOptions& options)
      : files_(files), options_(options) {
    open(0);
  }

  struct Piece {
    int64_t number = 0;
    TableFile file;
    std::shared_ptr<const CsvBlocks> table;
    CsvBlock block;
  };
  // False at the end. `out.number` is set even when it raises.
  bool next(Piece& out) {
    const std::lock_guard lock(mutex_);
    out.number = count_++;
    for (; at_ < files_.size(); open(at_ + 1)) {
      if (!about(files_[at_], [&] { return table_->next(out.block); })) continue;
      out.file = files_[at_];
      out.table = table_;
      return true;
    }
    return false;
  }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void open(size_t file) {
    at_ = file;
    if (at_ >= files_.size()) return;
    table_ = about(files_[at_], [&] {
      return std::make_shared<CsvBlocks>(open_text(files_[at_].path), options_.csv, options_.block);
    });
    for (const std::string& note : table_->notes()) notes_.push_back(cat(files_[at_].name, ": ", note));
    if (at_ == 0) names_ = table_->names();
    if (table_->names() == names_) return;
    throw ValueError("stats.columns",
                     cat(files_[at_].name, ": its columns are not those of ", files_[0].name, difference()));
  }
  std::string difference() const {
    const std::vector<std::string>& other = table_->names();
    if (other.size() != names_.size()) return cat(": ", other.size(), " for ", names_.size());
    const auto [mine, theirs] = std::mismatch(names_.begin(), names_.end(), other.begin());
    return cat(": \"", shortened(*theirs), "\" for \"", shortened(*mine), "\"");
  }

  const std::vector<TableFile>& files_;
  const StatisticsOptions& options_;
  std::mutex mutex_;
  size_t at_ = 0;  // file
  int64_t count_ = 0;
  std::shared_ptr<CsvBlocks> table_;
  std::vector<std::string> names_, notes_;
};

// Whose turn it is: blocks are added to each column in order.
class Turns {
 public:
  explicit Turns(size_t count) : next_(count) {}
  // False when all is to end.
  bool wait(size_t which, int64_t block) {
    for (int64_t next = next_[which].load(); next != block; next = next_[which].load()) {
      if (next == kStopped) return false;
      next_[which].wait(next);
    }
    return true;
  }
  void pass(size_t which, int64_t block) {
    next_[which].compare_exchange_strong(block, block + 1);
    next_[which].notify_all();
  }
  void stop() {
    for (auto& next : next_) {
      next = kStopped;
      next.notify_all();
    }
  }

 private:
  static constexpr int64_t kStopped = std::numeric_limits<int64_t>::max();
  std::vector<std::atomic<int64_t>> next_;
};

// One reading of the files.
class Pass {
 public:
  // `wanted`: the columns that are read; `rows`: whether rows are counted.
  Pass(Feed& feed, const StatisticsOptions& options, TableStatistics& statistics, std::vector<bool> wanted,
       bool rows)
      : feed_(feed),
        options_(options),
        statistics_(statistics),
        wanted_(std::move(wanted)),
        rows_(rows),
        found_(wanted_.size()),
        turns_(wanted_.size() + 1) {}

  void run() {
    thread_pool().parallel_for(thread_pool().threads(), [&](int64_t) { work(); });
    if (error_) std::rethrow_exception(error_);
  }
  CellType found(size_t column) const { return found_[column].load(); }

 private:
  void work() {
    Feed::Piece piece;
    try {
      while (!failed_ && feed_.next(piece))
        if (!about(piece.file, [&] { return add(piece); })) return;
    } catch (...) {
      fail(piece.number);
    }
  }

  // The mistake that stands first in the files is raised.
  void fail(int64_t block) {
    {
      const std::lock_guard lock(mutex_);
      if (!error_ || block < failed_block_) {
        error_ = std::current_exception();
        failed_block_ = block;
      }
    }
    failed_ = true;
    turns_.stop();
  }

  bool add(Feed::Piece& piece) {
    const CsvRows cells(std::move(piece.block), *piece.table);
    const TableStatistics::Rows rows = statistics_.read(cells);
    const size_t last = wanted_.size();
    if (!turns_.wait(last, piece.number)) return false;
    if (rows_) statistics_.add_rows(rows);
    turns_.pass(last, piece.number);
    CellBatch batch;
    for (size_t column = 0; column < last; ++column) {
      if (!wanted_[column]) continue;
      const CellType type = statistics_.columns().types[column];
      const CellType met = found_[column].load();
      CellType found = met;
      if (met != CellType::kText || type == CellType::kText)
        found = std::max(found, read_cells(cells, static_cast<int64_t>(column), options_.empty, type, batch));
      if (!turns_.wait(column, piece.number)) return false;
      if (found <= type) statistics_.add_column(column, batch, rows);
      if (found > found_[column].load()) found_[column] = found;
      turns_.pass(column, piece.number);
    }
    return true;
  }

  Feed& feed_;
  const StatisticsOptions& options_;
  TableStatistics& statistics_;
  std::vector<bool> wanted_;
  bool rows_;
  std::vector<std::atomic<CellType>> found_;
  Turns turns_;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
  int64_t failed_block_ = 0;
};

// The types of the first block: most columns have no others.
std::vector<CellType> first_types(const std::vector<TableFile>& files, const StatisticsOptions& options) {
  Feed feed(files, options);
  std::vector<CellType> out(feed.names().size(), CellType::kInt);
  Feed::Piece piece;
  if (!feed.next(piece)) return out;
  about(piece.file, [&] {
    const CsvRows cells(std::move(piece.block), *piece.table);
    CellBatch batch;
    for (size_t i = 0; i < out.size(); ++i)
      out[i] =
          std::max(out[i], read_cells(cells, static_cast<int64_t>(i), options.empty, CellType::kInt, batch));
  });
  return out;
}

}  // namespace

TableStatistics statistics_of_csv(const std::vector<TableFile>& files, const StatisticsOptions& options) {
  Feed feed(files, options);
  TableStatistics out({feed.names(), first_types(files, options)}, options);
  const size_t columns = feed.names().size();
  std::vector<bool> wanted(columns, true);
  Pass first(feed, options, out, wanted, true);
  first.run();
  for (const std::string& note : feed.notes()) out.add_note(note);
  bool again = false;
  for (size_t i = 0; i < columns; ++i) {
    wanted[i] = first.found(i) > out.columns().types[i];
    again = again || wanted[i];
    if (wanted[i] || first.found(i) == CellType::kNone) out.restart(i, first.found(i));
  }
  if (!again) return out;
  Feed second(files, options);
  Pass(second, options, out, wanted, false).run();
  return out;
}

}  // namespace espalier
