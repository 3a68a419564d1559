#include "model/model_builder.h"

#include "model/kv_groups.h"

namespace llmrt {

ModelBuilder::ModelBuilder(const WeightSource& source, std::string_view arch, ModelDef& def)
    : def_(def),
      keys_(source.metadata(), arch, error_),
      tensors_(source, def.program.weights, error_),
      graph_(def.program) {
  def_.hparams.arch = arch;
}

void ModelBuilder::read_hparams(Experts experts) {
  Hparams& h = def_.hparams;
  llmrt::read_hparams(keys_, experts, h);
  h.n_vocab = tensors_.rows_of("token_embd.weight", kMaxVocab);
  def_.program.n_vocab = h.n_vocab;
  def_.program.n_embd = h.n_embd;
}

void ModelBuilder::deal_kv(std::span<const uint32_t> windows) {
  const Hparams& h = def_.hparams;
  LayerGroups dealt =
      deal_kv_groups(windows, {.n_kv_head = h.n_kv_head, .d_k = h.d_k, .d_v = h.d_v});
  def_.program.kv_groups = std::move(dealt.groups);
  def_.program.kv_layers = std::move(dealt.layers);
}

uint32_t ModelBuilder::rope_table(RopePairs pairs, double base, const RopeScaling& scaling) {
  const uint32_t d_rot = def_.hparams.d_rot;
  const std::vector<float> divisors = tensors_.read_vector_if("rope_freqs.weight", d_rot / 2);
  for (float f : divisors) {
    if (!(f >= 1e-6f && f <= 1e6f)) {
      error_.keep(error(Code::format, "rope_freqs.weight holds %g; allowed: 1e-6 to 1e6",
                        static_cast<double>(f))
                      .at("rope_freqs.weight"));
      break;
    }
  }
  return graph_.rope_table(make_rope_table(pairs, d_rot, base, scaling, divisors));
}

void ModelBuilder::begin_layer(uint32_t layer) {
  layer_ = layer;
  graph_.set_layer(layer);
}

void ModelBuilder::end_layers() {
  layer_ = kNone;
  graph_.set_layer(kNone);
}

std::string ModelBuilder::in_layer(const char* name) const {
  return "blk." + std::to_string(layer_) + "." + name;
}

Status ModelBuilder::finish(ValueId logits) {
  LLMRT_TRY(error_.take());
  LLMRT_TRY(tensors_.check_all_used(def_.hparams.arch));
  graph_.set_logits(logits);
  return check_shapes(def_.program);
}

}  // namespace llmrt
