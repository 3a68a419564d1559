// Which kernels are the own ones of each AArch64 table.
constexpr KernelTable make_aarch64_table(const char* name, float a8_macs_per_ns,
                                         float rows_macs_per_ns) {
  KernelTable t = make_table(name, "f32",
                             {.a8_macs_per_ns = a8_macs_per_ns,
                              .f32_macs_per_ns = 10,
                              .attend_macs_per_ns = 10,
                              .rows_macs_per_ns = rows_macs_per_ns,
                              .rows_expand_ns = 1});
  set_packed<B32<8, false, 0>>(t);
  return t;
}
