/* Runs a fuzzer over files and folders of inputs, without libFuzzer: what makes each corpus part of
 * plain ctest. Every input is copied to a block of exactly its size, so that the address sanitizer
 * sees the first byte past it. An empty corpus is a failure: a replay of nothing proves nothing. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(size ? size : 1);
    int ok = file && data && fread(data, 1, size, file) == size;
    if (file) fclose(file);
    if (ok) {
        /* Said first and flushed, so that a crash leaves the name of its input. */
        printf("%s, %zu bytes\n", path, size);
        fflush(stdout);
        LLVMFuzzerTestOneInput(data, size);
    } else {
        fprintf(stderr, "replay: cannot read %s\n", path);
    }
    free(data);
    return ok ? 1 : -1;
}

/* How many inputs `path` held (folders one level deep), or -1. */
static int replay(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        fprintf(stderr, "replay: no %s\n", path);
        return -1;
    }
    if (!S_ISDIR(info.st_mode)) return replay_file(path, (size_t)info.st_size);
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, NULL, alphasort), count = 0;
    for (int i = 0; i < n; i++) {
        char name[4096];
        int length = snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        int usable = length > 0 && (size_t)length < sizeof name && stat(name, &info) == 0;
        if (count >= 0 && usable && S_ISREG(info.st_mode))
            count = replay_file(name, (size_t)info.st_size) < 0 ? -1 : count + 1;
        free(entries[i]);
    }
    free(entries);
    return n < 0 ? -1 : count;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++) {
        int n = replay(argv[i]);
        if (n < 0) return 1;
        count += n;
    }
    printf("%d inputs replayed\n", count);
    return count == 0;
}
