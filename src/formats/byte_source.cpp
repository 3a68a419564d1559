#include "formats/byte_source.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/limit.h"
#include "base/memory.h"

namespace llmrt {
namespace {

using ull = unsigned long long;  // for printf

// The two shapes of strerror_r: POSIX answers a status, GNU the text.
[[maybe_unused]] const char* error_text(int status, const char* buffer) {
  return status == 0 ? buffer : "unknown error";
}
[[maybe_unused]] const char* error_text(const char* text, const char*) { return text; }

std::string system_text(int code) {
  char buffer[128] = "";
  return error_text(strerror_r(code, buffer, sizeof buffer), buffer);
}

// Any read that a source is asked for lies in [0, size()).
Status check_range(const ByteSource& source, uint64_t offset, uint64_t n) {
  if (offset <= source.size() && n <= source.size() - offset) return {};
  return error(Code::io, "%s: %llu bytes at offset %llu pass its end at %llu",
               source.name().c_str(), ull{n}, ull{offset}, ull{source.size()})
      .at(source.name());
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

uint64_t page_bytes() { return static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)); }

// A regular file, or a window of one, through a mapping. A mapping begins at a page's border: skip_ bytes before the window.
class MappedSource final : public ByteSource {
 public:
  MappedSource(uint64_t base, uint64_t size, const std::string& name)
      : skip_(base % page_bytes()), size_(size), name_(name) {}
  MappedSource(const MappedSource&) = delete;
  MappedSource& operator=(const MappedSource&) = delete;
  ~MappedSource() override {
    if (pages_) ::munmap(pages_, skip_ + size_);
  }

  Status take(int fd, uint64_t base, bool once) {
    void* pages = ::mmap(nullptr, skip_ + size_, PROT_READ, MAP_PRIVATE, fd,
                         static_cast<off_t>(base - skip_));
    if (pages == MAP_FAILED) {
      const int code = errno;
      return error(code == ENOMEM ? Code::out_of_memory : Code::io,
                   "%s: mapping %llu bytes failed: %s", name_.c_str(), ull{size_},
                   system_text(code).c_str())
          .sys(code)
          .at(name_);
    }
    pages_ = static_cast<uint8_t*>(pages);
    // What is used again and again is better off in 2 MiB pages, where the file system has them.
    (void)::madvise(pages_, skip_ + size_, once ? MADV_SEQUENTIAL : MADV_HUGEPAGE);
    return {};
  }

  uint64_t size() const override { return size_; }
  const std::string& name() const override { return name_; }
  std::span<const uint8_t> bytes() const override { return {pages_ + skip_, size_}; }
  Status read(uint64_t offset, void* dst, uint64_t n) const override {
    LLMRT_TRY(check_range(*this, offset, n));
    if (n > 0) std::memcpy(dst, pages_ + skip_ + offset, n);
    return {};
  }
  // Whole pages, those at both ends too: what another thread still reads of them comes back from the system's cache.
  void drop_behind(uint64_t offset, uint64_t n) const override {
    if (!check_range(*this, offset, n).ok()) return;
    const uint64_t begin = (skip_ + offset) / page_bytes() * page_bytes();
    (void)::madvise(pages_ + begin, skip_ + offset + n - begin, MADV_DONTNEED);
  }

 private:
  uint64_t skip_;
  uint64_t size_;
  std::string name_;
  uint8_t* pages_ = nullptr;
};

// A regular file, or a window [base, base + size) of one.
class FileSource final : public ByteSource {
 public:
  FileSource(Descriptor fd, uint64_t base, uint64_t size, std::string name, std::string path)
      : fd_(std::move(fd)),
        base_(base),
        size_(size),
        name_(std::move(name)),
        path_(std::move(path)) {}

  uint64_t size() const override { return size_; }
  const std::string& name() const override { return name_; }
  std::string path() const override { return path_; }

  Status read(uint64_t offset, void* dst, uint64_t n) const override {
    LLMRT_TRY(check_range(*this, offset, n));
    constexpr uint64_t kMostAtOnce = uint64_t{1}
                                     << 30;  // Linux reads at most 2 GiB - 4 KiB in one call
    auto* out = static_cast<uint8_t*>(dst);
    while (n > 0) {
      const ssize_t got =
          ::pread(fd_.get(), out, std::min(n, kMostAtOnce), static_cast<off_t>(base_ + offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        const int code = errno;
        return error(Code::io, "%s: reading at offset %llu failed: %s", name_.c_str(), ull{offset},
                     system_text(code).c_str())
            .sys(code)
            .at(name_);
      }
      if (got == 0) return ends_at(offset);
      out += got;
      offset += static_cast<uint64_t>(got);
      n -= static_cast<uint64_t>(got);
    }
    return {};
  }

  void drop_behind(uint64_t offset, uint64_t n) const override {
    if (!check_range(*this, offset, n).ok()) return;
    (void)::posix_fadvise(fd_.get(), static_cast<off_t>(base_ + offset), static_cast<off_t>(n),
                          POSIX_FADV_DONTNEED);
  }

  Result<ByteSourcePtr> map(bool once) const override {
    struct stat now;
    if (::fstat(fd_.get(), &now) == 0 && static_cast<uint64_t>(now.st_size) < base_ + size_)
      return ends_at(std::max(static_cast<uint64_t>(now.st_size), base_) - base_);
    auto mapped = std::make_shared<MappedSource>(base_, size_, name_);
    LLMRT_TRY(mapped->take(fd_.get(), base_, once));
    return ByteSourcePtr(std::move(mapped));
  }

 private:
  Status ends_at(uint64_t offset) const {
    return error(Code::io, "%s: the file ends at offset %llu, it had %llu bytes when it was opened",
                 name_.c_str(), ull{offset}, ull{size_})
        .at(name_);
  }

  Descriptor fd_;
  uint64_t base_;
  uint64_t size_;
  std::string name_;
  std::string path_;
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(const uint8_t* data, uint64_t size, Buffer copy, void (*done)(void*), void* user)
      : data_(data), size_(size), copy_(std::move(copy)), done_(done), user_(user) {}
  MemorySource(const MemorySource&) = delete;
  MemorySource& operator=(const MemorySource&) = delete;
  ~MemorySource() override {
    if (done_) done_(user_);
  }

  uint64_t size() const override { return size_; }
  const std::string& name() const override { return name_; }
  std::span<const uint8_t> bytes() const override { return {data_, size_}; }
  Status read(uint64_t offset, void* dst, uint64_t n) const override {
    LLMRT_TRY(check_range(*this, offset, n));
    if (n > 0) std::memcpy(dst, data_ + offset, n);
    return {};
  }

 private:
  const uint8_t* data_;
  uint64_t size_;
  Buffer copy_;
  void (*done_)(void*);
  void* user_;
  std::string name_ = "<memory>";
};

using ReadCallback = int64_t (*)(void* user, int64_t offset, void* dst, int64_t n);

class CallbackSource final : public ByteSource {
 public:
  CallbackSource(uint64_t size, ReadCallback callback, void (*done)(void*), void* user)
      : size_(size), read_(callback), done_(done), user_(user) {}
  CallbackSource(const CallbackSource&) = delete;
  CallbackSource& operator=(const CallbackSource&) = delete;
  ~CallbackSource() override {
    if (done_) done_(user_);
  }

  uint64_t size() const override { return size_; }
  const std::string& name() const override { return name_; }
  Status read(uint64_t offset, void* dst, uint64_t n) const override {
    LLMRT_TRY(check_range(*this, offset, n));
    auto* out = static_cast<uint8_t*>(dst);
    while (n > 0) {
      const int64_t got = read_(user_, static_cast<int64_t>(offset), out, static_cast<int64_t>(n));
      if (got <= 0 || static_cast<uint64_t>(got) > n) {
        return error(Code::io, "%s: the read callback answered %lld for %llu bytes at offset %llu",
                     name_.c_str(), static_cast<long long>(got), ull{n}, ull{offset})
            .sys(got < 0 && got >= INT32_MIN ? static_cast<int32_t>(got) : 0)
            .at(name_);
      }
      out += got;
      offset += static_cast<uint64_t>(got);
      n -= static_cast<uint64_t>(got);
    }
    return {};
  }

 private:
  uint64_t size_;
  ReadCallback read_;
  void (*done_)(void*);
  void* user_;
  std::string name_ = "<callbacks>";
};

const char* kind_of_file(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode)) return "a character device";
  if (S_ISBLK(mode)) return "a block device";
  return "not a regular file";
}

// The size of the regular file behind fd; anything else cannot be read at offsets.
Result<uint64_t> regular_file_size(int fd, const std::string& name) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    const int code = errno;
    return error(Code::io, "%s: fstat failed: %s", name.c_str(), system_text(code).c_str())
        .sys(code)
        .at(name);
  }
  if (!S_ISREG(info.st_mode)) {
    return error(Code::io, "%s: this is %s, a model is loaded from a regular file", name.c_str(),
                 kind_of_file(info.st_mode))
        .at(name);
  }
  return static_cast<uint64_t>(info.st_size);
}

Status empty(const std::string& name) {
  return error(Code::format, "%s: the file is empty", name.c_str()).at(name);
}

}  // namespace

Result<ByteSourcePtr> source_from_path(std::string_view utf8_path) {
  std::string path(utf8_path);
  if (path.empty()) return error(Code::invalid_argument, "the model path is empty");
  if (path.find('\0') != std::string::npos) {
    return error(Code::invalid_argument, "the model path has a NUL byte at %zu", path.find('\0'));
  }
  // O_NONBLOCK: opening a FIFO must not wait for its writer. It changes nothing for a regular file.
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) {
    const int code = errno;
    const Code kind = code == ENOENT || code == ENOTDIR ? Code::not_found : Code::io;
    return error(kind, "%s: cannot open: %s", path.c_str(), system_text(code).c_str())
        .sys(code)
        .at(path);
  }
  LLMRT_ASSIGN(const uint64_t size, regular_file_size(fd.get(), path));
  if (size == 0) return empty(path);
  std::string name = path;
  return ByteSourcePtr(
      std::make_shared<FileSource>(std::move(fd), 0, size, std::move(name), std::move(path)));
}

Result<ByteSourcePtr> source_from_memory(const void* data, uint64_t size, void (*done)(void*),
                                         void* user) {
  if (size == 0) return empty("<memory>");
  if (!data)
    return error(Code::invalid_argument, "<memory>: data is NULL with size %llu", ull{size});
  Buffer copy;
  auto* bytes = static_cast<const uint8_t*>(data);
  if (!done) {
    copy = Buffer::make(size);
    if (!copy)
      return error(Code::out_of_memory, "<memory>: no memory for a copy of %llu bytes", ull{size});
    std::memcpy(copy.data(), data, size);
    bytes = copy.data();
  }
  return ByteSourcePtr(std::make_shared<MemorySource>(bytes, size, std::move(copy), done, user));
}

Result<ByteSourcePtr> source_from_callbacks(uint64_t size, ReadCallback read, void (*done)(void*),
                                            void* user) {
  if (!read) return error(Code::invalid_argument, "<callbacks>: the read callback is NULL");
  if (size == 0) return empty("<callbacks>");
  if (size > uint64_t{INT64_MAX})
    return error(Code::invalid_argument, "<callbacks>: size %llu is over 2^63 - 1", ull{size});
  return ByteSourcePtr(std::make_shared<CallbackSource>(size, read, done, user));
}

Result<ByteSourcePtr> source_from_fd(int fd, uint64_t offset, int64_t length) {
  LLMRT_TRY(check(Limit{"length", -1, kNoMost}, length));
  std::string name = "<fd " + std::to_string(fd) + ">";
  LLMRT_ASSIGN(const uint64_t file_size, regular_file_size(fd, name));
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) == O_WRONLY)
    return error(Code::io, "%s: it is open for writing only", name.c_str()).at(name);
  if (offset > file_size || (length >= 0 && static_cast<uint64_t>(length) > file_size - offset)) {
    return error(Code::invalid_argument,
                 "%s: offset %llu and length %lld pass the end of the file at %llu", name.c_str(),
                 ull{offset}, static_cast<long long>(length), ull{file_size})
        .at(name);
  }
  const uint64_t size = length < 0 ? file_size - offset : static_cast<uint64_t>(length);
  if (size == 0) return empty(name);
  Descriptor own(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (own.get() < 0) {
    const int code = errno;
    return error(Code::io, "%s: cannot be duplicated: %s", name.c_str(), system_text(code).c_str())
        .sys(code)
        .at(name);
  }
  return ByteSourcePtr(
      std::make_shared<FileSource>(std::move(own), offset, size, std::move(name), std::string()));
}

}  // namespace llmrt
