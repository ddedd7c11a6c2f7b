import { meeting } from '../../loop/language/team.js';

/** Headers and atomics that `barrierText` uses. */
export const barrierHeaders = `#if defined(_WIN32)
#include <windows.h>
#else
#include <sched.h>
#endif
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif`;

/** Spins before a waiting thread yields the processor. */
const looks = 4096;

/**
 * A barrier function, which returns true when a thread has failed. The last thread to arrive opens it by
 * incrementing `passed`. Waiting threads read `passed` before `failed`, and a failing thread sets them in the
 * other order, so no thread waits for one that is gone. Threads spin: there is no portable way to sleep.
 */
export function barrierText(name: string): string {
  const at = (word: number): string => `at + ${word}`;
  const read = (word: number): string => `__atomic_load_n(${at(word)}, __ATOMIC_SEQ_CST)`;
  return `static int32_t ${name}(uint8_t *meeting, int32_t threads) {
  int32_t *at = (int32_t *)(void *)meeting;
  if (threads < 2) return 0;
  int32_t passed = ${read(meeting.passed)};
  if (${read(meeting.failed)}) return 1;
  if (__atomic_add_fetch(${at(meeting.arrived)}, 1, __ATOMIC_SEQ_CST) == threads) {
    __atomic_store_n(${at(meeting.arrived)}, 0, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(${at(meeting.passed)}, 1, __ATOMIC_SEQ_CST);
  } else {
    for (int32_t looks = 0; ${read(meeting.passed)} == passed; looks++) {
      if (looks < ${looks}) {
#if defined(__x86_64__) || defined(__i386__)
        _mm_pause();
#elif defined(__aarch64__)
        __asm__ __volatile__("yield");
#endif
        continue;
      }
      looks = 0;
#if defined(_WIN32)
      SwitchToThread();
#else
      sched_yield();
#endif
    }
  }
  return ${read(meeting.failed)};
}`;
}
