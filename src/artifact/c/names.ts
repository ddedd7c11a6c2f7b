import { identifierFrom } from '../../base/escape.js';

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/** Keywords of C99 to C23, and of C++, which may include a header. */
const keywords = words(`
  auto break case char const continue default do double else enum extern float for goto if inline int long
  register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
  alignas alignof bool constexpr false nullptr static_assert thread_local true typeof typeof_unqual
  and and_eq asm bitand bitor catch char8_t char16_t char32_t class co_await co_return co_yield compl concept
  consteval constinit const_cast decltype delete dynamic_cast explicit export friend mutable namespace new
  noexcept not not_eq operator or or_eq private protected public reinterpret_cast requires static_cast template
  this throw try typeid typename using virtual xor xor_eq
`);

/** Macros without parameters that compilers or the headers of C define, and that are spelled like a name. */
const macros = words(`
  linux unix i386 near far interface complex imaginary I NULL EOF errno stdin stdout stderr BUFSIZ
  INFINITY NAN HUGE_VAL HUGE_VALF HUGE_VALL MATH_ERRNO MATH_ERREXCEPT math_errhandling
  FP_INFINITE FP_NAN FP_NORMAL FP_SUBNORMAL FP_ZERO FP_ILOGB0 FP_ILOGBNAN EDOM ERANGE EILSEQ
  M_E M_LOG2E M_LOG10E M_LN2 M_LN10 M_PI M_PI_2 M_PI_4 M_1_PI M_2_PI M_2_SQRTPI M_SQRT2 M_SQRT1_2
  RAND_MAX CLOCKS_PER_SEC EXIT_SUCCESS EXIT_FAILURE SEEK_SET SEEK_CUR SEEK_END TRUE FALSE CHAR_BIT
`);

/** Families of such macros, from `stdint.h`, `limits.h` and `float.h`. */
const macroFamilies =
  /^(?:(?:U?INT(?:_LEAST|_FAST)?\d*|U?INTMAX|U?INTPTR|PTRDIFF|SIG_ATOMIC|SIZE|WCHAR|WINT|[SU]?CHAR|U?SHRT|U?LONG|U?LLONG)_(?:MIN|MAX)|(?:FLT|DBL|LDBL)_[A-Z0-9_]+)$/;

/** Types that headers and sources use. */
const types = words(
  'size_t ptrdiff_t wchar_t int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t',
);

const reservedWords: ReadonlySet<string> = new Set([...keywords, ...macros, ...types]);

const isReserved = (name: string): boolean => reservedWords.has(name) || macroFamilies.test(name);

/** Distinct names that C and C++ accept, close to the requested ones. */
export class Identifiers {
  readonly #taken: Set<string>;
  /** The next number to try, by name. */
  readonly #counts: Map<string, number> = new Map();

  /** None of them is a keyword, a macro of C, nor one of `reserved`. */
  constructor(reserved: readonly string[] = []) {
    this.#taken = new Set(reserved);
  }

  of(name: string): string {
    const wanted = identifierFrom(name);
    let count = this.#counts.get(wanted) ?? 1;
    let free = count === 1 ? wanted : `${wanted}_${count}`;
    while (this.#taken.has(free) || isReserved(free)) free = `${wanted}_${++count}`;
    this.#counts.set(wanted, count + 1);
    this.#taken.add(free);
    return free;
  }
}
