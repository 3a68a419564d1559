// Where tests find data: tests/data in the repository, and the larger golden folder named by LLMRT_TEST_DATA, when set.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace llmrt::test {

inline std::string repo_data(const std::string& name) {
  return std::string(LLMRT_TESTS_DIR) + "/data/" + name;
}

// Folder of LLMRT_TEST_DATA, or empty. Tests that need it say so and skip: see LLMRT_NEEDS_TEST_DATA.
inline std::string shared_data() {
  const char* folder = std::getenv("LLMRT_TEST_DATA");
  return folder ? folder : "";
}

inline std::vector<uint8_t> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
template <class T>
std::vector<T> read_array(const std::string& path) {
  const auto bytes = read_file(path);
  std::vector<T> out(bytes.size() / sizeof(T));
  std::copy(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(out.size() * sizeof(T)),
            reinterpret_cast<uint8_t*>(out.data()));
  return out;
}

}  // namespace llmrt::test

// First line of a case that reads the golden folder.
#define LLMRT_NEEDS_TEST_DATA()                                                        \
  do {                                                                                 \
    if (::llmrt::test::shared_data().empty()) {                                        \
      MESSAGE("skipped: LLMRT_TEST_DATA is not set (folder with golden/ and cases/)"); \
      return;                                                                          \
    }                                                                                  \
  } while (0)
