// Saved models: folders that predict, fine-tune and travel without the program that made them.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "espalier/model.h"

namespace espalier {

// A model from a folder of Model::save. Its layers are not those of the program that made it: it replays the
// saved graphs of inference and of training on the saved variables, so that it needs none of their classes.
// It predicts, is compiled, fitted and saved as any other model; its regularizers are among the graphs, so
// that penalties count in its loss as before. Frozen by set_trainable(false) it computes in training what it
// predicts: normalisations use their averages, dropouts keep all. A variable that was frozen when it was
// saved is so, until set_trainable(true); normalisations that were frozen then use their averages ever after.
// The texts beside it are not saved again, since a model that was trained further is another one: what still
// holds goes along with save(path, {.files = {{"columns.json", model.file("columns.json")}, ...}}).
// A handle, as every model, and as safe for threads as those are (model.h) from the start. Floats may have
// any such dtype. Calls raise ValueError[loaded_model.inputs], DTypeError[loaded_model.dtype] and
// ShapeError[loaded_model.input] for what is not as input_rows() says, ShapeError[loaded_model.batch] for
// other rows than fixed_batch(); where BatchNormalization is trained on replicas or logical shards
// UnsupportedError[loaded_model.replicas]: load_weights() into a model of the same layers trains there.
class LoadedModel : public Model {
 public:
  // Rows of a batch when the graphs hold for that number alone; 0 when they hold for any.
  int64_t fixed_batch() const;
  // The types of one row of each input: f32[784].
  const std::vector<TensorType>& input_rows() const;
  // Those of the model that was saved.
  std::vector<std::string> input_names() const override;
  std::vector<std::string> output_names() const override;
  bool can_be_trained() const override { return !made_trainable().empty(); }
  // A text that was saved beside the model. Raises ValueError[loaded_model.file] with the nearest names.
  const std::string& file(const std::string& name, Location at = Location::here()) const;
  bool has_file(const std::string& name) const;

 protected:
  void build_many(Inputs<TensorType> inputs) override;
  Tensors call_many(Inputs<Tensor> inputs) override;

 private:
  friend LoadedModel read_model(std::map<std::string, std::string> files, const std::string& path,
                                Location at);
  struct Saved;
  Variable variable(const std::string& name_in_programs) const;
  explicit LoadedModel(std::shared_ptr<Saved> saved, Location at);
  std::shared_ptr<Saved> saved_;
};

// Reads a folder of Model::save; while another process saves there, the model of before or the new one,
// whole. Raises IoError, or FormatError[saved_model.*] that names the file and what is wrong with it: it is
// missing, its checksum is another than when it was saved, or it is no file of the model's (folders, and
// files whose names begin with ".", may lie beside). Safe on any bytes.
LoadedModel load_model(const std::string& path, Location at = Location::here());
// The same from the contents of such a folder by file name, for programs that carry a model inside or get it
// from elsewhere. Messages call the folder `path`.
LoadedModel read_model(std::map<std::string, std::string> files, const std::string& path = "model",
                       Location at = Location::here());

// Raises what Model::save raises about a path, before the work is done: IoError[save.path] for a folder that
// is not there to put it in, for what is no saved model, and for a model's folder with files that are neither
// the model's nor among `files`; IoError[file.link] for a link that another user of the host made. Returns
// the names of the files that saving there replaces.
std::vector<std::string> check_save_path(const std::string& path,
                                         const std::map<std::string, std::string>& files,
                                         Location at = Location::here());

struct LoadWeightsOptions {
  // What a variable of the model, by its path, is called in the file; others have their path there, or one
  // that differs in the number of the layer alone: layers without a parent are numbered in a process,
  // mine/..., mine_1/..., until set_seed() begins again.
  std::map<std::string, std::string> names = {};
  // How the axes of an array of the file, by its name there, come to stand: {1, 0} for a kernel that is kept
  // [outputs, inputs], {2, 3, 1, 0} for a convolution's that is kept [outputs, inputs, height, width].
  std::map<std::string, Dims> axes = {};
  bool partial = false;  // variables that the file does not have keep their values
};
// Gives the variables of `layer`, which must be built, the arrays of a safetensors file; floating-point ones
// are converted. Returns the names of the arrays that nobody took, in order, last those of types that are not
// read (UnsupportedError for who asks for them). Nothing has changed when it raises: ValueError for a
// variable without an array [load_weights.name], a path in `names` that is none [.path], a file that may be
// of an order of layers before [.order], Shape-, DTypeError[load_weights.array], StateError[.built], IoError,
// FormatError.
std::vector<std::string> load_weights(const Layer& layer, const std::string& path,
                                      const LoadWeightsOptions& options = {}, Location at = Location::here());

}  // namespace espalier
