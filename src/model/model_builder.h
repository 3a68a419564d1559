// ModelBuilder: what an architecture file works with: metadata keys, tensors, the graph Builder, and the model's numbers.
//
//   m.read_hparams();                         <arch>.block_count, embedding_length, ... into m.hparams(), checked
//   m.deal_kv(windows);                       KV groups and layers
//   for each layer:  m.begin_layer(i);  ... m.vector("attn_norm.weight", n) looks up "blk.<i>.attn_norm.weight" ...
//   return m.finish(logits);
//
// Errors are sticky, so a forward pass is written without a single error branch: a failed look-up gives kNone, Builder passes kNone
// on, and finish() returns the first failure.
#pragma once

#include <span>
#include <string>

#include "graph/builder.h"
#include "model/architecture.h"
#include "model/hparams.h"
#include "model/key_reader.h"
#include "model/rope.h"
#include "model/tensor_table.h"

namespace llmrt {

class ModelBuilder {
 public:
  ModelBuilder(const WeightSource& source, std::string_view arch, ModelDef& def);
  ModelBuilder(const ModelBuilder&) = delete;
  ModelBuilder& operator=(const ModelBuilder&) = delete;

  const KeyReader& keys() const { return keys_; }
  TensorTable& tensors() { return tensors_; }
  Builder& graph() { return graph_; }
  Hparams& hparams() { return def_.hparams; }
  bool ok() const { return error_.ok(); }
  Status status() { return error_.take(); }

  // The numbers of hparams.cpp. Everything below needs them.
  void read_hparams(Experts experts = Experts::none);

  // windows[i]: window of layer i, 0 = full.
  void deal_kv(std::span<const uint32_t> windows);

  // A table with the file's rope_freqs, if it has them; index for Builder::rope().
  uint32_t rope_table(RopePairs pairs, double base, const RopeScaling& scaling);

  void begin_layer(uint32_t layer);  // ops and layer tensors that follow belong to it
  void end_layers();
  uint32_t layer() const { return layer_; }

  // Tensors of the current layer, by what follows "blk.<i>.".
  WeightIndex matrix(const char* name, uint32_t n, uint32_t k) {
    return tensors_.matrix(in_layer(name), n, k);
  }
  // one matrix [n, k] for each expert
  WeightIndex experts(const char* name, uint32_t n, uint32_t k) {
    return tensors_.experts(in_layer(name), def_.hparams.n_expert, n, k);
  }
  WeightIndex vector(const char* name, uint32_t n) { return tensors_.vector(in_layer(name), n); }
  WeightIndex vector_if(const char* name, uint32_t n) {
    return tensors_.vector_if(in_layer(name), n);
  }

  // Sets the logits, and checks that nothing failed, that every tensor was used and that all shapes fit.
  Status finish(ValueId logits);

 private:
  std::string in_layer(const char* name) const;

  FirstError error_;
  ModelDef& def_;
  KeyReader keys_;
  TensorTable tensors_;
  Builder graph_;
  uint32_t layer_ = kNone;
};

}  // namespace llmrt
