// A tensor of the file becomes the panels that pack_panel makes of it, however it is cut; borrowed bytes are used where they lie.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/cpu/packed_weight.h"
#include "tests/support/host.h"

using namespace llmrt;

namespace {

// A tensor in memory that knows which of its bytes were let go.
class Tensor final : public WeightReader {
 public:
  explicit Tensor(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {}
  Status read(uint64_t offset, void* dst, uint64_t n) const override {
    if (offset > bytes_.size() || n > bytes_.size() - offset)
      return error(Code::io, "read past the end");
    std::memcpy(dst, bytes_.data() + offset, n);
    return Status();
  }
  void drop_behind(uint64_t offset, uint64_t n) const override {
    const std::lock_guard lock(mutex_);
    dropped_.push_back({offset, n});
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }
  // Every byte once, in order.
  bool all_dropped() const {
    uint64_t at = 0;
    for (const auto& [offset, n] : dropped_) {
      if (offset != at || n == 0) return false;
      at += n;
    }
    return at == bytes_.size();
  }
  size_t n_drops() const { return dropped_.size(); }

 private:
  std::vector<uint8_t> bytes_;
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<uint64_t, uint64_t>> dropped_;
};

// Packing moves bits, whatever they mean.
std::vector<uint8_t> noise(const WeightDesc& d) {
  std::vector<uint8_t> out(row_bytes(format_of(d.type), d.k) * d.n * d.n_expert);
  uint64_t state = d.n;
  for (uint8_t& byte : out) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<uint8_t>(state >> 56);
  }
  return out;
}

std::vector<uint8_t> panels_of(const WeightDesc& d, const std::vector<uint8_t>& rows) {
  const size_t row = row_bytes(format_of(d.type), d.k), panel = panel_bytes(d.type, d.k);
  std::vector<uint8_t> out(size_t{d.n_expert} * n_panels(d.n) * panel);
  uint8_t* to = out.data();
  for (uint32_t e = 0; e < d.n_expert; ++e)
    for (uint32_t r = 0; r < d.n; r += kPanelRows, to += panel)
      pack_panel(d.type, &rows[(size_t{e} * d.n + r) * row], row, std::min(kPanelRows, d.n - r),
                 d.k, to);
  return out;
}

// One panel; a tail; experts with tails; several chunks and pieces; several runs of one worker.
const std::vector<WeightDesc> kMatrices = {
    {"one row", DType::q4_k, 1, 512},    {"a tail", DType::q5_0, 33, 96},
    {"odd floats", DType::f16, 50, 33},  {"experts", DType::q6_k, 40, 256, 5},
    {"chunks", DType::q8_0, 5000, 1024}, {"long rows", DType::f32, 40, 20000},
    {"runs", DType::q4_0, 65'001, 1024},
};

}  // namespace

TEST_CASE(
    "a matrix is packed whole, whatever its shape and the number of workers, and let go once") {
  for (const uint32_t n_workers : {1u, 2u, 5u}) {
    const auto host = test::make_host(n_workers);
    cpu::WorkerScratch scratch;  // the same for all, as a backend has it
    for (const WeightDesc& d : kMatrices) {
      CAPTURE(d.name);
      CAPTURE(n_workers);
      if (d.name == "runs" && n_workers > 1) continue;
      const Tensor tensor(noise(d));
      const auto weight = test::take(cpu::pack_weight(d, tensor, host->pool(), scratch, nullptr));
      const auto want = panels_of(d, tensor.bytes());
      REQUIRE(weight.owned.size() == want.size());
      CHECK(std::memcmp(weight.data, want.data(), want.size()) == 0);
      CHECK(tensor.all_dropped());
      CHECK(tensor.n_drops() <= tensor.bytes().size() / (uint64_t{8} << 20) + d.n_expert);
    }
  }
}

TEST_CASE("borrowed panels and borrowed rows give the panels and rows of a packed matrix") {
  const auto host = test::make_host(2);
  cpu::WorkerScratch scratch;
  for (const WeightDesc& d : kMatrices) {
    if (d.name == "runs") continue;
    CAPTURE(d.name);
    const Tensor tensor(noise(d));
    const auto packed = test::take(cpu::pack_weight(d, tensor, host->pool(), scratch, nullptr));
    const std::span<const uint8_t> panels(packed.owned.data(), packed.owned.size());
    const auto mapped = test::take(cpu::borrow_weight(d, WeightForm::packed, panels));
    const auto raw = test::take(cpu::borrow_weight(d, WeightForm::file_rows, tensor.bytes()));
    CHECK(mapped.owned.size() == 0);
    CHECK(raw.owned.size() == 0);
    std::vector<uint8_t> panel(packed.panel_stride, 0xcd), row(cpu::row_scratch_bytes(d.k));
    for (uint32_t e = 0; e < d.n_expert; ++e)
      for (uint32_t p = 0; p < n_panels(d.n); ++p) {
        const uint8_t* want = packed.panel(p, e);
        REQUIRE(mapped.panel(p, e) == want);
        raw.packed_panel(p, e, panel.data());
        REQUIRE(std::memcmp(panel.data(), want, panel.size()) == 0);
      }
    std::vector<float> want(d.k), got(d.k);
    for (const uint32_t r : {0u, d.n / 2, d.n - 1}) {
      cpu::decode_weight_row(packed, r, want.data(), row.data());
      cpu::decode_weight_row(raw, r, got.data(), row.data());
      CHECK(std::memcmp(want.data(), got.data(), d.k * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("bytes that cannot be the weight's are not borrowed") {
  alignas(64) static uint8_t bytes[4096] = {};
  const WeightDesc matrix{"m", DType::q8_0, 17, 32}, vector{"v", DType::f32, 1, 32};
  const std::span all(bytes);
  CHECK(cpu::borrow_weight(matrix, WeightForm::packed, all.first(2 * 16 * 34)).ok());
  CHECK(cpu::borrow_weight(matrix, WeightForm::file_rows, all.first(17 * 34)).ok());
  CHECK(cpu::borrow_weight(vector, WeightForm::packed, all.first(32 * 4)).ok());
  CHECK(cpu::borrow_weight(matrix, WeightForm::packed, all.first(17 * 34)).status().code() ==
        Code::internal);
  CHECK(cpu::borrow_weight(matrix, WeightForm::file_rows, all.first(2 * 16 * 34)).status().code() ==
        Code::internal);
  CHECK(cpu::borrow_weight(vector, WeightForm::file_rows, all.first(32 * 4)).status().code() ==
        Code::internal);
}
