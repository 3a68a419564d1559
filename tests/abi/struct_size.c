/* Every sized struct with every kind of struct_size: wrong ones are refused, right ones accepted, and nothing is ever written past
 * struct_size. argv[1]: a small model. */
#include <llmrt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

#define EXPECT(condition)                                                     \
  do {                                                                        \
    if (!(condition)) {                                                       \
      printf("line %d: %s (%s)\n", __LINE__, #condition, llmrt_last_error()); \
      failures++;                                                             \
    }                                                                         \
  } while (0)

enum { kRoom = 8192, kGuard = 0xA5 };
static unsigned char room[kRoom];

static void clear_room(void) { memset(room, kGuard, kRoom); }
static int untouched_from(size_t n) {
  for (size_t i = n; i < kRoom; ++i)
    if (room[i] != kGuard) return 0;
  return 1;
}

static llmrt_model* model;
static llmrt_engine* engine;
static llmrt_request* request;
static llmrt_plan* plan;
static llmrt_job* job;

typedef void (*init_fn)(void* options, size_t size);
typedef llmrt_status (*use_fn)(
    void* p); /* passes the options to a function that reads them, or asks for the out-struct */

static llmrt_status use_runtime(void* o) {
  llmrt_runtime* r = NULL;
  const llmrt_status s = llmrt_runtime_create((llmrt_runtime_options*)o, &r);
  llmrt_runtime_release(r);
  return s;
}
static const char* model_path;
static llmrt_status use_model(void* o) {
  llmrt_model* m = NULL;
  const llmrt_status s = llmrt_model_load(NULL, model_path, (llmrt_model_options*)o, &m);
  llmrt_model_release(m);
  return s;
}
static llmrt_status use_engine(void* o) {
  llmrt_engine* e = NULL;
  const llmrt_status s = llmrt_engine_create(model, (llmrt_engine_options*)o, &e);
  llmrt_engine_release(e);
  return s;
}
static llmrt_status use_gen(void* o) {
  llmrt_request* r = NULL;
  const int32_t token = 97;
  const llmrt_status s = llmrt_submit_tokens(engine, &token, 1, (llmrt_gen_options*)o, &r);
  llmrt_request_release(r);
  return s;
}
static llmrt_status use_session(void* o) {
  llmrt_session* x = NULL;
  const llmrt_status s = llmrt_session_create(engine, (llmrt_session_options*)o, &x);
  llmrt_session_release(x);
  return s;
}
static llmrt_status get_model_info(void* p) {
  return llmrt_model_get_info(model, (llmrt_model_info*)p);
}
static llmrt_status get_tensor(void* p) {
  return llmrt_model_tensor_get(model, 0, (llmrt_tensor_info*)p);
}
static llmrt_status get_device(void* p) { return llmrt_device_get(NULL, 0, (llmrt_device_info*)p); }
static llmrt_status get_metrics(void* p) { return llmrt_engine_metrics(engine, (llmrt_metrics*)p); }
static llmrt_status get_usage(void* p) { return llmrt_request_usage(request, (llmrt_usage*)p); }
static llmrt_status get_request_error(void* p) {
  return llmrt_request_error(request, (llmrt_error_info*)p);
}
static llmrt_status get_plan(void* p) { return llmrt_plan_get_info(plan, (llmrt_plan_info*)p); }
static llmrt_status get_plan_device(void* p) {
  return llmrt_plan_get_device(plan, 0, (llmrt_plan_device*)p);
}
static llmrt_status get_job(void* p) { return llmrt_job_poll(job, 0, (llmrt_job_info*)p); }
static llmrt_status get_last_error(void* p) { return llmrt_last_error_info((llmrt_error_info*)p); }

#define INIT(name) \
  static void init_##name(void* o, size_t n) { llmrt_##name##_init((llmrt_##name*)o, n); }
INIT(runtime_options)
INIT(model_options)
INIT(engine_options)
INIT(gen_options)
INIT(session_options)

static void set_size(uint32_t size) { memcpy(room, &size, sizeof size); }

static void options_case(size_t size, init_fn init, use_fn use) {
  const uint32_t wrong[] = {0, 3, 4, (uint32_t)size - 1, 0xFFFFFFFFu};
  clear_room();
  init(room, size);
  EXPECT(untouched_from(size));
  EXPECT(use(room) == LLMRT_OK);
  EXPECT(untouched_from(size));
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
    clear_room();
    init(room, size);
    set_size(wrong[i]);
    EXPECT(use(room) == LLMRT_ERR_INVALID_ARGUMENT);
    clear_room();
    init(room, wrong[i]);
    EXPECT(untouched_from(wrong[i] < sizeof(uint32_t) ? 0 : sizeof(uint32_t)));
  }
  /* A newer header: a zero tail means defaults, anything else asks for what this library does not have. */
  clear_room();
  init(room, size + 64);
  EXPECT(untouched_from(size + 64));
  EXPECT(use(room) == LLMRT_OK);
  room[size + 63] = 1;
  EXPECT(use(room) == LLMRT_ERR_UNSUPPORTED);
}

static void out_case(size_t size, use_fn get) {
  const uint32_t wrong[] = {0, 3, 4, (uint32_t)size - 1, 0xFFFFFFFFu};
  const uint32_t right[] = {(uint32_t)size, (uint32_t)size + 64};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
    clear_room();
    set_size(wrong[i]);
    EXPECT(get(room) == LLMRT_ERR_INVALID_ARGUMENT);
    EXPECT(untouched_from(sizeof(uint32_t)));
  }
  for (size_t i = 0; i < sizeof right / sizeof right[0]; ++i) {
    uint32_t kept = 0;
    clear_room();
    set_size(right[i]);
    EXPECT(get(room) >= 0);
    EXPECT(untouched_from(right[i]));
    memcpy(&kept, room, sizeof kept);
    EXPECT(kept == right[i]);
    for (size_t k = size; k < right[i]; ++k) EXPECT(room[k] == 0);
  }
}

int main(int argc, char** argv) {
  llmrt_source* source = NULL;
  const int32_t token = 97;
  if (argc < 2) return 2;
  model_path = argv[1];
  EXPECT(llmrt_model_load(NULL, model_path, NULL, &model) == LLMRT_OK);
  EXPECT(llmrt_engine_create(model, NULL, &engine) == LLMRT_OK);
  EXPECT(llmrt_submit_tokens(engine, &token, 1, NULL, &request) == LLMRT_OK);
  EXPECT(llmrt_source_from_path(model_path, &source) == LLMRT_OK);
  EXPECT(llmrt_plan_create(NULL, source, NULL, NULL, &plan) == LLMRT_OK);
  EXPECT(llmrt_model_load_async(NULL, source, NULL, &job) == LLMRT_OK);

  options_case(sizeof(llmrt_runtime_options), init_runtime_options, use_runtime);
  options_case(sizeof(llmrt_model_options), init_model_options, use_model);
  options_case(sizeof(llmrt_engine_options), init_engine_options, use_engine);
  options_case(sizeof(llmrt_gen_options), init_gen_options, use_gen);
  options_case(sizeof(llmrt_session_options), init_session_options, use_session);

  out_case(sizeof(llmrt_model_info), get_model_info);
  out_case(sizeof(llmrt_tensor_info), get_tensor);
  out_case(sizeof(llmrt_device_info), get_device);
  out_case(sizeof(llmrt_metrics), get_metrics);
  out_case(sizeof(llmrt_usage), get_usage);
  out_case(sizeof(llmrt_error_info), get_request_error);
  out_case(sizeof(llmrt_plan_info), get_plan);
  out_case(sizeof(llmrt_plan_device), get_plan_device);
  out_case(sizeof(llmrt_job_info), get_job);
  out_case(sizeof(llmrt_error_info), get_last_error);

  llmrt_job_release(job);
  llmrt_plan_release(plan);
  llmrt_source_release(source);
  llmrt_request_release(request);
  llmrt_engine_release(engine);
  llmrt_model_release(model);
  return failures != 0;
}
