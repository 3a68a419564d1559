// LoadedModel: a file understood and its weights on a device. Immutable after load; shared by engines.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/host.h"
#include "base/status.h"
#include "chat_template/chat_template.h"
#include "formats/weight_source.h"
#include "graph/backend.h"
#include "model/architecture.h"
#include "tokenizer/tokenizer.h"

namespace llmrt {

// Values as in llmrt_model_options.load_mode.
enum class LoadMode : int32_t { automatic = 0, mapped = 1, read = 2, raw = 3 };

struct ModelOptions {
  std::string devices = "auto";
  bool metadata_only = false;
  LoadMode load_mode = LoadMode::automatic;
  std::string cache_dir;           // folder of packed weights, empty: none
  int64_t host_memory_limit = 0;   // bytes, 0 = none
  std::string chat_template;       // text, or a built-in name; empty: the file's
  std::string metadata_overrides;  // JSON object
  std::string backend_options;
};

struct LoadedModel {
  ~LoadedModel();
  Status check_chat()
      const;  // why it cannot chat: no tokenizer, no template, or one that did not parse

  std::shared_ptr<Host> host;
  std::unique_ptr<WeightSource> source;  // nullptr for models made in memory by tests
  ByteSourcePtr packed_file;             // mapping that the weights lie in; nullptr: they do not
  ModelDef def;
  std::unique_ptr<Tokenizer> tokenizer;  // nullptr: the file has none
  // nullptr: none; chat_template_error says why if it did not parse
  std::shared_ptr<const ChatTemplate> chat_template;
  Status chat_template_error;
  std::unique_ptr<Backend> backend;  // nullptr: metadata_only
  std::vector<WeightId> weights;     // [program.weights]
  std::string hash;
  std::string isa;  // the device's driver name
  int64_t weight_bytes = 0;
  int64_t mapped_bytes = 0;  // of weight_bytes: in packed_file, or in the source's mapping
  bool raw_weights = false;  // matrices lie as rows in the source
  bool metadata_only = false;
};

// progress may be nullptr. memory_budget with both numbers before any weight is read.
Result<std::shared_ptr<LoadedModel>> load_model(std::shared_ptr<Host> host, SourceParts source,
                                                const ModelOptions& options, JobProgress* progress);

}  // namespace llmrt
