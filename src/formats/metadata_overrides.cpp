// Metadata::apply_overrides: a flat JSON object of new values, read as a stream of events, so that depth, doubled keys and
// element types are judged before anything is kept.
#include <nlohmann/json.hpp>
#include <variant>
#include <vector>

#include "base/in_quotes.h"
#include "formats/metadata.h"

namespace llmrt {
namespace {

using Json = nlohmann::json;
using Scalar = std::variant<bool, int64_t, uint64_t, double, std::string>;

template <class T>
bool all_are(const std::vector<Scalar>& values) {
  for (const Scalar& v : values) {
    if (!std::holds_alternative<T>(v)) return false;
  }
  return true;
}

MetaValue scalar_value(Scalar scalar) {
  constexpr const char* kNames[] = {"bool", "i64", "u64", "f64", "str"};
  const char* name = kNames[scalar.index()];
  return std::visit([&](auto& v) { return MetaValue{std::move(v), name}; }, scalar);
}

// One element type for all: bool, str, u64 (no negative one), i64, or f64 as soon as one has a fraction. False: mixed.
bool array_value(const std::vector<Scalar>& values, MetaValue& out) {
  if (all_are<bool>(values) && !values.empty()) {
    std::vector<bool> array;
    array.reserve(values.size());
    for (const Scalar& v : values) array.push_back(std::get<bool>(v));
    out = {std::move(array), "arr[bool]"};
    return true;
  }
  if (all_are<std::string>(values) && !values.empty()) {
    StringArray array;
    array.begin.reserve(values.size() + 1);
    array.begin.push_back(0);
    for (const Scalar& v : values) {
      array.blob += std::get<std::string>(v);
      array.begin.push_back(array.blob.size());
    }
    out = {std::move(array), "arr[str]"};
    return true;
  }
  if (all_are<uint64_t>(values)) {
    std::vector<uint64_t> array;
    array.reserve(values.size());
    for (const Scalar& v : values) array.push_back(std::get<uint64_t>(v));
    out = {std::move(array), "arr[u64]"};
    return true;
  }
  std::vector<int64_t> integers;
  std::vector<double> floats;
  for (const Scalar& v : values) {
    if (const auto* i = std::get_if<int64_t>(&v)) {
      integers.push_back(*i);
      floats.push_back(static_cast<double>(*i));
    } else if (const auto* u = std::get_if<uint64_t>(&v)) {
      if (*u <= uint64_t{INT64_MAX}) integers.push_back(static_cast<int64_t>(*u));
      floats.push_back(static_cast<double>(*u));
    } else if (const auto* f = std::get_if<double>(&v)) {
      floats.push_back(*f);
    } else {
      return false;
    }
  }
  if (integers.size() == values.size())
    out = {std::move(integers), "arr[i64]"};
  else
    out = {std::move(floats), "arr[f64]"};
  return true;
}

class OverrideReader final : public Json::json_sax_t {
 public:
  Status take_status() { return std::move(status_); }
  std::vector<std::pair<std::string, MetaValue>> take_entries() { return std::move(entries_); }

  bool null() override { return fail("is null, a value is needed"); }
  bool boolean(bool value) override { return scalar(value); }
  bool number_integer(number_integer_t value) override { return scalar(int64_t{value}); }
  bool number_unsigned(number_unsigned_t value) override { return scalar(uint64_t{value}); }
  bool number_float(number_float_t value, const string_t&) override { return scalar(value); }
  bool string(string_t& value) override { return scalar(std::move(value)); }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override {
    if (in_object_) return fail("is an object; allowed: a scalar or an array of scalars");
    in_object_ = true;
    return true;
  }
  bool key(string_t& name) override {
    if (name.empty()) {
      status_ = error(Code::invalid_argument, "metadata_overrides: a key is empty");
      return false;
    }
    for (const auto& entry : entries_) {
      if (entry.first == name) {
        status_ = error(Code::invalid_argument, "metadata_overrides: key %s is given twice",
                        in_quotes(name).c_str())
                      .at(name);
        return false;
      }
    }
    key_ = std::move(name);
    return true;
  }
  bool end_object() override { return true; }

  bool start_array(std::size_t) override {
    if (in_array_) return fail("is an array of arrays; allowed: a scalar or an array of scalars");
    in_array_ = true;
    return in_object_ || not_an_object();
  }
  bool end_array() override {
    MetaValue value;
    if (!array_value(elements_, value))
      return fail("is an array of mixed types, one type is needed");
    elements_.clear();
    in_array_ = false;
    entries_.emplace_back(std::move(key_), std::move(value));
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    status_ =
        error(Code::invalid_argument, "metadata_overrides: not valid JSON at byte %zu", position);
    return false;
  }

 private:
  bool scalar(Scalar value) {
    if (!in_object_) return not_an_object();
    if (in_array_)
      elements_.push_back(std::move(value));
    else
      entries_.emplace_back(std::move(key_), scalar_value(std::move(value)));
    return true;
  }
  bool not_an_object() {
    status_ = error(Code::invalid_argument,
                    "metadata_overrides: a JSON object {\"key\": value} is needed");
    return false;
  }
  bool fail(const char* what) {
    if (!in_object_) return not_an_object();
    status_ = error(Code::invalid_argument, "metadata_overrides: key %s %s",
                    in_quotes(key_).c_str(), what)
                  .at(key_);
    return false;
  }

  Status status_;
  std::string key_;
  std::vector<Scalar> elements_;
  std::vector<std::pair<std::string, MetaValue>> entries_;
  bool in_object_ = false;
  bool in_array_ = false;
};

}  // namespace

Status Metadata::apply_overrides(std::string_view json) {
  OverrideReader reader;
  if (!Json::sax_parse(json.begin(), json.end(), &reader)) return reader.take_status();
  for (auto& [key, value] : reader.take_entries()) add(std::move(key), std::move(value), true);
  return {};
}

}  // namespace llmrt
