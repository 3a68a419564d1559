#include "tests/bench/ceilings.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "backends/cpu/cpu_features.h"

namespace llmrt::bench {
namespace {

#if defined(__x86_64__)
#define LLMRT_WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define LLMRT_WIDEST
#endif

LLMRT_WIDEST uint64_t read_lines(const uint8_t* p, size_t n_lines, size_t ahead) {
  typedef uint64_t Line __attribute__((vector_size(64), may_alias));
  const auto* line = reinterpret_cast<const Line*>(p);
  Line a = {}, b = {}, c = {}, d = {};
  for (size_t i = 0; i < n_lines; i += 4) {
    if (ahead != 0)
      for (size_t j = 0; j < 4; ++j) __builtin_prefetch(p + 64 * (i + j) + ahead);
    a += line[i];
    b += line[i + 1];
    c += line[i + 2];
    d += line[i + 3];
  }
  a += b + (c + d);
  uint64_t sum = 0;
  for (size_t j = 0; j < 8; ++j) sum += a[j];
  return sum;
}

// The other loops are assembly: compilers spill chains that they see through, GCC 12 knows neither that a tile load reads memory nor that
// the configuration has 64 bytes, and no function needs flags of its own this way.
//
// 12 independent chains: enough for two instructions a cycle of 4 to 6 cycles each.
#define LLMRT_6(op, a, b, c, d, e, f) op(a) op(b) op(c) op(d) op(e) op(f)
#define LLMRT_12(op) \
  LLMRT_6(op, "0", "1", "2", "3", "4", "5") LLMRT_6(op, "6", "7", "8", "9", "10", "11")
constexpr uint32_t kChains = 12, kRounds = 50'000;
constexpr double giga(double ops_per_instruction) {
  return ops_per_instruction * kChains * kRounds * 1e-9;
}

#if defined(__x86_64__)

#define LLMRT_ZERO(n) "vpxor %%xmm" n ", %%xmm" n ", %%xmm" n "\n\t"
// Registers 0 .. 11 sum, 14 and 15 hold the factors. body: a round, kChains times what giga() is told of.
// clang-format off
#define LLMRT_CHAINS(name, reg, left_bits, right_bits, prepare, body)                         \
  void name(uint8_t*) {                                                                       \
    const uint32_t left = left_bits, right = right_bits;                                      \
    uint32_t rounds = kRounds;                                                                \
    __asm__ volatile("vpbroadcastd %[left], %%" reg "14\n\t"                                  \
                     "vpbroadcastd %[right], %%" reg "15\n\t"                                 \
                     prepare                                                                  \
                     LLMRT_12(LLMRT_ZERO)                                                     \
                     ".p2align 5\n1:\n\t"                                                     \
                     body                                                                     \
                     "dec %[rounds]\n\tjnz 1b\n\tvzeroupper"                                  \
                     : [rounds] "+r"(rounds)                                                  \
                     : [left] "m"(left), [right] "m"(right)                                   \
                     : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",  \
                       "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"); \
  }
// clang-format on

constexpr uint32_t kOne = 0x3f800000, kHalf = 0x3f000000;            // float
constexpr uint32_t kThrees = 0x03030303u, kMinusTwos = 0xfefefefeu;  // int8: unsigned, signed

#define LLMRT_FMA_YMM(n) "vfmadd231ps %%ymm15, %%ymm14, %%ymm" n "\n\t"
#define LLMRT_FMA_ZMM(n) "vfmadd231ps %%zmm15, %%zmm14, %%zmm" n "\n\t"
#define LLMRT_MADDUBS(n)                     \
  "vpmaddubsw %%ymm15, %%ymm14, %%ymm13\n\t" \
  "vpmaddwd %%ymm12, %%ymm13, %%ymm13\n\t"   \
  "vpaddd %%ymm13, %%ymm" n ", %%ymm" n "\n\t"
// Codes of 4 bits: 15 * 127 * 16 fits into int16, so eight pairs of products are added there (registers 11 and 13, renamed each time)
// before they widen. A multiplier is asked 9 times where LLMRT_MADDUBS asks it 16 times.
#define LLMRT_PAIRS "vpmaddubsw %%ymm15, %%ymm14, %%ymm13\n\tvpaddw %%ymm13, %%ymm11, %%ymm11\n\t"
#define LLMRT_MADDUBS_PADDW(n)                                                               \
  "vpmaddubsw %%ymm15, %%ymm14, %%ymm11\n\t" LLMRT_PAIRS LLMRT_PAIRS LLMRT_PAIRS LLMRT_PAIRS \
      LLMRT_PAIRS LLMRT_PAIRS LLMRT_PAIRS                                                    \
  "vpmaddwd %%ymm12, %%ymm11, %%ymm11\n\t"                                                   \
  "vpaddd %%ymm11, %%ymm" n ", %%ymm" n "\n\t"
#define LLMRT_AVX_VNNI(n) "%{vex%} vpdpbusd %%ymm15, %%ymm14, %%ymm" n "\n\t"
#define LLMRT_VNNI_ZMM(n) "vpdpbusd %%zmm15, %%zmm14, %%zmm" n "\n\t"
// int16 of 1 in register 12
#define LLMRT_ONES "vpcmpeqw %%ymm12, %%ymm12, %%ymm12\n\tvpabsw %%ymm12, %%ymm12\n\t"

LLMRT_CHAINS(fma_ymm, "ymm", kOne, kHalf, "", LLMRT_12(LLMRT_FMA_YMM))
LLMRT_CHAINS(fma_zmm, "zmm", kOne, kHalf, "", LLMRT_12(LLMRT_FMA_ZMM))
LLMRT_CHAINS(maddubs_ymm, "ymm", kThrees, kMinusTwos, LLMRT_ONES, LLMRT_12(LLMRT_MADDUBS))
LLMRT_CHAINS(maddubs_paddw_ymm, "ymm", kThrees, kMinusTwos, LLMRT_ONES,
             LLMRT_6(LLMRT_MADDUBS_PADDW, "0", "1", "2", "3", "4", "5")
                 LLMRT_6(LLMRT_MADDUBS_PADDW, "0", "1", "2", "3", "4", "5"))
LLMRT_CHAINS(avx_vnni_ymm, "ymm", kThrees, kMinusTwos, "", LLMRT_12(LLMRT_AVX_VNNI))
LLMRT_CHAINS(vnni_zmm, "zmm", kThrees, kMinusTwos, "", LLMRT_12(LLMRT_VNNI_ZMM))

// 8 tiles of 16 rows of 64 bytes, as LDTILECFG reads them.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);
constexpr uint32_t kTileRounds = 5000;
constexpr double tile_giga(uint32_t k) { return kTileRounds * 4.0 * 2 * 16 * 16 * k * 1e-9; }

// 2 x 2 tiles of sums 0 .. 3, of 4, 5 and 6, 7: kept there, or loaded for each round from 512 KiB, which is what the L2 cache gives.
// clang-format off
#define LLMRT_TILES(name, op, load)                                                        \
  void name(uint8_t* scratch) {                                                            \
    const TileConfig config;                                                               \
    uint32_t rounds = kTileRounds;                                                         \
    const uint8_t* at = scratch;                                                           \
    uint64_t offset = 0;                                                                   \
    const uint64_t stride = 64, mask = kScratchBytes - 1;                                  \
    __asm__ volatile("ldtilecfg %[config]\n\t"                                             \
                     "tilezero %%tmm0\n\t"                                                 \
                     "tilezero %%tmm1\n\t"                                                 \
                     "tilezero %%tmm2\n\t"                                                 \
                     "tilezero %%tmm3\n\t"                                                 \
                     LLMRT_LOAD_TILES                                                      \
                     ".p2align 5\n1:\n\t"                                                  \
                     load                                                                  \
                     op " %%tmm6, %%tmm4, %%tmm0\n\t"                                      \
                     op " %%tmm7, %%tmm4, %%tmm1\n\t"                                      \
                     op " %%tmm6, %%tmm5, %%tmm2\n\t"                                      \
                     op " %%tmm7, %%tmm5, %%tmm3\n\t"                                      \
                     "dec %[rounds]\n\tjnz 1b\n\ttilerelease"                              \
                     : [rounds] "+&r"(rounds), [at] "+&r"(at), [offset] "+&r"(offset)      \
                     : [config] "m"(config), [scratch] "r"(scratch), [stride] "r"(stride), \
                       [mask] "r"(mask)                                                    \
                     : "cc", "memory");                                                    \
  }
// clang-format on
#define LLMRT_LOAD_TILES                          \
  "tileloadd (%[at],%[stride],1), %%tmm6\n\t"     \
  "tileloadd 1024(%[at],%[stride],1), %%tmm7\n\t" \
  "tileloadd 2048(%[at],%[stride],1), %%tmm4\n\t" \
  "tileloadd 3072(%[at],%[stride],1), %%tmm5\n\t"
#define LLMRT_NEXT_TILES                               \
  "add $4096, %[offset]\n\tand %[mask], %[offset]\n\t" \
  "lea (%[scratch],%[offset],1), %[at]\n\t" LLMRT_LOAD_TILES

LLMRT_TILES(amx_int8, "tdpbssd", "")
LLMRT_TILES(amx_int8_l2, "tdpbssd", LLMRT_NEXT_TILES)
LLMRT_TILES(amx_bf16, "tdpbf16ps", "")
LLMRT_TILES(amx_bf16_l2, "tdpbf16ps", LLMRT_NEXT_TILES)

// A processor that has tiles does not mean a system that gives them: virtual machines and containers may refuse.
bool tiles_granted() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

#elif defined(__aarch64__)

#define LLMRT_ZERO(n) "movi v" n ".4s, #0\n\t"
#define LLMRT_CHAINS(name, op)                                                                   \
  void name(uint8_t*) {                                                                          \
    uint32_t rounds = kRounds;                                                                   \
    __asm__ volatile(                                                                            \
        "movi v14.16b, #1\n\tmovi v15.16b, #3\n\t" LLMRT_12(LLMRT_ZERO) "1:\n\t" LLMRT_12(       \
            op) "subs %w[rounds], %w[rounds], #1\n\tb.ne 1b"                                     \
        : [rounds] "+r"(rounds)                                                                  \
        :                                                                                        \
        : "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v14", \
          "v15");                                                                                \
  }
#define LLMRT_FMLA(n) "fmla v" n ".4s, v14.4s, v15.4s\n\t"
#define LLMRT_SDOT(n) ".arch armv8.2-a+dotprod\n\tsdot v" n ".4s, v14.16b, v15.16b\n\t"
#define LLMRT_SMMLA(n) ".arch armv8.2-a+i8mm\n\tsmmla v" n ".4s, v14.16b, v15.16b\n\t"
#define LLMRT_SDOT_SVE(n) ".arch armv8.2-a+sve\n\tsdot z" n ".s, z14.b, z15.b\n\t"

LLMRT_CHAINS(fma_neon, LLMRT_FMLA)
LLMRT_CHAINS(sdot_neon, LLMRT_SDOT)
LLMRT_CHAINS(smmla_neon, LLMRT_SMMLA)
LLMRT_CHAINS(sdot_sve, LLMRT_SDOT_SVE)

uint64_t sve_bytes() {
  uint64_t bytes = 0;
  __asm__(".arch armv8.2-a+sve\n\tcntb %0" : "=r"(bytes));
  return bytes;
}

#endif

}  // namespace

std::vector<Loop> multiply_loops() {
  std::vector<Loop> loops;
#if defined(__x86_64__)
  const bool avx512 = __builtin_cpu_supports("avx512f") != 0;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    loops.push_back({"fma_ymm", giga(16), fma_ymm});
    loops.push_back({"int8_maddubs_ymm", giga(64), maddubs_ymm});
    loops.push_back({"int8_maddubs_paddw_ymm", giga(8 * 64), maddubs_paddw_ymm});
  }
  if (__builtin_cpu_supports("avxvnni"))
    loops.push_back({"int8_avx_vnni_ymm", giga(64), avx_vnni_ymm});
  if (avx512) loops.push_back({"fma_zmm", giga(32), fma_zmm});
  if (avx512 && __builtin_cpu_supports("avx512vnni"))
    loops.push_back({"int8_vnni_zmm", giga(128), vnni_zmm});
  const bool amx = __builtin_cpu_supports("amx-tile") && tiles_granted();
  if (amx && __builtin_cpu_supports("amx-int8")) {
    loops.push_back({"int8_amx", tile_giga(64), amx_int8});
    loops.push_back({"int8_amx_l2", tile_giga(64), amx_int8_l2});
  }
  if (amx && __builtin_cpu_supports("amx-bf16")) {
    loops.push_back({"bf16_amx", tile_giga(32), amx_bf16});
    loops.push_back({"bf16_amx_l2", tile_giga(32), amx_bf16_l2});
  }
#elif defined(__aarch64__)
  loops.push_back({"fma_neon", giga(8), fma_neon});
  const cpu::CpuFeatures has = cpu::detect_cpu_features();
  if (has.neon_dotprod) loops.push_back({"int8_sdot_neon", giga(32), sdot_neon});
  if (has.neon_i8mm) loops.push_back({"int8_smmla_neon", giga(64), smmla_neon});
  if (has.sve)
    loops.push_back({"int8_sdot_sve", giga(2.0 * static_cast<double>(sve_bytes())), sdot_sve});
#endif
  return loops;
}

StreamMemory::StreamMemory(size_t bytes, bool huge_pages) : size_(bytes / kSpan * kSpan) {
  // Beyond the end: what is asked for ahead of the last span.
  void* p =
      mmap(nullptr, size_ + kSpan, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return;
  madvise(p, size_ + kSpan, huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  std::memset(p, 1, size_ + kSpan);
  data_ = static_cast<uint8_t*>(p);
}

StreamMemory::~StreamMemory() {
  if (data_) munmap(data_, size_ + kSpan);
}

bool huge_pages_possible() {
  std::ifstream in("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string modes;
  return std::getline(in, modes) && modes.find("[never]") == std::string::npos;
}

uint64_t read_span(const uint8_t* p, size_t bytes, size_t ahead) {
  return read_lines(p, bytes / 64, ahead);
}

}  // namespace llmrt::bench
