/* Bytes of a model file. Read by pread into buffers of our own, not mapped: a file that another
 * program cuts short is then an error with a sentence and not a SIGBUS, and what was read never
 * counts in the process's memory a second time (docs/design/0003-model-files.md has the numbers).
 */
#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static mw_status open_fail(const char *path)
{
    int why = errno;
    mw_status status = MW_FAIL(MW_ERR_IO, "cannot open '%s': %s", path, strerror(why));
    if (why == ENOENT || why == ENOTDIR)
        mw__error_hint("check the path; wanted is a model file, such as model.gguf");
    else if (why == EACCES || why == EPERM)
        mw__error_hint("make the file readable for this user (chmod +r)");
    return status;
}

/* Refuses what is no regular file before it is opened: opening a FIFO would wait for a writer. */
static mw_status check_kind(const char *path, const struct stat *stat)
{
    if (S_ISREG(stat->st_mode)) return MW_OK;
    const char *kind = S_ISDIR(stat->st_mode)    ? "a directory"
                       : S_ISFIFO(stat->st_mode) ? "a FIFO"
                       : S_ISSOCK(stat->st_mode) ? "a socket"
                                                 : "a device";
    mw_status status =
        MW_FAIL(MW_ERR_IO, "cannot read '%s': it is %s, not a regular file", path, kind);
    mw__error_hint(S_ISDIR(stat->st_mode)
                       ? "give the path of the .gguf file itself"
                       : "save the model to a file and give its path: ranks read "
                         "their parts at any place in it");
    return status;
}

mw_status mw__source_open(const char *path, mw__source *ret)
{
    struct stat stat;
    int fd;
    if (fstatat(AT_FDCWD, path, &stat, 0) != 0) return open_fail(path);
    MW_TRY(check_kind(path, &stat));
    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (fd < 0 && errno == EINTR);
    if (fd < 0) return open_fail(path);
    mw_status status;
    if (fstat(fd, &stat) != 0) {
        status = open_fail(path);
        goto fail;
    }
    MW_TRY_GOTO(check_kind(path, &stat), fail); /* it may be another file by now */
    *ret = (mw__source){.path = path, .size = stat.st_size, .fd = fd};
    return MW_OK;
fail:
    (void)close(fd);
    return status;
}

void mw__source_close(mw__source *source)
{
    if (source->fd >= 0) (void)close(source->fd);
    source->fd = -1;
}

mw_status mw__source_read(const mw__source *source, int64_t offset, int64_t size, void *to)
{
    if (offset < 0 || size < 0 || size > source->size - offset)
        return MW_FAIL(MW_ERR_INTERNAL, "bytes %lld to %lld of '%s' lie outside its %lld",
                       (long long)offset, (long long)(offset + size), source->path,
                       (long long)source->size);
    if (source->fd < 0) {
        if (size > 0) memcpy(to, source->bytes + offset, (size_t)size);
        return MW_OK;
    }
    for (int64_t done = 0; done < size;) {
        ssize_t got = pread(source->fd, (char *)to + done, (size_t)(size - done), offset + done);
        if (got > 0) {
            done += got;
        } else if (got == 0) {
            mw_status status =
                MW_FAIL(MW_ERR_IO, "'%s' ends at byte %lld; it had %lld bytes when it was opened",
                        source->path, (long long)(offset + done), (long long)source->size);
            mw__error_hint("do not overwrite a model file in use; write a new one and rename it");
            return status;
        } else if (errno != EINTR) {
            int why = errno;
            return MW_FAIL(MW_ERR_IO, "cannot read %lld bytes at byte %lld of '%s': %s",
                           (long long)(size - done), (long long)(offset + done), source->path,
                           strerror(why));
        }
    }
    return MW_OK;
}

const char *mw__quote(const void *bytes, int64_t length, char to[MW__QUOTE])
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *from = bytes;
    int at = 0;
    for (int64_t i = 0; i < length; i++) {
        /* Room for an escape, "..." and the NUL. */
        if (at > MW__QUOTE - 8) {
            memcpy(to + at, "...", 3);
            at += 3;
            break;
        }
        uint8_t c = from[i];
        if (c >= 0x20 && c < 0x7f) {
            to[at++] = (char)c;
            continue;
        }
        to[at++] = '\\';
        to[at++] = 'x';
        to[at++] = digits[c >> 4];
        to[at++] = digits[c & 15];
    }
    to[at] = 0;
    return to;
}
