/* The library and the life of a process.
 *   process exit MODEL            leaves main() with live handles and a running answer
 *   process fork MODEL            every call in a forked child is ERR_CLOSED and leaves nothing undefined; the parent goes on
 *   process twice MODEL LIBRARY   two copies of the library under RTLD_LOCAL, both answering; a handle of one is nothing to the other */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <llmrt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define REQUIRE(condition)                                                              \
  do {                                                                                  \
    if (!(condition))                                                                   \
      return printf("line %d: %s (%s)\n", __LINE__, #condition, llmrt_last_error()), 1; \
  } while (0)

static int exit_with_live_handles(const char* path) {
  llmrt_model* model;
  llmrt_engine* engine;
  llmrt_request* request;
  llmrt_session* session;
  llmrt_gen_options o;
  REQUIRE(llmrt_model_load(NULL, path, NULL, &model) == LLMRT_OK);
  REQUIRE(llmrt_engine_create(model, NULL, &engine) == LLMRT_OK);
  REQUIRE(llmrt_session_create(engine, NULL, &session) == LLMRT_OK);
  llmrt_gen_options_init(&o, sizeof o);
  o.ignore_eos = 1;
  REQUIRE(llmrt_submit_text(engine, "a", 1, &o, &request) == LLMRT_OK);
  return 0;
}

static int after_fork(const char* path) {
  llmrt_model* model;
  char* text = NULL;
  int status = 0;
  REQUIRE(llmrt_model_load(NULL, path, NULL, &model) == LLMRT_OK);
  const pid_t child = fork();
  if (child == 0) {
    llmrt_model* second = model;
    llmrt_strlist* list;
    llmrt_gen_options o;
    memset(&o, 0xaa, sizeof o);
    llmrt_gen_options_init(&o, sizeof o);
    const int closed = llmrt_model_ask(model, "hi", NULL, &text) == LLMRT_ERR_CLOSED &&
                       llmrt_model_load(NULL, path, NULL, &second) == LLMRT_ERR_CLOSED && !second &&
                       o.struct_size == sizeof o && o.max_tokens == -1 &&
                       llmrt_strlist_create(&list) == LLMRT_ERR_CLOSED &&
                       strstr(llmrt_last_error(), "fork") != NULL;
    llmrt_model_release(model);
    _exit(closed ? 0 : 1);
  }
  REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  REQUIRE(llmrt_model_ask(model, "hi", NULL, &text) == LLMRT_OK);
  llmrt_free(text);
  llmrt_model_release(model);
  return 0;
}

/* The functions of one loaded copy. */
struct copy {
  llmrt_status (*load)(llmrt_runtime*, const char*, const llmrt_model_options*, llmrt_model**);
  llmrt_status (*ask)(llmrt_model*, const char*, const llmrt_gen_options*, char**);
  void (*release)(llmrt_model*);
  void (*free_text)(void*);
  llmrt_model* model;
};

static int open_copy(const char* path, struct copy* c) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return printf("%s\n", dlerror()), 1;
  *(void**)&c->load = dlsym(library, "llmrt_model_load");
  *(void**)&c->ask = dlsym(library, "llmrt_model_ask");
  *(void**)&c->release = dlsym(library, "llmrt_model_release");
  *(void**)&c->free_text = dlsym(library, "llmrt_free");
  return 0;
}

static int copy_file(const char* from, const char* to) {
  char buffer[65536];
  FILE* in = fopen(from, "rb");
  FILE* out = fopen(to, "wb");
  size_t n;
  if (!in || !out) return 1;
  while ((n = fread(buffer, 1, sizeof buffer, in)) > 0) fwrite(buffer, 1, n, out);
  return fclose(in) | fclose(out);
}

static int two_copies(const char* path, const char* library) {
  const char* folder = getenv("TMPDIR");
  char names[2][512];
  struct copy copies[2];
  char* text[2] = {NULL, NULL};
  for (int i = 0; i < 2; ++i) {
    snprintf(names[i], sizeof names[i], "%s/llmrt_copy_%d_%d.so", folder ? folder : "/tmp",
             (int)getpid(), i);
    REQUIRE(copy_file(library, names[i]) == 0);
    REQUIRE(open_copy(names[i], &copies[i]) == 0);
    unlink(names[i]);
    REQUIRE(copies[i].load(NULL, path, NULL, &copies[i].model) == LLMRT_OK);
  }
  for (int i = 0; i < 2; ++i)
    REQUIRE(copies[i].ask(copies[i].model, "hi", NULL, &text[i]) == LLMRT_OK);
  REQUIRE(strcmp(text[0], text[1]) == 0);
  for (int i = 0; i < 2; ++i) copies[i].free_text(text[i]);
  REQUIRE(copies[0].ask(copies[1].model, "hi", NULL, &text[0]) < 0);
  for (int i = 0; i < 2; ++i) copies[i].release(copies[i].model);
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 3 && !strcmp(argv[1], "exit")) return exit_with_live_handles(argv[2]);
  if (argc == 3 && !strcmp(argv[1], "fork")) return after_fork(argv[2]);
  if (argc == 4 && !strcmp(argv[1], "twice")) return two_copies(argv[2], argv[3]);
  return 2;
}
