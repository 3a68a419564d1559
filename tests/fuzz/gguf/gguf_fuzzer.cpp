// libFuzzer entry: gguf_fuzzer CORPUS_DIR. Seeds: any small GGUF files.
#include "tests/fuzz/gguf/exercise_gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) (void)llmrt::test::exercise_gguf({data, size});
  return 0;
}
