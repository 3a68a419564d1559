// Handles: the pointers of the C API are no addresses but index, generation and kind of a slot in one table:
//
//    63      56 55            24 23         0
//   | 1kkkkkkk | generation (32) | index (24) |      k: kind; bit 63 set: never the address of anything in user space
//
// A slot's generation grows when its handle is released, so a stale handle is found out, not followed. get() gives shared
// ownership: an object released while another thread works on it lives until that call ends. Objects hold shared_ptrs to what they
// need, so children keep their parents alive.
//
// The table is made on first use and never destroyed: a process may exit with live handles, nothing runs then.
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "llmrt.h"

namespace llmrt::api {

enum class Kind : uint8_t {
  runtime = 1,
  source,
  plan,
  model,
  engine,
  session,
  request,
  job,
  strlist
};

class Object {
 public:
  Object() = default;
  virtual ~Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual void on_release() {}  // the handle is gone; other owners may go on for a while
};

struct RuntimeObject;
struct SourceObject;
struct PlanObject;
struct ModelObject;
struct EngineObject;
struct SessionObject;
struct RequestObject;
struct JobObject;
struct StrListObject;

template <class Handle>
struct HandleTraits;
#define LLMRT_HANDLE(name, object)            \
  template <>                                 \
  struct HandleTraits<llmrt_##name> {         \
    using Type = object;                      \
    static constexpr Kind kKind = Kind::name; \
  };
LLMRT_HANDLE(runtime, RuntimeObject)
LLMRT_HANDLE(source, SourceObject)
LLMRT_HANDLE(plan, PlanObject)
LLMRT_HANDLE(model, ModelObject)
LLMRT_HANDLE(engine, EngineObject)
LLMRT_HANDLE(session, SessionObject)
LLMRT_HANDLE(request, RequestObject)
LLMRT_HANDLE(job, JobObject)
LLMRT_HANDLE(strlist, StrListObject)
#undef LLMRT_HANDLE

uint64_t add_handle(Kind kind, std::shared_ptr<Object> object);
Result<std::shared_ptr<Object>> find_handle(Kind kind, uint64_t handle);
// Removes the handle and calls on_release(). Anything but a live handle of this kind: nothing happens.
void release_handle(Kind kind, uint64_t handle) noexcept;

template <class Handle>
uint64_t bits_of(const Handle* handle) {
  return reinterpret_cast<uint64_t>(handle);
}

template <class Handle>
Handle* make_handle(std::shared_ptr<typename HandleTraits<Handle>::Type> object) {
  const uint64_t bits = add_handle(HandleTraits<Handle>::kKind, std::move(object));
  return reinterpret_cast<Handle*>(bits);  // NOLINT(performance-no-int-to-ptr): never dereferenced
}

// The object of a handle, or invalid_argument (NULL, another kind, no handle at all) or closed (released).
template <class Handle>
Result<std::shared_ptr<typename HandleTraits<Handle>::Type>> get(const Handle* handle) {
  LLMRT_ASSIGN(std::shared_ptr<Object> object,
               find_handle(HandleTraits<Handle>::kKind, bits_of(handle)));
  return std::static_pointer_cast<typename HandleTraits<Handle>::Type>(std::move(object));
}

template <class Handle>
void release(Handle* handle) noexcept {
  release_handle(HandleTraits<Handle>::kKind, bits_of(handle));
}

}  // namespace llmrt::api
