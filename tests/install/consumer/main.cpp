#include <llmrt.h>

int main() { return llmrt_check_version(LLMRT_VERSION); }
