#include <string>

#include "formats/weight_source.h"
#include "tests/support/test_data.h"
#include "tests/support/tiny_gguf.h"

using namespace llmrt;

namespace {

struct Refusal {
  Code code;
  std::string text;
};

Refusal refusal(std::string_view content) {
  auto weights = open_weights(
      source_from_memory(content.data(), content.size(), nullptr, nullptr).value(), {}, "");
  REQUIRE(!weights.ok());
  return {weights.status().code(), std::string(weights.status().message())};
}

}  // namespace

TEST_CASE("open weights: a GGUF file is recognised by its first bytes") {
  auto weights =
      open_weights(test::source_of(test::tiny_writer().bytes()), {}, R"({"a": 1})").value();
  CHECK(weights->tensors().size() == 3);
  CHECK(*weights->metadata().get_int("a").value() == 1);
}

TEST_CASE("open weights: other files are told what they are") {
  CHECK(refusal("GGU").text ==
        "<memory>: this is not a GGUF file: it begins with \"GGU\", not with \"GGUF\"");
  CHECK(refusal("\x7f"
                "ELF....")
            .text ==
        "<memory>: this is not a GGUF file: it begins with \"\\x7fELF\", not with \"GGUF\"");
  CHECK(refusal("GGUF").code == Code::format);
  CHECK(refusal("FUGG....").text.find("big-endian") != std::string::npos);
  CHECK(refusal("tjgg....").text.find("GGJT") != std::string::npos);
  CHECK(refusal("version https://git-lfs.github.com/spec/v1\noid").text.find("Git LFS pointer") !=
        std::string::npos);
  CHECK(refusal("<!DOCTYPE html><html>").text.find("HTML") != std::string::npos);
  const std::string safetensors = std::string("\x02\0\0\0\0\0\0\0{}", 10);
  CHECK(refusal(safetensors).code == Code::unsupported);
  CHECK(refusal(safetensors).text ==
        "<memory>: this is a safetensors file, this build loads GGUF only");
  CHECK(refusal(std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10)).code == Code::format);
  CHECK(open_weights(nullptr, {}, "").status().code() == Code::invalid_argument);
}

TEST_CASE("open weights: every file of the golden vocabularies and models that is GGUF opens") {
  LLMRT_NEEDS_TEST_DATA();
  const std::string path = test::shared_data() + "/golden/lora/basic/adapter.f32.gguf";
  auto weights = open_weights(source_from_path(path).value(), {}, "");
  REQUIRE(weights.ok());
  CHECK(*weights.value()->metadata().get_string("general.type").value() == "adapter");
  CHECK(weights.value()->hash().ok());
}
