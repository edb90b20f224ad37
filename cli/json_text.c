/* Bytes as a JSON string. */
#include "cli/session.h"

#include <string.h>

/* Length of the well-formed UTF-8 character at `at`, or 0. */
static int character(const unsigned char *at, int64_t left)
{
    if (at[0] < 0x80) return 1;
    int n = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4 || n > left) return 0;
    for (int i = 1; i < n; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
        return 0;
    return n;
}

json_t *json_text(const char *at, int64_t length)
{
    size_t cap = (size_t)length * 3 + 1, used = 0;
    char *text = mw_memory(cap);
    if (!text) return NULL;
    for (int64_t i = 0; i < length;) {
        int n = character((const unsigned char *)at + i, length - i);
        if (n) {
            memcpy(text + used, at + i, (size_t)n);
            used += (size_t)n;
            i += n;
        } else {
            memcpy(text + used, "\xef\xbf\xbd", 3);
            used += 3;
            i++;
        }
    }
    json_t *string = json_stringn(text, used);
    mw_memory_free(text, cap);
    return string;
}
