// Which kernels are AVX-VNNI's own. Speeds are estimates from the width of its instructions: not measured.
constexpr KernelTable make_avx_vnni_table(const char* name) {
  KernelTable t = make_table(name, "f32",
                             {.a8_macs_per_ns = 120,
                              .f32_macs_per_ns = 20,
                              .rows_macs_per_ns = 55,
                              .rows_expand_ns = 0.1f});
  const auto set = [&t](DType type, LinearFn fn) { t.linear[static_cast<uint32_t>(type)] = fn; };
  set(DType::q4_0, &linear_a8<B32<4, false, 8>>);
  set(DType::q4_1, &linear_a8<B32<4, true, 0>>);
  set(DType::q5_0, &linear_a8<B32<5, false, 16>>);
  set(DType::q5_1, &linear_a8<B32<5, true, 0>>);
  set(DType::q8_0, &linear_a8<B32<8, false, 128>>);
  set(DType::q4_k, &linear_a8<K4<false>>);
  set(DType::q5_k, &linear_a8<K4<true>>);
  set(DType::q6_k, &linear_a8<K6>);
  set_row_lines(t);
  return t;
}
