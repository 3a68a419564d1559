// The equations of block_pool.h, sequence_kv.h and prefix_cache.h, run over one pool with all its holders. Cost: every table entry and
// node once; `checked` builds and tests run it after each step.
#pragma once

#include <span>

#include "base/status.h"
#include "kv/prefix_cache.h"

namespace llmrt {

// sequences: all that hold blocks of this pool. internal error: the first equation that does not hold, with both sides.
Status validate_kv(const BlockPool& pool, const PrefixCache& cache,
                   std::span<const SequenceKv* const> sequences);
Status validate_sequence(const BlockPool& pool, const SequenceKv& sequence);

}  // namespace llmrt
