// Engine: requests in, events out. One owner at a time runs the five verbs (its own thread, or the host inside step()):
//   PLAN scheduler -> RESERVE kv -> RUN runner -> CHOOSE sampling -> COMMIT kv, request, text      (docs/ARCHITECTURE.md, section 3)
// Every public function is safe from any thread. All state of engine/ and kv/ behind the queues is touched by the owner only.
//
// A pass may stay open between two steps (budget ran out). Nothing of it is visible before COMMIT: submits queue, a cancelled request
// gets its DONE at once, its later rows are computed and ignored, its blocks go back when the pass ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runtime/loaded_model.h"
#include "runtime/plan.h"
#include "sampling/chain.h"

namespace llmrt {

enum class Overflow : int32_t { error = 0, finish_length = 1 };
enum class Batching : int32_t { continuous = 0, static_batch = 1, dynamic = 2 };

// The defaults are those of the C API, which reads them here; limits.h says what the numbers may be.
struct EngineOptions : MemoryOptions {
  bool host_stepped = false;
  uint32_t prefill_chunk = 0;  // rows of one request per pass, 0: what fits
  bool prefix_cache = true;
  Batching batching = Batching::continuous;
  uint32_t batch_wait_us = 0;
  uint32_t queue_limit = 1024;
  Overflow overflow = Overflow::error;
  std::string cache_namespace;
};

// The numbers are those of include/llmrt.h.
enum class EventType : int32_t { none = 0, text = 1, progress = 4, sample_done = 5, done = 6 };
enum class Finish : int32_t {
  none = 0,
  stop = 1,
  length = 2,
  cancelled = 4,
  timeout = 5,
  error = 7
};
const char* name_of(Finish finish);  // "stop"

// What an event says beside its text.
struct EventHead {
  EventType type = EventType::none;
  int32_t sample = 0;
  Finish finish = Finish::none;
  Token token = -1;  // -1 if several
  int32_t n_tokens = 0;
  float logprob = 0;
  int64_t done = 0, total = 0;
};
struct Event : EventHead {
  Code error = Code::ok;
  int64_t tag = 0;
  std::string text;  // whole code points
};

class Request;
using RequestPtr = std::shared_ptr<Request>;

enum class Delivery : int32_t { request_queue = 0, engine_queue = 1, callback = 2 };

// The numbers of llmrt_gen_options that do not concern the draw, with the defaults of the C API. Plain data: making one takes no memory.
struct GenNumbers {
  int32_t max_tokens = -1;  // -1: to the context's end
  int32_t n = 1;
  int32_t priority = 0;                          // higher first
  int64_t seed = -1;                             // -1: random
  int32_t timeout_ms = 0, stall_timeout_ms = 0;  // 0: none
};

struct GenParams : GenNumbers {
  SamplingParams sampling;
  std::vector<std::string> stop;
  bool ignore_eos = false;
  Delivery delivery = Delivery::request_queue;
  // Delivery threads, or inside step(): one that blocks stops its own request only. Nonzero: cancel(false).
  int32_t (*on_event)(void* user, const Event& event, Request* request) = nullptr;
  // Engine thread, or inside step(), between RUN and the draw: must not block.
  void (*on_logits)(void* user, int32_t sample, float* logits, int32_t n) = nullptr;
  void* user = nullptr;
  int64_t tag = 0;
};

struct Usage {
  int32_t prompt_tokens = 0, cached_tokens = 0, generated_tokens = 0;
  int64_t seed = 0;
  double queue_ms = 0, prefill_ms = 0, decode_ms = 0, ttft_ms = 0;
};

// A snapshot; counters only grow; percentiles, rates and the rows per pass (batch_mean, batch_peak) are over the last 60 s.
struct EngineMetrics {
  int32_t running = 0, waiting = 0;
  int64_t done = 0, failed = 0, cancelled = 0, prompt_tokens = 0, cached_tokens = 0,
          generated_tokens = 0, steps = 0, busy_us = 0, preemptions = 0, kv_used = 0, kv_total = 0,
          compute_bytes = 0, device_bytes = 0, heartbeat = 0;
  double ttft_ms[3] = {}, itl_ms[3] = {}, queue_ms[3] = {}, e2e_ms[3] = {};  // P50, P95, P99
  double requests_per_s = 0, prefill_tps = 0, decode_tps = 0, batch_mean = 0, busy_share = 0,
         kv_waste = 0;
  int32_t batch_peak = 0;
};

// Counters of what random-schedule tests must have seen happen.
struct EngineCounters {
  int64_t preemption = 0, eviction = 0, fork = 0, copy_on_write = 0, window_slide = 0,
          chunk_border = 0, cancel_prefill = 0, cancel_decode = 0, cancel_suspended = 0,
          failed_reserve = 0, budget_stop = 0, prefix_hit = 0;
};

class Request {
 public:
  virtual ~Request() = default;
  // ok: one event; pending: nothing within timeout_ms (0 polls, < 0 waits for ever); end: after DONE was read, for ever;
  // out_of_memory: there was none for the event's text, and it waits. out's text keeps its memory from one event to the next.
  virtual Code next(int32_t timeout_ms, Event& out) = 0;
  // pending: timeout_ms passed first. ok: a good end, by stop or by length. Else the request's error; text and usage stay readable.
  virtual Status wait(int32_t timeout_ms) = 0;
  // As wait(-1), never pending: waits for another thread that steps the engine too.
  virtual Status wait_to_end() = 0;
  // Never waits for compute. After the end it does nothing: only the call that ends the request says whether its text is kept.
  virtual void cancel(bool keep_partial) = 0;
  virtual bool keeps_partial() const = 0;  // ended by cancel(true)
  virtual std::string text(int32_t sample) const = 0;
  virtual std::vector<Token> tokens(int32_t sample) const = 0;
  virtual Usage usage() const = 0;
  virtual Status error() const = 0;  // ok while running or after a good end
  virtual Finish finish(int32_t sample) const = 0;
  virtual std::vector<TokenLogprob> logprobs(int32_t sample) const = 0;
};

class Engine {
 public:
  static Result<std::unique_ptr<Engine>> create(std::shared_ptr<const LoadedModel> model,
                                                const EngineOptions& options);
  // Cancels everything, joins its thread, delivers what on_event has not seen: DONE of every request at the least. Waits for
  // callbacks that run.
  virtual ~Engine() = default;
  // Ending it now would wait for no other thread: it steps on the host's, or no request computes and no callback runs or waits.
  virtual bool at_rest() const = 0;

  // Validates everything before a request exists. prompt ids in range, at least one.
  virtual Result<RequestPtr> submit(std::vector<Token> prompt, const GenParams& params) = 0;
  // Delivery engine_queue. closed: the engine is closed and every event was read; out_of_memory: as Request::next.
  virtual Code next(int32_t timeout_ms, Event& out, RequestPtr& request) = 0;
  // host_stepped: about budget_us (0: one chunk, < 0: until no work). pending: more work waits, or another thread is inside.
  virtual Status step(int32_t budget_us) = 0;
  virtual Status pause() = 0;
  virtual Status resume() = 0;
  // Between passes. 1: bytes of free blocks, 2: the prefix cache too, 3: and while paused the KV of all requests, which is computed
  // again after resume().
  virtual Status trim(int32_t level) = 0;
  // Afterwards submit, step, pause, resume, trim and evaluate answer closed.
  virtual Status close(int32_t timeout_ms) = 0;
  virtual bool closed() const = 0;
  virtual EngineMetrics metrics() const = 0;
  virtual EngineCounters counters() const = 0;
  // Logits of positions first .. n-1, [n - first, n_vocab]. Blocks (pumps a host-stepped engine).
  virtual Status evaluate(std::span<const Token> tokens, uint32_t first,
                          std::span<float> logits) = 0;
  virtual const EngineOptions& options() const = 0;  // with defaults resolved
  virtual const LoadedModel& model() const = 0;
  // Engine and kv invariants; only between steps, by the owner (tests).
  virtual Status validate() const = 0;
};

}  // namespace llmrt
