// KeyReader: numbers out of a model file's metadata, each with the range that the rest of the library relies on.
//
// Errors are sticky: the first one is kept in `first_error`, and the call answers with the low end of the range, so that an
// architecture reads its keys one below the other and asks once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "formats/metadata.h"

namespace llmrt {

// Keeps the first failure.
class FirstError {
 public:
  void keep(Status status) {
    if (status_.ok() && !status.ok()) status_ = std::move(status);
  }
  bool ok() const { return status_.ok(); }
  Status take() { return std::move(status_); }

 private:
  Status status_;
};

class KeyReader {
 public:
  KeyReader(const Metadata& metadata, std::string_view arch, FirstError& first_error)
      : metadata_(metadata), prefix_(std::string(arch) + "."), error_(first_error) {}

  // key is what follows "<arch>.".
  bool has(std::string_view key) const { return metadata_.find(full(key)) != nullptr; }
  uint32_t count(std::string_view key, uint32_t low, uint32_t high) const;  // must be there
  uint32_t count_or(std::string_view key, uint32_t fallback, uint32_t low, uint32_t high) const;
  double number(std::string_view key, double low, double high) const;  // must be there
  double number_or(std::string_view key, double fallback, double low, double high) const;
  std::string text_or(std::string_view key, std::string_view fallback) const;
  bool flag_or(std::string_view key, bool fallback) const;

  std::string full(std::string_view key) const { return prefix_ + std::string(key); }
  FirstError& first_error() const { return error_; }

 private:
  std::optional<uint32_t> find_count(std::string_view key, uint32_t low, uint32_t high) const;
  std::optional<double> find_number(std::string_view key, double low, double high) const;
  void missing(std::string_view key) const;

  const Metadata& metadata_;
  std::string prefix_;
  FirstError& error_;
};

}  // namespace llmrt
