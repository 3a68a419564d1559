// What every instruction set's translation unit includes before its kernels. No std containers, no external inline functions: the
// object exports its table and nothing else (tests/cpu/isa_objects_test.py).
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include "backends/cpu/kernel_table.h"
#include "base/math.h"
#include "base/plant.h"
#include "quant/panel.h"
#include "quant/row_blocks.h"
#include "quant/row_codes.h"
