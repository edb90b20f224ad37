/* Tests that are programs: run on every rank of a mesh, where the first thing found wrong, on any
 * rank, ends the launch and is told. */
#ifndef TESTS_RUN_CHECK_H
#define TESTS_RUN_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <meshwise/meshwise.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    bool any;
    char says[4096];
} run_found = {.lock = PTHREAD_MUTEX_INITIALIZER};

static inline mw_status run_wrong(const char *file, int line, const char *format, ...)
    MW_PRINTF(3, 4);
static inline mw_status run_wrong(const char *file, int line, const char *format, ...)
{
    va_list args;
    (void)pthread_mutex_lock(&run_found.lock);
    if (!run_found.any) {
        run_found.any = true;
        int at = snprintf(run_found.says, sizeof run_found.says, "%s:%d: rank %d: ", file, line,
                          mw_rank_index());
        va_start(args, format);
        (void)vsnprintf(run_found.says + at, sizeof run_found.says - (size_t)at, format, args);
        va_end(args);
        size_t length = strlen(run_found.says);
        (void)snprintf(run_found.says + length, sizeof run_found.says - length, " [record: %s]",
                       mw_last_error()->says);
    }
    (void)pthread_mutex_unlock(&run_found.lock);
    return mw_error_set(MW_ERR_INTERNAL, "a test has failed on this rank");
}

/* Inside a program: goes on, or ends this rank with what is wrong. */
#define EXPECT(condition)                                                                 \
    do {                                                                                  \
        if (!(condition)) return run_wrong(__FILE__, __LINE__, "not so: %s", #condition); \
    } while (0)

#define EXPECT_INT(got, want)                                                                \
    do {                                                                                     \
        long long got_ = (long long)(got), want_ = (long long)(want);                        \
        if (got_ != want_)                                                                   \
            return run_wrong(__FILE__, __LINE__, "%s is %lld, not %lld", #got, got_, want_); \
    } while (0)

#define EXPECT_HAS(text, part)                                                         \
    do {                                                                               \
        const char *text_ = (text);                                                    \
        if (!strstr(text_, (part)))                                                    \
            return run_wrong(__FILE__, __LINE__, "'%s' is not in: %s", (part), text_); \
    } while (0)

#define EXPECT_OK(call)                                                                         \
    do {                                                                                        \
        mw_status status_ = (call);                                                             \
        if (status_ != MW_OK)                                                                   \
            return run_wrong(__FILE__, __LINE__, "%s fails: %s", #call, mw_last_error()->says); \
    } while (0)

static inline void run_with(mw_launch_options options, mw_status (*program)(void *), void *user)
{
    run_found.any = false;
    mw_error_clear();
    mw_status status = mw_launch(&options, program, user);
    if (run_found.any) fail_msg("mesh %s: %s", options.mesh, run_found.says);
    if (status != MW_OK)
        fail_msg("mesh %s: %s: %s", options.mesh, mw_last_error()->says, mw_last_error()->where);
}

static inline void run_on(const char *mesh, mw_status (*program)(void *))
{
    run_with((mw_launch_options){.mesh = mesh, .timeout = 30}, program, NULL);
}

/* The layout of a tensor as text; of the rank's own. */
static inline const char *run_layout(const mw_tensor *t)
{
    static _Thread_local char text[256];
    (void)mw_layout_print(mw_tensor_mesh(t), mw_tensor_layout(t), text, sizeof text);
    return text;
}

#endif
