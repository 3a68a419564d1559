#include "base/platform/new_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace llmrt::platform {
namespace {

constexpr uint64_t kMostAtOnce = uint64_t{1}
                                 << 30;  // Linux writes at most 2 GiB - 4 KiB in one call

// Those a folder or a disk answers with; strerror is not asked, for it may allocate behind the library's back.
const char* reason_of(int code) {
  switch (code) {
    case ENOENT:
      return "no such folder";
    case ENOTDIR:
      return "not in a folder";
    case EACCES:
    case EPERM:
      return "permission denied";
    case EROFS:
      return "read-only file system";
    case ELOOP:
      return "a link is in its place, or too many are on the way";
    case EISDIR:
      return "a folder is in its place";
    case ENAMETOOLONG:
      return "the name is too long";
    case ENOLCK:
      return "the system has no lock left";
    case EOPNOTSUPP:
      return "the file system has no such thing";
    case ENOSPC:
    case EDQUOT:
      return "no space left";
    case EFBIG:
      return "larger than a file may be";
    case EIO:
      return "input/output error";
    default:
      return nullptr;
  }
}

Status failed(const char* what, int code) {
  const char* reason = reason_of(code);
  char number[24];
  if (!reason) std::snprintf(number, sizeof number, "errno %d", code);
  return error(Code::io, "%s failed: %s", what, reason ? reason : number).sys(code);
}

// Beyond this the system would send the process a signal that ends it.
uint64_t most_file_bytes() {
  rlimit limit;
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur;
}

Status taken() { return error(Code::busy, "another one is writing it"); }

// The lock on the file behind fd, which must be a plain one and still be the one at the path: only who holds the lock moves it.
Status take_lock(int fd, const std::string& path) {
  struct stat here, there;
  if (::fstat(fd, &here) != 0) return failed("looking at it", errno);
  if (!S_ISREG(here.st_mode)) return error(Code::io, "%s is no regular file", path.c_str());
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK ? taken() : failed("locking it", errno);
  if (::lstat(path.c_str(), &there) != 0)
    return errno == ENOENT ? taken() : failed("looking at it", errno);
  return here.st_dev == there.st_dev && here.st_ino == there.st_ino ? Status() : taken();
}

}  // namespace

Status NewFile::create(const std::string& path, uint64_t size) {
  discard();
  if (size > most_file_bytes())
    return error(Code::io, "creating it failed: %llu bytes are needed, a file may have %llu here",
                 static_cast<unsigned long long>(size),
                 static_cast<unsigned long long>(most_file_bytes()))
        .sys(EFBIG);
  path_ = path;
  temporary_ = path + ".tmp";
  // Not a link: what it points to is none of ours. O_NONBLOCK: opening a FIFO must not wait.
  const int fd =
      ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (fd < 0) return failed("creating it", errno);
  if (Status status = take_lock(fd, temporary_); !status.ok()) {
    ::close(fd);
    return status;
  }
  fd_ = fd;
  if (::ftruncate(fd_, 0) != 0) {
    const int code = errno;
    discard();
    return failed("emptying what an earlier writer left", code);
  }
  if (size > 0 && ::fallocate(fd_, 0, 0, static_cast<off_t>(size)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
    const int code = errno;
    discard();
    return failed("reserving its bytes", code);
  }
  return Status();
}

Status NewFile::append(const void* data, uint64_t n) {
  const auto* from = static_cast<const uint8_t*>(data);
  while (n > 0) {
    const ssize_t done = ::write(fd_, from, std::min(n, kMostAtOnce));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return failed("writing it", done < 0 ? errno : ENOSPC);
    from += done;
    n -= static_cast<uint64_t>(done);
  }
  return Status();
}

// Not synced to the disk first, which takes seconds a gigabyte: who reads the file checks its contents.
Status NewFile::publish() {
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int code = errno;
    discard();
    return failed("renaming it", code);
  }
  ::close(fd_);  // and with it goes the lock
  fd_ = -1;
  return Status();
}

void NewFile::discard() noexcept {
  if (fd_ < 0) return;
  ::unlink(temporary_.c_str());
  ::close(fd_);
  fd_ = -1;
}

}  // namespace llmrt::platform
