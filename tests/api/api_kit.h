// What the API tests share: owned handles and the table model.
//
// tests/data/api/table.gguf is a llama model whose next token depends on the last one alone (context 512, temperature 0.5):
//   '0' -> '1' ... '8' -> '9' -> end of turn      'a' -> 'b' ... 'z' -> 'a', for ever      '!' or A..D -> A, B, C or D, evenly
// Its template writes "[role]content" for each message and ">" to open the answer; '>' -> '1', so every answer is "123456789".
#pragma once

#include <doctest/doctest.h>
#include <llmrt.h>

#include <memory>
#include <string>
#include <vector>

#include "../../samples/owned_handles.h"

namespace api_test {

using llmrt_samples::Owned;

std::string table_path();
Owned<llmrt_model> load_table(const llmrt_model_options* options = nullptr);
// Own thread, or host-stepped.
Owned<llmrt_engine> make_engine(llmrt_model* model, int32_t threading = 0);
Owned<llmrt_engine> make_engine(llmrt_model* model, const llmrt_engine_options& options);
llmrt_engine_options engine_options();
llmrt_gen_options greedy(int32_t max_tokens);
Owned<llmrt_request> submit(llmrt_engine* engine, const std::string& text,
                            const llmrt_gen_options& options);
Owned<llmrt_session> make_session(llmrt_engine* engine);
std::string take(char* text);
std::string text_of(llmrt_request* request, int32_t sample = 0);
std::string history_of(llmrt_session* session);
std::string last_error();
std::string last_where();
llmrt_event empty_event();

}  // namespace api_test

// A call that must work; its sentence is shown if it does not.
#define REQUIRE_OK(call) REQUIRE_MESSAGE((call) == LLMRT_OK, llmrt_last_error())
#define CHECK_OK(call) CHECK_MESSAGE((call) == LLMRT_OK, llmrt_last_error())
