#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "base/env.h"
#include "base/format.h"
#include "base/hash.h"
#include "data/hashed_examples.h"
#include "format/csv_numbers.h"
#include "format/idx.h"
#include "ir/sink.h"

namespace espalier {
namespace {

std::string find_file(const std::string& folder, std::string_view ending) {
  for (const std::string& name : posix_env().list_folder(folder)) {
    if (name.ends_with(ending) || name.ends_with(cat(ending, ".gz"))) return folder + "/" + name;
  }
  throw IoError("digits.file", cat("no file *", ending, " or *", ending, ".gz in ", folder));
}

HashedExamples from_idx(const std::string& folder) {
  const Literal images = read_idx(find_file(folder, "images-idx3-ubyte")),
                labels = read_idx(find_file(folder, "labels-idx1-ubyte"));
  if (images.type().dtype != DType::kU8 || images.type().rank() != 3 ||
      labels.type() != TensorType{DType::kU8, {images.type().shape[0]}}) {
    throw FormatError("digits.idx", cat("needs u8 images [rows, height, width] and u8 labels [rows], got ",
                                        images.type(), " and ", labels.type()));
  }
  const auto* pixels = images.view().as<uint8_t>();
  const auto* classes = labels.view().as<uint8_t>();
  std::vector<float> x(static_cast<size_t>(images.type().elements()));
  std::transform(pixels, pixels + x.size(), x.begin(),
                 [](uint8_t pixel) { return static_cast<float>(pixel) / 255; });
  const int64_t height = images.type().shape[1], width = images.type().shape[2];
  std::vector<uint64_t> hashes;
  for (int64_t row = 0; row < images.type().shape[0]; ++row)
    hashes.push_back(pixel_hash({pixels + row * height * width, static_cast<size_t>(height * width)}, width));
  return {
      {Tensor::of(x, images.type().shape),
       Tensor::of(std::vector<int32_t>(classes, classes + labels.type().elements()), labels.type().shape)},
      std::move(hashes)};
}

HashedExamples from_numbers(const Literal& table, const std::string& path) {
  const int64_t rows = table.type().shape[0], columns = table.type().shape[1];
  const auto side =
      static_cast<int64_t>(std::lround(std::sqrt(std::max<double>(0, static_cast<double>(columns - 1)))));
  if (rows == 0 || side == 0 || side * side != columns - 1) {
    throw FormatError("digits.csv", cat(path, ": needs rows of a square image and a label, got ", rows,
                                        " rows of ", columns, " columns"));
  }
  const auto* values = table.view().as<float>();
  float brightest = 0;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i + 1 < columns; ++i) {
      const float pixel = values[row * columns + i];
      if (!(pixel >= 0 && pixel <= 255)) {
        throw FormatError("digits.csv", cat(path, ": line ", row + 1, ", column ", i + 1, ": ", pixel,
                                            " is no pixel, which is 0 to 1, to 16 or to 255"));
      }
      brightest = std::max(brightest, pixel);
    }
  }
  const float scale = brightest > 16 ? 255 : brightest > 1 ? 16 : 1;
  std::vector<float> x;
  std::vector<int32_t> y;
  std::vector<uint64_t> hashes;
  for (int64_t row = 0; row < rows; ++row, values += columns) {
    hashes.push_back(pixel_hash({values, static_cast<size_t>(side * side)}, side));
    for (int64_t i = 0; i + 1 < columns; ++i) x.push_back(values[i] / scale);
    const float label = values[columns - 1];
    if (!(label >= 0 && label < 1000) || label != std::floor(label)) {
      throw FormatError("digits.csv",
                        cat(path, ": line ", row + 1, ": the label ", label, " is no class number"));
    }
    y.push_back(static_cast<int32_t>(label));
  }
  return {{Tensor::of(x, {rows, side, side}), Tensor::of(y, {rows})}, std::move(hashes)};
}

Tensor rows_of(const Tensor& x, int64_t begin, int64_t end) {
  TensorType type = x.type();
  type.shape[0] = end - begin;
  const size_t row = x.size(0) ? x.type().bytes() / static_cast<size_t>(x.size(0)) : 0;
  return Tensor::from_bytes(type,
                            static_cast<const std::byte*>(x.bytes()) + static_cast<size_t>(begin) * row);
}

}  // namespace

Examples Examples::slice(int64_t begin, int64_t end, Location at) const {
  const CallScope scope(at);
  if (y.rank() == 0 || y.size(0) != rows())
    throw ShapeError("examples.rows",
                     cat("x and y must have one row per example: ", x.type(), " and ", y.type()));
  if (begin < 0 || begin > end || end > rows()) {
    throw ValueError("examples.rows", cat("rows [", begin, ", ", end, ") are outside of [0, ", rows(), ")"));
  }
  return {rows_of(x, begin, end), rows_of(y, begin, end)};
}

uint64_t pixel_hash(std::span<const uint8_t> pixels, int64_t width) {
  return hash_bytes(pixels.data(), pixels.size(), static_cast<uint64_t>(width));
}

uint64_t pixel_hash(std::span<const float> pixels, int64_t width) {
  const bool bytes = std::ranges::all_of(
      pixels, [](float pixel) { return pixel >= 0 && pixel <= 255 && pixel == std::floor(pixel); });
  if (bytes) return pixel_hash(std::vector<uint8_t>(pixels.begin(), pixels.end()), width);
  return hash_bytes(pixels.data(), pixels.size_bytes(), static_cast<uint64_t>(width));
}

HashedExamples read_digits(const std::string& path) {
  if (!posix_env().exists(path)) throw IoError("digits.path", cat("there is no ", path));
  return std::filesystem::is_directory(path) ? from_idx(path) : from_numbers(read_csv_numbers(path), path);
}

HashedExamples digits_in(const CsvTable& table, const std::string& path) {
  try {
    return from_numbers(csv_numbers(table), path);
  } catch (const FormatError& error) {
    if (error.rule() != "csv.number" && error.rule() != "csv.exact") throw;
    throw FormatError(error.rule(), cat(path, ": ", error.message()));
  }
}

Examples load_digits(const std::string& path, Location at) {
  const CallScope scope(at);
  return read_digits(path);
}

Examples digits_of(const CsvTable& table, const std::string& path, Location at) {
  const CallScope scope(at);
  return digits_in(table, path);
}

}  // namespace espalier
