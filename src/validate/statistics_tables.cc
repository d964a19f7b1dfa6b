#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/format.h"
#include "base/shortened.h"
#include "base/thread_pool.h"
#include "espalier/error.h"
#include "validate/named_rows.h"
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
  Feed(const std::vector<TableFile>& files, const StatisticsOptions& options, const OnRead& on_read)
      : files_(files), options_(options), on_read_(on_read), form_(form_of(files[0])) {
    open(0);
  }

  struct Piece {
    int64_t number = 0;
    TableFile file;
    std::shared_ptr<const TableBlocks> table;
    TableBlock block;
  };
  // False at the end. `out.number` is set even when it raises.
  bool next(Piece& out) {
    const std::lock_guard lock(mutex_);
    if (first_) {
      out = std::move(*first_);
      first_.reset();
      return true;
    }
    out.number = count_++;
    for (; at_ < files_.size(); open(at_ + 1)) {
      if (!about(files_[at_], [&] { return table_->next(out.block); })) continue;
      out.file = files_[at_];
      out.table = table_;
      read_ += out.block.bytes.size();
      if (on_read_) on_read_(out.file, read_);
      return true;
    }
    return false;
  }
  // The first piece, which next() gives once more.
  bool peek(Piece& out) {
    if (!next(out)) return false;
    first_ = out;
    return true;
  }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::string>& notes() const { return notes_; }
  // Of the first file's rows, where they name their values.
  JoinTypes join() const { return join_; }

 private:
  static TableForm form_of(const TableFile& file) {
    return about(file, [&] { return table_form(file.path); });
  }
  void open(size_t file) {
    at_ = file;
    read_ = 0;
    if (at_ >= files_.size()) return;
    if (form_of(files_[at_]) != form_)
      throw ValueError("stats.files", cat(files_[at_].name, ": not of the form of ", files_[0].name));
    table_ = about(files_[at_], [&] {
      return open_table(files_[at_].path, form_, {options_.csv, options_.empty, options_.block});
    });
    for (const std::string& note : table_->notes()) notes_.push_back(cat(files_[at_].name, ": ", note));
    if (at_ == 0) {
      names_ = table_->names();
      join_ = table_->join();
    }
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
  const OnRead& on_read_;
  TableForm form_;
  std::mutex mutex_;
  size_t at_ = 0;  // file
  int64_t count_ = 0;
  uint64_t read_ = 0;  // of that file
  std::optional<Piece> first_;
  std::shared_ptr<TableBlocks> table_;
  std::vector<std::string> names_, notes_;
  JoinTypes join_ = nullptr;
};

// Whose turn it is: one block at a time is added to each column, in order where that matters.
class Turns {
 public:
  explicit Turns(std::vector<bool> ordered) : ordered_(std::move(ordered)), next_(ordered_.size()) {}
  bool ready(size_t which, int64_t block) const { return next_[which].load() == due(which, block); }
  // False when all is to end.
  bool wait(size_t which, int64_t block) {
    for (;;) {
      int64_t next = due(which, block);
      if (next_[which].compare_exchange_strong(next, kTaken)) return true;
      if (next == kStopped) return false;
      next_[which].wait(next);
    }
  }
  void pass(size_t which, int64_t block) {
    int64_t taken = kTaken;
    next_[which].compare_exchange_strong(taken, due(which, block + 1));
    next_[which].notify_all();
  }
  void stop() {
    for (auto& next : next_) {
      next = kStopped;
      next.notify_all();
    }
  }

 private:
  static constexpr int64_t kTaken = -1, kStopped = -2;
  int64_t due(size_t which, int64_t block) const { return ordered_[which] ? block : 0; }

  std::vector<bool> ordered_;
  std::vector<std::atomic<int64_t>> next_;
};

// Calls f of all pieces, their rows and some memory of the thread's own, on all threads, until it is false.
// The mistake that stands first in the files is raised.
class Reading {
 public:
  // What is filled again for column after column.
  struct Memory {
    CellBatch batch;
    EqualCells equal;
  };
  Reading(Feed& feed, Turns& turns) : feed_(feed), turns_(turns) {}

  template <class F>
  void run(const F& f) {
    thread_pool().parallel_for(thread_pool().threads(), [&](int64_t) { work(f); });
    if (error_) std::rethrow_exception(error_);
  }

 private:
  template <class F>
  void work(const F& f) {
    Feed::Piece piece;
    const auto memory = std::make_unique<Memory>();
    try {
      while (!failed_ && feed_.next(piece)) {
        const bool more = about(piece.file, [&] {
          const auto rows = piece.table->rows(std::move(piece.block));
          const bool more = f(piece.number, *rows, *memory);
          piece.block.bytes = rows->release();
          return more;
        });
        if (!more) return;
      }
    } catch (...) {
      fail(piece.number);
    }
  }
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

  Feed& feed_;
  Turns& turns_;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
  int64_t failed_block_ = 0;
};

// One reading of the files into statistics.
class Pass {
 public:
  // `wanted`: the columns that are read; `rows`: whether rows are counted.
  Pass(Feed& feed, TableStatistics& statistics, std::vector<bool> wanted, bool rows)
      : feed_(feed),
        statistics_(statistics),
        wanted_(std::move(wanted)),
        rows_(rows),
        found_(wanted_.size()),
        turns_(ordered(statistics)),
        crossing_(wanted_.size()) {}

  void run() {
    Reading(feed_, turns_).run([&](int64_t block, const TableRows& cells, Reading::Memory& memory) {
      return add(block, cells, memory);
    });
  }
  CellType found(size_t column) const { return found_[column].load(); }

 private:
  // What is counted of texts depends on their order; and slices come after all columns.
  static std::vector<bool> ordered(const TableStatistics& statistics) {
    std::vector<bool> out;
    for (const CellType type : statistics.columns().types) out.push_back(type == CellType::kText);
    out.push_back(true);
    return out;
  }
  // Which of the first ones is added next: one that need not wait, those that have an order first.
  size_t choose(const std::deque<size_t>& left, int64_t block) const {
    constexpr size_t kLooked = 32;
    size_t chosen = 0;
    bool ready = false;
    for (size_t i = 0; i < std::min(kLooked, left.size()); ++i) {
      if (!turns_.ready(left[i], block)) continue;
      if (statistics_.columns().types[left[i]] == CellType::kText) return i;
      if (!ready) chosen = i;
      ready = true;
    }
    return chosen;
  }

  bool add(int64_t block, const TableRows& cells, Reading::Memory& memory) {
    TableStatistics::Rows rows = statistics_.read(cells);
    const size_t last = wanted_.size();
    if (!turns_.wait(last, block)) return false;
    rows_ ? statistics_.add_rows(rows) : statistics_.find_slices(rows);
    turns_.pass(last, block);
    CellBatch& batch = memory.batch;
    std::vector<std::vector<double>> numbers(last);
    std::deque<size_t> left;
    for (size_t column = 0; column < last; ++column) {
      if (wanted_[column] || statistics_.crossed(column)) left.push_back(column);
    }
    while (!left.empty()) {
      const size_t chosen = choose(left, block), column = left[chosen];
      left.erase(left.begin() + static_cast<ptrdiff_t>(chosen));
      const CellType type = statistics_.columns().types[column];
      const CellType met = found_[column].load();
      CellType found = met;
      if (met != CellType::kText || type == CellType::kText)
        found = std::max(found, statistics_.read_column(cells, column, memory.equal, batch));
      if (statistics_.crossed(column) && found <= type) numbers[column] = single_numbers(batch);
      if (!wanted_[column]) continue;
      if (!turns_.wait(column, block)) return false;
      if (found <= type) statistics_.add_column(column, batch, rows);
      if (found > found_[column].load()) found_[column] = found;
      turns_.pass(column, block);
    }
    add_crosses(numbers, rows);
    return true;
  }

  // Sums of pairs depend on no order.
  void add_crosses(const std::vector<std::vector<double>>& numbers, const TableStatistics::Rows& rows) {
    for (size_t x = 0; x < numbers.size(); ++x) {
      if (numbers[x].empty()) continue;
      const std::lock_guard lock(crossing_[x]);
      for (size_t y = x + 1; y < numbers.size(); ++y) {
        if (!numbers[y].empty() && (wanted_[x] || wanted_[y]))
          statistics_.add_cross(x, y, numbers[x], numbers[y], rows);
      }
    }
  }

  Feed& feed_;
  TableStatistics& statistics_;
  std::vector<bool> wanted_;
  bool rows_;
  std::vector<std::atomic<CellType>> found_;
  Turns turns_;
  std::vector<std::mutex> crossing_;  // by the first column
};

// The types of the first block: most columns have no others.
std::vector<CellType> first_types(Feed& feed) {
  std::vector<CellType> out(feed.names().size(), CellType::kInt);
  Feed::Piece piece;
  if (!feed.peek(piece)) return out;
  about(piece.file, [&] {
    const auto rows = piece.table->rows(std::move(piece.block));
    CellBatch batch;
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = std::max(out[i], rows->read(i, feed.names()[i], CellType::kInt, batch));
  });
  return out;
}

// All columns of rows that name their values, in order of their names.
TableColumns named_columns(Feed& feed) {
  std::map<std::string, CellType, std::less<>> types;
  Turns turns({true});
  Reading(feed, turns).run([&](int64_t block, const TableRows& rows, Reading::Memory&) {
    const std::vector<TableRows::Named> columns = rows.columns();
    if (!turns.wait(0, block)) return false;
    for (const TableRows::Named& column : columns) {
      CellType& type = types.emplace(column.name, CellType::kNone).first->second;
      const std::optional<CellType> joined = feed.join()(type, column.type);
      if (!joined)
        throw FormatError("rows.type",
                          cat(column.place, ": \"", shortened(column.name), "\" has ", name_of(column.type),
                              ", and ", name_of(type), " before"),
                          kOneType);
      type = *joined;
    }
    if (types.size() > NamedRows::kMostColumns)
      throw FormatError("rows.names", cat("more than ", NamedRows::kMostColumns,
                                          " names of values: are names used where values belong?"));
    turns.pass(0, block);
    return true;
  });
  TableColumns out;
  for (const auto& [name, type] : types) {
    out.names.push_back(name);
    out.types.push_back(type);
  }
  return out;
}

}  // namespace

TableStatistics statistics_of_tables(const std::vector<TableFile>& files, const StatisticsOptions& options,
                                     const OnRead& on_read) {
  Feed feed(files, options, on_read);
  TableColumns found;
  if (feed.join()) {
    Feed all(files, options, on_read);
    found = named_columns(all);
  } else {
    found = {feed.names(), first_types(feed)};
  }
  TableStatistics out(std::move(found), options);
  const size_t columns = out.columns().names.size();
  std::vector<bool> wanted(columns, true);
  Pass first(feed, out, wanted, true);
  first.run();
  for (const std::string& note : feed.notes()) out.add_note(note);
  bool again = false;
  for (size_t i = 0; i < columns; ++i) {
    wanted[i] = first.found(i) > out.columns().types[i];
    again = again || wanted[i];
    if (wanted[i] || first.found(i) == CellType::kNone) out.restart(i, first.found(i));
  }
  if (!again) return out;
  Feed second(files, options, on_read);
  Pass(second, out, wanted, false).run();
  return out;
}

}  // namespace espalier
