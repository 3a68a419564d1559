// Options: C structs in and out, and what their numbers may be.
//
// A struct of the caller is S = struct_size bytes long, ours has sizeof(T). In: min(S, sizeof T) bytes are laid over our defaults;
// bytes beyond sizeof(T) belong to a newer header and must be zero, which means "default" there. Out: min(S, sizeof T) bytes are
// written, the rest of S is zeroed. S below the first released size, or absurd, is the caller's mistake.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>

#include "base/status.h"
#include "engine/engine.h"
#include "engine/limits.h"
#include "engine/session.h"
#include "llmrt.h"
#include "runtime/loaded_model.h"

namespace llmrt::api {

inline constexpr uint32_t kMaxStructSize = 4096;  // no struct of ours will ever be this large
inline constexpr int32_t kMaxWorkers = 1024;
inline constexpr int32_t kMaxPriority = 19;  // of nice levels the highest

template <class T>
struct StructTraits;
#define LLMRT_STRUCT(name)                                                    \
  template <>                                                                 \
  struct StructTraits<llmrt_##name> {                                         \
    static constexpr const char* kName = "llmrt_" #name;                      \
    static constexpr uint32_t kFirstSize = sizeof(llmrt_##name); /* of 0.1 */ \
  };
LLMRT_STRUCT(error_info)
LLMRT_STRUCT(runtime_options)
LLMRT_STRUCT(device_info)
LLMRT_STRUCT(model_options)
LLMRT_STRUCT(model_info)
LLMRT_STRUCT(tensor_info)
LLMRT_STRUCT(engine_options)
LLMRT_STRUCT(metrics)
LLMRT_STRUCT(plan_info)
LLMRT_STRUCT(plan_device)
LLMRT_STRUCT(event)
LLMRT_STRUCT(gen_options)
LLMRT_STRUCT(usage)
LLMRT_STRUCT(session_options)
LLMRT_STRUCT(job_info)
#undef LLMRT_STRUCT

void defaults(llmrt_runtime_options& o);
void defaults(llmrt_model_options& o);
void defaults(llmrt_engine_options& o);
void defaults(llmrt_gen_options& o);
void defaults(llmrt_session_options& o);

// Structs of options have an init function, those of answers have sizeof.
template <class T>
concept HasInit = requires(T& options) {
  defaults(options);
};

Status check_struct_size(const char* name, uint32_t size, uint32_t least, bool has_init);
Status check_pad(const char* name, const char* pad, int32_t value);
Status check_tail(const char* name, const unsigned char* tail, size_t n, size_t offset);

template <class T>
uint32_t struct_size_of(const T* p) {
  uint32_t size = 0;
  std::memcpy(&size, p, sizeof size);
  return size;
}

// The caller's options over our defaults; NULL: the defaults.
template <class T>
Result<T> read_options(const T* user) {
  T options;
  defaults(options);
  if (!user) return options;
  const uint32_t size = struct_size_of(user);
  LLMRT_TRY(check_struct_size(StructTraits<T>::kName, size, StructTraits<T>::kFirstSize, true));
  const auto* bytes = reinterpret_cast<const unsigned char*>(user);
  if (size > sizeof(T))
    LLMRT_TRY(check_tail(StructTraits<T>::kName, bytes + sizeof(T), size - sizeof(T), sizeof(T)));
  std::memcpy(&options, user, std::min<size_t>(size, sizeof(T)));
  options.struct_size = sizeof(T);
  if constexpr (requires { options.pad0; })
    LLMRT_TRY(check_pad(StructTraits<T>::kName, "pad0", options.pad0));
  if constexpr (requires { options.pad1; })
    LLMRT_TRY(check_pad(StructTraits<T>::kName, "pad1", options.pad1));
  if constexpr (requires { options.pad2; })
    LLMRT_TRY(check_pad(StructTraits<T>::kName, "pad2", options.pad2));
  return options;
}

// llmrt_*_init: what cannot be right is left without a valid struct_size, so that its use is an error.
template <class T>
void init_options(T* user, size_t size) {
  if (!user || size < sizeof(uint32_t)) return;
  const bool sane = size >= StructTraits<T>::kFirstSize && size <= kMaxStructSize;
  T options;
  defaults(options);
  options.struct_size = sane ? static_cast<uint32_t>(size) : 0;
  auto* bytes = reinterpret_cast<unsigned char*>(user);
  std::memcpy(bytes, &options, sane ? std::min(size, sizeof(T)) : sizeof(uint32_t));
  if (sane && size > sizeof(T)) std::memset(bytes + sizeof(T), 0, size - sizeof(T));
}

template <class T>
Status check_out(const T* out) {
  if (!out)
    return error(Code::invalid_argument, "out (%s) is NULL", StructTraits<T>::kName).at("out");
  return check_struct_size(StructTraits<T>::kName, struct_size_of(out), StructTraits<T>::kFirstSize,
                           HasInit<T>);
}

// out was checked; keeps its struct_size.
template <class T>
Status write_out(T& value, T* out) {
  const uint32_t size = struct_size_of(out);
  value.struct_size = size;
  auto* bytes = reinterpret_cast<unsigned char*>(out);
  std::memcpy(bytes, &value, std::min<size_t>(size, sizeof(T)));
  if (size > sizeof(T)) std::memset(bytes + sizeof(T), 0, size - sizeof(T));
  return Status();
}

// "log_level is 5; allowed: 0 to 4" (engine/limits.h has the ranges that the engine checks too). most: kNoMost for all the type holds.
Status check_range(const char* name, int64_t value, int64_t least, int64_t most);

Status check(const llmrt_runtime_options& o);
Result<ModelOptions> to_model_options(const llmrt_model_options& o);
Result<EngineOptions> to_engine_options(const llmrt_engine_options& o);
// What temperature -1 means: the file's own, or 0.8 where it has none that can be used (the log says so).
float default_temperature(const LoadedModel& model);
Result<GenParams> to_gen_params(const llmrt_gen_options& o, uint32_t n_vocab,
                                float default_temperature);
Result<SessionOptions> to_session_options(const llmrt_session_options& o);

// What the error functions of handles show.
llmrt_error_info to_error_info(const Status& status);

// The same for a handle's own error function: a copy stays with the object, so that its strings can be lent out.
template <class Object>
Status lend_failure(Object& object, const Status& status, llmrt_error_info* out) {
  const std::lock_guard lock(object.mutex);
  if (!object.failure || object.failure->code() != status.code())
    object.failure = std::make_unique<const Status>(status);
  llmrt_error_info info = to_error_info(*object.failure);
  return write_out(info, out);
}

}  // namespace llmrt::api
