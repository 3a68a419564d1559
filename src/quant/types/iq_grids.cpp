#include "quant/types/iq_grids.h"

#include <span>

#include "quant/types/iq_grid_tables.h"

namespace llmrt {
namespace {

// A grid is a set of points out of its candidates: bit c of `members` says whether it has candidate c, counted in ascending order.
// Candidates are the points of coordinates below kValues, with kEven those of an even sum of coordinates.
template <size_t kPoints, uint32_t kValues, bool kEven, size_t kWords>
constexpr std::array<uint16_t, kPoints> points_of(const uint64_t (&members)[kWords]) {
  constexpr uint32_t kCoordinates = kValues == 3 ? 8 : 4;
  constexpr uint32_t kNumbers = kValues == 3 ? 6561 : 4096;  // kValues to the power of kCoordinates
  std::array<uint16_t, kPoints> points{};
  size_t n = 0;
  uint32_t candidate = 0;
  for (uint32_t number = 0; number < kNumbers; ++number) {
    uint32_t point = 0, sum = 0, digits = number;
    for (uint32_t i = 0; i < kCoordinates; ++i, digits /= kValues) {
      point |= digits % kValues << (16 / kCoordinates * i);
      sum += digits % kValues;
    }
    if (kEven && sum % 2 != 0) continue;
    if ((members[candidate / 64] >> (candidate % 64)) & 1u)
      points[n++] = static_cast<uint16_t>(point);
    ++candidate;
  }
  return points;
}

constexpr uint32_t checksum(std::span<const uint16_t> points) {
  uint32_t sum = 0;
  for (uint16_t p : points) sum = sum * 31 + p;
  return sum;
}

}  // namespace

constexpr std::array<uint16_t, 2048> kIq1Grid = points_of<2048, 3, false>(kIq1Members);
constexpr std::array<uint16_t, 256> kIq2XxsGrid = points_of<256, 3, true>(kIq2XxsMembers);
constexpr std::array<uint16_t, 512> kIq2XsGrid = points_of<512, 3, true>(kIq2XsMembers);
constexpr std::array<uint16_t, 1024> kIq2SGrid = points_of<1024, 3, true>(kIq2SMembers);
constexpr std::array<uint16_t, 256> kIq3XxsGrid = points_of<256, 8, true>(kIq3XxsMembers);
constexpr std::array<uint16_t, 512> kIq3SGrid = points_of<512, 8, false>(kIq3SMembers);

static_assert(checksum(kIq1Grid) == kIq1Checksum);
static_assert(checksum(kIq2XxsGrid) == kIq2XxsChecksum);
static_assert(checksum(kIq2XsGrid) == kIq2XsChecksum);
static_assert(checksum(kIq2SGrid) == kIq2SChecksum);
static_assert(checksum(kIq3XxsGrid) == kIq3XxsChecksum);
static_assert(checksum(kIq3SGrid) == kIq3SChecksum);

}  // namespace llmrt
