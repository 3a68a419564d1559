// PassTimes: what a pass costs, learned from the passes that ran, and how many rows of prompts may ride in one with decodes.
//
// A pass takes about d + p * r: d for its decoding rows (one more of them costs little: the weights are read once), p prompt rows of r
// each. The next pass may take max(25 ms, 2 d): a user who reads along sees no stutter, and on a model so slow that 25 ms is less than a
// token, prompts and answers get half of the time each. docs/decisions/002-rows-beside-decodes.md.
#pragma once

#include <cstdint>

namespace llmrt {

class PassTimes {
 public:
  // A pass of n_rows, n_decodes of which decoded, took busy_ns.
  void record(uint32_t n_rows, uint32_t n_decodes, int64_t busy_ns);

  // Prompt rows of a pass that has decodes in it, at least 1.
  uint32_t prompt_rows_beside_decodes() const;

  double prompt_row_ns() const { return row_ns_; }  // 0: nothing known

 private:
  double row_ns_ = 0, decode_ns_ = 0;  // running means; decode_ns_: of passes of decodes only
};

}  // namespace llmrt
