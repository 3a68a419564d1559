// KvStore: the bytes behind block ids, as kv/ needs them. The product's is a backend; tests put a map here.
#pragma once

#include <span>

#include "base/status.h"
#include "graph/backend.h"
#include "graph/kv_spec.h"

namespace llmrt {

class KvStore {
 public:
  virtual ~KvStore() = default;
  // bytes exist from now on; a failure leaves all as it was
  virtual Status commit(BlockId block) = 0;
  virtual Status copy(BlockId from, BlockId to) = 0;
  // these hold nothing of value; commit() before the next use
  virtual void release(std::span<const BlockId> free_blocks) = 0;
};

class BackendKvStore final : public KvStore {
 public:
  BackendKvStore(Backend& backend, KvId id) : backend_(backend), id_(id) {}
  Status commit(BlockId block) override;
  Status copy(BlockId from, BlockId to) override;
  void release(std::span<const BlockId> free_blocks) override;

 private:
  Backend& backend_;
  KvId id_;
};

}  // namespace llmrt
