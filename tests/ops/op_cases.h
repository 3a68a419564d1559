// The cases by op.
#pragma once

#include "ops/conformance.h"

namespace llmrt::test {

void add_linear_cases(std::vector<OpCase>& cases);
void add_embed_cases(std::vector<OpCase>& cases);
void add_row_op_cases(std::vector<OpCase>& cases);  // norm rope glu add scale softcap gather_rows
void add_attention_cases(std::vector<OpCase>& cases);
void add_expert_cases(std::vector<OpCase>& cases);  // route expert_linear expert_sum
void add_expert_linear_cases(std::vector<OpCase>& cases);

}  // namespace llmrt::test
