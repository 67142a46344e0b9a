// The rows that patch_embed multiplies, gathered from images as a tile is fetched, and its epilogue.
#pragma once

#include "common/gemm/epilogue.cuh"
#include "common/gemm/matrix.cuh"

// Images of `height` lines of `width` pixels, all of one colour, then all of the next, and their cut.
struct Cut {
  unsigned tokens, patch, height, width;
  unsigned image; // elements of an image
};

// A row source (common/gemm/matrix.cuh). Row r of y is token r mod `tokens` of image r / `tokens`:
// token 0 is the class token, a row of zeros; token t is patch t − 1. A row begins at its patch's first
// pixel, and the distance from there to the pixel of a column is the same for all patches. The class
// token's row begins where the images end.
template <class T>
struct Patches {
  const T *pixels, *end;
  unsigned first, rows, k;
  Cut cut;
  bool is_aligned;

  __device__ Patches(const T *pixels, unsigned first, unsigned rows, unsigned k, Cut cut)
      : pixels(pixels), end(pixels + size_t(rows / cut.tokens) * cut.image), first(first), rows(rows), k(k),
        cut(cut), is_aligned(aligned(pixels) && (cut.patch | cut.width) % PER_16_BYTES<T> == 0) {}

  __device__ const T *row(unsigned i) const {
    unsigned r = min(first + i, rows - 1), token = r % cut.tokens, columns = cut.width / cut.patch;
    if (token == 0) return end;
    unsigned line = (token - 1) / columns * cut.patch, left = (token - 1) % columns * cut.patch;
    return pixels + size_t(r / cut.tokens) * cut.image + size_t(line) * cut.width + left;
  }
  __device__ const T *at(const T *row, unsigned column) const {
    unsigned area = cut.patch * cut.patch, colour = column / area, pixel = column % area;
    return row + size_t(colour * cut.height + pixel / cut.patch) * cut.width + pixel % cut.patch;
  }
  __device__ bool inside(const T *row, unsigned column) const { return column < k && row < end; }
  __device__ T element(const T *row, unsigned column) const {
    bool there = inside(row, column);
    const T *from = keep_in_register(at(row, column));
    T x = *(there ? from : pixels); // a load without a branch
    return there ? x : T{};
  }
};

// An epilogue: the bias, or for the class token its embedding, and the position's.
template <class T>
struct Token {
  static constexpr bool GATED = false;
  static constexpr int ROWS = 1;
  const T *b, *class_token, *positions;
  unsigned tokens, c;
  __device__ float operator()(float acc, float, unsigned row, unsigned column) const {
    unsigned token = row % tokens;
    const T *bias = token == 0 ? class_token : b;
    return acc + widen(bias[column]) + widen(positions[size_t(token) * c + column]);
  }
};
