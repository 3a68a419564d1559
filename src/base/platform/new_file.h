// NewFile: a file that is at its path whole or not at all. It is written beside it as PATH.tmp and then renamed.
//
// One writer at a time, of this process or any other: who writes holds a lock on PATH.tmp, which goes with its process. So what a killed
// writer leaves behind is written over by the next one, and a file that is at its path is never changed again.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace llmrt::platform {

class NewFile {
 public:
  NewFile() = default;
  ~NewFile() { discard(); }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // Room for `size` bytes where the file system can tell, so that a full disk is known before anything is written. The user's alone to
  // read and write. busy: another one is writing this file, and nothing else. A failure is one sentence without the path; it
  // names PATH.tmp where that is no regular file.
  Status create(const std::string& path, uint64_t size);
  Status append(const void* data, uint64_t n);
  Status publish();  // puts it at its path, over what was there; those who have that open keep it
  void discard() noexcept;  // unless published

 private:
  int fd_ = -1;
  std::string path_, temporary_;
};

}  // namespace llmrt::platform
