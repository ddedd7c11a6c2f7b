/*
 * limits compute MILLISECONDS        prints GFLOP/s of multiply-add on registers
 * limits copy BYTES MILLISECONDS     prints GB/s of copying, bytes read and written, arrays of BYTES / 2
 * All stretches that fit into the time together, on one thread. KAON_BENCH_CLOCK=cpu measures the
 * processor's time.
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

static clockid_t used = CLOCK_MONOTONIC;

static double now(void) {
  struct timespec t;
  clock_gettime(used, &t);
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
  double start = now(), elapsed, operations = 0;
  do {
    sink += multiply_add(&half);
    operations += 2.0 * lanes * sums * steps;
    elapsed = now() - start;
  } while (elapsed < seconds);
  return operations / elapsed;
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
  volatile float sink = 0;
  double best = 0;
  for (int way = 0; way < 2; way++) {
    double start = now(), elapsed, copied = 0;
    do {
      for (size_t r = 0; r < repeats; r++) {
        if (way == 0) memcpy(to, from, bytes);
        else copy_vectors(to, from, bytes);
        sink += to[r % (bytes / 4)];
      }
      copied += 2.0 * bytes * repeats;
      elapsed = now() - start;
    } while (elapsed < seconds / 2);
    if (copied / elapsed > best) best = copied / elapsed;
  }
  return best;
}

int main(int count, char **words) {
  const char *wanted = getenv("KAON_BENCH_CLOCK");
  if (wanted != NULL && strcmp(wanted, "cpu") == 0) used = CLOCK_PROCESS_CPUTIME_ID;
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
