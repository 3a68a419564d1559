// Models and load jobs.
#include <algorithm>

#include "api/guard.h"
#include "api/objects.h"
#include "api/options.h"
#include "api/text.h"
#include "graph/backend_registry.h"
#include "quant/dtype.h"
#include "runtime/load_weights.h"

namespace llmrt::api {
namespace {

struct LoadOrder {
  std::shared_ptr<Host> host;
  SourceParts source;
  ModelOptions options;
  int32_t timeout_ms = 0;
};

Result<LoadOrder> read_order(const llmrt_runtime* runtime, SourceParts source,
                             const llmrt_model_options* options) {
  LoadOrder order;
  LLMRT_ASSIGN(const llmrt_model_options o, read_options(options));
  LLMRT_ASSIGN(order.options, to_model_options(o));
  order.timeout_ms = o.timeout_ms;
  LLMRT_ASSIGN(const auto r, runtime_or_default(runtime));
  order.host = r->host();
  if (o.packed_cache != 0) {
    if (r->cache_dir.empty())
      return refuse("packed_cache", "1", "0, because the runtime has no cache_dir");
    order.options.cache_dir = r->cache_dir;
  }
  // With metadata_only no backend is made that would look at the device's name.
  if (order.options.metadata_only && order.options.devices != "auto")
    LLMRT_TRY(
        make_backend(order.host, order.options.devices, order.options.backend_options).status());
  order.source = std::move(source);
  return order;
}

llmrt_model* give_model(std::shared_ptr<const LoadedModel> model) {
  return make_handle<llmrt_model>(std::make_shared<ModelObject>(std::move(model)));
}

// On this thread, unless a time limit must hold even if a read hangs.
Status load(LoadOrder order, llmrt_model** out) {
  if (order.timeout_ms == 0) {
    LLMRT_ASSIGN(
        std::shared_ptr<LoadedModel> model,
        load_model(std::move(order.host), std::move(order.source), order.options, nullptr));
    *out = give_model(std::move(model));
    return Status();
  }
  LLMRT_ASSIGN(const auto job, LoadJob::start(std::move(order.host), std::move(order.source),
                                              order.options, order.timeout_ms));
  LLMRT_TRY(job->wait(-1));
  LLMRT_ASSIGN(std::shared_ptr<LoadedModel> model, job->take());
  *out = give_model(std::move(model));
  return Status();
}

Result<const WeightSource*> source_of(const ModelObject& m) {
  if (!m.model->source) return error(Code::unsupported, "this model was not read from a file");
  return m.model->source.get();
}

const char* type_name_of(uint32_t ggml_type) {
  const QuantFormat* format = find_format(ggml_type);
  return format ? format->name : gguf_type_name(ggml_type);
}

}  // namespace

ModelObject::ModelObject(std::shared_ptr<const LoadedModel> loaded) : model(std::move(loaded)) {
  if (!model->backend) return;
  device = model->backend->info().id;
  for (const WeightDesc& desc : model->def.program.weights) {
    const bool in_file = model->raw_weights && stays_in_file(desc);
    packed_as.emplace(desc.name, in_file ? "file" : model->backend->packed_as(desc));
  }
}

}  // namespace llmrt::api

using namespace llmrt;
using namespace llmrt::api;

extern "C" {

void llmrt_model_options_init(llmrt_model_options* options, size_t struct_size) {
  LLMRT_ENTRY_PURE { init_options(options, struct_size); };
}

llmrt_status llmrt_model_load(llmrt_runtime* runtime, const char* utf8_path,
                              const llmrt_model_options* options, llmrt_model** out) {
  return LLMRT_ENTRY_MAKES(out) {
    LLMRT_TRY(need("out", out));
    LLMRT_ASSIGN(const std::string_view path, text_argument("utf8_path", utf8_path));
    LLMRT_ASSIGN(ByteSourcePtr bytes, source_from_path(path));
    LLMRT_ASSIGN(LoadOrder order, read_order(runtime, {std::move(bytes)}, options));
    return load(std::move(order), out);
  };
}

llmrt_status llmrt_model_load_source(llmrt_runtime* runtime, llmrt_source* source,
                                     const llmrt_model_options* options, llmrt_model** out) {
  return LLMRT_ENTRY_MAKES(out) {
    LLMRT_TRY(need("out", out));
    LLMRT_ASSIGN(const auto s, get(source));
    LLMRT_ASSIGN(LoadOrder order, read_order(runtime, parts_of(*s), options));
    return load(std::move(order), out);
  };
}

llmrt_status llmrt_model_load_async(llmrt_runtime* runtime, llmrt_source* source,
                                    const llmrt_model_options* options, llmrt_job** out) {
  return LLMRT_ENTRY_MAKES(out) {
    LLMRT_TRY(need("out", out));
    LLMRT_ASSIGN(const auto s, get(source));
    LLMRT_ASSIGN(LoadOrder order, read_order(runtime, parts_of(*s), options));
    auto object = std::make_shared<JobObject>();
    LLMRT_ASSIGN(object->job, LoadJob::start(std::move(order.host), std::move(order.source),
                                             order.options, order.timeout_ms));
    *out = make_handle<llmrt_job>(std::move(object));
    return Status();
  };
}

void llmrt_model_release(llmrt_model* model) {
  LLMRT_ENTRY_VOID { release(model); };
}

llmrt_status llmrt_model_get_info(const llmrt_model* model, llmrt_model_info* out) {
  return LLMRT_ENTRY {
    LLMRT_ASSIGN(const auto m, get(model));
    LLMRT_TRY(check_out(out));
    const LoadedModel& loaded = *m->model;
    const Hparams& h = loaded.def.hparams;
    llmrt_model_info info = {};
    info.n_vocab = static_cast<int32_t>(
        h.n_vocab ? h.n_vocab : (loaded.tokenizer ? loaded.tokenizer->n_vocab() : 0));
    info.n_ctx_train = static_cast<int32_t>(h.n_ctx_train);
    info.n_embd = static_cast<int32_t>(h.n_embd);
    info.n_layer = static_cast<int32_t>(h.n_layer);
    info.n_params = loaded.def.n_params;
    info.weight_bytes = loaded.weight_bytes;
    info.caps = loaded.metadata_only ? 0 : 1;
    info.arch = h.arch.c_str();
    info.name = loaded.def.name.c_str();
    info.quant = loaded.def.quant.c_str();
    info.hash = loaded.hash.c_str();
    info.isa = loaded.isa.c_str();
    info.mapped_bytes = loaded.mapped_bytes;
    return write_out(info, out);
  };
}

llmrt_status llmrt_model_metadata(const llmrt_model* model, const char* key,
                                  char** out_value_json) {
  return LLMRT_ENTRY_GIVES(out_value_json) {
    LLMRT_ASSIGN(const auto m, get(model));
    LLMRT_TRY(need("out_value_json", out_value_json));
    LLMRT_ASSIGN(const std::string_view wanted, text_argument("key", key));
    LLMRT_ASSIGN(const WeightSource* source, source_of(*m));
    const Metadata& metadata = source->metadata();
    for (size_t i = 0; i < metadata.size(); ++i)
      if (metadata.key_at(i) == wanted) return give_text(metadata.json_at(i), out_value_json);
    return error(Code::not_found, "the file has no metadata key \"%s\"", key).at(wanted);
  };
}

int32_t llmrt_model_metadata_count(const llmrt_model* model) {
  return LLMRT_ENTRY_COUNT {
    LLMRT_ASSIGN(const auto m, get(model));
    LLMRT_ASSIGN(const WeightSource* source, source_of(*m));
    return static_cast<int32_t>(source->metadata().size());
  };
}

llmrt_status llmrt_model_metadata_at(const llmrt_model* model, int32_t i, char** out_key,
                                     char** out_value_json) {
  return clear(out_key), LLMRT_ENTRY_GIVES(out_value_json) {
    LLMRT_ASSIGN(const auto m, get(model));
    LLMRT_ASSIGN(const WeightSource* source, source_of(*m));
    const Metadata& metadata = source->metadata();
    if (i < 0 || static_cast<size_t>(i) >= metadata.size())
      return error(Code::not_found, "metadata entry %d: there are %zu", i, metadata.size());
    const auto at = static_cast<size_t>(i);
    const std::string value = out_value_json ? metadata.json_at(at) : std::string();
    if (out_key) LLMRT_TRY(give_text(metadata.key_at(at), out_key));
    if (!out_value_json) return Status();
    Status given = give_text(value, out_value_json);
    if (!given.ok() && out_key) {
      free_text(*out_key);
      *out_key = nullptr;
    }
    return given;
  };
}

int32_t llmrt_model_tensor_count(const llmrt_model* model) {
  return LLMRT_ENTRY_COUNT {
    LLMRT_ASSIGN(const auto m, get(model));
    LLMRT_ASSIGN(const WeightSource* source, source_of(*m));
    return static_cast<int32_t>(source->tensors().size());
  };
}

llmrt_status llmrt_model_tensor_get(const llmrt_model* model, int32_t i, llmrt_tensor_info* out) {
  return LLMRT_ENTRY {
    LLMRT_ASSIGN(const auto m, get(model));
    LLMRT_TRY(check_out(out));
    LLMRT_ASSIGN(const WeightSource* source, source_of(*m));
    const std::span<const TensorInfo> tensors = source->tensors();
    if (i < 0 || static_cast<size_t>(i) >= tensors.size())
      return error(Code::not_found, "tensor %d: the file has %zu", i, tensors.size());
    const TensorInfo& t = tensors[static_cast<size_t>(i)];
    llmrt_tensor_info info = {};
    info.n_dims = static_cast<int32_t>(t.n_dims);
    info.name = t.name.c_str();
    info.type = type_name_of(t.ggml_type);
    const auto loaded = m->packed_as.find(t.name);
    const bool is_loaded = loaded != m->packed_as.end();
    info.device = is_loaded ? m->device.c_str() : "";
    info.packed_as = is_loaded ? loaded->second : "";
    info.d0 = static_cast<int64_t>(t.dims[0]);
    info.d1 = static_cast<int64_t>(t.dims[1]);
    info.d2 = static_cast<int64_t>(t.dims[2]);
    info.d3 = static_cast<int64_t>(t.dims[3]);
    info.bytes = static_cast<int64_t>(t.bytes);
    info.file_offset = static_cast<int64_t>(t.file_offset);
    info.shard = static_cast<int32_t>(t.shard);
    return write_out(info, out);
  };
}

llmrt_status llmrt_job_poll(llmrt_job* job, int32_t timeout_ms, llmrt_job_info* out) {
  return LLMRT_ENTRY_OUTSIDE {
    LLMRT_ASSIGN(const auto j, get(job));
    if (out) LLMRT_TRY(check_out(out));
    Status status = j->job->wait(timeout_ms);
    if (out) {
      const JobProgress& p = j->job->progress();
      llmrt_job_info info = {};
      info.status = static_cast<llmrt_status>(status.code());
      info.done = p.done.load(std::memory_order_relaxed);
      info.total = p.total.load(std::memory_order_relaxed);
      info.progress =
          status.ok() ? 1.0
          : info.total > 0
              ? std::min(1.0, static_cast<double>(info.done) / static_cast<double>(info.total))
              : 0.0;
      info.stage = p.stage.load(std::memory_order_relaxed);
      static_cast<void>(write_out(info, out));
    }
    return status;
  };
}

llmrt_status llmrt_job_cancel(llmrt_job* job) {
  return LLMRT_ENTRY {
    LLMRT_ASSIGN(const auto j, get(job));
    j->job->cancel();
    return Status();
  };
}

llmrt_status llmrt_job_error(const llmrt_job* job, llmrt_error_info* out) {
  return LLMRT_ENTRY {
    LLMRT_ASSIGN(const auto j, get(job));
    LLMRT_TRY(check_out(out));
    return lend_failure(*j, j->job->wait(0), out);
  };
}

llmrt_status llmrt_job_take_model(llmrt_job* job, llmrt_model** out) {
  return LLMRT_ENTRY_GIVES(out) {
    LLMRT_ASSIGN(const auto j, get(job));
    LLMRT_TRY(need("out", out));
    LLMRT_ASSIGN(std::shared_ptr<LoadedModel> model, j->job->take());
    *out = give_model(std::move(model));
    return Status();
  };
}

void llmrt_job_release(llmrt_job* job) {
  LLMRT_ENTRY_VOID { release(job); };
}

}  // extern "C"
