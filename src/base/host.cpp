#include "base/host.h"

#include <cstdarg>
#include <cstdio>
#include <utility>

namespace llmrt {

Host::Host(LogSink sink, std::unique_ptr<ThreadPool> pool) : sink_(sink), pool_(std::move(pool)) {}

void Host::log(LogLevel level, const char* format, ...) const {
  if (!logs(level)) return;
  char text[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  sink_.write(sink_.user, static_cast<int32_t>(level), text);
}

Status loading_cancelled(const char* of) {
  return error(Code::cancelled, "%s: loading was cancelled", of);
}

}  // namespace llmrt
