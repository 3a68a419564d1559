// The members of a KernelTable that every instruction set has under the same names.
constexpr KernelTable make_table(const char* name, const char* f32_class, TableSpeed speed) {
  KernelTable t{};
  t.name = name;
  t.f32_class = f32_class;
  t.speed = speed;
  const auto set = [&t](DType type, LinearFn fn) { t.linear[static_cast<uint32_t>(type)] = fn; };
  set(DType::f32, &linear_float<FloatWeight::f32>);
  set(DType::f16, &linear_float<FloatWeight::f16>);
  set(DType::bf16, &linear_float<FloatWeight::bf16>);
  // Packed types: the legible form, for sets without an own kernel.
  set(DType::q4_0, &linear_codes<DType::q4_0, false>);
  set(DType::q4_1, &linear_codes<DType::q4_1, false>);
  set(DType::q5_0, &linear_codes<DType::q5_0, false>);
  set(DType::q5_1, &linear_codes<DType::q5_1, false>);
  set(DType::q8_0, &linear_codes<DType::q8_0, false>);
  set(DType::q4_k, &linear_codes<DType::q4_k, true>);
  set(DType::q5_k, &linear_codes<DType::q5_k, true>);
  set(DType::q6_k, &linear_codes<DType::q6_k, true>);
  // Row types: group of 256, minimum.
  set(DType::iq4_nl, &linear_rows<DType::iq4_nl, false, false>);
  set(DType::mxfp4, &linear_rows<DType::mxfp4, false, false>);
  set(DType::q1_0, &linear_rows<DType::q1_0, false, false>);
  set(DType::q2_0, &linear_rows<DType::q2_0, false, false>);
  set(DType::q2_k, &linear_rows<DType::q2_k, true, true>);
  set(DType::q3_k, &linear_rows<DType::q3_k, true, false>);
  set(DType::iq4_xs, &linear_rows<DType::iq4_xs, true, false>);
  set(DType::iq1_s, &linear_rows<DType::iq1_s, true, false>);
  set(DType::iq1_m, &linear_rows<DType::iq1_m, true, false>);
  set(DType::iq2_xxs, &linear_rows<DType::iq2_xxs, true, false>);
  set(DType::iq2_xs, &linear_rows<DType::iq2_xs, true, false>);
  set(DType::iq2_s, &linear_rows<DType::iq2_s, true, false>);
  set(DType::iq3_xxs, &linear_rows<DType::iq3_xxs, true, false>);
  set(DType::iq3_s, &linear_rows<DType::iq3_s, true, false>);
  set(DType::tq1_0, &linear_rows<DType::tq1_0, true, false>);
  set(DType::tq2_0, &linear_rows<DType::tq2_0, true, false>);
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
