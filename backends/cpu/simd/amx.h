// The tile registers of AMX: eight, of up to 16 rows of 64 bytes; their shapes are what the last configuration says.
//
// In assembly, with all memory as a side effect: GCC 12's intrinsics say neither that a tile load reads memory, so that what was stored
// before may sink below it, nor that the configuration has 64 bytes, so that most of it is never stored. No compiler flag is needed.

// config: 64 bytes, isa/amx/linear_tiles.inl.h
inline void load_tile_config(const void* config) {
  __asm__ volatile("ldtilecfg (%0)" : : "r"(config) : "memory");
}
// No tile state is left to be saved when the thread is switched out.
inline void release_tiles() { __asm__ volatile("tilerelease" : : : "memory"); }

template <int kTile>
inline void zero_tile() {
  __asm__ volatile("tilezero %%tmm%c0" : : "i"(kTile));
}
template <int kTile>
inline void load_tile(const void* rows, size_t stride) {
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2"
                   :
                   : "r"(rows), "r"(stride), "i"(kTile)
                   : "memory");
}
template <int kTile>
inline void store_tile(void* rows, size_t stride) {
  __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)"
                   :
                   : "r"(rows), "r"(stride), "i"(kTile)
                   : "memory");
}

// C[m][n] += sum over k of A[m][k] B[k/4][n][k%4], C in int32, A of signed bytes, B of signed or of unsigned ones.
template <int kC, int kA, int kB>
inline void multiply_signed_tiles() {
  __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kC), "i"(kA), "i"(kB));
}
template <int kC, int kA, int kB>
inline void multiply_unsigned_tiles() {
  __asm__ volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kC), "i"(kA), "i"(kB));
}

// C[m][n] += even chain + odd chain of A[m][2 k + ..] B[k][n][..] in bf16 pairs, C in float (docs/NUMERICS.md, class b16).
template <int kC, int kA, int kB>
inline void multiply_bf16_tiles() {
  __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kC), "i"(kA), "i"(kB));
}
