// Which kernels are the own ones of each AArch64 table.
constexpr KernelTable make_aarch64_table(const char* name, float a8_macs_per_ns,
                                         float rows_macs_per_ns) {
  KernelTable t = make_table(name, "f32",
                             {.a8_macs_per_ns = a8_macs_per_ns,
                              .f32_macs_per_ns = 10,
                              .rows_macs_per_ns = rows_macs_per_ns,
                              .rows_expand_ns = 1});
  const auto set = [&t](DType type, LinearFn fn) { t.linear[static_cast<uint32_t>(type)] = fn; };
  set(DType::q4_0, &linear_a8<B32<4, false, 8>>);
  set(DType::q4_1, &linear_a8<B32<4, true, 0>>);
  set(DType::q5_0, &linear_a8<B32<5, false, 16>>);
  set(DType::q5_1, &linear_a8<B32<5, true, 0>>);
  set(DType::q8_0, &linear_a8<B32<8, false, 0>>);
  set(DType::q4_k, &linear_a8<K4<false>>);
  set(DType::q5_k, &linear_a8<K4<true>>);
  set(DType::q6_k, &linear_a8<K6>);
  return t;
}
