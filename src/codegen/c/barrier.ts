import { meeting } from '../../loop/language/team.js';

/** What declares the functions that `barrierText` calls. */
export const barrierHeaders = `#if defined(_WIN32)
#include <windows.h>
#else
#include <sched.h>
#endif
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif`;

/** How often a thread looks whether the others have arrived before it lets others have the processor. */
const looks = 4096;

/**
 * The function of a barrier, which returns whether a thread has failed. Who arrives last opens it by counting
 * `passed` up. `passed` is read before `failed`, and who fails sets them in the other order, so nobody
 * waits for a thread that is gone. Nobody sleeps, since there is no portable way to.
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
