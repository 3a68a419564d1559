// Planner: value lifetimes -> places in an arena, so that a pass needs the memory of its widest moment, not of all its values.
//
// Each row space (tokens, wanted) has its own arena, laid out in floats per row: value v of a pass with n rows is the matrix
// [n, width] at float n * offset(v). So one plan serves every row count.
//
//   arena of tokens  | residual | normed | q | k | v | ...        offset, width: multiples of 16 floats (64 bytes at n = 1)
//
// Equations (tests/graph/planner_test.cpp):
//   live(v) = [phase of its op, last phase that reads it]; the logits live to the end
//   live(a) and live(b) overlap  =>  places of a and b are disjoint, unless b is made in place of a
//   b in place of a  =>  same width and row space, a is read last by b's op, which is row-local (norm rope glu add scale softcap)
//   rows_floats[space] = max over v of offset(v) + width(v), rounded up
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/program.h"

namespace llmrt {

struct Plan {
  std::vector<uint32_t> offset;          // [values] floats per row; kNone: made by no op
  std::array<uint32_t, 2> row_floats{};  // arena floats per row, by RowSpace
  uint64_t arena_floats(uint32_t n_rows, uint32_t n_out) const {
    return uint64_t{row_floats[0]} * n_rows + uint64_t{row_floats[1]} * n_out;
  }
};

struct PlanOptions {
  // [ops] ascending: ops that a backend runs as one phase share a number, and everything a phase touches is live during the
  // whole of it. Empty: one op = one phase.
  std::span<const uint32_t> phase_of_op;
  bool in_place = true;
};

// The program has passed check_shapes().
Plan make_plan(const Program& program, const PlanOptions& options = {});

}  // namespace llmrt
