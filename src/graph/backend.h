// Backend: one device that runs Programs. Implemented by backends/<x>/, by graph/reference (the meaning) and by tests (ToyModel).
// The engine sees only this header. Engines of one model share its backend, each on its own thread: calls for different programs and KV
// stores overlap, creating and removing them too; calls for one program and its store never do. Weights are added before the first
// program and removed after the last.
//
// A pass is suspended, not split: advance() runs chunks of the compiled phases until the deadline and says where it stopped; calling
// it again goes on. Nothing of a pass is visible outside before it is done, so suspension cannot change tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/host.h"
#include "base/platform/machine.h"
#include "base/status.h"
#include "graph/batch.h"
#include "graph/kv_spec.h"
#include "graph/program.h"

namespace llmrt {

enum class DeviceKind : int32_t { cpu = 0, gpu = 1, igpu = 2, npu = 3 };

struct DeviceInfo {
  DeviceKind kind = DeviceKind::cpu;
  std::string id;       // "cpu", "reference"
  std::string name;     // processor name
  std::string backend;  // "cpu"
  std::string driver;   // CPU: the ISA table's name ("avx2", "avx512_vnni", "scalar")
  // of the device, or of the machine where its memory is the device's
  platform::MemoryFigures memory;
};

// Reads the bytes of one weight; safe from any thread. `offset` counts from the tensor's first byte.
class WeightReader {
 public:
  virtual ~WeightReader() = default;
  virtual Status read(uint64_t offset, void* dst, uint64_t n) const = 0;
  virtual void drop_behind(uint64_t offset, uint64_t n) const = 0;
};

enum class WeightForm : uint8_t { packed, file_rows };

using WeightId = uint32_t;
using KvId = uint32_t;
using ExeId = uint32_t;

struct CompileOptions {
  KvId kv = 0;
  uint32_t max_rows = 512;     // rows of one pass
  uint32_t max_out = 64;       // wanted rows of one pass
  uint32_t max_seqs = 64;      // sequences of one pass
  uint32_t max_positions = 0;  // rope tables cover positions below this
  bool raw_weights = false;    // some were adopted as WeightForm::file_rows
};

struct Execution {
  ExeId exe = 0;
  const Batch* batch = nullptr;   // alive and unchanged until the pass is done or dropped
  uint32_t phase = 0, chunk = 0;  // where to go on; start with 0, 0
};

enum class Progress : uint8_t { suspended, done };

class Backend {
 public:
  virtual ~Backend() = default;
  virtual DeviceInfo info() const = 0;

  // Weights of a program that passed check_shapes(). Bytes: what add_weight() will take, for the plan before loading.
  virtual uint64_t weight_bytes(const WeightDesc& desc) const = 0;
  // What add_weight() will keep: "P16" (quant/panel.h), "F32"; static.
  virtual const char* packed_as(const WeightDesc& desc) const = 0;
  virtual Result<WeightId> add_weight(const WeightDesc& desc, const WeightReader& reader,
                                      JobProgress* progress) = 0;
  virtual void remove_weight(WeightId id) = 0;
  // Weights whose bytes lie in memory already, alive and unchanged until remove_weight(). A backend of layout 0 takes none.
  //   packed     what packed_data() gave for this desc, on a backend of the same kind and layout; at a multiple of 64 bytes
  //   file_rows  a matrix as it is in the file: it costs no memory, and each use packs it anew
  // CompileOptions::raw_weights of a program that has one of file_rows.
  virtual uint32_t packed_layout() const { return 0; }  // version of all packed forms together
  virtual Result<WeightId> adopt_weight(const WeightDesc& desc, WeightForm /*form*/,
                                        std::span<const uint8_t> /*bytes*/) {
    return error(Code::unsupported, "%s: this device keeps weights of its own only",
                 desc.name.c_str());
  }
  // What add_weight() packed, weight_bytes() of it, until remove_weight(). Empty: layout 0, or an adopted weight.
  virtual std::span<const uint8_t> packed_data(WeightId /*id*/) const { return {}; }

  // KV storage. Bytes of blocks are taken in slabs of kSlabBlocks as first used; trim gives whole free slabs back.
  virtual KvGeometry kv_geometry(const KvGroup& group, const KvConfig& config) const = 0;
  virtual Result<KvId> kv_create(std::span<const KvGroup> groups, const KvConfig& config) = 0;
  virtual void kv_destroy(KvId id) = 0;
  // bytes exist behind `block` from now on; out_of_memory leaves all as it was
  virtual Status kv_commit(KvId id, BlockId block) = 0;
  // these blocks hold nothing of value
  virtual void kv_release(KvId id, std::span<const BlockId> free_blocks) = 0;
  // a block in all layers of a group (groups share frame bytes)
  virtual Status kv_copy(KvId id, BlockId from, BlockId to) = 0;
  virtual int64_t kv_bytes(KvId id) const = 0;  // taken now

  // Programs. weights[i] belongs to program.weights[i].
  // What compile() will take: arena, logits.
  virtual uint64_t compute_bytes(const Program& program, const CompileOptions& options) const = 0;
  virtual Result<ExeId> compile(const Program& program, std::span<const WeightId> weights,
                                const CompileOptions& options) = 0;
  virtual void remove_program(ExeId id) = 0;

  // Runs until done or the deadline passed at a chunk border (at least one chunk). Logits of a done pass: logits(exe).
  virtual Result<Progress> advance(Execution& execution, Deadline deadline) = 0;
  virtual void abandon(Execution& execution) = 0;  // drop a suspended pass
  // [n_out, n_vocab], valid until the next advance() or compile() of this exe.
  virtual std::span<const float> logits(ExeId exe) const = 0;
  // [n_out, n_logit_blocks(n_vocab)] of these logits (graph/logit_blocks.h), valid as long as they are. Empty: not known, and whoever
  // wants them reads the logits.
  virtual std::span<const float> logit_maxima(ExeId /*exe*/) const { return {}; }
};

// The compiled-in backends (backends/builtin.cpp) and the reference interpreter, by device id.
struct BackendFactory {
  const char* id;  // "cpu"
  int32_t (*device_count)();
  Result<std::unique_ptr<Backend>> (*create)(std::shared_ptr<Host> host, int32_t device,
                                             std::string_view options);
};
std::span<const BackendFactory> builtin_backends();

}  // namespace llmrt
