#include "chat/message_repair.h"

#include <memory>
#include <vector>

#include "chat_template/template_json.h"
#include "chat_template/template_source.h"
#include "chat_template/template_text.h"
#include "tokenizer/unicode.h"

namespace llmrt {

namespace {

using jinja::JsonReader;
using jinja::phrase;
using JsonToken = JsonReader::Token;

struct Member {
  std::string name;
  JsonToken type = JsonToken::end;
  std::string_view raw;  // the value as written
  std::string text;      // of a string: decoded
};

const char* json_type(JsonToken token) {
  switch (token) {
    case JsonToken::begin_object:
      return "an object";
    case JsonToken::begin_array:
      return "an array";
    case JsonToken::string:
      return "a string";
    case JsonToken::number:
      return "a number";
    case JsonToken::true_value:
    case JsonToken::false_value:
      return "a boolean";
    default:
      return "null";
  }
}

// A value's extent in the source; the reader stands past it.
Result<std::string_view> extent(JsonReader& reader, std::string_view json, JsonToken first) {
  const size_t begin = reader.begin();
  LLMRT_TRY(reader.skip(first));
  return json.substr(begin, reader.at() - begin);
}

// The members of the object that the reader has just entered. A repeated name: the last one counts.
Result<std::vector<Member>> read_members(JsonReader& reader, std::string_view json) {
  std::vector<Member> members;
  for (;;) {
    LLMRT_ASSIGN(const JsonToken token, reader.next());
    if (token == JsonToken::end_object) return members;
    std::string name = reader.text();
    Member* member = nullptr;
    for (Member& known : members)
      if (known.name == name) member = &known;
    if (!member) {
      if (members.size() >= 256)
        return error(Code::invalid_argument, "an object with more than 256 members at byte %zu",
                     reader.begin());
      member = &members.emplace_back();
      member->name = std::move(name);
    }
    LLMRT_ASSIGN(member->type, reader.next());
    if (member->type == JsonToken::string) member->text = reader.text();
    LLMRT_ASSIGN(member->raw, extent(reader, json, member->type));
  }
}

Result<std::vector<Member>> members_of(std::string_view json) {
  JsonReader reader(json);
  LLMRT_ASSIGN(const JsonToken first, reader.next());
  (void)first;  // the caller knows that it is an object
  return read_members(reader, json);
}

Member* find(std::vector<Member>& members, std::string_view name) {
  for (Member& m : members)
    if (m.name == name) return &m;
  return nullptr;
}

void append_members(std::string& out, const std::vector<Member>& members) {
  out += '{';
  for (size_t i = 0; i < members.size(); ++i) {
    if (i) out += ',';
    append_json_string(out, members[i].name);
    out += ':';
    out += members[i].raw;
  }
  out += '}';
}

// Rewrites one message. Strings that replace a member's text live in `storage_` until the message is written.
class MessageRepair {
 public:
  MessageRepair(const char* name, size_t index, const TemplateCaps& caps)
      : name_(name), index_(index), caps_(caps) {}

  Status write(std::vector<Member>& members, std::string& out) {
    Member* role = find(members, "role");
    if (!role) return fail(" has no 'role'");
    if (role->type != JsonToken::string) return fail_type(*role, "role", "a string");
    if (role->text == "developer" && !caps_.developer_role) role->raw = "\"system\"";

    Member* calls = find(members, "tool_calls");
    if (calls && calls->type != JsonToken::begin_array && calls->type != JsonToken::null_value)
      return fail_type(*calls, "tool_calls", "an array");
    const bool has_calls = calls && calls->type == JsonToken::begin_array;
    if (has_calls) LLMRT_TRY(repair_calls(*calls));

    Member* content = find(members, "content");
    if (!content && has_calls) {
      members.emplace_back();
      content = &members.back();
      content->name = "content";
      content->type = JsonToken::null_value;
      content->raw = "null";
    }
    if (content) LLMRT_TRY(repair_content(*content, has_calls));
    append_members(out, members);
    return Status();
  }

 private:
  Status fail(const std::string& what) const {
    return error(Code::invalid_argument, "%s[%zu]%s", name_, index_, what.c_str());
  }
  Status fail_type(const Member& member, const std::string& path, const char* wanted) const {
    return error(Code::invalid_argument, "%s[%zu].%s is %s, it must be %s", name_, index_,
                 path.c_str(), json_type(member.type), wanted);
  }
  void replace(Member& member, std::string text) {
    storage_.push_back(std::make_unique<std::string>(std::move(text)));
    member.raw = *storage_.back();
  }

  Status repair_content(Member& content, bool has_calls) {
    switch (content.type) {
      case JsonToken::null_value:
        if (!has_calls || !caps_.null_content) content.raw = "\"\"";
        return Status();
      case JsonToken::string:
        if (!caps_.text_content && caps_.part_content)
          replace(content, phrase(R"([{"type":"text","text":)", content.raw, "}]"));
        return Status();
      case JsonToken::begin_array:
        if (caps_.text_content && !caps_.part_content) return join_parts(content);
        return Status();
      default:
        return fail_type(content, "content", "a string, an array of parts or null");
    }
  }

  Status join_parts(Member& content) {
    std::string joined;
    JsonReader reader(content.raw);
    LLMRT_ASSIGN(JsonToken token, reader.next());
    for (size_t i = 0;; ++i) {
      LLMRT_ASSIGN(token, reader.next());
      if (token == JsonToken::end_array) break;
      const std::string path = phrase("content[", i, "]");
      if (token != JsonToken::begin_object)
        return fail(phrase(".", path, " is ", json_type(token), ", it must be an object"));
      LLMRT_ASSIGN(std::vector<Member> part, read_members(reader, content.raw));
      const Member* type = find(part, "type");
      const Member* text = find(part, "text");
      if (!type || type->type != JsonToken::string)
        return fail(phrase(".", path, " has no 'type'"));
      if (type->text != "text")
        return fail(phrase(".", path, " is of type '", utf8_head(type->text, 40),
                           "', this template takes text only"));
      if (!text || text->type != JsonToken::string)
        return fail(phrase(".", path, " has no 'text'"));
      if (i) joined += '\n';
      joined += text->text;
    }
    std::string quoted;
    append_json_string(quoted, joined);
    replace(content, std::move(quoted));
    return Status();
  }

  Status repair_calls(Member& calls) {
    std::string out = "[";
    JsonReader reader(calls.raw);
    LLMRT_ASSIGN(JsonToken token, reader.next());
    for (size_t i = 0;; ++i) {
      LLMRT_ASSIGN(token, reader.next());
      if (token == JsonToken::end_array) break;
      if (i) out += ',';
      if (token !=
          JsonToken::begin_object) {  // passed on: templates of other makers have their own forms
        LLMRT_ASSIGN(const std::string_view raw, extent(reader, calls.raw, token));
        out += raw;
        continue;
      }
      const std::string path = phrase("tool_calls[", i, "]");
      LLMRT_ASSIGN(std::vector<Member> call, read_members(reader, calls.raw));
      LLMRT_TRY(repair_arguments(call, path));
      Member* function = find(call, "function");
      if (function && function->type == JsonToken::begin_object) {
        LLMRT_ASSIGN(std::vector<Member> inner, members_of(function->raw));
        LLMRT_TRY(repair_arguments(inner, phrase(path, ".function")));
        std::string rewritten;
        append_members(rewritten, inner);
        replace(*function, std::move(rewritten));
      } else if (function) {
        return fail_type(*function, phrase(path, ".function"), "an object");
      }
      append_members(out, call);
    }
    replace(calls, phrase(out, "]"));
    return Status();
  }

  Status repair_arguments(std::vector<Member>& members, const std::string& path) {
    Member* arguments = find(members, "arguments");
    if (!arguments) return Status();
    std::string object;
    if (arguments->type == JsonToken::string) {
      LLMRT_TRY(decode_arguments(arguments->text, path, object));
    } else if (arguments->type == JsonToken::null_value) {
      object = "{}";
    } else if (arguments->type == JsonToken::begin_object) {
      object = arguments->raw;
    } else {
      return fail_type(*arguments, phrase(path, ".arguments"), "an object or its JSON text");
    }
    if (caps_.object_arguments || !caps_.string_arguments) {
      replace(*arguments, std::move(object));
    } else if (arguments->type != JsonToken::string) {
      LLMRT_ASSIGN(std::string text, as_json_text(object));
      replace(*arguments, std::move(text));
    }
    return Status();
  }

  // The first token of a text that is one JSON value.
  static Result<JsonToken> read_value(const std::string& text) {
    JsonReader reader(text);
    LLMRT_ASSIGN(const JsonToken first, reader.next());
    LLMRT_TRY(reader.skip(first));
    LLMRT_TRY(reader.next().status());
    return first;
  }

  Status decode_arguments(const std::string& text, const std::string& path,
                          std::string& object) const {
    if (text.find_first_not_of(" \t\r\n") == text.npos) {
      object = "{}";
      return Status();
    }
    const Result<JsonToken> first = read_value(text);
    if (!first.ok())
      return error(Code::invalid_argument, "%s[%zu].%s.arguments is %s", name_, index_,
                   path.c_str(), std::string(first.status().message()).c_str());
    if (*first == JsonToken::null_value) {
      object = "{}";
    } else if (*first == JsonToken::begin_object) {
      object = text;
    } else {
      return error(Code::invalid_argument,
                   "%s[%zu].%s.arguments holds %s as JSON text, it must be an object", name_,
                   index_, path.c_str(), json_type(*first));
    }
    return Status();
  }

  // The object written as json.dumps does, as a JSON string.
  static Result<std::string> as_json_text(const std::string& object) {
    jinja::Arena arena(size_t{64} * object.size() + (size_t{1} << 20));
    LLMRT_ASSIGN(const jinja::Value value, jinja::json_value(object, arena, true));
    jinja::TextBuilder out(SIZE_MAX);
    LLMRT_TRY(jinja::write_json(out, value, {}));
    std::string quoted;
    append_json_string(quoted, out.bytes());
    return quoted;
  }

  const char* name_;
  size_t index_;
  const TemplateCaps& caps_;
  std::vector<std::unique_ptr<std::string>> storage_;
};

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<uint8_t>(c) < 0x20) {
      out += "\\u00";
      out += kHex[static_cast<uint8_t>(c) >> 4];
      out += kHex[c & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

Result<std::string> repair_messages(const char* name, std::string_view messages_json,
                                    const TemplateCaps& caps) {
  const auto in_messages = [name](Status status) {
    if (status.message().starts_with(name)) return status;
    return error(Code::invalid_argument, "%s: %s", name, std::string(status.message()).c_str());
  };
  JsonReader reader(messages_json);
  Result<JsonToken> first = reader.next();
  if (!first.ok()) return in_messages(std::move(first).status());
  if (*first != JsonToken::begin_array)
    return error(Code::invalid_argument, "%s is %s, it must be an array of messages", name,
                 json_type(*first));
  std::string out = "[";
  out.reserve(messages_json.size() + 64);
  for (size_t i = 0;; ++i) {
    Result<JsonToken> token = reader.next();
    if (!token.ok()) return in_messages(std::move(token).status());
    if (*token == JsonToken::end_array) break;
    if (*token != JsonToken::begin_object)
      return error(Code::invalid_argument,
                   "%s[%zu] is %s, it must be an object with 'role' and 'content'", name, i,
                   json_type(*token));
    if (i >= kMaxMessages)
      return error(Code::invalid_argument, "%s: more than %zu", name, kMaxMessages);
    if (i) out += ',';
    Result<std::vector<Member>> members = read_members(reader, messages_json);
    if (!members.ok()) return in_messages(std::move(members).status());
    Status written = MessageRepair(name, i, caps).write(*members, out);
    if (!written.ok()) return in_messages(std::move(written));
  }
  Result<JsonToken> end = reader.next();
  if (!end.ok()) return in_messages(std::move(end).status());
  out += ']';
  return out;
}

}  // namespace llmrt
