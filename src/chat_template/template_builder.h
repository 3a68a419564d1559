// TextBuilder: where texts and the output are put together, each piece with its origin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat_template/template_value.h"

namespace llmrt::jinja {

// Runs of one origin, in order: [runs[i - 1].end, runs[i].end) has origin runs[i].input. Neighbours differ; the last end is the
// size of the text. Past `limit` bytes nothing more is taken and over_limit() is true.
class TextBuilder {
 public:
  struct Run {
    size_t end = 0;
    bool input = false;
  };

  explicit TextBuilder(size_t limit) : limit_(limit) {}
  void append(const Text& text);
  void append(std::string_view bytes, bool input);
  void append(char c, bool input) { append(std::string_view(&c, 1), input); }
  void append_code_point(uint32_t code_point, bool input);
  void append_many(char c, size_t n, bool input);

  size_t size() const { return bytes_.size(); }
  bool over_limit() const { return over_; }
  size_t room_left() const { return over_ ? 0 : limit_ - bytes_.size(); }
  void fail_limit() { over_ = true; }
  bool any_input() const;
  std::string& bytes() { return bytes_; }
  const std::vector<Run>& runs() const { return runs_; }
  // A copy in the arena. The caller has looked at over_limit().
  const Text* finish(Arena& arena) const;

 private:
  bool room(size_t n);
  void extend(size_t n, bool input);

  std::string bytes_;
  std::vector<Run> runs_;
  size_t limit_;
  bool over_ = false;
};

}  // namespace llmrt::jinja
