// Rendering for tests: parse and render at once, spans as a picture.
#pragma once

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "chat_template/chat_template.h"

namespace llmrt::test {

inline Result<RenderedText> render(std::string_view source, const std::string& context,
                                   std::span<const std::string_view> trusted = {},
                                   const TemplateLimits& limits = {}) {
  auto parsed = ChatTemplate::parse(source);
  if (!parsed.ok()) return std::move(parsed).status();
  return parsed.value()->render(context, trusted, limits);
}

inline std::string text_of(std::string_view source, const std::string& context = "{}") {
  auto rendered = render(source, context);
  INFO(std::string(source));
  INFO(std::string(rendered.status().message()));
  REQUIRE(rendered.ok());
  return rendered.value().text;
}

inline Status failure_of(std::string_view source, const std::string& context = "{}",
                         const TemplateLimits& limits = {}) {
  auto rendered = render(source, context, {}, limits);
  INFO(std::string(source));
  REQUIRE_FALSE(rendered.ok());
  return rendered.status();
}

// The origin of each byte: 't' trusted, '_' input. Checks that the spans cover the text in order.
inline std::string origins(const RenderedText& rendered) {
  std::string picture;
  size_t at = 0;
  for (const TextSpan& span : rendered.spans) {
    CHECK(span.begin == at);
    CHECK(span.end > span.begin);
    picture.append(span.end - span.begin, span.trusted ? 't' : '_');
    at = span.end;
  }
  CHECK(at == rendered.text.size());
  return picture;
}

}  // namespace llmrt::test
