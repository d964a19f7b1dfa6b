#include <cstring>

#include "base/format.h"
#include "espalier/error.h"
#include "format/onnx/model.h"
#include "format/onnx/wire.h"
#include "ir/dispatch.h"
#include "ir/op.h"

namespace espalier::onnx {
namespace {

constexpr size_t kMaxRank = 64, kMaxItems = 1 << 15;

std::string text(const WireReader& field) { return std::string(field.bytes()); }

template <class T>
T& append(std::vector<T>& list, const char* what) {
  if (list.size() == kMaxItems) throw UnsupportedError("onnx.size", cat("more than ", kMaxItems, " ", what));
  return list.emplace_back();
}

// The elements of a tensor as they stand in the file.
struct Elements {
  std::optional<std::string_view> raw;
  std::vector<int64_t> integers;  // of int32_data, int64_data and uint64_data
  std::vector<float> floats;
  std::vector<double> doubles;
};

template <class T, class Source>
T element_of(const Source& value) {
  if constexpr (is_half<T>) {
    return T::from_bits(static_cast<uint16_t>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else {
    return static_cast<T>(value);
  }
}

Literal literal_of(const TensorType& type, const Elements& elements, const std::string& name) {
  const auto fail = [&](const std::string& why) {
    throw FormatError("onnx.tensor", cat("the tensor \"", name, "\" is ", type, " and ", why));
  };
  try {
    check_type(type);
  } catch (const ShapeError& error) {
    throw FormatError("onnx.tensor", cat("the tensor \"", name, "\": ", error.message()));
  }
  Literal out;
  visit_dtype(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto copy = [&](const auto& list) {
      if (list.size() != static_cast<size_t>(type.elements())) fail(cat("has ", list.size(), " elements"));
      Buffer buffer = allocate_buffer(type.bytes());
      for (size_t i = 0; i < list.size(); ++i) reinterpret_cast<T*>(buffer.get())[i] = element_of<T>(list[i]);
      out = Literal(type, std::move(buffer));
    };
    if (elements.raw) {
      if (elements.raw->size() != type.bytes()) fail(cat("has ", elements.raw->size(), " bytes"));
      out = Literal::copy(type, elements.raw->data());
    } else if constexpr (std::is_same_v<T, float>) {
      copy(elements.floats);
    } else if constexpr (std::is_same_v<T, double>) {
      copy(elements.doubles);
    } else {
      copy(elements.integers);
    }
  });
  if (type.dtype == DType::kBool) {
    for (size_t i = 0; i < out.raw_bytes(); ++i) {
      if (static_cast<const uint8_t*>(out.raw())[i] > 1) fail("holds more than 0 and 1");
    }
  }
  return out;
}

Initializer read_tensor(std::string_view message) {
  Initializer out;
  Elements elements;
  std::vector<int64_t> dims;
  int64_t dtype = 0;
  bool external = false;
  for (WireReader field(message); field.next();) {
    switch (field.number()) {
      case 1:
        field.append_to(dims);
        break;
      case 2:
        dtype = field.integer();
        break;
      case 4:
        field.append_to(elements.floats);
        break;
      case 5:
      case 7:
      case 11:
        field.append_to(elements.integers);
        break;
      case 8:
        out.name = text(field);
        break;
      case 9:
        elements.raw = field.bytes();
        break;
      case 10:
        field.append_to(elements.doubles);
        break;
      case 14:
        external = field.integer() == 1;
        break;
    }
  }
  if (dims.size() > kMaxRank)
    throw FormatError("onnx.tensor", cat("the tensor \"", out.name, "\" has ", dims.size(), " axes"));
  if (external)
    throw UnsupportedError("onnx.external", cat("the tensor \"", out.name, "\" lies outside of the file"),
                           "export the model with its weights inside");
  out.value = literal_of({dtype_of_data_type(dtype, cat("the tensor \"", out.name, "\"")), Shape(dims)},
                         elements, out.name);
  return out;
}

Attribute read_attribute(std::string_view message) {
  Attribute out;
  std::vector<float> floats;
  std::vector<int64_t> integers;
  int64_t kind = 0;
  std::optional<Attribute::Value> value;
  for (WireReader field(message); field.next();) {
    switch (field.number()) {
      case 1:
        out.name = text(field);
        break;
      case 2:
        value = field.real();
        break;
      case 3:
        value = field.integer();
        break;
      case 4:
        value = text(field);
        break;
      case 5:
        value = read_tensor(field.bytes()).value;
        break;
      case 7:
        field.append_to(floats);
        break;
      case 8:
        field.append_to(integers);
        break;
      case 20:
        kind = field.integer();
        break;
    }
  }
  constexpr int64_t kTensor = 4;
  if (kind == kTensor && !(value && std::holds_alternative<Literal>(*value)))
    throw FormatError("onnx.attribute", cat("the attribute \"", out.name, "\" holds no tensor"));
  // A number of zero may be left out, and a list may be empty.
  const Attribute::Value absent[] = {0.0f, int64_t{0}, std::string(), Literal(), floats, integers};
  constexpr int64_t kKinds[] = {1, 2, 3, 4, 6, 7};
  for (size_t i = 0; i < std::size(kKinds); ++i) {
    if (kind != kKinds[i]) continue;
    out.value = value && value->index() == i ? *value : absent[i];
    return out;
  }
  out.value = Unread{kind};
  return out;
}

Node read_node_names(std::string_view message) {
  Node out;
  for (WireReader field(message); field.next();) {
    if (field.number() == 3) out.name = text(field);
    if (field.number() == 4) out.op = text(field);
    if (field.number() == 7) out.domain = text(field);
  }
  return out;
}

Node read_node(std::string_view message) {
  Node out = read_node_names(message);
  for (WireReader field(message); field.next();) {
    if (field.number() == 1) append(out.inputs, "inputs of a node") = text(field);
    if (field.number() == 2) append(out.outputs, "outputs of a node") = text(field);
  }
  // After the names, so that an error can say whose attribute it is.
  for (WireReader field(message); field.next();) {
    if (field.number() != 5) continue;
    try {
      append(out.attributes, "attributes of a node") = read_attribute(field.bytes());
    } catch (const UnsupportedError& error) {
      throw UnsupportedError(error.rule(), cat("node \"", out.name, "\" (", out.op, "): ", error.message()));
    }
  }
  return out;
}

std::vector<Dimension> read_shape(std::string_view message) {
  std::vector<Dimension> out;
  for (WireReader field(message); field.next();) {
    if (field.number() != 1) continue;
    if (out.size() == kMaxRank)
      throw FormatError("onnx.shape", cat("a shape of more than ", kMaxRank, " axes"));
    Dimension& dimension = out.emplace_back();
    for (WireReader part(field.bytes()); part.next();) {
      if (part.number() == 1) dimension.size = part.integer();
      if (part.number() == 2) dimension.symbol = text(part);
    }
  }
  return out;
}

ValueInfo read_value_info(std::string_view message) {
  ValueInfo out;
  std::string_view type, tensor;
  for (WireReader field(message); field.next();) {
    if (field.number() == 1) out.name = text(field);
    if (field.number() == 2) type = field.bytes();
  }
  for (WireReader field(type); field.next();) {
    if (field.number() == 1) tensor = field.bytes();
  }
  int64_t dtype = 0;
  for (WireReader field(tensor); field.next();) {
    if (field.number() == 1) dtype = field.integer();
    if (field.number() == 2) out.shape = read_shape(field.bytes());
  }
  out.dtype = dtype_of_data_type(dtype, cat("the value \"", out.name, "\""));
  return out;
}

}  // namespace

namespace {

// Sets the version of ONNX's own operators where the message is of them.
void read_opset(std::string_view message, int64_t& opset) {
  std::string_view domain;
  int64_t version = 0;
  for (WireReader part(message); part.next();) {
    if (part.number() == 1) domain = part.bytes();
    if (part.number() == 2) version = part.integer();
  }
  if (domain.empty() || domain == "ai.onnx") opset = version;
}

}  // namespace

Outline read_outline(std::string_view bytes) {
  Outline out;
  std::optional<std::string_view> graph;
  for (WireReader field(bytes); field.next();) {
    if (field.number() == 7) graph = field.bytes();
    if (field.number() == 8) read_opset(field.bytes(), out.opset);
    if (field.number() != 25) continue;
    std::string name, domain;
    for (WireReader part(field.bytes()); part.next();) {
      if (part.number() == 1) name = text(part);
      if (part.number() == 10) domain = text(part);
    }
    if (out.functions.size() == kMaxItems)
      throw UnsupportedError("onnx.size", cat("more than ", kMaxItems, " functions"));
    out.functions.insert(cat(domain, ".", name));
  }
  if (!graph) throw FormatError("onnx.model", "the bytes hold no graph");
  for (WireReader field(*graph); field.next();) {
    if (field.number() == 1) append(out.nodes, "nodes") = read_node_names(field.bytes());
  }
  return out;
}

ModelReader::ModelReader(std::string_view bytes) {
  bool has_graph = false;
  for (WireReader field(bytes); field.next();) {
    if (field.number() == 7) {
      graph_ = field.bytes();
      has_graph = true;
    }
    if (field.number() == 8) read_opset(field.bytes(), model_.opset);
    if (field.number() == 14) {
      if (model_.metadata.size() == kMaxItems)
        throw UnsupportedError("onnx.size", cat("more than ", kMaxItems, " metadata_props"));
      std::string key, value;
      for (WireReader part(field.bytes()); part.next();) {
        if (part.number() == 1) key = text(part);
        if (part.number() == 2) value = text(part);
      }
      model_.metadata[key] = std::move(value);
    }
  }
  if (!has_graph) throw FormatError("onnx.model", "the bytes hold no graph");
  for (WireReader field(graph_); field.next();) {
    switch (field.number()) {
      case 2:
        model_.graph_name = text(field);
        break;
      case 5:
        append(model_.initializers, "initializers") = read_tensor(field.bytes());
        break;
      case 11:
        append(model_.inputs, "inputs") = read_value_info(field.bytes());
        break;
      case 12:
        append(model_.outputs, "outputs") = read_value_info(field.bytes());
        break;
      case 15:
        throw UnsupportedError("onnx.sparse", "the graph has sparse initializers");
    }
  }
}

void ModelReader::each_node(const std::function<void(const Node&)>& on_node) const {
  size_t count = 0;
  for (WireReader field(graph_); field.next();) {
    if (field.number() != 1) continue;
    if (++count > kMaxItems) throw UnsupportedError("onnx.size", cat("more than ", kMaxItems, " nodes"));
    on_node(read_node(field.bytes()));
  }
}

}  // namespace espalier::onnx
