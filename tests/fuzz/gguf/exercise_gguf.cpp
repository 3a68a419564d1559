#include "tests/fuzz/gguf/exercise_gguf.h"

#include <string>
#include <vector>

#include "formats/weight_source.h"

namespace llmrt::test {
namespace {

// Typed access of every key: a wrong type is an error inside, which is fine.
void read_metadata(const Metadata& m) {
  for (size_t i = 0; i < m.size(); ++i) {
    const std::string& key = m.key_at(i);
    (void)m.json_at(i, 4);
    (void)m.get_int(key);
    (void)m.get_float(key);
    (void)m.get_bool(key);
    (void)m.get_string(key);
    (void)m.get_ints(key);
    (void)m.get_floats(key);
    const auto strings = m.get_strings(key);
    if (!strings.ok()) continue;
    size_t n_bytes = 0;
    for (size_t k = 0; k < strings.value()->size(); ++k) n_bytes += (*strings.value())[k].size();
    if (n_bytes != strings.value()->blob.size()) __builtin_trap();
  }
}

// The first block and the last byte of each tensor whose type is known.
Status read_tensors(const WeightSource& w) {
  for (const TensorInfo& t : w.tensors()) {
    if (w.find(t.name) != &t) __builtin_trap();
    const QuantFormat* format = find_format(t.ggml_type);
    if (!format) continue;
    std::vector<uint8_t> block(format->block_bytes);
    std::vector<float> values(format->block);
    LLMRT_TRY(w.read(t, 0, block.data(), block.size()));
    format->decode(block.data(), values.data(), values.size());
    LLMRT_TRY(w.read(t, t.bytes - 1, block.data(), 1));
  }
  return {};
}

}  // namespace

Status exercise_gguf(std::span<const uint8_t> bytes) {
  LLMRT_ASSIGN(auto source, source_from_memory(
                                bytes.data(), bytes.size(), [](void*) {}, nullptr));
  LLMRT_ASSIGN(const auto weights, open_weights(std::move(source), {}, ""));
  read_metadata(weights->metadata());
  LLMRT_TRY(read_tensors(*weights));
  LLMRT_ASSIGN(const std::string hash, weights->hash());
  return {};
}

}  // namespace llmrt::test
