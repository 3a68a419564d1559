// What the engine tests share: a ToyModel engine and the oracle.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "../support/toy_backend.h"
#include "engine/engine.h"

namespace llmrt::test {

struct EngineBench {
  explicit EngineBench(EngineOptions options = host_stepped(), ToyOptions toy = {})
      : EngineBench(make_toy_model(toy), std::move(options), toy) {}
  EngineBench(ToyModel model, EngineOptions options, ToyOptions toy_options)
      : toy(std::move(model)), toy_options(std::move(toy_options)) {
    auto made = Engine::create(toy.model, options);
    REQUIRE_MESSAGE(made.ok(), std::string(made.status().message()));
    engine = std::move(made).value();
  }
  static EngineOptions host_stepped() {
    EngineOptions options;
    options.host_stepped = true;
    options.block_tokens = 16;
    options.ctx_tokens = 1024;
    return options;
  }
  static EngineOptions threaded() {
    EngineOptions options = host_stepped();
    options.host_stepped = false;
    return options;
  }
  // Bytes of a pool with n blocks that can be handed out.
  static int64_t pool_of(int64_t n_blocks) { return (n_blocks + 2) * 16 * 16; }

  RequestPtr submit(std::vector<Token> prompt, const GenParams& params) {
    auto request = engine->submit(std::move(prompt), params);
    REQUIRE_MESSAGE(request.ok(), std::string(request.status().message()));
    return std::move(request).value();
  }
  std::vector<Token> expected(const std::vector<Token>& prompt, const GenParams& params,
                              int32_t sample, uint32_t n) const {
    return toy_generate(toy_options, prompt, params.sampling,
                        mix_seed(static_cast<uint64_t>(params.seed), static_cast<uint32_t>(sample)),
                        n);
  }
  void run_all() {
    while (engine->step(-1).code() == Code::pending) {
    }
  }
  void check_valid() const {
    const Status status = engine->validate();
    CHECK_MESSAGE(status.ok(), std::string(status.message()));
    CHECK(toy.backend->violations == 0);
  }

  ToyModel toy;
  ToyOptions toy_options;
  std::unique_ptr<Engine> engine;
};

inline GenParams params_for(int32_t max_tokens, int64_t seed = 1) {
  GenParams params;
  params.max_tokens = max_tokens;
  params.seed = seed;
  return params;
}

inline std::vector<Token> some_prompt(size_t n, uint32_t salt = 0) {
  std::vector<Token> prompt(n);
  for (size_t i = 0; i < n; ++i)
    prompt[i] = static_cast<Token>((i * 7 + salt * 13 + i * i * salt) % 64);
  return prompt;
}

}  // namespace llmrt::test
