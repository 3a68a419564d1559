#include "api/options.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "api/guard.h"
#include "api/objects.h"
#include "api/text.h"
#include "base/float_control.h"
#include "base/in_quotes.h"
#include "base/platform/machine.h"
#include "chat/messages.h"
#include "sampling/params.h"

namespace llmrt::api {
namespace {

constexpr size_t kMaxBiases = size_t{1} << 20;

Status check_flag(const char* name, int32_t value) { return check_range(name, value, 0, 1); }

Result<std::string> copied(const char* name, const char* text) {
  LLMRT_ASSIGN(const std::string_view view, optional_text(name, text));
  return std::string(view);
}

// {"token id": bias}. The parser's callback drops nested values, so depth is no danger.
Result<std::vector<std::pair<Token, float>>> parse_logit_bias(const char* text, uint32_t n_vocab) {
  std::vector<std::pair<Token, float>> biases;
  LLMRT_ASSIGN(const std::string_view view, optional_text("logit_bias", text));
  if (view.empty()) return biases;
  bool nested = false;
  const auto flat = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json&) {
    using Event = nlohmann::json::parse_event_t;
    if (depth == 0 || (event != Event::object_start && event != Event::array_start)) return true;
    nested = true;
    return false;
  };
  const auto json = nlohmann::json::parse(view, flat, false);
  if (nested || !json.is_object())
    return error(Code::invalid_argument,
                 "logit_bias is no JSON object of numbers by token id, such as {\"42\": -1.5}")
        .at("logit_bias");
  if (json.size() > kMaxBiases)
    return refuse("logit_bias", std::to_string(json.size()) + " entries",
                  "at most " + std::to_string(kMaxBiases));
  for (const auto& [key, value] : json.items()) {
    uint32_t id = 0;  // digits only: from_chars takes neither blank nor sign
    const auto [end, error_code] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error_code != std::errc() || end != key.data() + key.size() || id >= n_vocab)
      return error(Code::invalid_argument, "logit_bias: %s is no token id; allowed: 0 to %u",
                   in_quotes(key, 40).c_str(), n_vocab - 1)
          .at("logit_bias");
    const double bias = value.is_number() ? value.get<double>() : std::nan("");
    if (!(std::fabs(bias) <= 1e6))
      return error(Code::invalid_argument,
                   "logit_bias: the value of token %u is no such number; allowed: -1e6 to 1e6", id)
          .at("logit_bias");
    biases.emplace_back(static_cast<Token>(id), static_cast<float>(bias));
  }
  return biases;
}

Status check_temperature(float temperature) {
  if (temperature == -1.0f || (temperature >= 0 && temperature <= kMostTemperature))
    return Status();
  return refuse("temperature", number_text(double{temperature}),
                "-1 (the model's own) and 0 to " + number_text(double{kMostTemperature}));
}

// A mask may name more CPUs than there are, but not none of them.
Status check_cpus(int64_t mask) {
  const uint32_t n_cpus = platform::configured_cpus();
  if (mask == 0 || n_cpus == 0 || n_cpus >= 64) return Status();
  if ((static_cast<uint64_t>(mask) & ((uint64_t{1} << n_cpus) - 1)) != 0) return Status();
  char found[32];
  std::snprintf(found, sizeof found, "0x%llx", static_cast<unsigned long long>(mask));
  return refuse("cpu_mask", found,
                "0 and masks with at least one of bits 0 to " + std::to_string(n_cpus - 1));
}

// A template's name, or its text, which has braces in it: a misspelt name is no template.
Status check_template(const std::string& text) {
  if (text.empty() || builtin_chat_template(text) || text.find("{{") != std::string::npos ||
      text.find("{%") != std::string::npos)
    return Status();
  return refuse("chat_template", in_quotes(text, 40),
                "template text, " + builtin_chat_template_names());
}

Status read_stops(const llmrt_strlist* list, std::vector<std::string>& stop) {
  if (!list) return Status();
  LLMRT_ASSIGN(const auto object, get(list));
  const std::lock_guard lock(object->mutex);
  stop.assign(object->strings.begin(),
              object->strings.end());  // submit checks number and lengths
  return Status();
}

}  // namespace

void defaults(llmrt_runtime_options& o) {
  o = {};
  o.struct_size = sizeof o;
  o.log_level = static_cast<int32_t>(LogLevel::warn);
}

void defaults(llmrt_model_options& o) {
  o = {};
  o.struct_size = sizeof o;
  o.devices = "auto";
}

void defaults(llmrt_engine_options& o) {
  static_assert(KvCodec{}.k == KvCodec{}.v);  // one word names both
  // Takes no memory: the allocator may not be set yet.
  const EngineOptions e;
  o = {};
  o.struct_size = sizeof o;
  o.threading = e.host_stepped ? 1 : 0;
  o.ctx_tokens = static_cast<int32_t>(e.ctx_tokens);
  o.max_running = static_cast<int32_t>(e.max_running);
  o.max_batch = static_cast<int32_t>(e.max_batch);
  o.prefill_chunk = static_cast<int32_t>(e.prefill_chunk);
  o.kv_type = llmrt::name_of(e.kv.k);
  o.kv_budget = e.kv_budget;
  o.prefix_cache = e.prefix_cache ? 1 : 0;
  o.block_tokens = static_cast<int32_t>(e.block_tokens);
  o.batching = static_cast<int32_t>(e.batching);
  o.batch_wait_us = static_cast<int32_t>(e.batch_wait_us);
  o.queue_limit = static_cast<int32_t>(e.queue_limit);
  o.overflow = static_cast<int32_t>(e.overflow);
}

void defaults(llmrt_gen_options& o) {
  constexpr GenNumbers kGen;
  constexpr SamplingNumbers kSampling;
  o = {};
  o.struct_size = sizeof o;
  o.max_tokens = kGen.max_tokens;
  o.n = kGen.n;
  o.priority = kGen.priority;
  o.seed = kGen.seed;
  o.timeout_ms = kGen.timeout_ms;
  o.stall_timeout_ms = kGen.stall_timeout_ms;
  o.temperature = -1.0f;  // the model's own
  o.top_p = kSampling.top_p;
  o.min_p = kSampling.min_p;
  o.typical_p = kSampling.typical_p;
  o.top_k = kSampling.top_k;
  o.penalty_last_n = kSampling.penalty_last_n;
  o.repeat_penalty = kSampling.repeat_penalty;
  o.frequency_penalty = kSampling.frequency_penalty;
  o.presence_penalty = kSampling.presence_penalty;
  o.xtc_probability = kSampling.xtc_probability;
  o.xtc_threshold = kSampling.xtc_threshold;
  o.dry_multiplier = kSampling.dry_multiplier;
  o.dry_base = kSampling.dry_base;
  o.dry_allowed_length = kSampling.dry_allowed_length;
}

void defaults(llmrt_session_options& o) {
  o = {};
  o.struct_size = sizeof o;
}

Status check_struct_size(const char* name, uint32_t size, uint32_t least, bool has_init) {
  if (size < least || size > kMaxStructSize)
    return error(Code::invalid_argument, "%s.struct_size is %u; allowed: %u to %u (set by %s%s)",
                 name, size, least, kMaxStructSize, has_init ? name : "sizeof",
                 has_init ? "_init" : "")
        .at("struct_size");
  return Status();
}

Status check_pad(const char* name, const char* pad, int32_t value) {
  if (value == 0) return Status();
  return error(Code::invalid_argument, "%s.%s is %d; allowed: 0", name, pad, value).at(pad);
}

Status check_tail(const char* name, const unsigned char* tail, size_t n, size_t offset) {
  for (size_t i = 0; i < n; ++i)
    if (tail[i] != 0)
      return error(Code::unsupported,
                   "%s sets a field at byte %zu that this library (%s) does not know", name,
                   offset + i, llmrt_version_string());
  return Status();
}

Status check_range(const char* name, int64_t value, int64_t least, int64_t most) {
  return llmrt::check(Limit{name, least, most}, value);
}

float default_temperature(const LoadedModel& model) {
  const FloatScope floats(FloatMode::ieee);
  constexpr const char* kKey = "general.sampling.temp";
  constexpr float kDefault = SamplingNumbers().temperature;
  if (!model.source) return kDefault;
  const auto own = model.source->metadata().get_float(kKey);
  if (own.ok() && !*own) return kDefault;
  if (own.ok() && **own >= 0 && **own <= double{kMostTemperature}) return static_cast<float>(**own);
  model.host->log(LogLevel::warn,
                  "metadata key %s is no number from 0 to %g: temperature %g is used", kKey,
                  double{kMostTemperature}, double{kDefault});
  return kDefault;
}

Status check(const llmrt_runtime_options& o) {
  LLMRT_TRY(check_range("log_level", o.log_level, 0, 4));
  LLMRT_TRY(check_range("log_queue", o.log_queue, 0, 1 << 20));
  LLMRT_TRY(check_range("worker_threads", o.worker_threads, 0, kMaxWorkers));
  LLMRT_TRY(check_range("thread_priority", o.thread_priority, 0, kMaxPriority));
  LLMRT_TRY(optional_text("cache_dir", o.cache_dir).status());
  if ((o.alloc == nullptr) != (o.dealloc == nullptr))
    return refuse("alloc", o.alloc ? "set without dealloc" : "NULL with dealloc set",
                  "both or neither");
  return check_cpus(o.cpu_mask);
}

Result<ModelOptions> to_model_options(const llmrt_model_options& o) {
  ModelOptions m;
  LLMRT_ASSIGN(m.devices, copied("devices", o.devices));
  if (m.devices.empty()) m.devices = "auto";
  LLMRT_TRY(check_flag("metadata_only", o.metadata_only));
  LLMRT_TRY(check_range("host_memory_limit", o.host_memory_limit, 0, kNoMost));
  LLMRT_TRY(llmrt::check(limits::kTimeoutMs, o.timeout_ms));
  LLMRT_TRY(check_range("load_mode", o.load_mode, 0, 3));
  LLMRT_TRY(check_flag("packed_cache", o.packed_cache));
  if (o.packed_cache != 0 && o.load_mode == 3)
    return refuse("packed_cache", "1", "0, because load_mode is 3 and nothing is packed");
  m.metadata_only = o.metadata_only != 0;
  m.load_mode = static_cast<LoadMode>(o.load_mode);
  m.host_memory_limit = o.host_memory_limit;
  LLMRT_ASSIGN(m.chat_template, copied("chat_template", o.chat_template));
  LLMRT_TRY(check_template(m.chat_template));
  LLMRT_ASSIGN(m.metadata_overrides, copied("metadata_overrides", o.metadata_overrides));
  LLMRT_ASSIGN(m.backend_options, copied("backend_options", o.backend_options));
  return m;
}

Result<EngineOptions> to_engine_options(const llmrt_engine_options& o) {
  EngineOptions e;
  LLMRT_TRY(check_flag("threading", o.threading));
  LLMRT_TRY(llmrt::check(limits::kCtxTokens, o.ctx_tokens));
  LLMRT_TRY(llmrt::check(limits::kMaxRunning, o.max_running));
  LLMRT_TRY(llmrt::check(limits::kMaxBatch, o.max_batch));
  LLMRT_TRY(llmrt::check(limits::kPrefillChunk, o.prefill_chunk));
  LLMRT_TRY(llmrt::check(limits::kKvBudget, o.kv_budget));
  LLMRT_TRY(check_flag("prefix_cache", o.prefix_cache));
  if (o.numerics != 0)
    return error(Code::unsupported, "numerics is %d; allowed: 0 (deterministic)", o.numerics)
        .at("numerics");
  LLMRT_TRY(check_block_tokens(o.block_tokens));
  LLMRT_TRY(check_range("batching", o.batching, 0, 2));
  LLMRT_TRY(llmrt::check(limits::kBatchWaitUs, o.batch_wait_us));
  LLMRT_TRY(llmrt::check(limits::kQueueLimit, o.queue_limit));
  LLMRT_TRY(check_range("overflow", o.overflow, 0, 2));
  e.host_stepped = o.threading == 1;
  e.ctx_tokens = static_cast<uint32_t>(o.ctx_tokens);
  e.max_running = static_cast<uint32_t>(o.max_running);
  e.max_batch = static_cast<uint32_t>(o.max_batch);
  e.prefill_chunk = static_cast<uint32_t>(o.prefill_chunk);
  LLMRT_ASSIGN(const std::string_view kv_type, optional_text("kv_type", o.kv_type));
  if (!kv_type.empty()) {
    LLMRT_ASSIGN(e.kv, parse_kv_type(kv_type));
  }
  e.kv_budget = o.kv_budget;
  e.prefix_cache = o.prefix_cache != 0;
  e.block_tokens = static_cast<uint32_t>(o.block_tokens);
  e.batching = static_cast<Batching>(o.batching);
  e.batch_wait_us = static_cast<uint32_t>(o.batch_wait_us);
  e.queue_limit = static_cast<uint32_t>(o.queue_limit);
  e.overflow = o.overflow == 0 ? Overflow::error : Overflow::finish_length;
  LLMRT_ASSIGN(e.cache_namespace, copied("cache_namespace", o.cache_namespace));
  return e;
}

Result<GenParams> to_gen_params(const llmrt_gen_options& o, uint32_t n_vocab,
                                float default_temperature) {
  const FloatScope floats(FloatMode::ieee);
  GenParams g;
  LLMRT_TRY(check_flag("ignore_eos", o.ignore_eos));
  LLMRT_TRY(check_range("delivery", o.delivery, 0, 2));
  LLMRT_TRY(check_range("text_flags", o.text_flags, 0, 3));
  LLMRT_TRY(check_flag("logprobs_processed", o.logprobs_processed));
  if (o.delivery != 2 && o.on_event)
    return refuse("delivery", std::to_string(o.delivery), "2, because on_event is set");
  SamplingParams& s = g.sampling;
  LLMRT_TRY(check_temperature(o.temperature));
  s.temperature = o.temperature == -1.0f ? default_temperature : o.temperature;
  s.top_k = o.top_k;
  s.top_p = o.top_p;
  s.min_p = o.min_p;
  s.typical_p = o.typical_p;
  s.penalty_last_n = o.penalty_last_n;
  s.repeat_penalty = o.repeat_penalty;
  s.frequency_penalty = o.frequency_penalty;
  s.presence_penalty = o.presence_penalty;
  s.xtc_probability = o.xtc_probability;
  s.xtc_threshold = o.xtc_threshold;
  s.dry_multiplier = o.dry_multiplier;
  s.dry_base = o.dry_base;
  s.dry_allowed_length = o.dry_allowed_length;
  LLMRT_ASSIGN(const std::string_view chain, optional_text("sampler_chain", o.sampler_chain));
  if (o.sampler_chain) s.chain = chain;
  LLMRT_ASSIGN(s.logit_bias, parse_logit_bias(o.logit_bias, n_vocab));
  s.logprobs = o.logprobs;
  s.logprobs_processed = o.logprobs_processed != 0;
  LLMRT_TRY(validate(s, n_vocab));

  g.max_tokens = o.max_tokens;
  g.n = o.n;
  g.priority = o.priority;
  g.seed = o.seed;
  g.timeout_ms = o.timeout_ms;
  g.stall_timeout_ms = o.stall_timeout_ms;
  LLMRT_TRY(read_stops(o.stop, g.stop));
  g.ignore_eos = o.ignore_eos != 0;
  g.delivery = static_cast<Delivery>(o.delivery);
  g.tag = o.tag;
  return g;
}

Result<SessionOptions> to_session_options(const llmrt_session_options& o) {
  SessionOptions s;
  LLMRT_ASSIGN(s.system, copied("system", o.system));
  s.has_system = o.system != nullptr;
  LLMRT_ASSIGN(s.tools_json, copied("tools_json", o.tools_json));
  LLMRT_ASSIGN(s.kwargs_json, copied("template_kwargs", o.template_kwargs));
  LLMRT_TRY(check_chat_options(s.tools_json, s.kwargs_json, "template_kwargs"));
  return s;
}

llmrt_error_info to_error_info(const Status& status) {
  llmrt_error_info info = {};
  info.status = static_cast<llmrt_status>(status.code());
  info.message = info.where = "";
  if (status.failed()) info.message = sentence_of(status.code());
  if (const ErrorDetail* d = status.detail()) {
    info.message = d->message.c_str();
    info.where = d->where.c_str();
    info.sys_code = d->sys_code;
    info.line = d->line;
    info.column = d->column;
  }
  return info;
}

}  // namespace llmrt::api
