#include "chat_template/template_builder.h"

#include <cstring>

namespace llmrt::jinja {

bool TextBuilder::room(size_t n) {
  if (over_ || n > limit_ - bytes_.size()) over_ = true;
  return !over_;
}

void TextBuilder::extend(size_t n, bool input) {
  if (n == 0) return;
  if (runs_.empty() || runs_.back().input != input)
    runs_.push_back({bytes_.size(), input});
  else
    runs_.back().end = bytes_.size();
}

void TextBuilder::append(const Text& text) {
  if (!room(text.size)) return;
  if (!text.origin) {
    bytes_.append(text.data, text.size);
    extend(text.size, text.input);
    return;
  }
  for (size_t i = 0; i < text.size;) {
    const void* end = std::memchr(text.origin + i, text.origin[i] ? 0 : 1, text.size - i);
    const size_t n = end ? static_cast<size_t>(static_cast<const uint8_t*>(end) - text.origin) - i
                         : text.size - i;
    bytes_.append(text.data + i, n);
    extend(n, text.origin[i] != 0);
    i += n;
  }
}

void TextBuilder::append(std::string_view bytes, bool input) {
  if (!room(bytes.size())) return;
  bytes_.append(bytes);
  extend(bytes.size(), input);
}

void TextBuilder::append_many(char c, size_t n, bool input) {
  if (!room(n)) return;
  bytes_.append(n, c);
  extend(n, input);
}

void TextBuilder::append_code_point(uint32_t cp, bool input) {
  char b[4];
  size_t n = 0;
  if (cp < 0x80) {
    b[n++] = static_cast<char>(cp);
  } else if (cp < 0x800) {
    b[n++] = static_cast<char>(0xC0 | (cp >> 6));
    b[n++] = static_cast<char>(0x80 | (cp & 0x3F));
  } else if (cp < 0x10000) {
    b[n++] = static_cast<char>(0xE0 | (cp >> 12));
    b[n++] = static_cast<char>(0x80 | ((cp >> 6) & 0x3F));
    b[n++] = static_cast<char>(0x80 | (cp & 0x3F));
  } else {
    b[n++] = static_cast<char>(0xF0 | (cp >> 18));
    b[n++] = static_cast<char>(0x80 | ((cp >> 12) & 0x3F));
    b[n++] = static_cast<char>(0x80 | ((cp >> 6) & 0x3F));
    b[n++] = static_cast<char>(0x80 | (cp & 0x3F));
  }
  append(std::string_view(b, n), input);
}

bool TextBuilder::any_input() const {
  return runs_.size() > 1 || (!runs_.empty() && runs_[0].input);  // neighbours differ
}

const Text* TextBuilder::finish(Arena& arena) const {
  if (runs_.size() <= 1) return copy_text(arena, bytes_, !runs_.empty() && runs_[0].input);
  char* data = static_cast<char*>(arena.take(bytes_.size() * 2));
  std::memcpy(data, bytes_.data(), bytes_.size());
  auto* origin = reinterpret_cast<uint8_t*>(data + bytes_.size());
  size_t begin = 0;
  for (const Run& run : runs_) {
    std::memset(origin + begin, run.input ? 1 : 0, run.end - begin);
    begin = run.end;
  }
  return make_text(arena, {data, origin, static_cast<uint32_t>(bytes_.size()), false});
}

}  // namespace llmrt::jinja
