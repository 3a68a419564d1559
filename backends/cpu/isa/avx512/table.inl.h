// Which kernels are AVX-512 VNNI's own. The speed of row types is an estimate: not measured.
constexpr KernelTable make_avx512_table(const char* name) {
  KernelTable t = make_table(name, "f32",
                             {.a8_macs_per_ns = 180,
                              .f32_macs_per_ns = 40,
                              .attend_macs_per_ns = 40,
                              .rows_macs_per_ns = 120,
                              .rows_expand_ns = 0.1f});
  t.quantize = &quantize_ymm;
  set_packed<B32<8, false, 128>>(t);
  set_row_lines(t);
  return t;
}
