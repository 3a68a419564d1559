// Sessions and the blocking convenience on top.
#include <nlohmann/json.hpp>

#include "api/guard.h"
#include "api/objects.h"
#include "api/options.h"
#include "api/text.h"
#include "chat/messages.h"

namespace llmrt::api {
namespace {

// A turn's options, and its request: the session calls this with the prompt it has made. options must outlive it.
class TurnStarter {
 public:
  static Result<TurnStarter> make(std::shared_ptr<EngineCore> core,
                                  const llmrt_gen_options& options) {
    LLMRT_ASSIGN(GenParams params, core->params_of(options));
    TurnStarter start(std::move(core), options, std::move(params));
    LLMRT_ASSIGN(start.input.tools_json, optional_text("tools_json", options.tools_json));
    LLMRT_ASSIGN(start.input.kwargs_json,
                 optional_text("template_kwargs", options.template_kwargs));
    start.input.max_tokens = start.params_.max_tokens;
    return start;
  }
  Result<RequestPtr> operator()(std::vector<Token> prompt) {
    LLMRT_ASSIGN(Submitted submitted,
                 submit_request(core_, params_, options_, [&](const GenParams& p) {
                   return core_->engine().submit(std::move(prompt), p);
                 }));
    handle = submitted.handle;
    return std::move(submitted.request);
  }
  TurnInput input;
  llmrt_request* handle = nullptr;

 private:
  TurnStarter(std::shared_ptr<EngineCore> core, const llmrt_gen_options& options, GenParams params)
      : core_(std::move(core)), options_(options), params_(std::move(params)) {}

  std::shared_ptr<EngineCore> core_;
  const llmrt_gen_options& options_;
  GenParams params_;
};

struct ReleaseAtEnd {
  llmrt_request* handle;
  ~ReleaseAtEnd() { release(handle); }
};

Status check_ask(const llmrt_gen_options& o) {
  if (o.delivery == 0) return Status();
  return refuse("delivery", std::to_string(o.delivery), "0, in a call that waits for its answer");
}

Result<std::shared_ptr<EngineCore>> ask_engine_of(ModelObject& m) {
  const std::lock_guard lock(m.ask_mutex);
  if (!m.ask_engine) {
    LLMRT_ASSIGN(m.ask_engine, EngineCore::create(m.model, EngineOptions{}, false));
  }
  return m.ask_engine;
}

}  // namespace
}  // namespace llmrt::api

using namespace llmrt;
using namespace llmrt::api;

extern "C" {

void llmrt_session_options_init(llmrt_session_options* options, size_t struct_size) {
  LLMRT_ENTRY_PURE { init_options(options, struct_size); };
}

llmrt_status llmrt_session_create(llmrt_engine* engine, const llmrt_session_options* options,
                                  llmrt_session** out) {
  return LLMRT_ENTRY_MAKES(out) {
    LLMRT_TRY(need("out", out));
    LLMRT_ASSIGN(const auto e, get(engine));
    LLMRT_ASSIGN(const llmrt_session_options o, read_options(options));
    LLMRT_ASSIGN(SessionOptions s, to_session_options(o));
    s.drop_oldest = e->core->drops_oldest_turns();
    LLMRT_ASSIGN(auto session, Session::create(e->core->engine(), std::move(s)));
    *out = make_handle<llmrt_session>(std::make_shared<SessionObject>(e->core, std::move(session)));
    return Status();
  };
}

void llmrt_session_release(llmrt_session* session) {
  LLMRT_ENTRY_VOID { release(session); };
}

llmrt_status llmrt_session_add(llmrt_session* session, const char* role, const char* content) {
  return LLMRT_ENTRY_OUTSIDE {
    LLMRT_ASSIGN(const auto s, get(session));
    LLMRT_ASSIGN(const std::string_view r, text_argument("role", role));
    LLMRT_ASSIGN(const std::string_view c, text_argument("content", content));
    return s->session->add(r, c);
  };
}

llmrt_status llmrt_session_add_json(llmrt_session* session, const char* message_json) {
  return LLMRT_ENTRY_OUTSIDE {
    LLMRT_ASSIGN(const auto s, get(session));
    LLMRT_ASSIGN(const std::string_view message, text_argument("message_json", message_json));
    return s->session->add_json(message);
  };
}

llmrt_status llmrt_session_submit(llmrt_session* session, const llmrt_gen_options* options,
                                  llmrt_request** out) {
  return LLMRT_ENTRY_MAKES(out) {
    LLMRT_TRY(need("out", out));
    LLMRT_ASSIGN(const auto s, get(session));
    LLMRT_ASSIGN(const llmrt_gen_options o, read_options(options));
    LLMRT_ASSIGN(TurnStarter start, TurnStarter::make(s->core, o));
    LLMRT_ASSIGN(const auto turn, s->session->submit(start.input, start));
    *out = start.handle;
    return Status();
  };
}

llmrt_status llmrt_session_prefill(llmrt_session* session, llmrt_request** out) {
  return LLMRT_ENTRY_MAKES(out) {
    LLMRT_TRY(need("out", out));
    LLMRT_ASSIGN(const auto s, get(session));
    llmrt_gen_options o;
    defaults(o);
    o.max_tokens = 0;
    LLMRT_ASSIGN(TurnStarter start, TurnStarter::make(s->core, o));
    LLMRT_ASSIGN(const auto turn, s->session->prefill(start));
    *out = start.handle;
    return Status();
  };
}

llmrt_status llmrt_session_fork(const llmrt_session* session, llmrt_session** out) {
  return LLMRT_ENTRY_MAKES(out) {
    LLMRT_TRY(need("out", out));
    LLMRT_ASSIGN(const auto s, get(session));
    LLMRT_ASSIGN(auto copy, s->session->fork());
    *out = make_handle<llmrt_session>(std::make_shared<SessionObject>(s->core, std::move(copy)));
    return Status();
  };
}

llmrt_status llmrt_session_rewind(llmrt_session* session, int32_t keep_messages) {
  return LLMRT_ENTRY_OUTSIDE {
    LLMRT_ASSIGN(const auto s, get(session));
    return s->session->rewind(keep_messages);
  };
}

int32_t llmrt_session_token_count(const llmrt_session* session) {
  return LLMRT_ENTRY_COUNT {
    LLMRT_ASSIGN(const auto s, get(session));
    LLMRT_ASSIGN(const uint32_t n, s->session->token_count());
    return static_cast<int32_t>(n);
  };
}

llmrt_status llmrt_session_history(const llmrt_session* session, char** out_json) {
  return LLMRT_ENTRY_GIVES(out_json) {
    LLMRT_ASSIGN(const auto s, get(session));
    LLMRT_TRY(need("out_json", out_json));
    LLMRT_ASSIGN(const std::string json, s->session->history());
    return give_text(json, out_json);
  };
}

llmrt_status llmrt_model_ask(llmrt_model* model, const char* user_text,
                             const llmrt_gen_options* options, char** out_text) {
  return LLMRT_ENTRY_MAKES(out_text) {
    LLMRT_TRY(need("out_text", out_text));
    LLMRT_ASSIGN(const auto m, get(model));
    LLMRT_ASSIGN(const std::string_view text, text_argument("user_text", user_text));
    LLMRT_ASSIGN(const llmrt_gen_options o, read_options(options));
    LLMRT_TRY(check_ask(o));
    LLMRT_TRY(m->model->check_chat());
    const std::string messages =
        nlohmann::json::array({{{"role", "user"}, {"content", text}}}).dump();
    ChatInput input;
    input.messages_json = messages;
    LLMRT_ASSIGN(input.tools_json, optional_text("tools_json", o.tools_json));
    LLMRT_ASSIGN(input.kwargs_json, optional_text("template_kwargs", o.template_kwargs));
    LLMRT_ASSIGN(std::vector<Token> ids,
                 encode_chat(*m->model->chat_template, *m->model->tokenizer, input));
    LLMRT_ASSIGN(const auto core, ask_engine_of(*m));
    LLMRT_ASSIGN(GenParams params, core->params_of(o));
    LLMRT_ASSIGN(const Submitted submitted,
                 submit_request(core, std::move(params), o, [&](const GenParams& p) {
                   return core->engine().submit(std::move(ids), p);
                 }));
    const ReleaseAtEnd release_at_end{submitted.handle};
    LLMRT_TRY(submitted.request->wait_to_end());
    return give_text(submitted.request->text(0), out_text);
  };
}

llmrt_status llmrt_session_ask(llmrt_session* session, const char* user_text,
                               const llmrt_gen_options* options, char** out_text) {
  return LLMRT_ENTRY_MAKES(out_text) {
    LLMRT_TRY(need("out_text", out_text));
    LLMRT_ASSIGN(const auto s, get(session));
    LLMRT_ASSIGN(const std::string_view text, text_argument("user_text", user_text));
    LLMRT_ASSIGN(const llmrt_gen_options o, read_options(options));
    LLMRT_TRY(check_ask(o));
    LLMRT_ASSIGN(TurnStarter start, TurnStarter::make(s->core, o));
    LLMRT_ASSIGN(const auto turn, s->session->ask(text, start.input, start));
    const ReleaseAtEnd release_at_end{start.handle};
    LLMRT_TRY(turn->request->wait_to_end());
    return give_text(turn->request->text(0), out_text);
  };
}

}  // extern "C"
