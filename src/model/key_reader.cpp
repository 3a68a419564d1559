#include "model/key_reader.h"

#include "base/in_quotes.h"

namespace llmrt {

void KeyReader::missing(std::string_view key) const {
  const std::string name = full(key);
  error_.keep(error(Code::format, "metadata key %s is missing", in_quotes(name).c_str()).at(name));
}

std::optional<uint32_t> KeyReader::find_count(std::string_view key, uint32_t low,
                                              uint32_t high) const {
  const std::string name = full(key);
  auto found = metadata_.get_int(name);
  if (!found.ok()) {
    error_.keep(std::move(found).status());
    return low;
  }
  if (!*found) return std::nullopt;
  const int64_t value = **found;
  if (value < low || value > high) {
    error_.keep(error(Code::format, "metadata key %s is %lld; allowed: %u to %u",
                      in_quotes(name).c_str(), static_cast<long long>(value), low, high)
                    .at(name));
    return low;
  }
  return static_cast<uint32_t>(value);
}

std::optional<double> KeyReader::find_number(std::string_view key, double low, double high) const {
  const std::string name = full(key);
  auto found = metadata_.get_float(name);
  if (!found.ok()) {
    error_.keep(std::move(found).status());
    return low;
  }
  if (!*found) return std::nullopt;
  const double value = **found;
  if (!(value >= low && value <= high)) {  // NaN is outside
    error_.keep(error(Code::format, "metadata key %s is %g; allowed: %g to %g",
                      in_quotes(name).c_str(), value, low, high)
                    .at(name));
    return low;
  }
  return value;
}

uint32_t KeyReader::count(std::string_view key, uint32_t low, uint32_t high) const {
  const auto found = find_count(key, low, high);
  if (!found) missing(key);
  return found.value_or(low);
}

uint32_t KeyReader::count_or(std::string_view key, uint32_t fallback, uint32_t low,
                             uint32_t high) const {
  return find_count(key, low, high).value_or(fallback);
}

double KeyReader::number(std::string_view key, double low, double high) const {
  const auto found = find_number(key, low, high);
  if (!found) missing(key);
  return found.value_or(low);
}

double KeyReader::number_or(std::string_view key, double fallback, double low, double high) const {
  return find_number(key, low, high).value_or(fallback);
}

std::string KeyReader::text_or(std::string_view key, std::string_view fallback) const {
  auto found = metadata_.get_string(full(key));
  if (!found.ok()) {
    error_.keep(std::move(found).status());
    return std::string(fallback);
  }
  return std::string(found->value_or(fallback));
}

bool KeyReader::flag_or(std::string_view key, bool fallback) const {
  auto found = metadata_.get_bool(full(key));
  if (!found.ok()) {
    error_.keep(std::move(found).status());
    return fallback;
  }
  return found->value_or(fallback);
}

}  // namespace llmrt
