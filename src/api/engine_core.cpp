#include <algorithm>

#include "api/events.h"
#include "api/guard.h"
#include "api/objects.h"
#include "api/options.h"
#include "base/service_thread.h"

namespace llmrt::api {
namespace {

int32_t deliver_event(void* user, const Event& event, Request* /*request*/) {
  auto& context = *static_cast<CallbackContext*>(user);
  context.ready.wait(false);
  llmrt_event out = to_event(event, event.text, context.handle.load());
  const CallbackScope scope;
  return context.on_event(context.user, &out);
}

void deliver_logits(void* user, int32_t sample, float* logits, int32_t n) {
  auto& context = *static_cast<CallbackContext*>(user);
  context.ready.wait(false);
  const CallbackScope scope;
  context.on_logits(context.user, sample, logits, n);
}

// Takes a new request's callback context back unless the request was made.
struct ContextGuard {
  std::vector<std::unique_ptr<CallbackContext>>& contexts;
  CallbackContext* context = nullptr;
  ~ContextGuard() {
    if (context) contexts.pop_back();
  }
};

// Takes a new handle back unless it was given to the caller; a request behind it is cancelled.
struct HandleGuard {
  llmrt_request* handle;
  ~HandleGuard() {
    if (handle) release(handle);
  }
};

}  // namespace

llmrt_event to_event(const Event& event, const std::string& text, llmrt_request* handle) {
  llmrt_event out = {};
  out.struct_size = sizeof out;
  out.type = static_cast<int32_t>(event.type);
  out.sample = event.sample;
  out.finish = static_cast<int32_t>(event.finish);
  out.error = static_cast<llmrt_status>(event.error);
  out.token = event.token;
  out.n_tokens = event.n_tokens;
  out.logprob = event.logprob;
  out.done = event.done;
  out.total = event.total;
  out.tag = event.tag;
  out.text = text.c_str();
  out.text_len = text.size();
  out.request = handle;
  return out;
}

Result<std::shared_ptr<EngineCore>> EngineCore::create(std::shared_ptr<const LoadedModel> model,
                                                       const EngineOptions& options,
                                                       bool drops_oldest_turns) {
  std::unique_ptr<EngineCore> core(new EngineCore);
  core->drops_oldest_turns_ = drops_oldest_turns;
  LLMRT_ASSIGN(core->engine_, Engine::create(std::move(model), options));
  core->default_temperature_ = default_temperature(core->model());
  return std::shared_ptr<EngineCore>(core.release(), end);
}

// Releasing never waits, but ~Engine does: for a piece of work, and for callbacks, which may want what the releasing thread holds or be
// what releases. So unless it is at rest another thread ends it; so too inside a callback, which may run on the thread to be joined.
void EngineCore::end(EngineCore* core) noexcept {
  const bool on_own_thread = in_callback() && !core->engine_->options().host_stepped;
  if (!on_own_thread && core->engine_->at_rest()) {
    delete core;
    return;
  }
  try {
    ServiceThread thread;
    if (thread.start("llmrt-end", [core] { delete core; }).ok()) {
      thread.detach();
      return;
    }
  } catch (const std::bad_alloc&) {
  }
  // No thread to be had. Inside a callback the engine is left behind rather than waiting for itself.
  if (!in_callback()) delete core;
}

Result<GenParams> EngineCore::params_of(const llmrt_gen_options& options) const {
  return to_gen_params(options, model().def.program.n_vocab, default_temperature_);
}

llmrt_request* EngineCore::handle_of(const Request* request) {
  const std::lock_guard lock(mutex_);
  const auto it = handles_.find(request);
  return it == handles_.end() ? nullptr : it->second;
}

void EngineCore::forget(const Request* request) noexcept {
  const std::lock_guard lock(mutex_);
  handles_.erase(request);
}

Result<Submitted> submit_request(const std::shared_ptr<EngineCore>& core, GenParams params,
                                 const llmrt_gen_options& options, StartRequest start) {
  auto object = std::make_shared<RequestObject>();
  object->core = core;
  object->delivery = params.delivery;
  object->n_samples = params.n;
  object->wants_logprobs = params.sampling.logprobs != 0;
  HandleGuard guard{make_handle<llmrt_request>(object)};

  // Held over start(): llmrt_engine_next in another thread waits here until the new request's handle is known.
  const std::lock_guard lock(core->mutex_);
  ContextGuard context_guard{core->contexts_};
  CallbackContext* context = nullptr;
  if (options.on_event || options.on_logits) {
    std::erase_if(core->contexts_,
                  [](const auto& c) { return c->ready.load() && c->request.expired(); });
    core->contexts_.push_back(std::make_unique<CallbackContext>());
    context = context_guard.context = core->contexts_.back().get();
    context->on_event = options.on_event;
    context->on_logits = options.on_logits;
    context->user = options.user;
    context->handle = guard.handle;
    if (options.on_event) params.on_event = deliver_event;
    if (options.on_logits) params.on_logits = deliver_logits;
    params.user = context;
  }
  LLMRT_ASSIGN(object->request, start(params));
  context_guard.context = nullptr;
  if (context) {
    object->context = context;
    context->request = object->request;
    context->ready.store(true);
    context->ready.notify_all();
  }
  if (params.delivery == Delivery::engine_queue)
    core->handles_.emplace(object->request.get(), guard.handle);
  Submitted submitted{guard.handle, object->request};
  guard.handle = nullptr;
  return submitted;
}

void RequestObject::on_release() {
  if (context) context->handle.store(nullptr);
  if (delivery == Delivery::engine_queue && request) core->forget(request.get());
  if (request) request->cancel(false);
}

}  // namespace llmrt::api
