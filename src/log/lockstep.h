/* lockstep: ranks of one program tell the same events in the same order; where one doesn't, that is
 * said once, at the end.
 *
 * Each event (an entry made or told again by a line with a rank) is compared as it comes with what
 * the other ranks told at the same place of their sequence, by a hash: linear in the text, and
 * bounded, since only the last LOCKSTEP_WINDOW places are kept. Events of one kind (reader, event,
 * first word of the line) are one sequence: what one rank alone prints disturbs nothing else. */
#ifndef LOG_LOCKSTEP_H
#define LOG_LOCKSTEP_H

#include "log/log.h"

enum { LOCKSTEP_WINDOW = 1 << 14, LOCKSTEP_RANKS = 64, LOCKSTEP_KINDS = 32 };

typedef struct lockstep lockstep;

/* What identifies an event told by this line: its text, without addresses. */
uint64_t mw__lockstep_hash(const mw_line *line);

/* A line of a rank tells the event of `d`. */
void mw__lockstep_feed(mw_explain *e, mw_draft *d, const mw_line *line);
void mw__lockstep_tell(mw_explain *e); /* the text is over */
void mw__lockstep_free(lockstep *s);   /* NULL is fine */

#endif
