#include "template_render.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

std::string named(const char* name, const char* messages, bool prompt = true) {
  return text_of(builtin_chat_template(name),
                 std::string(R"({"messages": )") + messages +
                     R"(, "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": )" +
                     (prompt ? "true}" : "false}"));
}

const char* const kChat =
    R"([{"role": "system", "content": "S"}, {"role": "user", "content": "U"}, {"role": "assistant", "content": "A"}, {"role": "user", "content": "V"}])";

}  // namespace

TEST_CASE("named templates: each spells its format") {
  CHECK(named("chatml", kChat) ==
        "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\nA<|"
        "im_end|>\n<|im_start|>user\nV<|im_end|>\n"
        "<|im_start|>assistant\n");
  CHECK(named("llama3", kChat) ==
        "<s><|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|><|start_header_id|>user<|end_"
        "header_id|>\n\nU<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\nA<|eot_id|><|start_header_id|>user<|end_"
        "header_id|>\n\nV<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n");
  CHECK(named("mistral", kChat) == "<s>[INST] S\n\nU [/INST] A</s>[INST] V [/INST]");
  CHECK(named("gemma", kChat) ==
        "<s><start_of_turn>user\nS\n\nU<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n<start_"
        "of_turn>user\nV<end_of_turn>\n<start_of_turn>model\n");
  CHECK(named("phi3", kChat) ==
        "<|system|>\nS<|end|>\n<|user|>\nU<|end|>\n<|assistant|>\nA<|end|>\n<|user|>\nV<|end|>\n<|"
        "assistant|>\n");
}

TEST_CASE("named templates: without a generation prompt the text ends with the last message") {
  const char* one = R"([{"role": "user", "content": "U"}])";
  CHECK(named("chatml", one, false) == "<|im_start|>user\nU<|im_end|>\n");
  CHECK(named("llama3", one, false) ==
        "<s><|start_header_id|>user<|end_header_id|>\n\nU<|eot_id|>");
  CHECK(named("gemma", one, false) == "<s><start_of_turn>user\nU<end_of_turn>\n");
  CHECK(named("phi3", one, false) == "<|user|>\nU<|end|>\n");
}

TEST_CASE("named templates: only the known names") {
  CHECK(builtin_chat_template("") == nullptr);
  CHECK(builtin_chat_template("ChatML") == nullptr);
}

TEST_CASE("named templates: roles they cannot place are refused") {
  const std::string context =
      R"({"messages": [{"role": "tool", "content": "x"}], "bos_token": "", "eos_token": ""})";
  for (const char* name : {"mistral", "gemma", "phi3"})
    CHECK(failure_of(builtin_chat_template(name), context).code() == Code::template_error);
}
