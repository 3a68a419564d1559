// Version, errors, lists of strings: what needs no runtime.
#include "api/guard.h"
#include "api/objects.h"
#include "api/options.h"
#include "api/text.h"
#include "graph/backend_registry.h"

namespace llmrt::api {
namespace {

static_assert(static_cast<int32_t>(Code::pending) == LLMRT_PENDING &&
              static_cast<int32_t>(Code::end) == LLMRT_END);
static_assert(static_cast<int32_t>(Code::internal) == LLMRT_ERR_INTERNAL);
static_assert(static_cast<int32_t>(Code::invalid_argument) == LLMRT_ERR_INVALID_ARGUMENT);
static_assert(static_cast<int32_t>(Code::buffer_too_small) == LLMRT_ERR_BUFFER_TOO_SMALL);
static_assert(static_cast<int32_t>(Code::memory_budget) == LLMRT_ERR_MEMORY_BUDGET);
static_assert(static_cast<int32_t>(Code::template_error) == LLMRT_ERR_TEMPLATE);
static_assert(static_cast<int32_t>(Code::queue_full) == LLMRT_ERR_QUEUE_FULL);

#define LLMRT_TEXT_(x) #x
#define LLMRT_TEXT(x) LLMRT_TEXT_(x)
constexpr const char* kVersion = LLMRT_TEXT(LLMRT_VERSION_MAJOR) "." LLMRT_TEXT(
    LLMRT_VERSION_MINOR) "." LLMRT_TEXT(LLMRT_VERSION_PATCH);

struct Feature {
  const char* name;
  int32_t revision;
};
constexpr Feature kFeatures[] = {
    {"gguf", 1},         {"chat", 1},          {"sessions", 1},   {"evaluate", 1},
    {"host_stepped", 1}, {"plan", 1},          {"load_async", 1}, {"logprobs", 1},
    {"prefix_cache", 1}, {"deterministic", 1}, {"allocator", 1},  {"packed_cache", 1},
    {"raw_weights", 1},
};

}  // namespace
}  // namespace llmrt::api

using namespace llmrt;
using namespace llmrt::api;

extern "C" {

uint32_t llmrt_version(void) {
  return LLMRT_ENTRY_PURE { return uint32_t{LLMRT_VERSION}; };
}

const char* llmrt_version_string(void) {
  return LLMRT_ENTRY_PURE { return kVersion; };
}

llmrt_status llmrt_check_version(uint32_t header_version) {
  return LLMRT_ENTRY {
    if (header_version > 0 && header_version / 1'000'000 == LLMRT_VERSION_MAJOR &&
        header_version <= uint32_t{LLMRT_VERSION})
      return Status();
    return error(Code::version,
                 "the program was built for llmrt %u.%u.%u, the library is %s; allowed: the same "
                 "major number and no older library",
                 header_version / 1'000'000, header_version / 1000 % 1000, header_version % 1000,
                 kVersion);
  };
}

int32_t llmrt_feature(const char* name) {
  return LLMRT_ENTRY_COUNT {
    LLMRT_ASSIGN(const std::string_view wanted, text_argument("name", name));
    for (const Feature& f : kFeatures)
      if (wanted == f.name) return f.revision;
    constexpr std::string_view kBackend = "backend.";
    if (!wanted.starts_with(kBackend)) return 0;
    return has_backend(builtin_backends(), wanted.substr(kBackend.size())) ? 1 : 0;
  };
}

const char* llmrt_status_name(llmrt_status status) {
  return LLMRT_ENTRY_PURE { return name_of(static_cast<Code>(status)); };
}

const char* llmrt_last_error(void) {
  return LLMRT_ENTRY_PURE { return static_cast<const char*>(error_record().message); };
}

llmrt_status llmrt_last_error_info(llmrt_error_info* out) {
  return LLMRT_ENTRY_PURE {
    const bool valid = out && struct_size_of(out) >= StructTraits<llmrt_error_info>::kFirstSize &&
                       struct_size_of(out) <= kMaxStructSize;
    if (!valid) return llmrt_status{LLMRT_ERR_INVALID_ARGUMENT};
    const ErrorRecord& r = error_record();
    llmrt_error_info info = {0, r.status, r.sys_code, r.line, r.column, 0, r.message, r.where};
    static_cast<void>(write_out(info, out));
    return llmrt_status{LLMRT_OK};
  };
}

void llmrt_free(void* p) {
  LLMRT_ENTRY_PURE { free_text(p); };
}

llmrt_status llmrt_strlist_create(llmrt_strlist** out) {
  return LLMRT_ENTRY_GIVES(out) {
    LLMRT_TRY(need("out", out));
    *out = make_handle<llmrt_strlist>(std::make_shared<StrListObject>());
    return Status();
  };
}

void llmrt_strlist_release(llmrt_strlist* list) {
  LLMRT_ENTRY_VOID { release(list); };
}

llmrt_status llmrt_strlist_add(llmrt_strlist* list, const char* utf8) {
  return LLMRT_ENTRY {
    LLMRT_ASSIGN(const auto l, get(list));
    LLMRT_ASSIGN(const std::string_view text, text_argument("utf8", utf8));
    const std::lock_guard lock(l->mutex);
    l->strings.emplace_back(text);
    return Status();
  };
}

int32_t llmrt_strlist_count(const llmrt_strlist* list) {
  return LLMRT_ENTRY_COUNT {
    LLMRT_ASSIGN(const auto l, get(list));
    const std::lock_guard lock(l->mutex);
    return static_cast<int32_t>(l->strings.size());
  };
}

const char* llmrt_strlist_get(const llmrt_strlist* list, int32_t i) {
  return LLMRT_ENTRY_VALUE(const char*, nullptr) {
    LLMRT_ASSIGN(const auto l, get(list));
    const std::lock_guard lock(l->mutex);
    if (i < 0 || static_cast<size_t>(i) >= l->strings.size())
      return error(Code::not_found, "string %d: the list has %zu", i, l->strings.size());
    return l->strings[static_cast<size_t>(i)].c_str();
  };
}

}  // extern "C"
