// What kernels of class a8 read: R input rows from `row` on, as quant/activation.h lays them out, and packed superblocks one after another.
// Included inside an instruction set's namespace.

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

// Asks for the part of the superblock kSuperblocksAhead after this one that belongs to this of kSteps steps. All of it, scales too: the few
// lines of scales left to the hardware cost as much time as the codes (Q5_0, one row, Zen 3: 7.6 GB/s without them, 12.8 with).
template <uint32_t kBytes, uint32_t kSteps>
inline void prefetch_next(const uint8_t* superblock, uint32_t step) {
  constexpr uint32_t kEach = (kBytes + 64 * kSteps - 1) / (64 * kSteps);
  const uint8_t* next = superblock + kBytes * kSuperblocksAhead + step * kEach * 64;
#pragma GCC unroll 16
  for (uint32_t i = 0; i < kEach; ++i) __builtin_prefetch(next + i * 64);
}
