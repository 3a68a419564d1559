#include "runtime/plan.h"

#include <doctest/doctest.h>

#include "../support/toy_backend.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

struct PlanBench {
  explicit PlanBench(int64_t free) {
    ToyOptions options;
    options.memory.free = free;
    toy = make_toy_model(options);
  }
  KvPoolPlan pool(const PlanRequest& request) const {
    auto made = plan_kv_pool(*toy.model->backend, toy.model->def, request);
    REQUIRE(made.ok());
    return std::move(made).value();
  }
  MemoryPlan memory(const PlanRequest& request) const {
    auto made = plan_memory(*toy.model->backend, toy.model->def, request);
    REQUIRE(made.ok());
    return made.value();
  }
  ToyModel toy;
};

}  // namespace

TEST_CASE("plan: the pool takes a quarter of what the device has free, or what was asked for") {
  const PlanBench b(400'000);
  PlanRequest request;
  CHECK(b.pool(request).budget == 100'000);
  request.kv_budget = 300'000;
  CHECK(b.pool(request).budget == 300'000);
}

TEST_CASE("plan: a device that does not know its memory gets room for four full contexts") {
  const PlanBench b(-1);
  const KvPoolPlan pool = b.pool({});
  const uint64_t sequence = pool.layout.worst_blocks(pool.ctx_tokens, pool.max_rows);
  CHECK(pool.budget == (kFirstBlock + 4 * sequence) * pool.layout.block_bytes);
  CHECK(b.memory({}).available == -1);
  CHECK(b.memory({}).fits);
}

TEST_CASE("plan: what fits is bounded by what is free and by the caller's limit") {
  const PlanBench b(1'000'000);
  PlanRequest request;
  const MemoryPlan plan = b.memory(request);
  CHECK(plan.available == 1'000'000);
  CHECK(plan.fits);
  request.memory_limit = plan.host_total;
  CHECK(b.memory(request).fits);
  request.memory_limit = plan.host_total - 1;
  CHECK_FALSE(b.memory(request).fits);
  request = {};
  request.kv_budget = 2'000'000;
  CHECK_FALSE(b.memory(request).fits);
}
