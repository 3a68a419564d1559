// The members of a KernelTable that every instruction set has under the same names: all but the linears of packed types.
constexpr KernelTable make_table(const char* name, const char* f32_class, TableSpeed speed) {
  KernelTable t{};
  t.name = name;
  t.f32_class = f32_class;
  t.speed = speed;
  set_linear(t, DType::f32, &linear_float<FloatWeight::f32>);
  set_linear(t, DType::f16, &linear_float<FloatWeight::f16>);
  set_linear(t, DType::bf16, &linear_float<FloatWeight::bf16>);
  set_rows(t);
  t.linear_decoded = &linear_decoded;
  t.quantize = &quantize;
  t.norm = &norm;
  t.rope_angles = &rope_angles;
  t.rope = &rope;
  t.glu = &glu;
  t.add = &add_rows;
  t.put_panels = &put_panels;
  t.scale = &scale_row;
  t.softcap = &softcap_row;
  t.route = &route_row;
  t.weighted_sum = &weighted_sum;
  t.attend = &attend;
  t.merge_parts = &merge_parts;
  t.finish_part = &finish_part;
  return t;
}
