#include "runtime/tile_program.h"

#include <algorithm>
#include <memory>

#include "base/thread_pool.h"
#include "ir/constant.h"
#include "kernels/tile.h"

namespace espalier {
namespace {

constexpr int64_t kTilesPerChunk = 16;
// Fewer elements than this are done before a helper could begin.
constexpr int64_t kParallelElements = 1 << 15;
constexpr size_t kMaxRegisters = kMaxInstructions + kMaxLoads;
constexpr size_t kMaxPointers = 2 * kMaxInstructions + kMaxLoads;
constexpr size_t kRegisterBytes = kTile * 8;

// Pointers of a program: registers, then what moves on with each tile (loads and stores in memory).
struct MovingPointer {
  Ref ref;
  uint16_t pointer, size;
};
// A register filled from (i / inner) % period of its source: for each tile, or once where all tiles are
// alike.
struct Fill {
  Ref ref;
  int64_t inner, period;
  uint64_t element;  // where ref has no slot
  uint16_t pointer, size;
  bool once() const { return period == 1 || kTile % (inner * period) == 0; }
};
struct Operation {
  TileFunction function;  // null: `op`'s reference body
  const OpDef* op;
  const Attributes* attributes;
  uint16_t out, in[3];
  DType out_dtype, in_dtype[3];
  uint8_t count;
};
struct LateStore {
  Ref ref;
  uint16_t pointer, size;
};
struct TileBlock {
  int64_t elements;
  const MovingPointer* moving;
  const Fill* fills;
  const Operation* operations;
  const LateStore* late;
  uint16_t registers, moving_count, fill_count, operation_count, late_count;
};

// Of a thread, from its first block on: too much for the storage that every thread begins with, which is a
// part of its stack.
struct alignas(64) Registers {
  std::byte bytes[kMaxRegisters * kRegisterBytes];
};
std::byte* registers_of_thread() {
  thread_local const std::unique_ptr<Registers> memory = std::make_unique_for_overwrite<Registers>();
  return memory->bytes;
}

template <class Word>
void fill_words(std::byte* to, const std::byte* from, int64_t inner, int64_t period, int64_t first,
                int64_t n) {
  auto* out = reinterpret_cast<Word*>(to);
  const auto* source = reinterpret_cast<const Word*>(from);
  int64_t position = first / inner % period, left = inner - first % inner;
  if (inner == 1) {
    for (int64_t i = 0; i < n;) {
      const int64_t run = std::min(period - position, n - i);
      std::memcpy(out + i, source + position, static_cast<size_t>(run) * sizeof(Word));
      i += run;
      position = 0;
    }
    return;
  }
  for (int64_t i = 0; i < n;) {
    const int64_t run = std::min(left, n - i);
    std::fill_n(out + i, run, source[position]);
    i += run;
    left = inner;
    if (++position == period) position = 0;
  }
}

void fill(const Fill& f, std::byte* to, const std::byte* from, int64_t first, int64_t n) {
  switch (f.size) {
    case 1:
      return fill_words<uint8_t>(to, from, f.inner, f.period, first, n);
    case 2:
      return fill_words<uint16_t>(to, from, f.inner, f.period, first, n);
    case 4:
      return fill_words<uint32_t>(to, from, f.inner, f.period, first, n);
    default:
      return fill_words<uint64_t>(to, from, f.inner, f.period, first, n);
  }
}

void call_reference(const Operation& operation, std::byte* const* pointers, int64_t n,
                    const RunContext* context) {
  TensorType types[4];
  ArrayView views[3];
  for (int k = 0; k < operation.count; ++k) {
    types[k] = {operation.in_dtype[k], {n}};
    views[k] = {&types[k], pointers[operation.in[k]]};
  }
  types[3] = {operation.out_dtype, {n}};
  const MutableArrayView target{&types[3], pointers[operation.out]};
  EvalContext body{operation.attributes, {views, operation.count}, {&target, 1}, {}, nullptr, context};
  operation.op->eval(body);
}

void run_range(const TileBlock& block, const Frame& frame, int64_t begin, int64_t end) {
  std::byte* pointers[kMaxPointers + 1];
  pointers[kMaxPointers] = nullptr;
  std::byte* const registers = registers_of_thread();
  for (uint16_t r = 0; r < block.registers; ++r) pointers[r] = registers + r * kRegisterBytes;
  for (uint16_t i = 0; i < block.moving_count; ++i) {
    const MovingPointer& m = block.moving[i];
    pointers[m.pointer] = frame.at(m.ref) + begin * m.size;
  }
  const auto source = [&](const Fill& f) {
    return f.ref.slot == kNone ? reinterpret_cast<const std::byte*>(&f.element) : frame.at(f.ref);
  };
  for (uint16_t i = 0; i < block.fill_count; ++i) {
    const Fill& f = block.fills[i];
    const int64_t n = std::min(kTile, end - begin);
    if (f.period == 1) {
      fill_elements(pointers[f.pointer], source(f), f.size, n);
    } else if (f.once()) {
      fill(f, pointers[f.pointer], source(f), begin, n);
    }
  }
  for (int64_t first = begin; first < end; first += kTile) {
    const int64_t n = std::min(kTile, end - first);
    for (uint16_t i = 0; i < block.fill_count; ++i) {
      const Fill& f = block.fills[i];
      if (!f.once()) fill(f, pointers[f.pointer], source(f), first, n);
    }
    for (uint16_t i = 0; i < block.operation_count; ++i) {
      const Operation& operation = block.operations[i];
      if (operation.function) {
        operation.function(pointers[operation.out], pointers[operation.in[0]], pointers[operation.in[1]],
                           pointers[operation.in[2]], n);
      } else {
        call_reference(operation, pointers, n, frame.context);
      }
    }
    for (uint16_t i = 0; i < block.late_count; ++i) {
      const LateStore& late = block.late[i];
      std::memcpy(frame.at(late.ref) + first * late.size, pointers[late.pointer],
                  static_cast<size_t>(n * late.size));
    }
    for (uint16_t i = 0; i < block.moving_count; ++i)
      pointers[block.moving[i].pointer] += kTile * block.moving[i].size;
  }
}

void run_tiles(const void* memory, const Frame& frame) {
  const auto& block = *static_cast<const TileBlock*>(memory);
  if (block.elements < chunk_work(kParallelElements)) return run_range(block, frame, 0, block.elements);
  const int64_t size = kTile * chunk_work(kTilesPerChunk);
  frame.context->pool.parallel_for((block.elements + size - 1) / size, [&](int64_t chunk) {
    run_range(block, frame, chunk * size, std::min((chunk + 1) * size, block.elements));
  });
}

template <class T>
const T* keep(Blocks& blocks, const std::vector<T>& items) {
  T* copy = blocks.make<T>(items.size());
  std::copy(items.begin(), items.end(), copy);
  return copy;
}

}  // namespace

void run_tile_range(const void* block, const Frame& frame, int64_t first, int64_t last) {
  run_range(*static_cast<const TileBlock*>(block), frame, first, last);
}

TileDraft::TileDraft(const Graph& graph, const Units& units, uint32_t unit, bool fast)
    : graph_(graph), fast_(fast) {
  for (const NodeId id : units.tiled_nodes(unit)) {
    const Node& node = graph.node(id);
    elements_ = graph.type(node.first_result).elements();
    const auto index = static_cast<uint32_t>(instructions_.size());
    Instruction instruction{&node, node.first_result, {}, index, {}, false};
    for (uint32_t k = 0; k < node.input_count; ++k) {
      const Access access = access_of(graph, units, graph.inputs(node)[k], elements_);
      const NodeId producer = graph.producer(access.value);
      if (units.in_registers(producer, unit)) {
        uint32_t from = index;
        while (instructions_[--from].result != access.value) {
        }
        instruction.operands[k] = ~static_cast<int>(from);
        instructions_[from].last_read = index;
        continue;
      }
      size_t load = 0;
      while (load < loads_.size() &&
             (loads_[load].access.value != access.value || loads_[load].access.inner != access.inner ||
              loads_[load].access.period != access.period)) {
        ++load;
      }
      if (load == loads_.size()) {
        const Literal* splat = nullptr;
        if (producer != kNone && graph.node(producer).op == &op_constant) {
          const auto& value = static_cast<const ConstantAttributes&>(*graph.node(producer).attributes).value;
          if (value.is_splat() || value.type().elements() == 1) splat = &value;
        }
        loads_.push_back({access, size_of(graph.type(access.value).dtype), splat, index});
      }
      loads_[load].last_read = index;
      instruction.operands[k] = static_cast<int>(load);
    }
    instructions_.push_back(instruction);
  }
}

void TileDraft::store(uint32_t i, Ref to, bool late) {
  instructions_[i].stored = to;
  instructions_[i].late = late;
}

Step TileDraft::finish_with(Executable::Plan& plan, std::span<const Ref> refs) {
  constexpr uint32_t kForever = kNone;
  std::vector<MovingPointer> moving;
  std::vector<Fill> fills;
  std::vector<Operation> operations;
  std::vector<LateStore> late;
  std::vector<uint16_t> load_pointer(loads_.size()), result_pointer(instructions_.size());
  // Registers are given out in order of need; a load that is filled once keeps its own.
  std::vector<uint16_t> free;
  uint16_t used = 0;
  const auto take = [&] {
    if (free.empty()) return used++;
    const uint16_t r = free.back();
    free.pop_back();
    return r;
  };
  // Moving pointers are numbered after the registers, whose number is known at the end: from the top down.
  uint16_t top = kMaxPointers;
  const auto move_with_tiles = [&](Ref ref, size_t size) {
    moving.push_back({ref, --top, static_cast<uint16_t>(size)});
    return top;
  };
  for (size_t i = 0; i < loads_.size(); ++i) {
    const Load& load = loads_[i];
    if (load.access.direct && !load.splat && elements_ > 1) {
      load_pointer[i] = move_with_tiles(refs[i], load.size);
      continue;
    }
    load_pointer[i] = take();
    Fill fill{refs[i], load.access.inner, load.access.period,
              0,       load_pointer[i],   static_cast<uint16_t>(load.size)};
    if (load.splat) {
      fill.period = 1;
      std::memcpy(&fill.element, load.splat->raw(), load.size);
    }
    fills.push_back(fill);
  }
  for (uint32_t i = 0; i < instructions_.size(); ++i) {
    const Instruction& instruction = instructions_[i];
    const Node& node = *instruction.node;
    Operation operation{nullptr,
                        node.op,
                        node.attributes.get(),
                        0,
                        {kMaxPointers, kMaxPointers, kMaxPointers},
                        graph_.type(node.first_result).dtype,
                        {},
                        static_cast<uint8_t>(node.input_count)};
    for (uint32_t k = 0; k < node.input_count; ++k) {
      const int operand = instruction.operands[k];
      operation.in[k] = operand >= 0 ? load_pointer[operand] : result_pointer[~operand];
      operation.in_dtype[k] = graph_.type(graph_.inputs(node)[k]).dtype;
    }
    if (fast_) {
      operation.function = find_tile(*node.op, node.attributes.get(), {operation.in_dtype, node.input_count},
                                     operation.out_dtype);
    }
    reference_ops_ += !operation.function;
    const size_t size = size_of(operation.out_dtype);
    const bool stored = instruction.stored.slot != kNone;
    // An operand's register may become the result's: elements of one index coincide.
    for (uint32_t k = 0; k < node.input_count; ++k) {
      const int operand = instruction.operands[k];
      if (operand >= 0) continue;
      Instruction& from = instructions_[~operand];
      if (from.last_read == i && (from.stored.slot == kNone) && size_of(operation.in_dtype[k]) == size) {
        free.push_back(result_pointer[~operand]);
        from.last_read = kForever;
      }
    }
    operation.out = stored && !instruction.late ? move_with_tiles(instruction.stored, size) : take();
    result_pointer[i] = operation.out;
    if (stored && instruction.late)
      late.push_back({instruction.stored, operation.out, static_cast<uint16_t>(size)});
    for (uint32_t k = 0; k < node.input_count; ++k) {
      const int operand = instruction.operands[k];
      if (operand >= 0) continue;
      Instruction& from = instructions_[~operand];
      if (from.last_read == i && from.stored.slot == kNone) {
        free.push_back(result_pointer[~operand]);
        from.last_read = kForever;
      }
    }
    operations.push_back(operation);
  }
  auto* block = plan.blocks.make<TileBlock>();
  *block = {elements_,
            keep(plan.blocks, moving),
            keep(plan.blocks, fills),
            keep(plan.blocks, operations),
            keep(plan.blocks, late),
            used,
            static_cast<uint16_t>(moving.size()),
            static_cast<uint16_t>(fills.size()),
            static_cast<uint16_t>(operations.size()),
            static_cast<uint16_t>(late.size())};
  return {run_tiles, block};
}

}  // namespace espalier
