#include "api/handles.h"

#include <mutex>
#include <vector>

#include "api/guard.h"

namespace llmrt::api {
namespace {

static_assert(sizeof(void*) == 8, "handles need 64-bit pointers");
constexpr uint32_t kIndexBits = 24;
constexpr uint32_t kMaxSlots = 1u << kIndexBits;
constexpr uint32_t kEnd = UINT32_MAX;

struct Parts {
  uint32_t index;
  uint32_t generation;
  uint8_t tag;  // 0x80 | kind
};

Parts parts_of(uint64_t handle) {
  return {static_cast<uint32_t>(handle & (kMaxSlots - 1)),
          static_cast<uint32_t>(handle >> kIndexBits), static_cast<uint8_t>(handle >> 56)};
}

uint64_t pack(Kind kind, uint32_t generation, uint32_t index) {
  return (uint64_t{0x80} | static_cast<uint64_t>(kind)) << 56 | uint64_t{generation} << kIndexBits |
         index;
}

const char* type_name(uint8_t kind) {
  constexpr const char* kNames[] = {"",
                                    "llmrt_runtime",
                                    "llmrt_source",
                                    "llmrt_plan",
                                    "llmrt_model",
                                    "llmrt_engine",
                                    "llmrt_session",
                                    "llmrt_request",
                                    "llmrt_job",
                                    "llmrt_strlist"};
  return kind < std::size(kNames) ? kNames[kind] : "";
}

struct Slot {
  std::shared_ptr<Object> object;  // nullptr <=> free
  uint32_t generation = 0;
  uint32_t next_free = kEnd;
};

class Table {
 public:
  Table() : first_generation_(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(this) >> 4)) {
    watch_fork();
  }

  uint64_t add(Kind kind, std::shared_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    if (first_free_ == kEnd) {
      if (slots_.size() == kMaxSlots) throw std::bad_alloc();
      slots_.push_back({nullptr, first_generation_, kEnd});
      first_free_ = static_cast<uint32_t>(slots_.size() - 1);
    }
    const uint32_t index = first_free_;
    Slot& slot = slots_[index];
    first_free_ = slot.next_free;
    slot.object = std::move(object);
    return pack(kind, slot.generation, index);
  }

  std::shared_ptr<Object> find(Parts parts) {
    const std::lock_guard lock(mutex_);
    Slot* slot = live(parts);
    return slot ? slot->object : nullptr;
  }

  std::shared_ptr<Object> remove(Parts parts) {
    const std::lock_guard lock(mutex_);
    Slot* slot = live(parts);
    if (!slot) return nullptr;
    std::shared_ptr<Object> object = std::move(slot->object);
    slot->object = nullptr;
    ++slot->generation;
    slot->next_free = first_free_;
    first_free_ = parts.index;
    return object;
  }

 private:
  Slot* live(Parts parts) {
    if (parts.index >= slots_.size()) return nullptr;
    Slot& slot = slots_[parts.index];
    return slot.object && slot.generation == parts.generation ? &slot : nullptr;
  }

  std::mutex mutex_;
  std::vector<Slot> slots_;
  uint32_t first_free_ = kEnd;
  uint32_t first_generation_;  // differs between two copies of the library in one process
};

Table& table() {
  static Table* const kTable = new Table;  // never destroyed: see the header
  return *kTable;
}

}  // namespace

uint64_t add_handle(Kind kind, std::shared_ptr<Object> object) {
  return table().add(kind, std::move(object));
}

Result<std::shared_ptr<Object>> find_handle(Kind kind, uint64_t handle) {
  const char* wanted = type_name(static_cast<uint8_t>(kind));
  if (handle == 0) return error(Code::invalid_argument, "%s is NULL", wanted).at(wanted);
  const Parts parts = parts_of(handle);
  if (parts.tag != (0x80u | static_cast<uint8_t>(kind))) {
    const char* found = (parts.tag & 0x80u) ? type_name(parts.tag & 0x7fu) : "";
    if (!*found)
      return error(Code::invalid_argument,
                   "%s expected, got a pointer that is no handle of this library", wanted)
          .at(wanted);
    return error(Code::invalid_argument, "%s expected, got a handle of %s", wanted, found)
        .at(wanted);
  }
  std::shared_ptr<Object> object = table().find(parts);
  if (!object) return error(Code::closed, "%s was released", wanted).at(wanted);
  return object;
}

void release_handle(Kind kind, uint64_t handle) noexcept {
  const Parts parts = parts_of(handle);
  if (parts.tag != (0x80u | static_cast<uint8_t>(kind)) || forked()) return;
  try {
    if (const std::shared_ptr<Object> object = table().remove(parts)) object->on_release();
  } catch (
      const std::bad_alloc&) {  // nothing more can be done; the object goes with its last owner
  }
}

}  // namespace llmrt::api
