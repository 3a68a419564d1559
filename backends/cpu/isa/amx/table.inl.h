constexpr void set_tiles(KernelTable& t, DType type, LinearFn fn) {
  set_linear(t, type, fn);
  t.takes_panels[static_cast<uint32_t>(type)] = true;
}

// Which kernels are AMX's own: linears of class a8 of 16 rows and more, all of BF16 weights, attention over bf16. Speeds: those of 32-block
// types without a minimum, 512 rows of 1536 (with one three quarters, 256-block types 1.6 times).
constexpr KernelTable make_amx_table(const char* name) {
  KernelTable t = make_avx512_table(name);
  t.speed.a8_macs_per_ns = 350.0f;
  t.speed.most_rows = 512;
  t.speed.attend_macs_per_ns = 150.0f;
  set_tiles(t, DType::q4_0, &linear_tiles<TileB32<4, false, 8>>);
  set_tiles(t, DType::q4_1, &linear_tiles<TileB32<4, true, 0>>);
  set_tiles(t, DType::q5_0, &linear_tiles<TileB32<5, false, 16>>);
  set_tiles(t, DType::q5_1, &linear_tiles<TileB32<5, true, 0>>);
  set_tiles(t, DType::q8_0, &linear_tiles<TileB32<8, false, 128>>);
  set_tiles(t, DType::q4_k, &linear_tiles<TileK4<false>>);
  set_tiles(t, DType::q5_k, &linear_tiles<TileK4<true>>);
  set_tiles(t, DType::q6_k, &linear_tiles<TileK6>);
  t.splits_bf16 = true;
  t.speed.bf16_macs_per_ns = 250.0f;
  set_linear(t, DType::bf16, &linear_split);
  t.attend = &attend_tiles;
  return t;
}
