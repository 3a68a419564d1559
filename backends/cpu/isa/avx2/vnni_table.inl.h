// Which kernels are AVX-VNNI's own. Speeds are estimates from the width of its instructions: not measured.
constexpr KernelTable make_avx_vnni_table(const char* name) {
  KernelTable t = make_table(name, "f32",
                             {.a8_macs_per_ns = 120,
                              .f32_macs_per_ns = 20,
                              .attend_macs_per_ns = 20,
                              .rows_macs_per_ns = 55,
                              .rows_expand_ns = 0.1f});
  t.quantize = &quantize_ymm;
  set_packed<B32<8, false, 128>>(t);
  set_row_lines(t);
  return t;
}
