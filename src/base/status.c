/* The context of a thread and its error record. The record has a fixed size, so that a failure can
 * be told even when there is no memory left. */
#include "base/base.h"

#include <stdio.h>
#include <time.h>

static _Thread_local mw__ctx own_ctx;
static _Thread_local mw__ctx *current;

void mw__ctx_init(mw__ctx *ctx, const mw_allocator *allocator)
{
    memset(ctx, 0, sizeof *ctx);
    ctx->allocator = allocator ? allocator : mw__libc_allocator();
}

mw__ctx *mw__ctx_get(void)
{
    if (MW_UNLIKELY(!current)) {
        if (!own_ctx.allocator) mw__ctx_init(&own_ctx, NULL);
        current = &own_ctx;
    }
    return current;
}

mw__ctx *mw__ctx_swap(mw__ctx *ctx)
{
    mw__ctx *former = mw__ctx_get();
    current = ctx ? ctx : &own_ctx;
    if (!current->allocator) mw__ctx_init(current, NULL);
    return former;
}

const char *mw_status_text(mw_status code)
{
    switch (code) {
#define X(name, value, exit, text) \
    case MW_##name:                \
        return text;
        MW_STATUS_MAP(X)
#undef X
    }
    return "unknown status";
}

const char *mw_status_name(mw_status code)
{
    switch (code) {
#define X(name, value, exit, text) \
    case MW_##name:                \
        return #name;
        MW_STATUS_MAP(X)
#undef X
    }
    return "UNKNOWN";
}

int mw_status_exit(mw_status code)
{
    switch (code) {
#define X(name, value, exit, text) \
    case MW_##name:                \
        return exit;
        MW_STATUS_MAP(X)
#undef X
    }
    return 70;
}

const mw_error *mw_last_error(void)
{
    return &mw__ctx_get()->error;
}

void mw_error_clear(void)
{
    mw_error *e = &mw__ctx_get()->error;
    e->code = MW_OK;
    e->says[0] = e->where[0] = e->hint[0] = 0;
    e->nframe = 0;
}

static void add_frame(mw_error *e, const char *function, const char *file, int line)
{
    if (e->nframe == MW_ERROR_FRAMES) return;
    e->frame[e->nframe++] = (mw_frame){function, file, line};
}

mw_status mw__fail(const char *function, const char *file, int line, mw_status code,
                   const char *format, ...)
{
    mw_error *e = &mw__ctx_get()->error;
    char says[sizeof e->says]; /* the arguments may point into the old record */
    va_list args;
    va_start(args, format);
    (void)vsnprintf(says, sizeof says, format, args);
    va_end(args);
    mw_error_clear();
    memcpy(e->says, says, sizeof says);
    e->code = code;
    add_frame(e, function, file, line);
    return code;
}

mw_status mw_error_set(mw_status code, const char *format, ...)
{
    char says[sizeof((mw_error *)0)->says];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(says, sizeof says, format, args);
    va_end(args);
    return MW_FAIL(code, "%s", says);
}

void mw_error_hint(const char *format, ...)
{
    mw_error *e = &mw__ctx_get()->error;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(e->hint, sizeof e->hint, format, args);
    va_end(args);
}

void mw__pass(const char *function, const char *file, int line)
{
    add_frame(&mw__ctx_get()->error, function, file, line);
}

void mw__error_hint(const char *format, ...)
{
    mw_error *e = &mw__ctx_get()->error;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(e->hint, sizeof e->hint, format, args);
    va_end(args);
}

void mw__error_where(const char *format, ...)
{
    mw_error *e = &mw__ctx_get()->error;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(e->where, sizeof e->where, format, args);
    va_end(args);
}

double mw__now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
