// Rendering messages for tests.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "chat/messages.h"

namespace llmrt::test {

// Arguments of render_chat.
struct Chat {
  std::string messages = "";
  std::string tools = "";
  std::string kwargs = "";
  bool prompt = true;
};

inline Result<RenderedText> render_with(std::string_view source, const Chat& chat,
                                        const Tokenizer* tokenizer = nullptr) {
  auto parsed = ChatTemplate::parse(source);
  if (!parsed.ok()) return std::move(parsed).status();
  ChatInput input;
  input.messages_json = chat.messages;
  input.tools_json = chat.tools;
  input.kwargs_json = chat.kwargs;
  input.add_generation_prompt = chat.prompt;
  return render_chat(*parsed.value(), tokenizer, input);
}

inline std::string chat_text(std::string_view source, const Chat& chat) {
  auto rendered = render_with(source, chat);
  INFO(std::string(source));
  INFO(std::string(rendered.status().message()));
  REQUIRE(rendered.ok());
  return rendered.value().text;
}

// The message of the refusal, which must be invalid_argument.
inline std::string refusal(const Chat& chat,
                           std::string_view source = "{{ messages[0].content }}") {
  auto rendered = render_with(source, chat);
  INFO(chat.messages);
  REQUIRE_FALSE(rendered.ok());
  CHECK(rendered.status().code() == Code::invalid_argument);
  return std::string(rendered.status().message());
}

}  // namespace llmrt::test
