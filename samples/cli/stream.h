// Following a request: its text as it comes, its figures in the end.
#pragma once

#include <functional>
#include <string_view>

#include "support.h"

namespace cli {

// Hands on the text of sample 0 until the request ends; Ctrl-C cancels it (keeping what there is). The request's result.
llmrt_status follow(llmrt_request* request, const std::function<void(std::string_view)>& on_text);

std::vector<int32_t> tokens_of(llmrt_request* request, int32_t sample);
const char* finish_word(llmrt_request* request, int32_t sample);
llmrt_usage usage_of(llmrt_request* request);
Json usage_json(llmrt_request* request);
void print_usage(llmrt_request* request);  // one line on standard error
// Says on standard error what cut an answer off, if anything did.
void tell_if_cut(llmrt_request* request, int32_t sample, int32_t max_tokens);

}  // namespace cli
