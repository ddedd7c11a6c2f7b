/*
 * limits compute MILLISECONDS        prints GFLOP/s of multiply-add on registers
 * limits copy BYTES MILLISECONDS     prints GB/s of copying, bytes read and written, arrays of BYTES / 2
 * Best of the stretches that fit into the time, on one thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__AVX512F__)
#define WIDTH 64
#elif defined(__AVX__)
#define WIDTH 32
#else
#define WIDTH 16
#endif

typedef float vector __attribute__((vector_size(WIDTH)));
enum { lanes = WIDTH / 4, sums = 12, steps = 20000 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

/* sum = sum * x + y converges to 1 for halves: neither zero nor denormal. */
static float multiply_add(volatile float *half) {
  vector sum[sums], x, y;
  for (int i = 0; i < lanes; i++) x[i] = y[i] = *half;
  for (int s = 0; s < sums; s++) sum[s] = x;
  for (int n = 0; n < steps; n++)
    for (int s = 0; s < sums; s++) sum[s] = sum[s] * x + y;
  float total = 0;
  for (int s = 0; s < sums; s++)
    for (int i = 0; i < lanes; i++) total += sum[s][i];
  return total;
}

static double compute(double seconds) {
  volatile float half = 0.5f, sink = 0;
  double best = 0, end = now() + seconds;
  do {
    double start = now();
    sink += multiply_add(&half);
    double rate = 2.0 * lanes * sums * steps / (now() - start);
    if (rate > best) best = rate;
  } while (now() < end);
  return best;
}

static void copy_vectors(float *to, const float *from, size_t bytes) {
  for (size_t i = 0; i + WIDTH <= bytes; i += WIDTH)
    *(vector *)((char *)to + i) = *(const vector *)((const char *)from + i);
}

static double copy(size_t total, double seconds) {
  size_t bytes = (total / 2 + WIDTH - 1) / WIDTH * WIDTH;
  size_t repeats = bytes < (1 << 20) ? (1 << 20) / bytes : 1;
  float *from = aligned_alloc(64, (bytes + 63) / 64 * 64), *to = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (from == NULL || to == NULL) exit(1);
  for (size_t i = 0; i < bytes / 4; i++) from[i] = i, to[i] = 1;
  double best = 0, end = now() + seconds;
  volatile float sink = 0;
  for (int way = 0; way < 2 || now() < end; way++) {
    double start = now();
    for (size_t r = 0; r < repeats; r++) {
      if (way % 2 == 0) memcpy(to, from, bytes);
      else copy_vectors(to, from, bytes);
      sink += to[r % (bytes / 4)];
    }
    double rate = 2.0 * bytes * repeats / (now() - start);
    if (rate > best) best = rate;
  }
  return best;
}

int main(int count, char **words) {
  if (count == 3 && strcmp(words[1], "compute") == 0) {
    printf("%g\n", compute(atof(words[2]) / 1e3) / 1e9);
    return 0;
  }
  if (count == 4 && strcmp(words[1], "copy") == 0) {
    printf("%g\n", copy(strtoull(words[2], NULL, 10), atof(words[3]) / 1e3) / 1e9);
    return 0;
  }
  return 2;
}
