// Models that others wrote, from ONNX.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "espalier/model.h"

namespace espalier {

struct LoadOnnxOptions {
  // Sizes of the symbols in the shapes of inputs. One that is not named is 1, but for those of first axes,
  // which are the batch; a first axis that is named has that size always. Raises ValueError[onnx.sizes] for a
  // name that no input has.
  std::map<std::string, int64_t> sizes = {};
};

// The program of an ONNX file as a model: its floating-point initializers are its variables. It predicts, is
// compiled, fitted and saved as any other model; what is saved is a LoadedModel. The same program runs when
// it trains: there is no dropout in it, and BatchNormalization uses its averages, which are not trained. A
// handle, as every model.
class OnnxModel : public Model {
 public:
  // Rows of a batch when the file fixes them; 0 for any.
  int64_t fixed_batch() const;
  // The types of one row of each input: f32[784]; and the names of inputs and of outputs in the file.
  const std::vector<TensorType>& input_rows() const;
  std::vector<std::string> input_names() const override;
  // What the file says to programs beside its own (metadata_props), by key.
  const std::map<std::string, std::string>& metadata() const;
  // Those of the file; none for a single output.
  std::vector<std::string> output_names() const override;

 protected:
  void build_many(Inputs<TensorType> inputs) override;
  Tensors call_many(Inputs<Tensor> inputs) override;

 private:
  friend OnnxModel read_onnx(std::string bytes, const std::string& name, const LoadOnnxOptions& options,
                             Location at);
  struct Program;
  OnnxModel(std::shared_ptr<Program> program, Location at);
  std::shared_ptr<Program> program_;
};

// Reads a file of operator sets 11 to 28; docs/formats.md lists the operators. Raises IoError; FormatError
// for bytes that are no model and, naming the node, for one that does not follow its operator's rules;
// UnsupportedError naming the node for what is not read, and [onnx.batch] for inputs without a first axis or
// of different batches.
OnnxModel load_onnx(const std::string& path, const LoadOnnxOptions& options = {},
                    Location at = Location::here());
// The same from the bytes of such a file; `name` is the model's.
OnnxModel read_onnx(std::string bytes, const std::string& name = "onnx", const LoadOnnxOptions& options = {},
                    Location at = Location::here());

}  // namespace espalier
