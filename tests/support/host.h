// What nearly every program of the tests begins with: a Host, and the value of a Result that must be good.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "base/host.h"
#include "base/status.h"

namespace llmrt::test {

// The value of a Result, or the end of the program with its sentence (doctest then names the case).
template <class T>
T take(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", std::string(result.status().message()).c_str());
    std::abort();
  }
  return std::move(result).value();
}

// 0 workers: as many as the machine has cores for.
inline std::shared_ptr<Host> make_host(uint32_t n_workers = 2) {
  ThreadPoolOptions options;
  options.n_workers = n_workers;
  return std::make_shared<Host>(LogSink{}, take(ThreadPool::create(options)));
}

}  // namespace llmrt::test
