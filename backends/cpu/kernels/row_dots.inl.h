// Integer dot products of a superblock's 16 rows (RowCodes) with R input rows, as plain loops that the compiler vectorises: for sets
// without a form of their own. Included inside an instruction set's namespace. The same names in isa/<isa>/row_dots.inl.h:
//
//   kDotRows       input rows of one call
//   super_dots     I of 256-block types: out[i][r] = sum_h sub_scale[h] sum(c q), h the 16 sub-blocks;  q: the superblock's of each row
//   min_dots       J: out[i][r] = sum_h sub_min[h] S_h;  bias: the superblock's part of bias32 (quant/activation.h)
//   block_dots     32-block types: out[i][r] = sum(c q) of block j

constexpr int kDotRows = 4;

template <uint32_t kN>
inline int32_t plain_dot(const int8_t* c, const int8_t* q) {
  int32_t sum = 0;
  for (uint32_t k = 0; k < kN; ++k) sum += c[k] * q[k];
  return sum;
}

template <int R>
inline void super_dots(const RowCodes* rows, const int8_t* const* q, int32_t (*out)[16]) {
  for (uint32_t r = 0; r < 16; ++r)
    for (int i = 0; i < R; ++i) {
      int32_t sum = 0;
      for (uint32_t h = 0; h < 16; ++h)
        sum += rows[r].sub_scale[h] * plain_dot<16>(rows[r].code + 16 * h, q[i] + 16 * h);
      out[i][r] = sum;
    }
}

template <int R>
inline void min_dots(const RowCodes* rows, const int16_t* const* bias, int32_t (*out)[16]) {
  for (int i = 0; i < R; ++i) {
    int32_t sums[16];
    for (uint32_t h = 0; h < 16; ++h) sums[h] = (bias[i][2 * h] + bias[i][2 * h + 1]) / -32;
    for (uint32_t r = 0; r < 16; ++r) {
      int32_t sum = 0;
      for (uint32_t h = 0; h < 16; ++h) sum += rows[r].sub_min[h] * sums[h];
      out[i][r] = sum;
    }
  }
}

template <int R>
inline void block_dots(const RowCodes* rows, uint32_t j, const int8_t* const* q,
                       int32_t (*out)[16]) {
  for (uint32_t r = 0; r < 16; ++r)
    for (int i = 0; i < R; ++i) out[i][r] = plain_dot<32>(rows[r].code + 32 * j, q[i] + 32 * j);
}
