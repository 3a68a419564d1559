#include "base/service_thread.h"

#include <memory>
#include <utility>

namespace llmrt {
namespace {

void enter(void* raw) {
  const std::unique_ptr<std::function<void()>> body(static_cast<std::function<void()>*>(raw));
  (*body)();
}

}  // namespace

Status ServiceThread::start(const char* name, std::function<void()> body) {
  auto kept = std::make_unique<std::function<void()>>(std::move(body));
  LLMRT_TRY(platform::start_thread(thread_, name, &enter, kept.get()));
  (void)kept.release();  // enter's now
  return Status();
}

}  // namespace llmrt
