/* The shortest way to an answer: load, ask, release. After the README's install and its PKG_CONFIG_PATH:
 *
 *   cc hello.c -o hello $(pkg-config --cflags --libs llmrt) -Wl,-rpath,"$(pkg-config --variable=libdir llmrt)"
 *   ./hello model.gguf
 */
#include <llmrt.h>
#include <stdio.h>

int main(int argc, char** argv) {
  llmrt_model* m;
  char* s;
  if (argc < 2) return fprintf(stderr, "usage: hello MODEL.gguf [QUESTION]\n"), 2;
  const char* question = argc > 2 ? argv[2] : "Why is the sky blue?";

  if (llmrt_model_load(NULL, argv[1], NULL, &m) || llmrt_model_ask(m, question, NULL, &s))
    return fprintf(stderr, "hello: %s\n", llmrt_last_error()), 1;
  puts(s), llmrt_free(s), llmrt_model_release(m);
  return 0;
}
