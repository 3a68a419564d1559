/* A 60 Hz loop that generates between frames, without a callback. Each frame gives the engine 2 ms; the rest of the frame belongs to
 * the game (here: sleep). The engine has no thread of its own; the runtime's worker_threads - 1 work inside step only (worker_threads 1:
 * none at all). Prints how well the budget was kept and what share of free-running speed is left. */
#define _POSIX_C_SOURCE 200809L
#include <llmrt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kFrames = 600, kBudgetUs = 2000, kFrameUs = 16667, kPromptTokens = 512 };

static int64_t now_us(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int by_value(const void* a, const void* b) {
  const int64_t x = *(const int64_t*)a, y = *(const int64_t*)b;
  return (x > y) - (x < y);
}

static int fail(const char* what) {
  return fprintf(stderr, "frame_loop: %s: %s\n", what, llmrt_last_error()), 1;
}

/* A request that never ends by itself: the frames decide how long it runs. */
static llmrt_status submit(llmrt_engine* engine, const int32_t* prompt, size_t n,
                           llmrt_request** out) {
  llmrt_gen_options o;
  llmrt_gen_options_init(&o, sizeof o);
  o.temperature = 0;
  o.ignore_eos = 1;
  return llmrt_submit_tokens(engine, prompt, n, &o, out);
}

/* Tokens of the request so far. */
static int32_t generated(llmrt_request* request) {
  llmrt_usage u;
  u.struct_size = sizeof u;
  return llmrt_request_usage(request, &u) == LLMRT_OK ? u.generated_tokens : 0;
}

int main(int argc, char** argv) {
  llmrt_model* model;
  llmrt_engine* engine;
  llmrt_request* request;
  llmrt_engine_options options;
  llmrt_model_info info;
  int32_t prompt[kPromptTokens];
  int64_t over[kFrames];
  if (argc < 2) return fprintf(stderr, "usage: frame_loop MODEL.gguf\n"), 2;

  if (llmrt_model_load(NULL, argv[1], NULL, &model)) return fail(argv[1]);
  llmrt_engine_options_init(&options, sizeof options);
  options.threading = 1; /* the host calls step */
  options.prefix_cache = 0;
  if (llmrt_engine_create(model, &options, &engine)) return fail("engine");
  info.struct_size = sizeof info;
  if (llmrt_model_get_info(model, &info)) return fail("info");
  for (int i = 0; i < kPromptTokens; ++i) prompt[i] = 100 + (i * 7919) % (info.n_vocab - 200);

  /* Free-running speed of the same engine, for comparison. */
  if (submit(engine, prompt, 8, &request)) return fail("submit");
  while (generated(request) < 1) llmrt_engine_step(engine, 0);
  const int32_t free_first = generated(request);
  const int64_t free_begin = now_us(CLOCK_MONOTONIC);
  while (generated(request) < free_first + 48) llmrt_engine_step(engine, 20000);
  const double free_tps =
      1e6 * (generated(request) - free_first) / (double)(now_us(CLOCK_MONOTONIC) - free_begin);
  llmrt_request_cancel(request, 0);
  llmrt_request_release(request);

  /* The loop. */
  if (submit(engine, prompt, kPromptTokens, &request)) return fail("submit");
  int64_t busy_us = 0, decode_busy_us = 0, outside_cpu_us = 0;
  int32_t decode_first = 0;
  int frame_of_first_token = -1;
  int64_t next_frame = now_us(CLOCK_MONOTONIC);
  for (int frame = 0; frame < kFrames; ++frame) {
    const int64_t begin = now_us(CLOCK_MONOTONIC);
    if (llmrt_engine_step(engine, kBudgetUs) < 0) return fail("step");
    const int64_t end = now_us(CLOCK_MONOTONIC);
    llmrt_event ev;
    ev.struct_size = sizeof ev;
    while (llmrt_request_next(request, 0, &ev) == LLMRT_OK)
      if (ev.type == LLMRT_EVENT_TEXT) fwrite(ev.text, 1, ev.text_len, stdout);
    over[frame] = end - begin > kBudgetUs ? end - begin - kBudgetUs : 0;
    busy_us += end - begin;
    if (frame_of_first_token >= 0) decode_busy_us += end - begin;
    if (frame_of_first_token < 0 && generated(request) > 0) {
      frame_of_first_token = frame;
      decode_first = generated(request);
    }
    const int64_t cpu = now_us(CLOCK_PROCESS_CPUTIME_ID);
    next_frame += kFrameUs;
    const int64_t wait = next_frame - now_us(CLOCK_MONOTONIC);
    if (wait > 0) {
      const struct timespec pause = {wait / 1000000, (wait % 1000000) * 1000};
      nanosleep(&pause, NULL);
    } else {
      next_frame = now_us(CLOCK_MONOTONIC);
    }
    outside_cpu_us += now_us(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  }
  const int32_t decoded = generated(request) - decode_first;
  const double busy_tps = decode_busy_us > 0 ? 1e6 * decoded / (double)decode_busy_us : 0;
  qsort(over, kFrames, sizeof over[0], by_value);
  printf("\n");
  fprintf(stderr,
          "%d frames, budget %d us: prompt of %d tokens ready at frame %d, then %d tokens\n"
          "tokens per busy second %.1f, free-running %.1f: %.0f %%\n"
          "overshoot P50 %lld us, P99 %lld us, max %lld us; busy %.1f %% of the time; CPU outside "
          "step %.2f %%\n",
          kFrames, kBudgetUs, kPromptTokens, frame_of_first_token, decoded, busy_tps, free_tps,
          free_tps > 0 ? 100 * busy_tps / free_tps : 0, (long long)over[kFrames / 2],
          (long long)over[kFrames * 99 / 100], (long long)over[kFrames - 1],
          100.0 * (double)busy_us / ((double)kFrames * kFrameUs),
          100.0 * (double)outside_cpu_us / ((double)kFrames * kFrameUs));

  llmrt_request_release(request);
  llmrt_engine_release(engine);
  llmrt_model_release(model);
  return 0;
}
