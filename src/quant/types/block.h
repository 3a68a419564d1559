// Blocks lie back to back in a byte buffer of any alignment: they are copied out, never cast in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace llmrt {

// A block of the i-th index in `blocks`. Block types are packed (their headers assert it), so the stride is sizeof(Block).
template <class Block>
Block load_block(const uint8_t* blocks, size_t i) {
  Block block;
  std::memcpy(&block, blocks + i * sizeof(Block), sizeof(Block));
  return block;
}

template <class Block>
void store_block(const Block& block, uint8_t* blocks, size_t i) {
  std::memcpy(blocks + i * sizeof(Block), &block, sizeof(Block));
}

}  // namespace llmrt
