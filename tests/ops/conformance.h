// Op conformance: little Programs that any Backend runs, judged against the reference interpreter within derived bounds.
//
//   add_linear_cases(cases);  for (const OpCase& c : cases)  judge(c, *backend)   ->  worst difference / tolerance, and where
//
// Beside the values, judge() asks for what every backend promises: a pass suspended at every chunk gives the same bits, and so do
// the rows of a pass without KV when each is run alone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/program_kit.h"

namespace llmrt::test {

struct SeqRows {
  uint32_t seq, n;
};

// What the reference made on the way, by op; what the judged backend is.
struct PassValues {
  std::vector<std::vector<float>> by_op;
  // Float32 linears of the judged backend: without it they are of another class (docs/NUMERICS.md).
  bool fused_multiply_add = true;
};

struct OpCase {
  std::string name;
  ProgramKit kit;
  std::string kv_type = "f32";
  uint32_t block_tokens = 32;
  std::vector<uint32_t> start = {0};  // position of each sequence's first token
  std::vector<std::vector<SeqRows>> passes;
  // Allowed difference of each logit of a pass, [n_rows, n_vocab].
  std::function<std::vector<float>(const PassValues&)> tolerance;
};

struct Verdict {
  double worst = 0;     // difference / tolerance; above 1 is wrong
  std::string message;  // empty: right
};
Verdict judge(const OpCase& c, Backend& backend);

// The logits of every pass. Values (may be null) needs a ReferenceBackend.
Result<std::vector<std::vector<float>>> run_case(const OpCase& c, Backend& backend, bool suspend,
                                                 std::vector<PassValues>* values = nullptr);

}  // namespace llmrt::test
