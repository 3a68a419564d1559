// R input rows of class a8 from `row` on, as quant/activation.h lays them out. Included inside an instruction set's namespace.

template <int R>
struct InputRows {
  const int8_t* q[R];
  InputRows(const LinearArgs& a, uint32_t row) {
    for (int i = 0; i < R; ++i)
      q[i] = reinterpret_cast<const int8_t*>(a.in + (row + static_cast<uint32_t>(i)) * a.in_stride);
  }
  const float* dx(const LinearArgs& a, int i) const {
    return reinterpret_cast<const float*>(q[i] + a.form->dx_at);
  }
  const float* sum_f32(const LinearArgs& a, int i) const {  // group 32
    return reinterpret_cast<const float*>(q[i] + a.form->sum_at);
  }
  const int16_t* sum_i16(const LinearArgs& a, int i) const {  // group 256
    return reinterpret_cast<const int16_t*>(q[i] + a.form->sum_at);
  }
  const int16_t* bias(const LinearArgs& a, int i) const {
    return reinterpret_cast<const int16_t*>(q[i] + a.form->bias_at);
  }
};
