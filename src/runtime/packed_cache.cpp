#include "runtime/packed_cache.h"

#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/platform/new_file.h"
#include "base/platform/process.h"

namespace llmrt {
namespace {

using ull = unsigned long long;  // for printf

constexpr uint64_t kMagic = 0x776b6361706d6c6c;  // "llmpackw"
constexpr uint32_t kVersion = 1;                 // of the head and of how checks are made
constexpr uint64_t kWeightAlign = 64, kFirstAlign = 4096;
constexpr uint64_t kPieceBytes = uint64_t{1} << 20;
constexpr uint32_t kPiecesPerRun = 64;               // the pool serves others between runs
constexpr uint64_t kWriteBytes = uint64_t{8} << 20;  // between two looks at whether to go on

uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

// Between two pieces of work that only the next load has use for.
Status check_time(const JobProgress* progress) {
  if (progress && progress->no_time.load(std::memory_order_relaxed))
    return error(Code::timeout, "no time left");
  return Status();
}

// Everything that the bytes of the file follow from.
std::string contents(const Backend& backend, const Program& program, std::string_view model_hash) {
  std::string text(model_hash);
  text += '\n';
  text += backend.info().backend;
  for (const WeightDesc& d : program.weights) {
    char numbers[160];
    std::snprintf(numbers, sizeof numbers, "\n%u %u %u %u %llu %s ", static_cast<uint32_t>(d.type),
                  d.n, d.k, d.n_expert, ull{backend.weight_bytes(d)}, backend.packed_as(d));
    text += numbers;
    text += d.name;
  }
  return text;
}

}  // namespace

struct PackedCache::Head {
  uint64_t magic;
  uint32_t version;
  uint32_t layout;  // Backend::packed_layout()
  uint64_t file_bytes;
  uint64_t n_weights;
  uint64_t key[2];
  uint64_t checks;  // XXH3-64 of the array behind
  uint64_t zero;
};

PackedCache::PackedCache(const Host& host, const Backend& backend, const Program& program,
                         std::string_view model_hash, std::string_view folder)
    : host_(host), program_(program), layout_(backend.packed_layout()) {
  static_assert(sizeof(Head) == 64);
  const std::string text = contents(backend, program, model_hash);
  const XXH128_hash_t key = XXH3_128bits(text.data(), text.size());
  key_[0] = key.low64;
  key_[1] = key.high64;
  uint64_t at = round_up(sizeof(Head) + program.weights.size() * sizeof(uint64_t), kFirstAlign);
  places_.reserve(program.weights.size());
  for (const WeightDesc& desc : program.weights) {
    const uint64_t bytes = backend.weight_bytes(desc);
    places_.push_back({at, bytes});
    at = round_up(at + bytes, kWeightAlign);
  }
  file_bytes_ = at;
  char rest[64];
  std::snprintf(rest, sizeof rest, "-%u-%016llx.packed", layout_, ull{key_[0]});
  path_.append(folder).append("/").append(model_hash).append(rest);
}

PackedCache::Head PackedCache::head(std::span<const uint64_t> checks) const {
  Head h{};
  h.magic = kMagic;
  h.version = kVersion;
  h.layout = layout_;
  h.file_bytes = file_bytes_;
  h.n_weights = places_.size();
  h.key[0] = key_[0];
  h.key[1] = key_[1];
  h.checks = XXH3_64bits(checks.data(), checks.size_bytes());
  return h;
}

std::span<const uint8_t> PackedCache::weight(const ByteSource& mapping, size_t i) const {
  return mapping.bytes().subspan(places_[i].offset, places_[i].bytes);
}

// A file of the right length and head, through a mapping.
Result<ByteSourcePtr> PackedCache::map() const {
  LLMRT_ASSIGN(const ByteSourcePtr file, source_from_path(path_));
  if (file->size() != file_bytes_)
    return error(Code::format, "%s: the file has %llu bytes, the packed weights have %llu",
                 path_.c_str(), ull{file->size()}, ull{file_bytes_});
  LLMRT_ASSIGN(ByteSourcePtr mapping, file->map(false));
  std::vector<uint64_t> checks(places_.size());
  LLMRT_TRY(mapping->read(sizeof(Head), checks.data(), checks.size() * sizeof(uint64_t)));
  Head found{};
  LLMRT_TRY(mapping->read(0, &found, sizeof found));
  const Head wanted = head(checks);
  if (std::memcmp(&found, &wanted, sizeof found) != 0)
    return error(Code::format, "%s: the file is not this model's packed weights", path_.c_str());
  return mapping;
}

Status PackedCache::check(const ByteSource& mapping, const JobProgress* progress) const {
  std::vector<std::span<const uint8_t>> weights;
  weights.reserve(places_.size());
  for (size_t i = 0; i < places_.size(); ++i) weights.push_back(weight(mapping, i));
  LLMRT_ASSIGN(const std::vector<uint64_t> found, checks_of(weights, true, progress));
  std::vector<uint64_t> wanted(places_.size());
  LLMRT_TRY(mapping.read(sizeof(Head), wanted.data(), wanted.size() * sizeof(uint64_t)));
  for (size_t i = 0; i < places_.size(); ++i)
    if (found[i] != wanted[i])
      return error(Code::format, "%s: the bytes of %s are not those that were written",
                   path_.c_str(), program_.weights[i].name.c_str());
  return Status();
}

Result<ByteSourcePtr> PackedCache::open(const JobProgress* progress) const {
  auto mapping = try_open(progress);
  if (mapping.ok() || mapping.status().code() == Code::cancelled) return mapping;
  const std::string_view why = mapping.status().message();
  if (why.empty())
    host_.log(LogLevel::warn, "%s: there is no memory to read it; the weights are packed again",
              path_.c_str());
  else if (mapping.status().code() != Code::not_found)
    host_.log(LogLevel::warn, "%.*s; the weights are packed again", static_cast<int>(why.size()),
              why.data());
  return ByteSourcePtr();
}

Result<ByteSourcePtr> PackedCache::try_open(const JobProgress* progress) const {
  try {
    LLMRT_ASSIGN(ByteSourcePtr mapping, map());
    LLMRT_TRY(check(*mapping, progress));
    return mapping;
  } catch (const std::bad_alloc&) {  // the load may well go on without
    return Status(Code::out_of_memory);
  }
}

Result<std::vector<uint64_t>> PackedCache::checks_of(
    std::span<const std::span<const uint8_t>> weights, bool in_file,
    const JobProgress* progress) const {
  std::vector<uint32_t> begin;  // [n_weights + 1], pieces
  begin.reserve(weights.size() + 1);
  uint64_t n = 0;
  for (const auto& bytes : weights) {
    begin.push_back(static_cast<uint32_t>(n));
    n += (bytes.size() + kPieceBytes - 1) / kPieceBytes;
  }
  begin.push_back(static_cast<uint32_t>(n));
  const auto piece = [&](uint32_t p) {
    const auto after = std::upper_bound(begin.begin(), begin.end(), p);
    const auto i = static_cast<size_t>(after - begin.begin()) - 1;
    const uint64_t at = uint64_t{p - begin[i]} * kPieceBytes;
    return weights[i].subspan(at, std::min(kPieceBytes, weights[i].size() - at));
  };
  std::vector<uint64_t> pieces(n);
  const auto hash_piece = [&](uint32_t p, uint32_t) {
    const std::span<const uint8_t> bytes = piece(p);
    pieces[p] = XXH3_64bits(bytes.data(), bytes.size());
  };
  const auto run_end = [&](uint32_t at) {
    return static_cast<uint32_t>(std::min<uint64_t>(n, uint64_t{at} + kPiecesPerRun));
  };
  for (uint32_t at = 0; at < n; at = run_end(at)) {
    LLMRT_TRY(check_cancel(progress, path_.c_str()));
    if (!in_file) LLMRT_TRY(check_time(progress));
    for (uint32_t p = at == 0 ? 0 : run_end(at); in_file && p < run_end(run_end(at)); ++p)
      platform::expect_reads(piece(p).data(), piece(p).size());
    host_.pool().run(at, run_end(at), hash_piece);
  }
  std::vector<uint64_t> checks;
  checks.reserve(weights.size());
  for (size_t i = 0; i < weights.size(); ++i)
    checks.push_back(
        XXH3_64bits(pieces.data() + begin[i], (begin[i + 1] - begin[i]) * sizeof(uint64_t)));
  return checks;
}

Status PackedCache::write(std::span<const std::span<const uint8_t>> weights,
                          const JobProgress* progress) const {
  Status status = try_write(weights, progress);
  const Code code = status.code();
  if (status.ok() || code == Code::cancelled) return status;
  const std::string_view why =
      status.message().empty() ? "there is no memory to write them" : status.message();
  host_.log(code == Code::busy ? LogLevel::info : LogLevel::warn,
            "%s: the packed weights are not kept: %.*s", path_.c_str(),
            static_cast<int>(why.size()), why.data());
  return Status();
}

Status PackedCache::try_write(std::span<const std::span<const uint8_t>> weights,
                              const JobProgress* progress) const {
  try {
    return write_file(weights, progress);
  } catch (const std::bad_alloc&) {
    return Status(Code::out_of_memory);
  }
}

Status PackedCache::write_file(std::span<const std::span<const uint8_t>> weights,
                               const JobProgress* progress) const {
  platform::NewFile file;
  LLMRT_TRY(file.create(path_, file_bytes_));
  LLMRT_ASSIGN(const std::vector<uint64_t> checks, checks_of(weights, false, progress));
  const Head h = head(checks);
  LLMRT_TRY(file.append(&h, sizeof h));
  LLMRT_TRY(file.append(checks.data(), checks.size() * sizeof(uint64_t)));
  uint64_t at = sizeof h + checks.size() * sizeof(uint64_t);
  static constexpr uint8_t kZeros[kFirstAlign] = {};
  for (size_t i = 0; i < weights.size(); ++i) {
    LLMRT_TRY(file.append(kZeros, places_[i].offset - at));
    const std::span<const uint8_t> bytes = weights[i];
    if (bytes.size() != places_[i].bytes)
      return error(Code::internal, "%s has %zu packed bytes, %llu were announced",
                   program_.weights[i].name.c_str(), bytes.size(), ull{places_[i].bytes});
    for (uint64_t done = 0; done < bytes.size(); done += kWriteBytes) {
      LLMRT_TRY(check_cancel(progress, path_.c_str()));
      LLMRT_TRY(check_time(progress));
      LLMRT_TRY(file.append(bytes.data() + done, std::min(kWriteBytes, bytes.size() - done)));
    }
    at = places_[i].offset + bytes.size();
  }
  LLMRT_TRY(file.append(kZeros, file_bytes_ - at));
  LLMRT_TRY(file.publish());
  host_.log(LogLevel::info, "%s: packed weights of %llu bytes are kept for the next load",
            path_.c_str(), ull{file_bytes_});
  return Status();
}

}  // namespace llmrt
