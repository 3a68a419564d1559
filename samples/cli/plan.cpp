#include "plan.h"

namespace cli {

Json plan_json(const llmrt_plan_info& info) {
  return {{"fits", info.fits != 0},
          {"ctx_tokens", info.ctx_tokens},
          {"max_ctx_that_fits", info.max_ctx_that_fits},
          {"weights", info.weights},
          {"kv", info.kv},
          {"kv_per_token", info.kv_per_token},
          {"compute", info.compute},
          {"host_total", info.host_total}};
}

std::string plan_text(const Json& plan) {
  const auto bytes = [&](const char* key) { return human_bytes(plan[key].get<double>()); };
  const auto ctx_tokens = plan["ctx_tokens"].get<int64_t>();
  const int64_t one = plan["kv_per_token"].get<int64_t>() * ctx_tokens;
  std::string text = "  weights " + bytes("weights") + ", compute " + bytes("compute") +
                     "\n  KV cache: one conversation of " + std::to_string(ctx_tokens) +
                     " tokens: " + human_bytes(static_cast<double>(one)) + " (" +
                     bytes("kv_per_token") + " a token); ";
  // a ceiling: memory is taken as tokens come
  text += one <= plan["kv"].get<int64_t>() ? "up to " + bytes("kv") + " for several at once"
                                           : "no more than " + bytes("kv") + " are to be had";
  return text + "\n  " + (plan["fits"].get<bool>() ? "fits" : "does not fit") +
         "; longest context that fits: " +
         std::to_string(plan["max_ctx_that_fits"].get<int32_t>()) + "\n";
}

}  // namespace cli
