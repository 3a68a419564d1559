#include "api_kit.h"

namespace api_test {

std::string table_path() { return std::string(LLMRT_TESTS_DIR) + "/data/api/table.gguf"; }

Owned<llmrt_model> load_table(const llmrt_model_options* options) {
  llmrt_model* model = nullptr;
  REQUIRE_OK(llmrt_model_load(nullptr, table_path().c_str(), options, &model));
  return Owned<llmrt_model>(model);
}

llmrt_engine_options engine_options() {
  llmrt_engine_options o;
  llmrt_engine_options_init(&o, sizeof o);
  return o;
}

Owned<llmrt_engine> make_engine(llmrt_model* model, int32_t threading) {
  llmrt_engine_options o = engine_options();
  o.threading = threading;
  return make_engine(model, o);
}

Owned<llmrt_engine> make_engine(llmrt_model* model, const llmrt_engine_options& options) {
  llmrt_engine* engine = nullptr;
  REQUIRE_OK(llmrt_engine_create(model, &options, &engine));
  return Owned<llmrt_engine>(engine);
}

llmrt_gen_options greedy(int32_t max_tokens) {
  llmrt_gen_options o;
  llmrt_gen_options_init(&o, sizeof o);
  o.temperature = 0;
  o.max_tokens = max_tokens;
  return o;
}

Owned<llmrt_request> submit(llmrt_engine* engine, const std::string& text,
                            const llmrt_gen_options& options) {
  llmrt_request* request = nullptr;
  REQUIRE_OK(llmrt_submit_text(engine, text.data(), text.size(), &options, &request));
  return Owned<llmrt_request>(request);
}

Owned<llmrt_session> make_session(llmrt_engine* engine) {
  llmrt_session* session = nullptr;
  REQUIRE_OK(llmrt_session_create(engine, nullptr, &session));
  return Owned<llmrt_session>(session);
}

std::string take(char* text) {
  const std::string copy = text ? text : "";
  llmrt_free(text);
  return copy;
}

std::string text_of(llmrt_request* request, int32_t sample) {
  char* text = nullptr;
  REQUIRE_OK(llmrt_request_text(request, sample, &text));
  return take(text);
}

std::string history_of(llmrt_session* session) {
  char* text = nullptr;
  REQUIRE_OK(llmrt_session_history(session, &text));
  return take(text);
}

std::string last_error() { return llmrt_last_error(); }

std::string last_where() {
  llmrt_error_info info = {};
  info.struct_size = sizeof info;
  REQUIRE_OK(llmrt_last_error_info(&info));
  return info.where;
}

llmrt_event empty_event() {
  llmrt_event event = {};
  event.struct_size = sizeof event;
  return event;
}

}  // namespace api_test
