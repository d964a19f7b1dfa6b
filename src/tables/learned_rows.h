// Which rows of a table a model was trained on, told by what they are to it: in whatever file and order they
// lie, and however their cells are written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/messages.h"
#include "tables/loaded_table_model.h"

namespace espalier {

// Of each row a hash of its inputs, f32[rows, width].
std::vector<uint64_t> row_hashes(const Tensor& inputs);

// What kLearnedFile holds of these rows, a hash_list(): different hashes; of more than 4,096 the least, which
// are a fair sample.
std::string learned_rows_text(std::vector<uint64_t> hashes);
// How many of these rows are like one of `others`.
int64_t count_alike(const std::vector<uint64_t>& hashes, std::vector<uint64_t> others);

// Warns where these inputs, of rows of the table at `data`, are those that the model saved at `path` learned
// from, to a greater share than chance would have it. Raises FormatError[model.lineage].
void warn_of_learned_rows(const LoadedTableModel& saved, const std::string& path, const std::string& data,
                          const Tensor& inputs, const Messages& messages);

}  // namespace espalier
