// What this machine can do at best: loops that only read memory or only multiply, one for each kind of instruction. A figure of a
// kernel or of a model means something beside them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace llmrt::bench {

// Work that one thread repeats. scratch is the thread's own: kScratchBytes, aligned to as many, written to before.
struct Loop {
  // "int8_vnni_zmm": type of the factors, instruction, register. int8_maddubs_paddw_ymm needs factors of 4 bits by 8, other int8 take any
  const char* name;
  double giga_ops;  // of one call; a multiply-add is two
  void (*call)(uint8_t* scratch);
};
inline constexpr size_t kScratchBytes = size_t{512} << 10;

// Those that this processor and its operating system let us run. Asks Linux for AMX tiles, which it gives to the whole process.
std::vector<Loop> multiply_loops();

// Memory to stream through: larger than any cache, in pages of 4 KiB or 2 MiB.
class StreamMemory {
 public:
  StreamMemory(size_t bytes, bool huge_pages);
  ~StreamMemory();
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;
  const uint8_t* data() const { return data_; }  // nullptr: the system has not as much
  size_t size() const { return size_; }

 private:
  uint8_t* data_ = nullptr;
  size_t size_;
};
bool huge_pages_possible();  // false: the system gives none, not even on request

// Reads `bytes` (a multiple of 256) from p on, asking for what lies `ahead` bytes further (0: nothing).
uint64_t read_span(const uint8_t* p, size_t bytes, size_t ahead);
inline constexpr size_t kSpan =
    size_t{8}
    << 20;  // one call's: about a millisecond, shorter than a slice of a busy machine's time
inline constexpr size_t kAhead = 1024;

// Calls a second on this thread, of the quickest call within a fifth of a second.
template <class Call>
double best_rate(Call call) {
  using Clock = std::chrono::steady_clock;
  double best = 0;
  const auto end = Clock::now() + std::chrono::milliseconds(200);
  for (auto begin = Clock::now(); begin < end;) {
    call();
    const auto now = Clock::now();
    best = std::max(best, 1.0 / std::chrono::duration<double>(now - begin).count());
    begin = now;
  }
  return best;
}

}  // namespace llmrt::bench
