// Which kernels are AVX2's own. Speed of row types: between the fastest and the slowest of them.
constexpr KernelTable make_avx2_table(const char* name) {
  KernelTable t = make_table(name, "f32",
                             {.a8_macs_per_ns = 80,
                              .f32_macs_per_ns = 20,
                              .attend_macs_per_ns = 20,
                              .rows_macs_per_ns = 55,
                              .rows_expand_ns = 0.1f});
  t.quantize = &quantize_ymm;
  set_packed<B32Nibbles>(t);
  set_row_lines(t);
  set_linear(t, DType::iq4_nl, &linear_lines<DType::iq4_nl, Lines32Nibbles>);
  return t;
}
