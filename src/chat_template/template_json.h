// JSON to values, and a reader that chat/ uses to look into messages without building them.
//
// JsonReader is a pull parser: it keeps the source's extents (so a part can be passed on byte for byte), numbers as written
// (Python's integers have no bound), and bounds nesting by kMaxJsonDepth. A text that is not JSON is a failure with its offset.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "chat_template/template_value.h"

namespace llmrt::jinja {

inline constexpr uint32_t kMaxJsonDepth = 64;

class JsonReader {
 public:
  enum class Token : uint8_t {
    begin_object,
    end_object,
    begin_array,
    end_array,
    key,     // text() is the member's name
    string,  // text() is the value
    number,  // raw() is the spelling
    true_value,
    false_value,
    null_value,
    end,
  };

  explicit JsonReader(std::string_view json) : json_(json) {}
  // After an error the reader must not be used on. The code is invalid_argument, the message "not JSON at byte N: ...".
  Result<Token> next();
  const std::string& text() const { return text_; }
  std::string_view raw() const { return json_.substr(begin_, at_ - begin_); }
  size_t begin() const { return begin_; }  // of the current token
  size_t at() const { return at_; }        // past it
  // After begin_object, begin_array, or any scalar: moves past the whole value.
  Status skip(Token first);

 private:
  Status fail(size_t at, const char* what) const;
  void skip_blanks();
  Result<Token> value();
  Result<Token> end_of_container();
  Result<Token> name();
  void value_done() { expect_ = open_.empty() ? Expect::nothing : Expect::comma_or_end; }
  Result<Token> word(std::string_view spelling, Token token);
  Status read_string();
  Status read_escape();
  Status read_number();

  std::string_view json_;
  size_t at_ = 0;
  size_t begin_ = 0;
  std::string text_;
  std::string open_;  // '{' and '[' of the containers around
  // What may stand next.
  enum class Expect : uint8_t { value, value_or_end, name, name_or_end, comma_or_end, nothing };
  Expect expect_ = Expect::value;
};

// One JSON value; every byte of it has the origin `input`, except the members named in `trusted` where it is an object.
Result<Value> json_value(std::string_view json, Arena& arena, bool input,
                         std::span<const std::string_view> trusted = {});

}  // namespace llmrt::jinja
