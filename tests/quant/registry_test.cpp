#include <doctest/doctest.h>

#include <set>
#include <string>

#include "quant/dtype.h"

using namespace llmrt;

TEST_CASE("registry: numbers, names and types lead to the same row") {
  std::set<std::string> names;
  for (const QuantFormat& f : all_formats()) {
    CAPTURE(f.name);
    CHECK(find_format(static_cast<uint32_t>(f.type)) == &f);
    CHECK(&format_of(f.type) == &f);
    CHECK(gguf_type_name(static_cast<uint32_t>(f.type)) == std::string(f.name));
    CHECK(names.insert(f.name).second);
  }
  CHECK(names.size() == 16);
}

TEST_CASE("registry: geometry and numerics class agree with the rules") {
  for (const QuantFormat& f : all_formats()) {
    CAPTURE(f.name);
    CHECK((f.block == 1 || f.block == 32 || f.block == 256));
    CHECK((f.decode != nullptr));
    if (f.numerics == NumericsClass::f32) CHECK(f.group == 0);
    if (f.numerics == NumericsClass::a8) CHECK(f.group == f.block);
    CHECK(row_bytes(f, 4 * f.block) == uint64_t{4} * f.block_bytes);
  }
}

TEST_CASE("registry: types that GGUF defines but this build cannot decode have a name") {
  CHECK(find_format(21) == nullptr);
  CHECK(std::string(gguf_type_name(21)) == "IQ3_S");
  CHECK(std::string(gguf_type_name(16)) == "IQ2_XXS");
  CHECK(std::string(gguf_type_name(26)) == "I32");
  CHECK(std::string(gguf_type_name(29)) == "IQ1_M");
  CHECK(std::string(gguf_type_name(35)) == "TQ2_0");
  CHECK(std::string(gguf_type_name(42)) == "Q2_0");
  CHECK(std::string(gguf_type_name(4)).empty());   // withdrawn
  CHECK(std::string(gguf_type_name(43)).empty());  // not defined
  CHECK(std::string(gguf_type_name(0xffffffffu)).empty());
}
