/* sample: calls made from text, with data: what the generic tests and benches run each op on.
 *
 *     samples = sample { ";" sample } ;
 *     sample  = [ value { "," value } ] ;               in schema order; `name=value` from then on
 *     value   = tensor | "{" [ tensor { "," tensor } ] "}" | int | float | "[" items "]" | "true"
 *             | "false" | "none" | dtype | string ;
 *     tensor  = dtype "[" [ int { "," int } ] "]" [ ">" n | "<" n | "in(" n "," n ")" ] ;
 *
 * Floats are normal (signs, magnitudes above 1), integers -9..9 (unsigned 0..9), bools fair. `>n`:
 * above n; `<n`: integers 0..n-1, floats uniform in [0, n); `in(a,b)`: uniform in [a, b). Data
 * depends on the seed, the operand and the element's place only. */
#ifndef OPS_SAMPLE_H
#define OPS_SAMPLE_H

#include "ops/op.h"

/* Everything lies in the arena it was made in. */
typedef struct mw_sample {
    mw_call_args call;
    const mw_view *in; /* [nin], contiguous */
} mw_sample;

/* How many samples a text holds. Pure. */
int mw__sample_count(const char *text);

/* The nth sample of the op, 0-based. MW_ERR_PARSE with column and caret, MW_ERR_ARG as of any call.
 * Pure. */
MW_NODISCARD mw_status mw__sample_make(const mw_op *op, int nth, uint64_t seed, mw_arena *arena,
                                       mw_sample *ret);

/* The same from a text of the caller's: one sample. */
MW_NODISCARD mw_status mw__sample_read(const mw_op *op, const char *text, uint64_t seed,
                                       mw_arena *arena, mw_sample *ret);

/* A counter-based generator: the nth number of a stream, as 64 bits, uniform in [0, 1), or normal.
 */
uint64_t mw__random_bits(uint64_t stream, uint64_t nth);
double mw__random_uniform(uint64_t stream, uint64_t nth);
double mw__random_normal(uint64_t stream, uint64_t nth);

#endif
