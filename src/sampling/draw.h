// The draw: token = argmax over the candidates of (logit + Gumbel noise of its own), lowest id on ties.
//
// Making a noise costs two logarithms; half of its random number, a word of 32 bits, tells already what it cannot exceed:
//
//   word >= 2^(32 - e)  =>  v >= 2^-e  =>  noise <= -log v <= e log 2 < 0.694 e        (-log(1 - v) >= v)
//
// and any v is at least 2^-63. So words are made many at a time (row_kernels.h), and a noise only for a token whose logit + 0.694 e is
// not below the best score so far. Rounding keeps order, so such a token's rounded score is below the best one too: what is skipped
// changes nothing. (0.694 - log 2 is 0.00085, the error of gumbel_from_uniform() below 1e-5.)
#pragma once

#include <span>
#include <vector>

#include "sampling/row_select.h"
#include "sampling/step.h"

namespace llmrt {

// items: at least one, all finite, in any order.
Token draw(std::span<const Candidate> items, const SampleContext& context);

// From all logits of the row that `select` knows, at least one of them above -inf, each as cooled(logit, max, temperature); with max 0
// and temperature 1 as it is. No list of them is made: a block's largest logit tells which words may win.
Token draw(std::span<const float> row, const RowSelect& select, float max, float temperature,
           const SampleContext& context);

}  // namespace llmrt
