// EngineImpl: the engine as its users see it. Any thread; the verbs behind it run under EngineShared::owner.
//   engine_front.cpp   its threads: who steps, who waits, pause, trim, close
//   submit.cpp         what may come in, and its way into the inbox
//   evaluate.cpp       the same for rows whose logits are wanted
#pragma once

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/service_thread.h"
#include "engine/engine.h"
#include "engine/step_engine.h"

namespace llmrt {

class EngineImpl final : public Engine {
 public:
  // options: resolved (engine.cpp).
  static Result<std::unique_ptr<EngineImpl>> create(std::shared_ptr<const LoadedModel> model,
                                                    const EngineOptions& options,
                                                    const KvLayout& layout);
  ~EngineImpl() override;
  bool at_rest() const override;

  Result<RequestPtr> submit(std::vector<Token> prompt, const GenParams& params) override;
  Code next(int32_t timeout_ms, Event& out, RequestPtr& request) override;
  Status step(int32_t budget_us) override;
  Status pause() override;
  Status resume() override;
  Status trim(int32_t level) override;
  Status close(int32_t timeout_ms) override;
  bool closed() const override;
  EngineMetrics metrics() const override;
  EngineCounters counters() const override;
  Status evaluate(std::span<const Token> tokens, uint32_t first, std::span<float> logits) override;
  const EngineOptions& options() const override { return options_; }
  const LoadedModel& model() const override { return *model_; }
  Status validate() const override;

 private:
  friend struct EngineShared;
  EngineImpl(std::shared_ptr<const LoadedModel> model, const EngineOptions& options)
      : model_(std::move(model)), options_(options) {}

  PumpResult pump(Deadline deadline);  // owner held
  void run_thread();
  void for_each_live(FunctionRef<void(RequestImpl&)> visit);
  void cancel_live();
  Status refuse_if_closed() const;
  // submit.cpp
  Status check_prompt(std::span<const Token> prompt) const;
  Result<uint32_t> most_new_tokens(size_t n_prompt, const GenParams& params) const;
  Status check_params(const GenParams& params) const;
  Status refuse_if_full_locked() const;
  Status enqueue(Submission submission);
  std::span<const TokenBytes> token_bytes();

  const std::shared_ptr<const LoadedModel> model_;
  const EngineOptions options_;
  uint32_t longest_sequence_ = 0;  // tokens that fit the KV pool
  std::shared_ptr<EngineShared> shared_;
  std::unique_ptr<StepEngine> steps_;
  ServiceThread thread_;
  std::once_flag token_bytes_once_;
  std::vector<TokenBytes> token_bytes_;
};

}  // namespace llmrt
