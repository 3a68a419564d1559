// The members of a KernelTable that every instruction set has under the same names.
constexpr KernelTable make_table(const char* name, const char* f32_class, float a8_macs_per_ns,
                                 float f32_macs_per_ns) {
  KernelTable t{};
  t.name = name;
  t.f32_class = f32_class;
  t.a8_macs_per_ns = a8_macs_per_ns;
  t.f32_macs_per_ns = f32_macs_per_ns;
  const auto set = [&t](DType type, LinearFn fn) { t.linear[static_cast<uint32_t>(type)] = fn; };
  set(DType::f32, &linear_float<FloatWeight::f32>);
  set(DType::f16, &linear_float<FloatWeight::f16>);
  set(DType::bf16, &linear_float<FloatWeight::bf16>);
  set(DType::q4_0, &linear_codes<DType::q4_0, false>);
  set(DType::q4_1, &linear_codes<DType::q4_1, false>);
  set(DType::q5_0, &linear_codes<DType::q5_0, false>);
  set(DType::q5_1, &linear_codes<DType::q5_1, false>);
  set(DType::q8_0, &linear_codes<DType::q8_0, false>);
  set(DType::iq4_nl, &linear_codes<DType::iq4_nl, false>);
  set(DType::mxfp4, &linear_codes<DType::mxfp4, false>);
  set(DType::q2_k, &linear_codes<DType::q2_k, true>);
  set(DType::q3_k, &linear_codes<DType::q3_k, true>);
  set(DType::q4_k, &linear_codes<DType::q4_k, true>);
  set(DType::q5_k, &linear_codes<DType::q5_k, true>);
  set(DType::q6_k, &linear_codes<DType::q6_k, true>);
  set(DType::iq4_xs, &linear_codes<DType::iq4_xs, true>);
  t.linear_decoded = &linear_decoded;
  t.quantize = &quantize;
  t.norm = &norm;
  t.rope_angles = &rope_angles;
  t.rope = &rope;
  t.glu = &glu;
  t.add = &add_rows;
  t.scale = &scale_row;
  t.softcap = &softcap_row;
  t.route = &route_row;
  t.weighted_sum = &weighted_sum;
  t.attend = &attend;
  t.merge_parts = &merge_parts;
  t.finish_part = &finish_part;
  return t;
}
