// Owners of the library's handles, for programs in C++.
#pragma once

#include <llmrt.h>

#include <memory>

namespace llmrt_samples {

struct Release {
  void operator()(llmrt_runtime* h) const { llmrt_runtime_release(h); }
  void operator()(llmrt_source* h) const { llmrt_source_release(h); }
  void operator()(llmrt_plan* h) const { llmrt_plan_release(h); }
  void operator()(llmrt_model* h) const { llmrt_model_release(h); }
  void operator()(llmrt_engine* h) const { llmrt_engine_release(h); }
  void operator()(llmrt_session* h) const { llmrt_session_release(h); }
  void operator()(llmrt_request* h) const { llmrt_request_release(h); }
  void operator()(llmrt_job* h) const { llmrt_job_release(h); }
  void operator()(llmrt_strlist* h) const { llmrt_strlist_release(h); }
};
template <class Handle>
using Owned = std::unique_ptr<Handle, Release>;

}  // namespace llmrt_samples
