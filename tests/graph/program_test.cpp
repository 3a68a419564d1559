#include "graph/program.h"

#include <doctest/doctest.h>

#include "graph/builder.h"
#include "support/program_kit.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

// embed, norm, attention with rope, residual, head: one layer of 2 query heads on 1 KV head of width 8.
ProgramKit small_model() {
  ProgramKit kit;
  kit.program.n_embd = 16;
  kit.program.n_vocab = 24;
  kit.program.kv_groups = {
      {.kind = AttnKind::window, .window = 5, .n_layers = 1, .n_kv_head = 1, .d_k = 8, .d_v = 8}};
  kit.program.kv_layers = {{0, 0}};
  const WeightIndex table = kit.add("token_embd.weight", DType::f16, 24, 16, {});
  const WeightIndex norm = kit.add("blk.0.attn_norm.weight", DType::f32, 1, 16, {});
  const WeightIndex wq = kit.add("blk.0.attn_q.weight", DType::f16, 16, 16, {});
  const WeightIndex wk = kit.add("blk.0.attn_k.weight", DType::f16, 8, 16, {});
  const WeightIndex bk = kit.add("blk.0.attn_k.bias", DType::f32, 1, 8, {});
  Builder b = kit.builder();
  const uint32_t rope = b.rope_table({.inv_freq = {1, 0.1, 0.01, 0.001}});
  CHECK(b.rope_table({.inv_freq = {1, 0.1, 0.01, 0.001}}) == rope);
  const ValueId x = b.embed(table);
  b.set_layer(0);
  const ValueId h = b.norm(x, norm, 1e-5f);
  const ValueId q = b.rope(b.linear(h, wq), 2, 8, rope);
  const ValueId k = b.linear(h, wk, bk);
  b.kv_append(k, k, 0);
  const ValueId y = b.add(x, b.paged_attention(q, 2, 0, 0.25f));
  b.set_layer(kNone);
  b.set_logits(b.linear(b.gather_rows(y), table));
  return kit;
}

std::string failure(const Program& program) {
  const Status status = check_shapes(program);
  REQUIRE(!status.ok());
  return std::string(status.message());
}

}  // namespace

TEST_CASE("a program prints one op a line") {
  const ProgramKit kit = small_model();
  CHECK(kit.program.dump() ==
        "program n_embd=16 n_vocab=24 weights=5 values=9\n"
        "kv_group 0 window layers=1 heads=1 d_k=8 d_v=8 window=5\n"
        "rope_table 0 interleaved d_rot=8 mscale=1\n"
        "%0:t[16] = embed token_embd.weight [24,16] F16\n"
        "# layer 0\n"
        "%1:t[16] = norm %0 blk.0.attn_norm.weight [1,16] F32 eps=1e-05\n"
        "%2:t[16] = linear %1 blk.0.attn_q.weight [16,16] F16\n"
        "%3:t[16] = rope %2 heads=2 d=8 table=0\n"
        "%4:t[8] = linear %1 blk.0.attn_k.weight [8,16] F16 + blk.0.attn_k.bias [1,8] F32\n"
        "kv_append %4 %4 kv=0 heads=1 d_k=8 d_v=8\n"
        "%5:t[16] = paged_attention %3 kv=0 heads=2/1 d_k=8 d_v=8 scale=0.25 window=5\n"
        "%6:t[16] = add %0 %5\n"
        "%7:w[16] = gather_rows %6\n"
        "%8:w[24] = linear %7 token_embd.weight [24,16] F16\n"
        "logits %8\n");
}

TEST_CASE("a well-formed program passes its shape rules") {
  CHECK(check_shapes(small_model().program).ok());
}

TEST_CASE("a value that was not found travels through Builder without ops") {
  Program program;
  Builder b(program);
  const ValueId x = b.linear(b.norm(b.embed(kNone), 0, 1e-5f), kNone);
  b.kv_append(x, x, 0);
  CHECK(b.softcap(b.scale(b.gather_rows(b.glu(x, b.add(x, x), Activation::silu)), 2), 3) == kNone);
  CHECK(program.ops.empty());
}

TEST_CASE("every broken shape names its op") {
  using Break = void (*)(Program&);
  const std::pair<Break, const char*> cases[] = {
      {[](Program& p) { p.ops[0].weight = 9; }, "op 0 (embed): weight index is 9, want 5"},
      {[](Program& p) { p.weights[1].k = 8; },
       "op 1 (norm blk.0.attn_norm.weight): weight row length is 8, want 16"},
      {[](Program& p) { p.ops[1].params.group_width = 5; },
       "op 1 (norm blk.0.attn_norm.weight): rest of width by group is 1, want 0"},
      {[](Program& p) { p.weights[2].n = 12; },
       "op 2 (linear blk.0.attn_q.weight): weight rows is 12, want 16"},
      {[](Program& p) { p.weights[4].k = 9; },
       "op 4 (linear blk.0.attn_k.weight): bias length is 9, want 8"},
      {[](Program& p) { p.ops[2].in[0] = 6; },
       "op 2 (linear blk.0.attn_q.weight): input not made before use is 6, want 0"},
      {[](Program& p) { p.ops[2].in[1] = 0; },
       "op 2 (linear blk.0.attn_q.weight): unused input is 0, want 4294967295"},
      {[](Program& p) { p.ops[3].out = 2; },
       "op 3 (rope): output missing or made twice is 2, want 0"},
      {[](Program& p) { p.ops[3].params.rope_table = 1; }, "op 3 (rope): rope table is 1, want 1"},
      {[](Program& p) { p.rope_tables[0].inv_freq.resize(5); }, "op 3 (rope): d_rot is 10, want 8"},
      {[](Program& p) { p.ops[5].params.kv_layer = 1; }, "op 5 (kv_append): KV layer is 1, want 1"},
      {[](Program& p) { p.ops[5].in[1] = 3; }, "op 5 (kv_append): V width is 16, want 8"},
      {[](Program& p) { p.ops[6].params.n_head = 4; },
       "op 6 (paged_attention): Q width is 16, want 32"},
      {[](Program& p) { p.ops[6].params.window = 6; },
       "op 6 (paged_attention): window is 6, want 5"},
      {[](Program& p) { p.ops[7].in[1] = 4; }, "op 7 (add): input width is 8, want 16"},
      {[](Program& p) { p.values[7].rows = RowSpace::tokens; },
       "op 8 (gather_rows): row space is 0, want 1"},
      {[](Program& p) { p.logits = 7; },
       "program: logits are 16 wide, the vocabulary has 24 entries"},
      {[](Program& p) { p.logits = kNone; }, "program: no op makes the logits value"},
      {[](Program& p) { p.kv_layers[0].index_in_group = 1; },
       "program: KV layer 0 is outside its group"},
      {[](Program& p) { p.weights[2].type = DType::q8_0; },
       "blk.0.attn_q.weight: rows of 16 elements, Q8_0 needs a multiple of 32"},
  };
  for (const auto& [change, message] : cases) {
    Program program = small_model().program;
    change(program);
    CHECK(failure(program) == message);
  }
}

namespace {

// 2 of 4 experts [6, 16], each with a matrix back to 16: ops 0 embed, 1 linear, 2 route, 3 and 4 expert_linear, 5 expert_sum.
ProgramKit small_experts() {
  ProgramKit kit;
  kit.program.n_embd = 16;
  kit.program.n_vocab = 24;
  const WeightIndex table = kit.add("token_embd.weight", DType::f16, 24, 16, {});
  const WeightIndex router = kit.add("router", DType::f32, 4, 16, {});
  const WeightIndex up = kit.add("up", DType::f16, 6, 16, {}),
                    down = kit.add("down", DType::f16, 16, 6, {});
  kit.program.weights[up].n_expert = kit.program.weights[down].n_expert = 4;
  Builder b = kit.builder();
  const ValueId x = b.embed(table);
  const ValueId route = b.route(b.linear(x, router), 2, true);
  const ValueId y = b.expert_linear(b.expert_linear(x, route, up), route, down);
  b.set_logits(b.linear(b.gather_rows(b.expert_sum(y, route)), table));
  return kit;
}

}  // namespace

TEST_CASE("experts print and pass their shape rules") {
  const Program program = small_experts().program;
  CHECK(check_shapes(program).ok());
  CHECK(program.dump() ==
        "program n_embd=16 n_vocab=24 weights=4 values=8\n"
        "%0:t[16] = embed token_embd.weight [24,16] F16\n"
        "%1:t[4] = linear %0 router [4,16] F32\n"
        "%2:t[4] = route %1 experts=2/4 renormalise\n"
        "%3:t[12] = expert_linear %0 %2 up [4,6,16] F16\n"
        "%4:t[32] = expert_linear %3 %2 down [4,16,6] F16\n"
        "%5:t[16] = expert_sum %4 %2\n"
        "%6:w[16] = gather_rows %5\n"
        "%7:w[24] = linear %6 token_embd.weight [24,16] F16\n"
        "logits %7\n");
}

TEST_CASE("every broken shape of experts names its op") {
  using Break = void (*)(Program&);
  const std::pair<Break, const char*> cases[] = {
      {[](Program& p) { p.weights[1].n_expert = 2; },
       "op 1 (linear router): weight matrices is 2, want 1"},
      {[](Program& p) { p.ops[2].params.n_used = 5; }, "op 2 (route): experts used is 5, want 4"},
      {[](Program& p) { p.ops[2].params.n_used = 0; }, "op 2 (route): experts used is 0, want 4"},
      {[](Program& p) { p.ops[2].params.n_expert = 5; }, "op 2 (route): input width is 4, want 5"},
      {[](Program& p) { p.values[2].width = 5; }, "op 2 (route): output width is 5, want 4"},
      {[](Program& p) { p.ops[3].in[1] = 1; },
       "op 3 (expert_linear up): input that is no route is 1, want 4294967295"},
      {[](Program& p) { p.ops[3].params.n_used = 3; },
       "op 3 (expert_linear up): experts used is 3, want 2"},
      {[](Program& p) { p.ops[3].params.n_expert = 8; },
       "op 3 (expert_linear up): experts is 8, want 4"},
      {[](Program& p) { p.weights[2].n_expert = 3; },
       "op 3 (expert_linear up): weight matrices is 3, want 4"},
      {[](Program& p) { p.weights[3].k = 5; },
       "op 4 (expert_linear down): weight row length is 5, want 6"},
      {[](Program& p) { p.ops[4].weight = 9; }, "op 4 (expert_linear): weight index is 9, want 4"},
      {[](Program& p) { p.values[5].width = 15; }, "op 5 (expert_sum): input width is 32, want 30"},
  };
  for (const auto& [change, message] : cases) {
    Program program = small_experts().program;
    change(program);
    CHECK(failure(program) == message);
  }
}
