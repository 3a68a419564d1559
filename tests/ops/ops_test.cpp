// Every compiled-in backend against the reference interpreter, and the suite against planted faults.
#include <doctest/doctest.h>

#include "graph/backend_registry.h"
#include "graph/reference.h"
#include "ops/op_cases.h"
#include "support/simple_runner.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

#if defined(LLMRT_HAVE_BUILTIN)
std::span<const BackendFactory> factories() { return builtin_backends(); }
#else
std::span<const BackendFactory> factories() { return {}; }
#endif

void check_on_all_devices(void (*add_cases)(std::vector<OpCase>&)) {
  std::vector<OpCase> cases;
  add_cases(cases);
  REQUIRE(!cases.empty());
  for (const std::string& id : device_ids(factories())) {
    const auto backend = take(make_backend(factories(), make_host(), id, ""));
    for (const OpCase& c : cases) {
      const Verdict verdict = judge(c, *backend);
      CHECK_MESSAGE(verdict.worst <= 1.0, verdict.message);
    }
  }
}

// True if the program changed.
using Fault = bool (*)(Program&);

template <class Change>
bool change_ops(Program& p, OpKind kind, Change change) {
  bool changed = false;
  for (Op& op : p.ops) {
    if (op.kind == kind) changed = change(op) || changed;
  }
  return changed;
}

}  // namespace

TEST_CASE("linear conforms on every device") { check_on_all_devices(add_linear_cases); }
TEST_CASE("embed conforms on every device") { check_on_all_devices(add_embed_cases); }
TEST_CASE("norm, rope, glu, add, scale, softcap and gather_rows conform on every device") {
  check_on_all_devices(add_row_op_cases);
}
TEST_CASE("kv_append and paged_attention conform on every device") {
  check_on_all_devices(add_attention_cases);
}
TEST_CASE("route, expert_linear and expert_sum conform on every device") {
  check_on_all_devices(add_expert_cases);
}

TEST_CASE("planted faults are found: the bounds are tight enough to judge by") {
  const std::pair<const char*, Fault> faults[] = {
      {"norm without eps",
       [](Program& p) {
         return change_ops(p, OpKind::norm, [](Op& op) { return op.params.eps = 0, true; });
       }},
      {"rope pairs exchanged",
       [](Program& p) {
         for (RopeTable& t : p.rope_tables)
           t.pairs = t.pairs == RopePairs::halves ? RopePairs::interleaved : RopePairs::halves;
         return !p.rope_tables.empty();
       }},
      {"rope frequency off by 1e-6",
       [](Program& p) {
         for (RopeTable& t : p.rope_tables) t.inv_freq[0] *= 1 + 1e-6;
         return !p.rope_tables.empty();
       }},
      {"rope mscale forgotten",
       [](Program& p) {
         for (RopeTable& t : p.rope_tables) t.mscale = 1;
         return !p.rope_tables.empty();
       }},
      {"window one longer",
       [](Program& p) {
         for (KvGroup& g : p.kv_groups) g.window += g.window > 0;
         return change_ops(p, OpKind::paged_attention,
                           [](Op& op) { return op.params.window > 0 && ++op.params.window; });
       }},
      {"no softcap in attention",
       [](Program& p) {
         return change_ops(p, OpKind::paged_attention, [](Op& op) {
           return op.params.attn_softcap > 0 && (op.params.attn_softcap = 0, true);
         });
       }},
      {"scores scaled by 1.01",
       [](Program& p) {
         return change_ops(p, OpKind::paged_attention,
                           [](Op& op) { return op.params.attn_scale *= 1.01f, true; });
       }},
      {"other activation",
       [](Program& p) {
         return change_ops(p, OpKind::glu, [](Op& op) {
           op.params.act =
               op.params.act == Activation::silu ? Activation::gelu_tanh : Activation::silu;
           return true;
         });
       }},
      {"bias forgotten",
       [](Program& p) {
         return change_ops(p, OpKind::linear,
                           [](Op& op) { return op.bias != kNone && (op.bias = kNone, true); });
       }},
      {"weights of experts as of all scores",
       [](Program& p) {
         return change_ops(p, OpKind::route, [](Op& op) {
           return op.params.renormalise && (op.params.renormalise = false, true);
         });
       }},
      {"operands of glu exchanged",
       [](Program& p) {
         return change_ops(p, OpKind::glu,
                           [](Op& op) { return std::swap(op.in[0], op.in[1]), true; });
       }},
  };
  std::vector<OpCase> cases;
  add_row_op_cases(cases);
  add_attention_cases(cases);
  add_linear_cases(cases);
  add_expert_cases(cases);
  const auto sound = make_reference_backend(make_host());
  for (const auto& [name, plant] : faults) {
    bool found = false;
    for (const OpCase& c : cases) {
      OpCase faulty = c;
      if (!plant(faulty.kit.program)) continue;
      std::vector<PassValues> values;
      const auto want = take(run_case(c, *sound, false, &values));
      const auto got = take(run_case(faulty, *sound, false));
      for (size_t pass = 0; pass < want.size() && !found; ++pass) {
        const auto tolerance = c.tolerance(values[pass]);
        for (size_t i = 0; i < want[pass].size() && !found; ++i)
          found = !(std::fabs(got[pass][i] - want[pass][i]) <= tolerance[i]);
      }
      if (found) break;
    }
    CHECK_MESSAGE(found, name);
  }
}
