// From a Program to phases: what runs together, where every value lies. Pure: no weights, no memory, so that compute_bytes() can
// ask before anything is loaded.
//
// Four kinds of work:
//   rows    a list of row-local steps done row by row (embed, norm, rope, add, ..., rounding to int8, joining attention parts, dealing
//           inputs to experts)
//   linear  a list of matrices times their inputs; chunk = panels x rows. Residual adds, biases and glu are its epilogue
//   experts as linear, by the matrices of the experts that the rows chose; chunk = panels x rows of one expert
//   attend  attention of one layer; chunk = (rows, heads of one KV head, keys)
//
// Each op gets a level: 0 for embed; a row step runs in the phase of its inputs if those are row steps of the same row space, else one
// level later; linear, experts, attend and the dealing to experts run one level after their inputs. Phases are the pairs (level, kind),
// ascending. So a layer is
//
//   rows: add norm round | linear: q k v | rows: rope append | attend | rows: join round | linear: o + residual | rows: norm round |
//   linear: act(gate) * up | rows: round | linear: down + residual
//
// and with experts, from the second norm on (the rows are sorted by expert when the first deal begins, expert_groups.h)
//
//   linear: router | rows: route | rows: deal | experts: act(gate) * up | rows: deal | experts: down | rows: sum add norm ...
//
// live(v) = [phase that makes v, last phase that reads it];  live(a) and live(b) overlap => their places are disjoint.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/kernel_table.h"
#include "graph/backend.h"
#include "graph/program.h"
#include "quant/activation.h"

namespace llmrt::cpu {

enum class PhaseKind : uint8_t { rows, linear, experts, attend };

// A value as float rows, or rounded to int8 (form.group != 0), in the arena.
struct Place {
  uint64_t offset = UINT64_MAX;  // bytes in the arena; UINT64_MAX: not stored
  uint32_t row_bytes = 0;
  bool stored() const { return offset != UINT64_MAX; }
};

struct RoundedValue {
  ValueId value = kNone;
  ActivationForm form;
  Place place;
};

// The input of experts, a row for each choice of a row, in the order of ExpertGroups' slots. own: choice r reads its own part of the
// value, r*k ..; else all choices read the same k.
struct DealtValue {
  ValueId value = kNone;
  uint32_t route_op = kNone;
  uint32_t k = 0, n_used = 0;
  bool own = false;
  ActivationForm form;  // group 0: floats
  Place place;
};

enum class StepKind : uint8_t { op, rope_angles, round, deal, join_attention };
struct RowStep {
  StepKind kind = StepKind::op;
  uint32_t op = kNone;       // op, join_attention: index into program.ops
  uint32_t rounded = kNone;  // round: index into PassPlan::rounded
  uint32_t table = kNone;    // rope_angles
  uint32_t dealt = kNone;    // deal: index into PassPlan::dealt
};

struct LinearJob {
  // One linear or expert_linear, or gate and up of a glu.
  uint32_t n_parts = 1;
  uint32_t op[2] = {kNone, kNone};
  // class a8: the input's rounded form; else the input is floats
  uint32_t rounded[2] = {kNone, kNone};
  uint32_t dealt[2] = {kNone, kNone};  // experts: the input, rounded or not
  Activation act = Activation::silu;   // n_parts == 2
  ValueId residual = kNone;            // added last
  ValueId out = kNone;
};

struct Phase {
  PhaseKind kind = PhaseKind::rows;
  RowSpace rows = RowSpace::tokens;
  uint32_t level = 0;
  std::vector<RowStep> steps;
  std::vector<LinearJob> jobs;
  uint32_t attend_op = kNone;
  uint32_t route_op = kNone;  // of experts and of the dealing to them
};

struct PassPlan {
  std::vector<Phase> phases;
  std::vector<Place> values;  // [program.values]; logits lie in a buffer of their own
  std::vector<RoundedValue> rounded;
  std::vector<DealtValue> dealt;
  std::vector<Place> angles;  // [rope_tables] per row: cosines, then sines, of d_rot / 2 pairs
  uint64_t arena_bytes = 0;
  uint64_t parts_bytes = 0;  // attention parts, shared by all layers
  uint64_t logits_bytes = 0;
  uint64_t maxima_bytes = 0;  // of the logits' blocks; 0: no linear writes the logits
  uint64_t worker_bytes = 0;  // scratch of each worker
  uint64_t panel_at = 0;      // in it: room for a panel (pass_scratch.h)
};

PassPlan make_pass_plan(const Program& program, const CompileOptions& options,
                        const KernelTable& table);

}  // namespace llmrt::cpu
