// How a run is shared. One 64-bit word holds (epoch, next chunk):
//   odd epoch: closed, nothing to claim, the run's parameters may change;  even epoch: open.
// A chunk is claimed by compare-and-swap on the whole word, so a worker that slept through a run can never claim in another one, and
// the caller waits only for chunks that were claimed, never for a worker that is not running.
//   claimed == next - begin;  a run is over when it is closed and finished == claimed.
#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <new>
#include <vector>

#include "base/platform/machine.h"
#include "base/platform/thread.h"

namespace llmrt {
namespace {

// Waiting: spin this long with pause, then yield, then sleep. Spinning longer than a phase gap buys nothing and costs a busy host its
// time slice. The caller yields for the length of a chunk: a processor that sleeps takes longer than that to wake up (0.14 ms is
// usual in a virtual machine).
constexpr int kSpinIdleNs = 50'000;
constexpr int kSpinFinishNs = 4'000;
constexpr int kYieldFinishNs = 200'000;
constexpr int kYields = 8;

constexpr uint64_t make_word(uint32_t epoch, uint32_t next) {
  return (uint64_t{epoch} << 32) | next;
}
constexpr uint32_t epoch_of(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
constexpr uint32_t next_of(uint64_t word) { return static_cast<uint32_t>(word); }

}  // namespace

struct ThreadPool::Impl {
  ThreadPoolOptions options;

  std::mutex members_mutex;   // guards the list, and options.priority
  Member* members = nullptr;  // the newest

  // Runs are served in order of arrival. A pass has hundreds of them: without a rival an entry is two atomic additions.
  std::atomic<uint32_t> next_ticket{0}, serving{0}, n_at_gate{0};

  // The current run. Written only while the epoch is odd.
  alignas(64) std::atomic<uint64_t> word{make_word(1, 0)};
  std::atomic<uint32_t> end{0};
  std::atomic<int64_t> deadline_ns{INT64_MAX};
  std::atomic<const Body*> body{nullptr};
  alignas(64) std::atomic<uint32_t> finished{0};
  std::atomic<uint32_t> caller_sleeps{0};

  // Workers without work sleep on `bell`.
  alignas(64) std::atomic<uint32_t> bell{0};
  std::atomic<uint32_t> n_sleeping{0};
  std::atomic<bool> stop{false};

  struct Worker {
    Impl* impl = nullptr;
    uint32_t index = 0;
    platform::Thread thread;
    std::atomic<int32_t> thread_id{0};
    std::atomic<bool> asleep{false};
    std::atomic<bool> moved{
        false};  // by keep_sleepers_off_this_cpu; `allowed` is what to go back to
    platform::CpuSet allowed;

    void take_back_move() {
      if (moved.load(std::memory_order_acquire)) {
        platform::allow_cpus(0, allowed);
        moved.store(false, std::memory_order_release);
      }
    }
  };
  std::vector<std::unique_ptr<Worker>> workers;  // changes between runs only
  std::atomic<uint32_t> n_workers{1};  // workers.size() + 1, for whoever asks during a resize

  void enter() {
    const uint32_t ticket = next_ticket.fetch_add(1, std::memory_order_relaxed);
    while (serving.load(std::memory_order_acquire) != ticket) {
      n_at_gate.fetch_add(1, std::memory_order_seq_cst);
      const uint32_t now = serving.load(std::memory_order_seq_cst);
      if (now != ticket) platform::futex_wait(serving, now);
      n_at_gate.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  void leave() {
    serving.fetch_add(1, std::memory_order_seq_cst);
    if (n_at_gate.load(std::memory_order_seq_cst)) platform::futex_wake_all(serving);
  }

  // All n or, after a failure, none but the caller.
  Status start(uint32_t n) {
    stop.store(false);
    Status started;
    try {
      workers.reserve(n);
      for (uint32_t i = 1; i < n && started.ok(); ++i) started = start_worker(i);
    } catch (const std::bad_alloc&) {
      started = Status(Code::out_of_memory);
    }
    if (!started.ok()) join();
    return started;
  }

  Status start_worker(uint32_t index) {
    auto worker = std::make_unique<Worker>();
    worker->impl = this;
    worker->index = index;
    char name[24];
    std::snprintf(name, sizeof name, "llmrt-%u", index);
    LLMRT_TRY(platform::start_thread(worker->thread, name, &worker_main, worker.get()));
    workers.push_back(std::move(worker));
    n_workers.store(index + 1, std::memory_order_relaxed);
    return Status();
  }

  void join() {
    stop.store(true);
    bell.fetch_add(1);
    platform::futex_wake_all(bell);
    for (auto& w : workers) platform::join_thread(w->thread);
    workers.clear();
    n_workers.store(1, std::memory_order_relaxed);
  }

  // The system likes to wake a thread on the CPU of whoever wakes it, where the two take turns for milliseconds while another CPU is
  // idle: in a frame of 2 ms the worker would be no help at all. So sleepers are kept off that CPU until they are awake.
  void keep_sleepers_off_this_cpu() {
    platform::CpuSet taken;
    taken.add(platform::current_cpu());
    for (auto& w : workers) {
      if (w->asleep.load(std::memory_order_relaxed) && !w->moved.load(std::memory_order_acquire) &&
          platform::move_thread_off(w->thread_id.load(std::memory_order_relaxed), taken,
                                    w->allowed))
        w->moved.store(true, std::memory_order_release);
    }
  }

  static void worker_main(void* raw) {
    auto& self = *static_cast<Worker*>(raw);
    const Member member(*self.impl);
    self.thread_id.store(platform::current_thread_id(), std::memory_order_relaxed);
    const ThreadPoolOptions& o = self.impl->options;
    if (o.thread_hook) o.thread_hook(o.user, static_cast<int32_t>(self.index), 1);
    {
      const FloatScope floats(FloatMode::compute);
      self.impl->work(self);
    }
    if (o.thread_hook) o.thread_hook(o.user, static_cast<int32_t>(self.index), 0);
  }

  // Claims one chunk of run `epoch`; false: nothing to claim.
  bool claim(uint32_t epoch, bool ignore_deadline, uint32_t& chunk) {
    uint64_t seen = word.load(std::memory_order_acquire);
    for (;;) {
      if (epoch_of(seen) != epoch || next_of(seen) >= end.load(std::memory_order_relaxed))
        return false;
      const int64_t at = deadline_ns.load(std::memory_order_relaxed);
      if (!ignore_deadline && Deadline{at}.passed()) return false;
      if (word.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel,
                                     std::memory_order_acquire)) {
        chunk = next_of(seen);
        return true;
      }
    }
  }

  void finish_chunk() {
    finished.fetch_add(1, std::memory_order_acq_rel);
    if (caller_sleeps.load(std::memory_order_seq_cst)) platform::futex_wake_all(finished);
  }

  void work(Worker& self) {
    uint32_t last_epoch = 0;
    while (!stop.load(std::memory_order_relaxed)) {
      const uint32_t epoch = wait_for_run(self, last_epoch);
      if (epoch == 0) return;
      uint32_t chunk = 0;
      while (claim(epoch, false, chunk)) {
        (*body.load(std::memory_order_relaxed))(chunk, self.index);
        finish_chunk();
      }
      last_epoch = epoch;
    }
  }

  // The next even epoch that is not `last`; 0 when the pool stops.
  uint32_t wait_for_run(Worker& self, uint32_t last) {
    auto open_run = [&]() -> uint32_t {
      const uint32_t e = epoch_of(word.load(std::memory_order_acquire));
      return (e & 1u) == 0 && e != last ? e : 0;
    };
    // After a run that its deadline ended, the host goes about its frame: nothing will come for long.
    if (!Deadline{deadline_ns.load(std::memory_order_relaxed)}.passed()) {
      const int64_t spin_until = now_ns() + kSpinIdleNs;
      do {
        for (int i = 0; i < 32; ++i) {
          if (const uint32_t e = open_run()) return e;
          platform::cpu_relax();
        }
        if (stop.load(std::memory_order_relaxed)) return 0;
      } while (now_ns() < spin_until);
      for (int i = 0; i < kYields; ++i) {
        platform::yield_cpu();
        if (const uint32_t e = open_run()) return e;
      }
    }
    for (;;) {
      const uint32_t rung = bell.load(std::memory_order_acquire);
      self.asleep.store(true, std::memory_order_relaxed);
      n_sleeping.fetch_add(1, std::memory_order_seq_cst);
      uint32_t e = open_run();
      if (!e && !stop.load()) platform::futex_wait(bell, rung);
      n_sleeping.fetch_sub(1, std::memory_order_seq_cst);
      self.asleep.store(false, std::memory_order_relaxed);
      self.take_back_move();
      if (stop.load()) return 0;
      if (!e) e = open_run();
      if (e) return e;
    }
  }

  void wait_finished(uint32_t claimed) {
    const int64_t spin_until = now_ns() + kSpinFinishNs;
    do {
      for (int i = 0; i < 32; ++i) {
        if (finished.load(std::memory_order_acquire) == claimed) return;
        platform::cpu_relax();
      }
    } while (now_ns() < spin_until);
    const int64_t yield_until = spin_until + kYieldFinishNs;
    do {
      platform::yield_cpu();
      if (finished.load(std::memory_order_acquire) == claimed) return;
    } while (now_ns() < yield_until);
    caller_sleeps.store(1, std::memory_order_seq_cst);
    for (;;) {
      const uint32_t f = finished.load(std::memory_order_seq_cst);
      if (f == claimed) break;
      platform::futex_wait(finished, f);
    }
    caller_sleeps.store(0, std::memory_order_relaxed);
  }

  uint32_t run(uint32_t begin, uint32_t stop_at, const Body& work_body, Deadline deadline) {
    const FloatScope floats(FloatMode::compute);
    if (workers.empty() || stop_at - begin == 1) {
      uint32_t chunk = begin;
      do work_body(chunk++, 0);
      while (chunk < stop_at && !deadline.passed());
      return chunk;
    }
    uint32_t epoch = epoch_of(word.load(std::memory_order_relaxed));  // odd: closed
    finished.store(0, std::memory_order_relaxed);
    end.store(stop_at, std::memory_order_relaxed);
    deadline_ns.store(deadline.at_ns, std::memory_order_relaxed);
    body.store(&work_body, std::memory_order_relaxed);
    ++epoch;
    if (epoch == 0) epoch = 2;  // 0 means "no run" to workers
    word.store(make_word(epoch, begin), std::memory_order_seq_cst);
    if (n_sleeping.load(std::memory_order_seq_cst)) {
      keep_sleepers_off_this_cpu();
      bell.fetch_add(1, std::memory_order_seq_cst);
      platform::futex_wake_all(bell);
    }
    uint32_t chunk = 0;
    bool first =
        true;  // progress is certain: the caller's first claim does not look at the deadline
    while (claim(epoch, first, chunk)) {
      work_body(chunk, 0);
      finish_chunk();
      first = false;
    }
    const uint64_t last = word.exchange(make_word(epoch + 1, 0), std::memory_order_acq_rel);
    wait_finished(next_of(last) - begin);
    return next_of(last);
  }
};

ThreadPool::Member::Member(Impl& impl)
    : impl_(impl),
      thread_id_(platform::current_thread_id()),
      inherited_level_(platform::nice_level(thread_id_)) {
  if (impl.options.cpu_mask) {
    platform::CpuSet cpus;
    cpus.bits[0] = impl.options.cpu_mask;
    platform::allow_cpus(thread_id_, cpus);
  }
  const std::lock_guard lock(impl.members_mutex);
  if (impl.options.priority) static_cast<void>(set_priority(impl.options.priority));
  next_ = impl.members;
  if (next_) next_->previous_ = this;
  impl.members = this;
}

ThreadPool::Member::~Member() {
  const std::lock_guard lock(impl_.members_mutex);
  if (next_) next_->previous_ = previous_;
  (previous_ ? previous_->next_ : impl_.members) = next_;
}

int32_t ThreadPool::Member::set_priority(int32_t priority) const {
  return platform::set_nice_level(thread_id_, std::min(inherited_level_ + priority, 19));
}

ThreadPool::ThreadPool(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ThreadPool::~ThreadPool() { impl_->join(); }

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(const ThreadPoolOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  LLMRT_TRY(impl->start(options.n_workers ? options.n_workers
                                          : platform::automatic_workers(options.cpu_mask)));
  return std::unique_ptr<ThreadPool>(new ThreadPool(std::move(impl)));
}

uint32_t ThreadPool::n_workers() const { return impl_->n_workers.load(std::memory_order_relaxed); }

Status ThreadPool::resize(uint32_t n_workers) {
  impl_->enter();
  const uint32_t before = this->n_workers();
  impl_->join();
  Status started =
      impl_->start(n_workers ? n_workers : platform::automatic_workers(impl_->options.cpu_mask));
  if (!started.ok()) static_cast<void>(impl_->start(before));
  impl_->leave();
  return started;
}

Status ThreadPool::set_priority(int32_t priority) {
  const std::lock_guard lock(impl_->members_mutex);
  for (const Member* member = impl_->members; member; member = member->next_) {
    const int32_t failure = member->set_priority(priority);
    if (!failure) continue;
    for (const Member* done = impl_->members; done != member; done = done->next_)
      static_cast<void>(done->set_priority(impl_->options.priority));  // back up
    const int32_t least =
        std::min(platform::nice_level(member->thread_id_), platform::least_nice_level());
    return error(Code::unsupported,
                 "thread_priority is %d: the system does not permit to lower threads to nice level "
                 "%d; allowed: %d to 19",
                 priority, member->inherited_level_ + priority, least - member->inherited_level_)
        .at("thread_priority")
        .sys(failure);
  }
  impl_->options.priority = priority;
  return Status();
}

uint32_t ThreadPool::run(uint32_t begin, uint32_t end, Body body, Deadline deadline) {
  if (begin >= end) return end;
  impl_->enter();
  const uint32_t reached = impl_->run(begin, end, body, deadline);
  impl_->leave();
  return reached;
}

}  // namespace llmrt
