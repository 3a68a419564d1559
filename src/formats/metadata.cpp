#include "formats/metadata.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/in_quotes.h"

namespace llmrt {
namespace {

template <class T>
constexpr bool kIsInteger = std::is_same_v<T, int64_t> || std::is_same_v<T, uint64_t>;

Status wrong_type(std::string_view key, const MetaValue& value, const char* wanted) {
  return error(Code::format, "metadata key %s has type %s, wanted is %s", in_quotes(key).c_str(),
               value.type_name, wanted)
      .at(key);
}

Status too_big(std::string_view key, uint64_t value) {
  return error(Code::format, "metadata key %s is %llu, at most 2^63 - 1 is allowed",
               in_quotes(key).c_str(), static_cast<unsigned long long>(value))
      .at(key);
}

// An array without elements answers for every element type (overrides cannot say which they mean).
bool is_empty_array(const MetaValue& value) {
  return std::visit(
      [](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>)
          return false;
        else
          return v.size() == 0;
      },
      value.v);
}

void append_number(std::string& out, double value, bool single) {
  if (!std::isfinite(value)) {
    out += "null";  // JSON has no word for it
    return;
  }
  char buffer[32];
  const auto end =
      single ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value)).ptr
             : std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  out.append(buffer, end);
}

void append_string(std::string& out, std::string_view text) {
  const nlohmann::json json(text);
  out += json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

bool Metadata::add(std::string key, MetaValue value, bool replace) {
  const auto [at, added] = index_.try_emplace(key, entries_.size());
  if (!added) {
    if (replace) entries_[at->second].second = std::move(value);
    return replace;
  }
  entries_.emplace_back(std::move(key), std::move(value));
  return true;
}

const MetaValue* Metadata::find(std::string_view key) const {
  const auto at = index_.find(std::string(key));
  return at == index_.end() ? nullptr : &entries_[at->second].second;
}

Result<std::optional<int64_t>> Metadata::get_int(std::string_view key) const {
  const MetaValue* value = find(key);
  if (!value) return std::optional<int64_t>();
  if (const auto* i = std::get_if<int64_t>(&value->v)) return std::optional<int64_t>(*i);
  const auto* u = std::get_if<uint64_t>(&value->v);
  if (!u) return wrong_type(key, *value, "an integer");
  if (*u > uint64_t{INT64_MAX}) return too_big(key, *u);
  return std::optional<int64_t>(static_cast<int64_t>(*u));
}

Result<std::optional<double>> Metadata::get_float(std::string_view key) const {
  const MetaValue* value = find(key);
  if (!value) return std::optional<double>();
  if (const auto* f = std::get_if<double>(&value->v)) return std::optional<double>(*f);
  if (const auto* i = std::get_if<int64_t>(&value->v))
    return std::optional<double>(static_cast<double>(*i));
  if (const auto* u = std::get_if<uint64_t>(&value->v))
    return std::optional<double>(static_cast<double>(*u));
  return wrong_type(key, *value, "a number");
}

Result<std::optional<bool>> Metadata::get_bool(std::string_view key) const {
  const MetaValue* value = find(key);
  if (!value) return std::optional<bool>();
  if (const auto* b = std::get_if<bool>(&value->v)) return std::optional<bool>(*b);
  return wrong_type(key, *value, "bool");
}

Result<std::optional<std::string_view>> Metadata::get_string(std::string_view key) const {
  const MetaValue* value = find(key);
  if (!value) return std::optional<std::string_view>();
  if (const auto* s = std::get_if<std::string>(&value->v))
    return std::optional<std::string_view>(*s);
  return wrong_type(key, *value, "str");
}

Result<const StringArray*> Metadata::get_strings(std::string_view key) const {
  static const StringArray kNone;
  const MetaValue* value = find(key);
  if (!value) return static_cast<const StringArray*>(nullptr);
  if (const auto* s = std::get_if<StringArray>(&value->v)) return s;
  if (is_empty_array(*value)) return &kNone;
  return wrong_type(key, *value, "an array of str");
}

Result<std::optional<std::vector<int64_t>>> Metadata::get_ints(std::string_view key) const {
  using Ints = std::vector<int64_t>;
  const MetaValue* value = find(key);
  if (!value) return std::optional<Ints>();
  if (const auto* i = std::get_if<Ints>(&value->v)) return std::optional<Ints>(*i);
  const auto* unsigned_values = std::get_if<std::vector<uint64_t>>(&value->v);
  if (!unsigned_values) {
    if (is_empty_array(*value)) return std::optional<Ints>(Ints());
    return wrong_type(key, *value, "an array of integers");
  }
  Ints out;
  out.reserve(unsigned_values->size());
  for (uint64_t u : *unsigned_values) {
    if (u > uint64_t{INT64_MAX}) return too_big(key, u);
    out.push_back(static_cast<int64_t>(u));
  }
  return std::optional<Ints>(std::move(out));
}

Result<std::optional<std::vector<double>>> Metadata::get_floats(std::string_view key) const {
  using Floats = std::vector<double>;
  const MetaValue* value = find(key);
  if (!value) return std::optional<Floats>();
  return std::visit(
      [&](const auto& v) -> Result<std::optional<Floats>> {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, Floats>)
          return std::optional<Floats>(v);
        else if constexpr (std::is_same_v<T, std::vector<int64_t>> ||
                           std::is_same_v<T, std::vector<uint64_t>>) {
          Floats out;
          out.reserve(v.size());
          for (auto x : v) out.push_back(static_cast<double>(x));
          return std::optional<Floats>(std::move(out));
        } else {
          if (is_empty_array(*value)) return std::optional<Floats>(Floats());
          return wrong_type(key, *value, "an array of numbers");
        }
      },
      value->v);
}

std::string Metadata::json_at(size_t i, size_t max_elements) const {
  const MetaValue& value = entries_[i].second;
  const std::string_view type(value.type_name);
  const bool single = type == "f32" || type == "arr[f32]";
  std::string out;
  const auto append_scalar = [&](const auto& v) {
    using T = std::decay_t<decltype(v)>;
    if constexpr (std::is_same_v<T, bool>)
      out += v ? "true" : "false";
    else if constexpr (kIsInteger<T>)
      out += std::to_string(v);
    else if constexpr (std::is_same_v<T, double>)
      append_number(out, v, single);
    else
      append_string(out, v);
  };
  std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
          append_scalar(v);
        } else {
          out += '[';
          for (size_t k = 0; k < v.size() && k < max_elements; ++k) {
            if (k > 0) out += ',';
            if constexpr (std::is_same_v<T, std::vector<bool>>)
              append_scalar(static_cast<bool>(v[k]));
            else
              append_scalar(v[k]);
          }
          if (v.size() > max_elements) out += max_elements > 0 ? ",\"...\"" : "\"...\"";
          out += ']';
        }
      },
      value.v);
  return out;
}

}  // namespace llmrt
