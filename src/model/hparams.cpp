#include "model/hparams.h"

#include <algorithm>

#include "graph/kv_spec.h"

namespace llmrt {
namespace {

void read_experts(const KeyReader& keys, Hparams& h) {
  h.n_expert = keys.count("expert_count", 1, kMaxExperts);
  h.n_expert_used = keys.count("expert_used_count", 1, h.n_expert);
  h.n_ff_expert = keys.count_or("expert_feed_forward_length", h.n_ff, 1, kMaxFf);
  keys.count_or("expert_gating_func", 1, 0, 1);  // the softmax, by name or by default
  const uint64_t width = uint64_t{h.n_expert_used} * std::max(h.n_embd, h.n_ff_expert);
  if (width > kMaxFf)
    keys.first_error().keep(
        error(Code::format, "%s: %u experts at once are %llu wide, at most %u is allowed",
              h.arch.c_str(), h.n_expert_used, static_cast<unsigned long long>(width), kMaxFf)
            .at(keys.full("expert_used_count")));
}

}  // namespace

void read_hparams(const KeyReader& keys, Experts experts, Hparams& h) {
  FirstError& first_error = keys.first_error();
  const bool has_experts = keys.count_or("expert_count", 0, 0, UINT32_MAX) > 0;
  if (has_experts && experts == Experts::none)
    first_error.keep(error(Code::unsupported,
                           "architecture %s with experts (key %s) is not supported", h.arch.c_str(),
                           keys.full("expert_count").c_str())
                         .at(keys.full("expert_count")));
  h.n_layer = keys.count("block_count", 1, kMaxLayers);
  h.n_ctx_train = keys.count("context_length", 1, kMaxContext);
  h.n_embd = keys.count("embedding_length", 1, kMaxEmbd);
  h.n_ff = keys.count("feed_forward_length", 1, kMaxFf);
  h.n_head = keys.count("attention.head_count", 1, kMaxHeads);
  h.n_kv_head = keys.count_or("attention.head_count_kv", h.n_head, 1, kMaxHeads);
  h.norm_eps = static_cast<float>(keys.number("attention.layer_norm_rms_epsilon", 0, 1));
  h.rope_base = keys.number_or("rope.freq_base", 10000, 1.001, 1e12);
  if (experts == Experts::all || has_experts) read_experts(keys, h);
  if (!first_error.ok()) return;

  if (h.n_head % h.n_kv_head != 0)
    first_error.keep(error(Code::format, "%s: %u query heads are not a multiple of %u KV heads",
                           h.arch.c_str(), h.n_head, h.n_kv_head)
                         .at(keys.full("attention.head_count_kv")));
  if (!keys.has("attention.key_length") && h.n_embd % h.n_head != 0)
    first_error.keep(
        error(Code::format, "%s: n_embd %u is not a multiple of %u heads, and %s is missing",
              h.arch.c_str(), h.n_embd, h.n_head, keys.full("attention.key_length").c_str())
            .at(keys.full("attention.key_length")));
  const uint32_t d_head = h.n_embd / h.n_head;
  h.d_k = keys.count_or("attention.key_length", d_head, 1, kMaxHeadWidth);
  h.d_v = keys.count_or("attention.value_length", d_head, 1, kMaxHeadWidth);
  h.d_rot = keys.count_or("rope.dimension_count", h.d_k, 2, kMaxHeadWidth);
  if (!first_error.ok()) return;
  if (h.d_k > kMaxHeadWidth || h.d_v > kMaxHeadWidth)
    first_error.keep(error(Code::format, "%s: heads of %u and %u, at most %u are allowed",
                           h.arch.c_str(), h.d_k, h.d_v, kMaxHeadWidth)
                         .at(keys.full("attention.key_length")));
  if (h.d_rot % 2 != 0 || h.d_rot > h.d_k)
    first_error.keep(error(Code::format, "%s: %u rotary dimensions, want an even number up to %u",
                           h.arch.c_str(), h.d_rot, h.d_k)
                         .at(keys.full("rope.dimension_count")));
}

}  // namespace llmrt
