#include <fenv.h>

#include <cmath>
#include <limits>
#include <utility>

#include "api_kit.h"

using namespace api_test;

namespace {

// A change to good options that must be refused with a sentence naming the field.
template <class Options>
struct BadValue {
  const char* field;
  void (*set)(Options& o);
};

}  // namespace

TEST_CASE("options: engine options out of range are named with what is allowed") {
  const auto model = load_table();
  const BadValue<llmrt_engine_options> bad[] = {
      {"threading", [](auto& o) { o.threading = 2; }},
      {"ctx_tokens", [](auto& o) { o.ctx_tokens = -1; }},
      {"ctx_tokens is 4194305; allowed: 0 to 4194304", [](auto& o) { o.ctx_tokens = 4194305; }},
      {"max_running", [](auto& o) { o.max_running = 0; }},
      {"max_running is 1025; allowed: 1 to 1024", [](auto& o) { o.max_running = 1025; }},
      {"max_batch", [](auto& o) { o.max_batch = -5; }},
      {"max_batch is 4097; allowed: 0 to 4096", [](auto& o) { o.max_batch = 4097; }},
      {"prefill_chunk", [](auto& o) { o.prefill_chunk = -1; }},
      {"kv_type", [](auto& o) { o.kv_type = "q11"; }},
      {"kv_budget", [](auto& o) { o.kv_budget = -2; }},
      {"prefix_cache", [](auto& o) { o.prefix_cache = 2; }},
      {"block_tokens", [](auto& o) { o.block_tokens = 33; }},
      {"batching", [](auto& o) { o.batching = 3; }},
      {"batch_wait_us", [](auto& o) { o.batch_wait_us = -1; }},
      {"queue_limit", [](auto& o) { o.queue_limit = 0; }},
      {"overflow", [](auto& o) { o.overflow = 3; }},
      {"cache_namespace", [](auto& o) { o.cache_namespace = "\xff"; }},
      {"llmrt_engine_options.pad0 is 7; allowed: 0", [](auto& o) { o.pad0 = 7; }},
  };
  for (const auto& b : bad) {
    INFO(b.field);
    llmrt_engine_options o = engine_options();
    b.set(o);
    llmrt_engine* engine = nullptr;
    CHECK(llmrt_engine_create(model.get(), &o, &engine) == LLMRT_ERR_INVALID_ARGUMENT);
    CHECK(engine == nullptr);
    CHECK_MESSAGE(last_error().find(b.field) != std::string::npos, last_error());
    CHECK(last_where() != "");
  }
}

TEST_CASE("options: only deterministic numerics are there") {
  const auto model = load_table();
  llmrt_engine_options o = engine_options();
  o.numerics = 1;
  llmrt_engine* engine = nullptr;
  CHECK(llmrt_engine_create(model.get(), &o, &engine) == LLMRT_ERR_UNSUPPORTED);
  CHECK(last_error() == "numerics is 1; allowed: 0 (deterministic)");
}

TEST_CASE("options: pads must be zero in every struct that has one") {
  llmrt_runtime_options r;
  llmrt_runtime_options_init(&r, sizeof r);
  r.pad0 = 1;
  llmrt_runtime* runtime = nullptr;
  CHECK(llmrt_runtime_create(&r, &runtime) == LLMRT_ERR_INVALID_ARGUMENT);
  llmrt_model_options m;
  llmrt_model_options_init(&m, sizeof m);
  m.pad0 = 1;
  llmrt_model* none = nullptr;
  CHECK(llmrt_model_load(nullptr, table_path().c_str(), &m, &none) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(last_error() == "llmrt_model_options.pad0 is 1; allowed: 0");
  m.pad0 = 0;
  m.pad1 = 2;
  CHECK(llmrt_model_load(nullptr, table_path().c_str(), &m, &none) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(last_error() == "llmrt_model_options.pad1 is 2; allowed: 0");
  m.pad1 = 0;
  m.pad2 = 3;
  CHECK(llmrt_model_load(nullptr, table_path().c_str(), &m, &none) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(last_error() == "llmrt_model_options.pad2 is 3; allowed: 0");
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  llmrt_session_options s;
  llmrt_session_options_init(&s, sizeof s);
  s.pad0 = -1;
  llmrt_session* session = nullptr;
  CHECK(llmrt_session_create(engine.get(), &s, &session) == LLMRT_ERR_INVALID_ARGUMENT);
}

TEST_CASE("options: a wrong struct_size names the init function only where there is one") {
  const auto model = load_table();
  llmrt_engine_options o = engine_options();
  o.struct_size = 3;
  llmrt_engine* engine = nullptr;
  CHECK(llmrt_engine_create(model.get(), &o, &engine) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(last_error().find("(set by llmrt_engine_options_init)") != std::string::npos);
  llmrt_model_info info = {};
  CHECK(llmrt_model_get_info(model.get(), &info) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(last_error().find("(set by sizeof)") != std::string::npos);
}

TEST_CASE("options: a temperature of the file that cannot be used is not the caller's mistake") {
  llmrt_runtime_options r;
  llmrt_runtime_options_init(&r, sizeof r);
  r.log_queue = 8;
  llmrt_runtime* runtime = nullptr;
  REQUIRE_OK(llmrt_runtime_create(&r, &runtime));
  const Owned<llmrt_runtime> runtime_owner(runtime);
  for (const char* own :
       {R"({"general.sampling.temp": 5000.0})", R"({"general.sampling.temp": "hot"})"}) {
    INFO(own);
    llmrt_model_options m;
    llmrt_model_options_init(&m, sizeof m);
    m.metadata_overrides = own;
    llmrt_model* model = nullptr;
    REQUIRE_OK(llmrt_model_load(runtime, table_path().c_str(), &m, &model));
    const Owned<llmrt_model> model_owner(model);
    const auto engine = make_engine(model);
    llmrt_gen_options o = greedy(3);
    o.temperature = -1;
    const auto request = submit(engine.get(), "1", o);
    CHECK(llmrt_request_wait(request.get(), -1) == LLMRT_OK);
    int32_t level = 0;
    char* line = nullptr;
    REQUIRE(llmrt_runtime_next_log(runtime, &level, &line) == LLMRT_OK);
    CHECK(take(line).find("general.sampling.temp") != std::string::npos);
  }
}

TEST_CASE("options: generation options out of range are named before a request exists") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  static const float kNan = nan;
  const BadValue<llmrt_gen_options> bad[] = {
      {"max_tokens", [](auto& o) { o.max_tokens = -2; }},
      {"n", [](auto& o) { o.n = 0; }},
      {"n is 1025; allowed: 1 to 1024", [](auto& o) { o.n = 1025; }},
      {"seed", [](auto& o) { o.seed = -2; }},
      {"timeout_ms", [](auto& o) { o.timeout_ms = -1; }},
      {"stall_timeout_ms", [](auto& o) { o.stall_timeout_ms = -1; }},
      {"temperature", [](auto& o) { o.temperature = -0.5f; }},
      {"temperature", [](auto& o) { o.temperature = kNan; }},
      {"temperature is 101; allowed: -1 (the model's own) and 0 to 100",
       [](auto& o) { o.temperature = 101; }},
      {"temperature is -1.0000001; allowed: -1 (", [](auto& o) { o.temperature = -1.0000001f; }},
      {"top_p", [](auto& o) { o.top_p = kNan; }},
      {"min_p", [](auto& o) { o.min_p = kNan; }},
      {"typical", [](auto& o) { o.typical_p = kNan; }},
      {"penalty_last_n", [](auto& o) { o.penalty_last_n = -2; }},
      {"repeat_penalty", [](auto& o) { o.repeat_penalty = 0; }},
      {"frequency_penalty", [](auto& o) { o.frequency_penalty = kNan; }},
      {"presence_penalty", [](auto& o) { o.presence_penalty = kNan; }},
      {"xtc_probability", [](auto& o) { o.xtc_probability = kNan; }},
      {"dry", [](auto& o) { o.dry_multiplier = kNan; }},
      {"chain", [](auto& o) { o.sampler_chain = "penalties;topk"; }},
      {"logit_bias", [](auto& o) { o.logit_bias = "[1]"; }},
      {"logit_bias", [](auto& o) { o.logit_bias = "{\"999999\": 1}"; }},
      {"logit_bias", [](auto& o) { o.logit_bias = "{\"-1\": 1}"; }},
      {"logit_bias: \" 97\" is no", [](auto& o) { o.logit_bias = "{\" 97\": 1}"; }},
      {"logit_bias: \"+97\" is no", [](auto& o) { o.logit_bias = "{\"+97\": 1}"; }},
      {"logit_bias", [](auto& o) { o.logit_bias = "{\"97\\u0000x\": 1}"; }},
      {"logit_bias", [](auto& o) { o.logit_bias = "{\"\": 1}"; }},
      {"logit_bias", [](auto& o) { o.logit_bias = "{\"65\": \"x\"}"; }},
      {"logit_bias", [](auto& o) { o.logit_bias = "{\"65\": {\"a\": 1}}"; }},
      {"logprobs", [](auto& o) { o.logprobs = 21; }},
      {"ignore_eos", [](auto& o) { o.ignore_eos = 7; }},
      {"delivery", [](auto& o) { o.delivery = 3; }},
      {"on_event", [](auto& o) { o.delivery = 2; }},
      {"text_flags", [](auto& o) { o.text_flags = 4; }},
      {"logprobs_processed is 2; allowed: 0 and 1", [](auto& o) { o.logprobs_processed = 2; }},
      {"llmrt_gen_options.pad0 is 1; allowed: 0", [](auto& o) { o.pad0 = 1; }},
  };
  for (const auto& b : bad) {
    INFO(b.field);
    llmrt_gen_options o = greedy(4);
    b.set(o);
    llmrt_request* request = nullptr;
    CHECK(llmrt_submit_text(engine.get(), "a", 1, &o, &request) == LLMRT_ERR_INVALID_ARGUMENT);
    CHECK(request == nullptr);
    CHECK_MESSAGE(last_error().find(b.field) != std::string::npos, last_error());
    CHECK(last_where() != "");
  }
}

TEST_CASE("options: the defaults are those of the rules") {
  llmrt_gen_options g;
  llmrt_gen_options_init(&g, sizeof g);
  CHECK(g.max_tokens == -1);
  CHECK(g.n == 1);
  CHECK(g.seed == -1);
  for (const int32_t zero : {g.priority, g.timeout_ms, g.stall_timeout_ms, g.logprobs,
                             g.logprobs_processed, g.ignore_eos, g.delivery, g.text_flags, g.pad0})
    CHECK(zero == 0);
  CHECK(g.temperature == -1.0f);
  CHECK(g.top_k == 40);
  CHECK(g.top_p == 0.95f);
  CHECK(g.min_p == 0.05f);
  CHECK(g.typical_p == 1.0f);
  CHECK(g.penalty_last_n == 64);
  CHECK(g.repeat_penalty == 1.0f);
  CHECK(g.frequency_penalty == 0.0f);
  CHECK(g.presence_penalty == 0.0f);
  CHECK(g.xtc_probability == 0.0f);
  CHECK(g.xtc_threshold == 0.1f);
  CHECK(g.dry_multiplier == 0.0f);
  CHECK(g.dry_base == 1.75f);
  CHECK(g.dry_allowed_length == 2);
  CHECK(g.sampler_chain == nullptr);
  llmrt_model_options m;
  llmrt_model_options_init(&m, sizeof m);
  CHECK(std::string(m.devices) == "auto");
  const llmrt_engine_options e = engine_options();
  CHECK(e.max_running == 16);
  CHECK(std::string(e.kv_type) == "bf16");
  CHECK(e.block_tokens == 32);
  CHECK(e.prefix_cache == 1);
  CHECK(e.queue_limit == 1024);
  CHECK(e.kv_budget == -1);
  for (const int32_t zero : {e.threading, e.ctx_tokens, e.max_batch, e.prefill_chunk, e.numerics,
                             e.batching, e.batch_wait_us, e.overflow})
    CHECK(zero == 0);
  llmrt_runtime_options r;
  llmrt_runtime_options_init(&r, sizeof r);
  CHECK(r.log_level == 2);
  CHECK(r.worker_threads == 0);
  CHECK(r.cache_dir == nullptr);
}

TEST_CASE("options: ctx_tokens 0 is what the model was trained for, at most 8192") {
  llmrt_source* source = nullptr;
  REQUIRE_OK(llmrt_source_from_path(table_path().c_str(), &source));
  const Owned<llmrt_source> owner(source);
  const std::pair<const char*, int32_t> trained[] = {{R"({"llama.context_length": 512})", 512},
                                                     {R"({"llama.context_length": 8192})", 8192},
                                                     {R"({"llama.context_length": 8193})", 8192},
                                                     {R"({"llama.context_length": 131072})", 8192}};
  for (const auto& [overrides, ctx_tokens] : trained) {
    INFO(overrides);
    llmrt_model_options m;
    llmrt_model_options_init(&m, sizeof m);
    m.metadata_overrides = overrides;
    llmrt_plan* plan = nullptr;
    REQUIRE_OK(llmrt_plan_create(nullptr, source, &m, nullptr, &plan));
    llmrt_plan_info info = {};
    info.struct_size = sizeof info;
    CHECK_OK(llmrt_plan_get_info(plan, &info));
    CHECK(info.ctx_tokens == ctx_tokens);
    llmrt_plan_release(plan);
  }
}

TEST_CASE("options: no sampler_chain is the documented one, and its order counts") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  llmrt_gen_options o = greedy(4);
  o.temperature = 100;  // behind the cuts it changes little, before them it lets others in
  o.logprobs = 20;
  o.logprobs_processed = 1;
  o.seed = 7;
  const auto answer = [&](const char* chain) {
    o.sampler_chain = chain;
    const auto request = submit(engine.get(), "!", o);
    REQUIRE(llmrt_request_wait(request.get(), -1) == LLMRT_OK);
    char* json = nullptr;
    REQUIRE_OK(llmrt_request_message(request.get(), 0, &json));
    return take(json);
  };
  const std::string by_default = answer(nullptr);
  CHECK(by_default == answer("logit_bias;penalties;dry;top_k;typical;top_p;min_p;xtc;temperature"));
  CHECK(by_default != answer("logit_bias;penalties;dry;temperature;top_k;typical;top_p;min_p;xtc"));
}

TEST_CASE("options: a nested or deep logit_bias is refused without recursion") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  const std::string deep = "{\"1\":" + std::string(100000, '[') + std::string(100000, ']') + "}";
  llmrt_gen_options o = greedy(4);
  o.logit_bias = deep.c_str();
  llmrt_request* request = nullptr;
  CHECK(llmrt_submit_text(engine.get(), "a", 1, &o, &request) == LLMRT_ERR_INVALID_ARGUMENT);
}

#if defined(__GLIBC__) && defined(__x86_64__)
TEST_CASE("options: numbers that overflow are refused in a host that traps on float exceptions") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  llmrt_gen_options o = greedy(4);
  o.logit_bias = "{\"5\": 1e999}";
  llmrt_model_options m;
  llmrt_model_options_init(&m, sizeof m);
  m.metadata_overrides = "{\"llama.rope.freq_base\": 1e999}";
  llmrt_request* request = nullptr;
  llmrt_model* none = nullptr;
  feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
  const llmrt_status submitted = llmrt_submit_text(engine.get(), "a", 1, &o, &request);
  o.logit_bias = nullptr;
  o.temperature = std::numeric_limits<float>::quiet_NaN();
  const llmrt_status hot = llmrt_submit_text(engine.get(), "a", 1, &o, &request);
  const llmrt_status loaded = llmrt_model_load(nullptr, table_path().c_str(), &m, &none);
  const int traps = fegetexcept();
  fedisableexcept(FE_ALL_EXCEPT);
  CHECK(submitted == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(hot == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(loaded < 0);
  CHECK(traps == (FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW));
}
#endif
