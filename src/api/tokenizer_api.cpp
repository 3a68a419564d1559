// Tokenizer and chat templates.
#include "api/guard.h"
#include "api/objects.h"
#include "api/options.h"
#include "api/text.h"
#include "chat/messages.h"

namespace llmrt::api {
namespace {

Result<const Tokenizer*> tokenizer_of(const ModelObject& m) {
  if (m.model->tokenizer) return m.model->tokenizer.get();
  return error(Code::unsupported, "the model's file has no tokenizer").at("tokenizer.ggml.model");
}

Status check_token(const Tokenizer& tokenizer, int32_t token) {
  if (token >= 0 && static_cast<uint32_t>(token) < tokenizer.n_vocab()) return Status();
  return refuse("token", std::to_string(token), "0 to " + std::to_string(tokenizer.n_vocab() - 1));
}

Result<ChatInput> read_chat(const char* messages, const char* tools, const char* kwargs,
                            int32_t add_generation_prompt) {
  ChatInput input;
  LLMRT_ASSIGN(input.messages_json, text_argument("messages_json", messages));
  LLMRT_ASSIGN(input.tools_json, optional_text("tools_json", tools));
  LLMRT_ASSIGN(input.kwargs_json, optional_text("kwargs_json", kwargs));
  input.kwargs_name = "kwargs_json";
  input.add_generation_prompt = add_generation_prompt != 0;
  return input;
}

// A C string would end at a NUL, and show less than what is sent.
Status give_prompt(std::string_view prompt, char** out) {
  const size_t nul = prompt.find('\0');
  if (nul == prompt.npos) return give_text(prompt, out);
  return error(Code::invalid_argument,
               "the prompt has a NUL byte at offset %zu, which out_prompt cannot show", nul)
      .at("out_prompt");
}

}  // namespace
}  // namespace llmrt::api

using namespace llmrt;
using namespace llmrt::api;

extern "C" {

llmrt_status llmrt_tokenize(const llmrt_model* model, const char* utf8, size_t len, uint32_t flags,
                            int32_t* out, int32_t cap, int32_t* n) {
  return LLMRT_ENTRY {
    LLMRT_ASSIGN(const auto m, get(model));
    LLMRT_TRY(need("n", n));
    *n = 0;
    LLMRT_TRY(check_range("flags", flags, 0, 3));
    LLMRT_ASSIGN(const std::string_view text, bytes_argument("utf8", utf8, len));
    LLMRT_ASSIGN(const Tokenizer* tokenizer, tokenizer_of(*m));
    LLMRT_ASSIGN(const std::vector<Token> ids,
                 tokenizer->encode(text, (flags & 1u) != 0, (flags & 2u) != 0));
    return give_array("out", ids, out, cap, n);
  };
}

llmrt_status llmrt_detokenize(const llmrt_model* model, const int32_t* tokens, size_t n,
                              uint32_t flags, char** out_utf8) {
  return LLMRT_ENTRY_GIVES(out_utf8) {
    LLMRT_ASSIGN(const auto m, get(model));
    LLMRT_TRY(need("out_utf8", out_utf8));
    if (n > 0) LLMRT_TRY(need("tokens", tokens));
    LLMRT_TRY(check_range("flags", flags, 0, 1));
    LLMRT_ASSIGN(const Tokenizer* tokenizer, tokenizer_of(*m));
    const std::span<const Token> ids(tokens, n);
    for (const Token id : ids) LLMRT_TRY(check_token(*tokenizer, id));
    return give_text(tokenizer->decode(ids, (flags & 1u) != 0), out_utf8);
  };
}

llmrt_status llmrt_token_bytes(const llmrt_model* model, int32_t token, uint8_t* out, int32_t cap,
                               int32_t* n) {
  return LLMRT_ENTRY {
    LLMRT_ASSIGN(const auto m, get(model));
    LLMRT_ASSIGN(const Tokenizer* tokenizer, tokenizer_of(*m));
    LLMRT_TRY(check_token(*tokenizer, token));
    const std::string_view bytes = tokenizer->token_bytes(token);
    return give_array("out",
                      std::span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()), out,
                      cap, n);
  };
}

int32_t llmrt_token_special(const llmrt_model* model, int32_t which) {
  return LLMRT_ENTRY_COUNT {
    LLMRT_ASSIGN(const auto m, get(model));
    LLMRT_ASSIGN(const Tokenizer* tokenizer, tokenizer_of(*m));
    LLMRT_TRY(check_range("which", which, 0, 6));
    const SpecialTokens& s = tokenizer->special();
    const Token ids[] = {s.bos, s.eos, s.eot, s.pad, s.fim_prefix, s.fim_suffix, s.fim_middle};
    return ids[which];
  };
}

uint32_t llmrt_token_attr(const llmrt_model* model, int32_t token) {
  return LLMRT_ENTRY_VALUE(uint32_t, 0) {
    LLMRT_ASSIGN(const auto m, get(model));
    LLMRT_ASSIGN(const Tokenizer* tokenizer, tokenizer_of(*m));
    LLMRT_TRY(check_token(*tokenizer, token));
    return tokenizer->token_attr(token);
  };
}

llmrt_status llmrt_chat_render(const llmrt_model* model, const char* messages_json,
                               const char* tools_json, const char* kwargs_json,
                               int32_t add_generation_prompt, char** out_prompt) {
  return LLMRT_ENTRY_GIVES(out_prompt) {
    LLMRT_ASSIGN(const auto m, get(model));
    LLMRT_TRY(need("out_prompt", out_prompt));
    LLMRT_ASSIGN(const ChatInput input,
                 read_chat(messages_json, tools_json, kwargs_json, add_generation_prompt));
    LLMRT_TRY(m->model->check_chat());
    LLMRT_ASSIGN(const RenderedText rendered,
                 render_chat(*m->model->chat_template, m->model->tokenizer.get(), input));
    return give_prompt(rendered.text, out_prompt);
  };
}

llmrt_status llmrt_template_render(const char* template_text, const char* messages_json,
                                   const char* tools_json, const char* kwargs_json,
                                   int32_t add_generation_prompt, char** out_prompt) {
  return LLMRT_ENTRY_GIVES(out_prompt) {
    LLMRT_TRY(need("out_prompt", out_prompt));
    LLMRT_ASSIGN(const std::string_view source, text_argument("template_text", template_text));
    LLMRT_ASSIGN(const ChatInput input,
                 read_chat(messages_json, tools_json, kwargs_json, add_generation_prompt));
    LLMRT_ASSIGN(const auto parsed, ChatTemplate::parse(source));
    LLMRT_ASSIGN(const RenderedText rendered, render_chat(*parsed, nullptr, input));
    return give_prompt(rendered.text, out_prompt);
  };
}

llmrt_status llmrt_chat_count(const llmrt_model* model, const char* messages_json,
                              const char* tools_json, const char* kwargs_json,
                              int32_t add_generation_prompt, int32_t* n) {
  return LLMRT_ENTRY {
    LLMRT_ASSIGN(const auto m, get(model));
    LLMRT_TRY(need("n", n));
    *n = 0;
    LLMRT_ASSIGN(const ChatInput input,
                 read_chat(messages_json, tools_json, kwargs_json, add_generation_prompt));
    LLMRT_TRY(m->model->check_chat());
    LLMRT_ASSIGN(const std::vector<Token> ids,
                 encode_chat(*m->model->chat_template, *m->model->tokenizer, input));
    *n = static_cast<int32_t>(ids.size());
    return Status();
  };
}

}  // extern "C"
