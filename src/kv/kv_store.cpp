#include "kv/kv_store.h"

namespace llmrt {

Status BackendKvStore::commit(BlockId block) { return backend_.kv_commit(id_, block); }
Status BackendKvStore::copy(BlockId from, BlockId to) { return backend_.kv_copy(id_, from, to); }
void BackendKvStore::release(std::span<const BlockId> free_blocks) {
  backend_.kv_release(id_, free_blocks);
}

}  // namespace llmrt
