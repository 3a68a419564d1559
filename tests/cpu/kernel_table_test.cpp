// Which kernel tables this processor gets. Runs on chosen processors say in the environment what they expect (CMakeLists.txt).
#include "backends/cpu/kernel_table.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "backends/cpu/cpu_features.h"
#include "base/platform/machine.h"
#include "quant/dtype.h"
#include "tests/cpu/kernel_tables.h"

#if defined(__aarch64__)
#include <sys/prctl.h>
#endif

using namespace llmrt;
using cpu::find_kernel_table;

namespace {

// Bytes of an SVE vector; 0: this processor has none.
int vector_bytes() {
#if defined(__aarch64__)
  constexpr int kGetLength = 51, kLengthMask = 0xffff;  // PR_SVE_GET_VL
  const int said = prctl(kGetLength);
  return said < 0 ? 0 : said & kLengthMask;
#else
  return 0;
#endif
}

}  // namespace

TEST_CASE("kernel tables come best first, the scalar one last, and are found by their names") {
  const std::vector<std::string> order = {"amx_int8",  "avx512_vnni", "avx_vnni", "avx2",
                                          "neon_i8mm", "sve",         "neon",     "scalar"};
  auto next = order.begin();
  for (const cpu::KernelTable* table : cpu::available_kernel_tables()) {
    CAPTURE(table->name);
    const auto at = std::find(next, order.end(), table->name);
    REQUIRE(at != order.end());
    next = at + 1;
    CHECK(find_kernel_table(table->name) == table);
  }
  CHECK(next == order.end());
  CHECK(find_kernel_table("avx") == nullptr);
}

TEST_CASE(
    "a kernel table is there if the processor has its instructions and the system grants them") {
  const cpu::CpuFeatures f = cpu::detect_cpu_features();
  CHECK((find_kernel_table("avx2") != nullptr) == f.avx2);
  CHECK((find_kernel_table("avx_vnni") != nullptr) == f.avx_vnni);
  CHECK((find_kernel_table("avx512_vnni") != nullptr) == f.avx512_vnni);
  CHECK((find_kernel_table("amx_int8") != nullptr) == (f.amx_int8 && platform::request_tiles()));
  CHECK((find_kernel_table("neon") != nullptr) == f.neon_dotprod);
  CHECK((find_kernel_table("neon_i8mm") != nullptr) == f.neon_i8mm);
  CHECK((find_kernel_table("sve") != nullptr) == f.sve);
  // Their kernels use each other's instructions.
  CHECK((f.avx2 || !f.avx_vnni));
  CHECK((f.avx2 || !f.avx512_vnni));
  CHECK((f.avx512_vnni || !f.amx_int8));
  CHECK((f.neon_dotprod || !f.neon_i8mm));
}

TEST_CASE("every kernel table multiplies weights of every type in the type's class") {
  for (const cpu::KernelTable* table : test::all_tables())
    for (const QuantFormat& f : all_formats()) {
      CAPTURE(table->name);
      CAPTURE(f.name);
      const cpu::LinearFn own = table->linear[static_cast<uint32_t>(f.type)];
      // By the scalar codec: in class f32 only.
      const bool has = own || f.numerics == NumericsClass::f32,
                 right = table->linear_of(f) == (own ? own : table->linear_decoded);
      CHECK(has);
      CHECK(right);
    }
}

TEST_CASE("kernel tables: the processor that a run was started for has the tables it should") {
  if (const char* expected = std::getenv("LLMRT_TEST_EXPECTED_TABLES")) {
    std::string names;  // best first
    for (const cpu::KernelTable* table : cpu::available_kernel_tables())
      names += std::string(names.empty() ? "" : ",") + table->name;
    CHECK(names == expected);
  }
  if (const char* only = std::getenv("LLMRT_TEST_ONLY_TABLE"))
    CHECK(find_kernel_table(only) != nullptr);
  if (const char* bytes = std::getenv("LLMRT_TEST_VECTOR_BYTES"))
    CHECK(vector_bytes() == std::atoi(bytes));
}
