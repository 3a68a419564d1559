#include "api_kit.h"

using namespace api_test;

TEST_CASE("tokenizer: text to ids and back") {
  const auto model = load_table();
  int32_t ids[16] = {}, n = 0;
  const std::string text = "h\xc3\xa9y";
  CHECK(llmrt_tokenize(model.get(), text.data(), text.size(), 0, nullptr, 0, &n) ==
        LLMRT_ERR_BUFFER_TOO_SMALL);
  CHECK(n == 4);
  REQUIRE_OK(llmrt_tokenize(model.get(), text.data(), text.size(), 0, ids, 16, &n));
  CHECK(n == 4);
  CHECK(ids[1] == 0xc3);
  char* back = nullptr;
  REQUIRE_OK(llmrt_detokenize(model.get(), ids, 4, 0, &back));
  CHECK(take(back) == text);
  REQUIRE_OK(llmrt_detokenize(model.get(), ids, 2, 0, &back));
  CHECK(take(back) == "h\xef\xbf\xbd");  // half a code point
  CHECK(llmrt_tokenize(model.get(), "a\xffz", 3, 0, ids, 16, &n) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(last_error() == "utf8 is not UTF-8: byte 0xff at offset 1");
  CHECK(llmrt_tokenize(model.get(), "a", 1, 4, ids, 16, &n) == LLMRT_ERR_INVALID_ARGUMENT);
  const int32_t outside = 258;
  CHECK(llmrt_detokenize(model.get(), &outside, 1, 0, &back) == LLMRT_ERR_INVALID_ARGUMENT);
}

TEST_CASE("tokenizer: special tokens are special only if asked") {
  const auto model = load_table();
  int32_t ids[16] = {}, n = 0;
  REQUIRE_OK(llmrt_tokenize(model.get(), "<|end|>", 7, 0, ids, 16, &n));
  CHECK(n == 7);
  REQUIRE_OK(llmrt_tokenize(model.get(), "<|end|>", 7, 2, ids, 16, &n));
  CHECK(n == 1);
  CHECK(ids[0] == 256);
  CHECK(llmrt_token_special(model.get(), 1) == 256);
  CHECK(llmrt_token_special(model.get(), 0) == -1);
  CHECK(llmrt_token_special(model.get(), 7) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK((llmrt_token_attr(model.get(), 256) & 5u) == 5u);
  CHECK(llmrt_token_attr(model.get(), 'a') == 0);
  CHECK(llmrt_token_attr(model.get(), -1) == 0);
  uint8_t bytes[8] = {};
  REQUIRE_OK(llmrt_token_bytes(model.get(), 0xc3, bytes, 8, &n));
  CHECK(n == 1);
  CHECK(bytes[0] == 0xc3);
  CHECK(llmrt_token_bytes(model.get(), 256, bytes, 2, &n) == LLMRT_ERR_BUFFER_TOO_SMALL);
}

TEST_CASE("tokenizer: chats are rendered and counted as they will be sent") {
  const auto model = load_table();
  const char* const messages = R"([{"role":"user","content":"<|end|>"}])";
  char* prompt = nullptr;
  REQUIRE_OK(llmrt_chat_render(model.get(), messages, nullptr, nullptr, 0, &prompt));
  CHECK(take(prompt) == "[user]<|end|>");
  int32_t n = 0;
  REQUIRE_OK(llmrt_chat_count(model.get(), messages, nullptr, nullptr, 1, &n));
  CHECK(n == 14);  // the user's <|end|> stays text
  REQUIRE_OK(llmrt_template_render("{{ bos_token }}{{ messages[0].content }}|{{ x }}", messages,
                                   nullptr, R"({"bos_token":"<s>","x":3})", 1, &prompt));
  CHECK(take(prompt) == "<s><|end|>|3");
  CHECK(llmrt_template_render("a\n{% nope %}", messages, nullptr, nullptr, 1, &prompt) ==
        LLMRT_ERR_TEMPLATE);
  llmrt_error_info info = {};
  info.struct_size = sizeof info;
  REQUIRE_OK(llmrt_last_error_info(&info));
  CHECK(info.line == 2);
  CHECK(prompt == nullptr);
  const char* const with_nul = R"([{"role":"user","content":"a\u0000b"}])";
  CHECK(llmrt_chat_render(model.get(), with_nul, nullptr, nullptr, 0, &prompt) ==
        LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(last_error() == "the prompt has a NUL byte at offset 7, which out_prompt cannot show");
  CHECK(prompt == nullptr);
  REQUIRE_OK(llmrt_chat_count(model.get(), with_nul, nullptr, nullptr, 0, &n));
  CHECK(n == 9);  // submitting sends it all: [user]a, NUL, b
}
