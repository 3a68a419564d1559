// PackedCache: the packed weights of one model in a file, so that the next load maps them instead of packing, and processes that load the
// same model share the pages.
//
//   | head, 64 bytes | check [n_weights] u64 | .. | weight 0 | .. | weight 1 | ..      weights at multiples of 64, the first at one of 4096
//
// Nothing in the file says where a weight lies: that follows from the program, and a file's head must be the very one that this model has
// in this build. So the file of another model, of another layout, or one that was cut, is none of ours; and where a check does not fit
// (XXH3-64 over the XXH3-64 of the weight's pieces of 1 MiB) bytes have changed. Whatever passes for ours after that gives wrong answers at
// worst, as a model's file does, never a wrong access.
//
// Whatever is wrong with the folder or the file is told in the log, in one line, and the load goes on without.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/host.h"
#include "base/status.h"
#include "formats/byte_source.h"
#include "graph/backend.h"

namespace llmrt {

class PackedCache {
 public:
  // Borrows all but the texts. The backend's layout is not 0; the folder is there, or nothing is kept.
  PackedCache(const Host& host, const Backend& backend, const Program& program,
              std::string_view model_hash, std::string_view folder);

  const std::string& path() const { return path_; }
  uint64_t file_bytes() const { return file_bytes_; }

  // The mapping of the file, once every weight in it was checked, on all workers; nullptr: there is none, or it is no good, or
  // there is no memory for it. Fails only if it is cancelled.
  Result<ByteSourcePtr> open(const JobProgress* progress) const;
  // Of an open mapping, as long as that lives.
  std::span<const uint8_t> weight(const ByteSource& mapping, size_t i) const;

  // Writes the file, in place of any other. weights: [program.weights], packed. Fails only if it is cancelled; once there is no time left
  // (JobProgress::no_time) it stops, and there is no file.
  Status write(std::span<const std::span<const uint8_t>> weights,
               const JobProgress* progress) const;

 private:
  struct Head;
  struct Place {
    uint64_t offset, bytes;
  };
  Head head(std::span<const uint64_t> checks) const;
  Result<ByteSourcePtr> map() const;
  Status check(const ByteSource& mapping, const JobProgress* progress) const;
  // std::bad_alloc is out_of_memory without a message.
  Result<ByteSourcePtr> try_open(const JobProgress* progress) const;
  Status try_write(std::span<const std::span<const uint8_t>> weights,
                   const JobProgress* progress) const;
  Status write_file(std::span<const std::span<const uint8_t>> weights,
                    const JobProgress* progress) const;
  // in_file: the weights are the mapping's, maybe not in memory yet.
  Result<std::vector<uint64_t>> checks_of(std::span<const std::span<const uint8_t>> weights,
                                          bool in_file, const JobProgress* progress) const;

  const Host& host_;
  const Program& program_;
  uint32_t layout_;
  uint64_t key_[2] = {};       // of everything that the bytes follow from
  std::vector<Place> places_;  // [program.weights]
  uint64_t file_bytes_ = 0;
  std::string path_;
};

}  // namespace llmrt
