// What a file must have to be a model, and the sentence when it does not.
#include "model/model_kit.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

using Change = std::function<void(TinyModel&)>;

std::string failure_after(const Change& change, const char* arch = "llama") {
  TinyModel model(arch);
  change(model);
  return model.failure();
}

// n_layer layers of head width d; windows of 16, every second layer full.
TinyModel tiny_gemma3(uint32_t n_layer = 2, uint32_t d = 8) {
  TinyModel model("gemma3");
  model.counts["gemma3.block_count"] = n_layer;
  model.counts["gemma3.attention.key_length"] = model.counts["gemma3.attention.value_length"] = d;
  model.counts["gemma3.attention.sliding_window"] = 16;
  model.counts["gemma3.attention.sliding_window_pattern"] = 2;
  for (uint32_t i = 0; i < n_layer; ++i) {
    const std::string layer = "blk." + std::to_string(i) + ".";
    for (const char* name : {"attn_norm", "ffn_norm", "post_attention_norm", "post_ffw_norm"})
      model.tensors[layer + name + ".weight"] = {{32}};
    model.tensors[layer + "attn_q_norm.weight"] =
        model.tensors[layer + "attn_k_norm.weight"] = {{d}};
    model.tensors[layer + "attn_q.weight"] = {{32, 4 * d}};
    model.tensors[layer + "attn_output.weight"] = {{4 * d, 32}};
    model.tensors[layer + "attn_k.weight"] = model.tensors[layer + "attn_v.weight"] = {{32, 2 * d}};
    model.tensors[layer + "ffn_gate.weight"] = model.tensors[layer + "ffn_up.weight"] = {{32, 48}};
    model.tensors[layer + "ffn_down.weight"] = {{48, 32}};
  }
  return model;
}

// 6 experts of width 24, of which 2 are used.
TinyModel tiny_experts(const std::string& arch) {
  TinyModel model(arch);
  model.counts[arch + ".expert_count"] = 6;
  model.counts[arch + ".expert_used_count"] = 2;
  model.counts[arch + ".expert_feed_forward_length"] = 24;
  for (const char* prefix : {"blk.0.", "blk.1."}) {
    const std::string layer = prefix;
    for (const char* name : {"ffn_gate", "ffn_up", "ffn_down"})
      model.tensors.erase(layer + name + ".weight");
    model.tensors[layer + "ffn_gate_inp.weight"] = {{32, 6}};
    model.tensors[layer + "ffn_gate_exps.weight"] = {{32, 24, 6}};
    model.tensors[layer + "ffn_up_exps.weight"] = {{32, 24, 6}};
    model.tensors[layer + "ffn_down_exps.weight"] = {{24, 32, 6}};
    if (arch == "llama") continue;
    model.tensors[layer + "attn_q_norm.weight"] = {{8}};
    model.tensors[layer + "attn_k_norm.weight"] = {{8}};
  }
  return model;
}

}  // namespace

TEST_CASE("a tiny llama is understood") {
  TinyModel model;
  model.texts["general.name"] = "Tiny";
  model.counts["general.file_type"] = 15;
  auto def = model.define();
  REQUIRE(def.ok());
  const ModelDef& d = def.value();
  CHECK(d.name == "Tiny");
  CHECK(d.quant == "Q4_K_M");
  CHECK(d.n_params == 32 * 40 + 32 + 2 * (2 * 32 + 2 * 32 * 32 + 2 * 32 * 16 + 3 * 32 * 48));
  CHECK(d.hparams.n_vocab == 40);
  CHECK(d.hparams.d_k == 8);
  CHECK(d.hparams.d_rot == 8);
  CHECK(d.hparams.rope_base == 10000);
  CHECK(d.program.kv_groups == std::vector<KvGroup>{{AttnKind::full, 0, 2, 2, 8, 8}});
  CHECK(d.program.weights.size() == model.tensors.size());  // the tied embedding once
  CHECK(check_shapes(d.program).ok());
}

TEST_CASE("the name of the quantization falls back to the commonest type") {
  TinyModel model;
  CHECK(model.define().value().quant == "F32");
  model.counts["general.file_type"] = 9999;
  CHECK(model.define().value().quant == "F32");
  model.counts["general.file_type"] = 1024 + 7;
  CHECK(model.define().value().quant == "Q8_0");
}

TEST_CASE("keys out of range and of the wrong type get one sentence each") {
  const std::pair<Change, const char*> cases[] = {
      {[](TinyModel& m) { m.arch = "mamba"; },
       "architecture \"mamba\" is not supported, supported are gemma3, llama, qwen2, qwen3, "
       "qwen3moe"},
      {[](TinyModel& m) { m.counts.erase("llama.block_count"); },
       "metadata key \"llama.block_count\" is missing"},
      {[](TinyModel& m) { m.counts["llama.block_count"] = 0; },
       "metadata key \"llama.block_count\" is 0; allowed: 1 to 1024"},
      {[](TinyModel& m) { m.counts["llama.block_count"] = 4000000000; },
       "metadata key \"llama.block_count\" is 4000000000; allowed: 1 to 1024"},
      {[](TinyModel& m) { m.counts["llama.attention.head_count"] = 0; },
       "metadata key \"llama.attention.head_count\" is 0; allowed: 1 to 1024"},
      {[](TinyModel& m) { m.counts["llama.attention.head_count_kv"] = 0; },
       "metadata key \"llama.attention.head_count_kv\" is 0; allowed: 1 to 1024"},
      {[](TinyModel& m) { m.counts["llama.attention.head_count_kv"] = 3; },
       "llama: 4 query heads are not a multiple of 3 KV heads"},
      {[](TinyModel& m) {
         m.counts["llama.attention.head_count"] = 5;
         m.counts["llama.attention.head_count_kv"] = 5;
       },
       "llama: n_embd 32 is not a multiple of 5 heads, and llama.attention.key_length is missing"},
      {[](TinyModel& m) { m.counts["llama.rope.dimension_count"] = 10; },
       "llama: 10 rotary dimensions, want an even number up to 8"},
      {[](TinyModel& m) { m.counts["llama.rope.dimension_count"] = 7; },
       "llama: 7 rotary dimensions, want an even number up to 8"},
      {[](TinyModel& m) { m.numbers.clear(); },
       "metadata key \"llama.attention.layer_norm_rms_epsilon\" is missing"},
      {[](TinyModel& m) { m.numbers["llama.attention.layer_norm_rms_epsilon"] = NAN; },
       "metadata key \"llama.attention.layer_norm_rms_epsilon\" is nan; allowed: 0 to 1"},
      {[](TinyModel& m) { m.numbers["llama.rope.freq_base"] = 0; },
       "metadata key \"llama.rope.freq_base\" is 0; allowed: 1.001 to 1e+12"},
      {[](TinyModel& m) { m.texts["llama.rope.scaling.type"] = "longrope"; },
       "metadata key \"llama.rope.scaling.type\" is \"longrope\", supported are none, linear and "
       "yarn"},
      {[](TinyModel& m) { m.texts["llama.rope.freq_base"] = "word"; },
       "metadata key \"llama.rope.freq_base\" has type str, wanted is a number"},
  };
  for (const auto& [change, message] : cases) CHECK(failure_after(change) == message);
}

TEST_CASE("tensors missing, misshapen, extra or of a bad type get one sentence each") {
  const std::pair<Change, const char*> cases[] = {
      {[](TinyModel& m) { m.tensors.erase("token_embd.weight"); },
       "tensor token_embd.weight is missing"},
      {[](TinyModel& m) { m.tensors.erase("blk.1.ffn_up.weight"); },
       "tensor blk.1.ffn_up.weight is missing"},
      {[](TinyModel& m) {
         m.tensors["blk.1.attn_q.weight"].dims = {32, 16};
       },
       "blk.1.attn_q.weight: want [32,32], file has [16,32]"},
      {[](TinyModel& m) {
         m.tensors["blk.0.attn_q.weight"].dims = {32, 32, 2};
       },
       "blk.0.attn_q.weight: want [32,32], file has [2,32,32]"},
      {[](TinyModel& m) { m.tensors["blk.0.attn_norm.weight"].dims = {31}; },
       "blk.0.attn_norm.weight: want [32], file has [31]"},
      {[](TinyModel& m) { m.tensors["token_embd.weight"].dims = {32}; },
       "token_embd.weight: want [n_vocab,n_embd] with 1 to 4194304 rows, file has [32]"},
      {[](TinyModel& m) {
         m.tensors["output.weight"].dims = {32, 41};
       },
       "output.weight: want [40,32], file has [41,32]"},
      {[](TinyModel& m) { m.tensors["blk.0.attn_q_norm.weight"].dims = {8}; },
       "tensor \"blk.0.attn_q_norm.weight\" is not part of architecture llama"},
      {[](TinyModel& m) { m.tensors["blk.2.attn_norm.weight"].dims = {32}; },
       "tensor \"blk.2.attn_norm.weight\" is not part of architecture llama"},
      {[](TinyModel& m) {
         m.tensors["blk.0.attn_q.bias"] = {{32}, 26, 128};
       },
       "blk.0.attn_q.bias: tensor type I32 (26) is not supported"},
      {[](TinyModel& m) {
         m.tensors["token_embd.weight"] = {{32, 40}, 24, 1280};
       },
       "token_embd.weight: tensor type I8 (24) is not supported"},
      {[](TinyModel& m) {
         m.tensors["blk.0.attn_norm.weight"] = {{32}, 8, 34};
       },
       "blk.0.attn_norm.weight: a vector of type Q8_0; allowed: F32, F16 and BF16"},
      {[](TinyModel& m) { m.tensors["rope_freqs.weight"].dims = {4}; },
       "rope_freqs.weight holds 0; allowed: 1e-6 to 1e6"},
      {[](TinyModel& m) { m.tensors["rope_freqs.weight"].dims = {5}; },
       "rope_freqs.weight: want [4], file has [5]"},
  };
  for (const auto& [change, message] : cases) CHECK(failure_after(change) == message);
}

TEST_CASE("errors name their tensor or key apart from the sentence") {
  TinyModel model;
  model.tensors.erase("blk.1.ffn_up.weight");
  auto def = model.define();
  REQUIRE(!def.ok());
  CHECK(def.status().code() == Code::format);
  REQUIRE(def.status().detail());
  CHECK(def.status().detail()->where == "blk.1.ffn_up.weight");
}

TEST_CASE("llama's sliding window is a key, and its layers form one window group") {
  TinyModel model;
  model.counts["llama.attention.sliding_window"] = 24;
  const ModelDef def = std::move(model.define()).value();
  CHECK(def.program.kv_groups == std::vector<KvGroup>{{AttnKind::window, 24, 2, 2, 8, 8}});
  CHECK(def.hparams.window == 24);
}

TEST_CASE("gemma3 gives each kind of layer its own rotary table and group") {
  TinyModel model = tiny_gemma3();
  model.numbers["gemma3.final_logit_softcapping"] = 30;
  model.numbers["gemma3.rope.freq_base"] = 1e6f;
  const ModelDef def = std::move(model.define()).value();
  CHECK(def.program.kv_groups ==
        std::vector<KvGroup>{{AttnKind::window, 16, 1, 2, 8, 8}, {AttnKind::full, 0, 1, 2, 8, 8}});
  REQUIRE(def.program.rope_tables.size() == 2);
  CHECK(def.program.rope_tables[0].inv_freq[1] == doctest::Approx(std::pow(1e6, -0.25)));
  CHECK(def.program.rope_tables[1].inv_freq[1] == doctest::Approx(0.1));
  CHECK(def.program.ops.back().kind == OpKind::softcap);
  CHECK(def.program.ops[1].kind == OpKind::scale);

  // Without a window all layers see all keys, but each kind keeps its rotary table.
  model.counts.erase("gemma3.attention.sliding_window");
  const Program open = std::move(model.define()).value().program;
  CHECK(open.kv_groups == std::vector<KvGroup>{{AttnKind::full, 0, 2, 2, 8, 8}});
  std::vector<uint32_t> tables;
  for (const Op& op : open.ops)
    if (op.kind == OpKind::rope) tables.push_back(op.params.rope_table);
  CHECK(tables == std::vector<uint32_t>{1, 1, 0, 0});
}

TEST_CASE("gemma3's window layers take their rotary base from a key of their own") {
  TinyModel model = tiny_gemma3();
  model.numbers["gemma3.rope.freq_base"] = 1e6f;
  model.numbers["gemma3.rope.freq_base_swa"] =
      20736;  // 12^4: the second pair of four turns at 1 / 12
  const Program program = std::move(model.define()).value().program;
  REQUIRE(program.rope_tables.size() == 2);
  CHECK(program.rope_tables[0].inv_freq[1] == doctest::Approx(std::pow(1e6, -0.25)));
  CHECK(program.rope_tables[1].inv_freq[1] == doctest::Approx(1.0 / 12));
}

TEST_CASE("gemma3 scales scores by its head width, and with 62 layers by n_embd over heads") {
  for (const uint32_t n_layer : {60u, 62u}) {
    const Program program = std::move(tiny_gemma3(n_layer, 16).define()).value().program;
    uint32_t n = 0;
    for (const Op& op : program.ops)
      if (op.kind == OpKind::paged_attention) {
        ++n;
        CHECK(op.params.attn_scale ==
              doctest::Approx(n_layer == 62 ? 1 / std::sqrt(32.0 / 4) : 1 / std::sqrt(16.0)));
      }
    CHECK(n == n_layer);
  }
}

TEST_CASE("yarn's factor of cos and sin is read from either key, the newer one first") {
  TinyModel model;
  model.texts["llama.rope.scaling.type"] = "yarn";
  model.numbers["llama.rope.scaling.factor"] = 4;
  const auto mscale = [&] {
    return static_cast<double>(model.define().value().program.rope_tables.at(0).mscale);
  };
  const double own = 1 + 0.1 * std::log(4.0);
  CHECK(mscale() == doctest::Approx(own));
  model.numbers["llama.rope.scaling.attn_factor"] = 0.5;
  CHECK(mscale() == doctest::Approx(0.5 * own));
  model.numbers["llama.rope.scaling.yarn_attn_factor"] = 0.25;
  CHECK(mscale() == doctest::Approx(0.25 * own));
  model.numbers["llama.rope.scaling.yarn_ext_factor"] = 0;
  CHECK(mscale() == 0.25);
}

TEST_CASE("every norm, those of q and k heads included, has the file's epsilon") {
  TinyModel model = tiny_gemma3();
  model.numbers["gemma3.attention.layer_norm_rms_epsilon"] = 0.0078125f;
  const Program program = std::move(model.define()).value().program;
  uint32_t n_whole = 0, n_heads = 0;
  for (const Op& op : program.ops)
    if (op.kind == OpKind::norm) {
      CHECK(op.params.eps == 0.0078125f);
      ++(op.params.group_width ? n_heads : n_whole);
    }
  CHECK(n_whole == 2 * 4 + 1);
  CHECK(n_heads == 2 * 2);
}

TEST_CASE("experts of llama and qwen3moe are understood") {
  for (const char* arch : {"llama", "qwen3moe"}) {
    CAPTURE(arch);
    const TinyModel model = tiny_experts(arch);
    const ModelDef def = std::move(model.define()).value();
    CHECK(def.hparams.n_expert == 6);
    CHECK(def.hparams.n_expert_used == 2);
    CHECK(def.hparams.n_ff_expert == 24);
    CHECK(def.program.weights.size() == model.tensors.size());
    CHECK(def.n_params == 32 * 40 + 32 +
                              2 * (2 * 32 + 2 * 32 * 32 + 2 * 32 * 16 + 6 * 32 + 6 * 3 * 32 * 24 +
                                   (arch[0] == 'q' ? 2 * 8 : 0)));
    uint32_t n_routes = 0;
    for (const Op& op : def.program.ops)
      if (op.kind == OpKind::route) {
        ++n_routes;
        CHECK(op.params.n_used == 2);
        CHECK(op.params.renormalise);
      }
    CHECK(n_routes == 2);
    for (const WeightDesc& w : def.program.weights)
      CHECK(w.n_expert == (w.name.find("_exps") == std::string::npos ? 1 : 6));
  }
  // Mixtral has one width for dense and expert layers, and no key for the latter.
  TinyModel mixtral = tiny_experts("llama");
  mixtral.counts.erase("llama.expert_feed_forward_length");
  mixtral.counts["llama.feed_forward_length"] = 24;
  CHECK(mixtral.define().value().hparams.n_ff_expert == 24);
}

TEST_CASE("keys and tensors of experts that do not fit get one sentence each") {
  const std::pair<Change, const char*> cases[] = {
      {[](TinyModel& m) { m.counts["qwen3moe.expert_count"] = 0; },
       "metadata key \"qwen3moe.expert_count\" is 0; allowed: 1 to 1024"},
      {[](TinyModel& m) { m.counts.erase("qwen3moe.expert_count"); },
       "metadata key \"qwen3moe.expert_count\" is missing"},
      {[](TinyModel& m) { m.counts["qwen3moe.expert_count"] = 4000000000; },
       "metadata key \"qwen3moe.expert_count\" is 4000000000; allowed: 1 to 1024"},
      {[](TinyModel& m) { m.counts["qwen3moe.expert_used_count"] = 0; },
       "metadata key \"qwen3moe.expert_used_count\" is 0; allowed: 1 to 6"},
      {[](TinyModel& m) { m.counts["qwen3moe.expert_used_count"] = 7; },
       "metadata key \"qwen3moe.expert_used_count\" is 7; allowed: 1 to 6"},
      {[](TinyModel& m) { m.counts.erase("qwen3moe.expert_used_count"); },
       "metadata key \"qwen3moe.expert_used_count\" is missing"},
      {[](TinyModel& m) { m.counts["qwen3moe.expert_feed_forward_length"] = 0; },
       "metadata key \"qwen3moe.expert_feed_forward_length\" is 0; allowed: 1 to 1048576"},
      {[](TinyModel& m) { m.counts["qwen3moe.expert_feed_forward_length"] = 1048576; },
       "qwen3moe: 2 experts at once are 2097152 wide, at most 1048576 is allowed"},
      {[](TinyModel& m) { m.counts["qwen3moe.expert_gating_func"] = 2; },
       "metadata key \"qwen3moe.expert_gating_func\" is 2; allowed: 0 to 1"},
      {[](TinyModel& m) { m.counts["qwen3moe.expert_count"] = 5; },
       "blk.0.ffn_gate_inp.weight: want [5,32], file has [6,32]"},
      {[](TinyModel& m) { m.tensors.erase("blk.1.ffn_gate_inp.weight"); },
       "tensor blk.1.ffn_gate_inp.weight is missing"},
      {[](TinyModel& m) { m.tensors.erase("blk.1.ffn_up_exps.weight"); },
       "tensor blk.1.ffn_up_exps.weight is missing"},
      {[](TinyModel& m) {
         m.tensors["blk.0.ffn_down_exps.weight"].dims = {24, 32};
       },
       "blk.0.ffn_down_exps.weight: want [6,32,24], file has [32,24]"},
      {[](TinyModel& m) {
         m.tensors["blk.0.ffn_gate_exps.weight"].dims = {32, 144};
       },
       "blk.0.ffn_gate_exps.weight: want [6,24,32], file has [144,32]"},
      {[](TinyModel& m) {
         m.tensors["blk.0.ffn_up_shexp.weight"].dims = {32, 24};
       },
       "tensor \"blk.0.ffn_up_shexp.weight\" is not part of architecture qwen3moe"},
  };
  for (const auto& [change, message] : cases) {
    TinyModel model = tiny_experts("qwen3moe");
    change(model);
    CHECK(model.failure() == message);
  }
  CHECK(failure_after([](TinyModel& m) { m.counts["llama.expert_count"] = 8; }) ==
        "metadata key \"llama.expert_used_count\" is missing");
  CHECK(failure_after([](TinyModel& m) { m.counts["qwen2.expert_count"] = 8; }, "qwen2") ==
        "architecture qwen2 with experts (key qwen2.expert_count) is not supported");
}
