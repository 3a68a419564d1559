// Metadata: the typed key-value table of a model file, after overrides. Keys keep file order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/status.h"

namespace llmrt {

// Arrays keep one element type. Strings lie back to back in one blob (a vocabulary has 262144 of them).
struct StringArray {
  std::string blob;
  std::vector<uint64_t> begin;  // [n + 1]
  size_t size() const { return begin.empty() ? 0 : begin.size() - 1; }
  std::string_view operator[](size_t i) const {
    return std::string_view(blob).substr(begin[i], begin[i + 1] - begin[i]);
  }
};

struct MetaValue {
  // bool | signed | unsigned | float | string | arrays. A nested array in the file is refused by the parser.
  std::variant<bool, int64_t, uint64_t, double, std::string, std::vector<bool>,
               std::vector<int64_t>, std::vector<uint64_t>, std::vector<double>, StringArray>
      v;
  const char* type_name = "";  // the file's own word: "u32", "f32", "str", "arr[i32]"
};

class Metadata {
 public:
  // Replaces an existing key only if replace (duplicate keys in a file are the parser's error).
  bool add(std::string key, MetaValue value, bool replace = false);
  size_t size() const { return entries_.size(); }
  const std::string& key_at(size_t i) const { return entries_[i].first; }
  const MetaValue& value_at(size_t i) const { return entries_[i].second; }
  const MetaValue* find(std::string_view key) const;  // nullptr: absent

  // Typed access. Absent: nullopt (or the fallback). Present with another type or out of range: an error that names the key,
  // the type found and the type wanted. Integers of any width and sign convert when the value fits; integers convert to float.
  Result<std::optional<int64_t>> get_int(std::string_view key) const;
  Result<std::optional<double>> get_float(std::string_view key) const;
  Result<std::optional<bool>> get_bool(std::string_view key) const;
  // view: lives as long as this table
  Result<std::optional<std::string_view>> get_string(std::string_view key) const;
  Result<const StringArray*> get_strings(std::string_view key) const;  // nullptr: absent
  Result<std::optional<std::vector<int64_t>>> get_ints(std::string_view key) const;
  Result<std::optional<std::vector<double>>> get_floats(std::string_view key) const;

  // The value as JSON text: scalars, and arrays of at most max_elements followed by "..." when cut.
  std::string json_at(size_t i, size_t max_elements = SIZE_MAX) const;
  // A flat JSON object {"key": value}: replaces or adds. Error names the key.
  Status apply_overrides(std::string_view json);

 private:
  std::vector<std::pair<std::string, MetaValue>> entries_;
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace llmrt
