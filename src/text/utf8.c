/* Bytes and characters. Text is never assumed to be well-formed: every reader asks for the length
 * of the character at hand, and a byte that begins none stands for itself.
 *
 * GPT-2 spells a byte-level vocabulary in printable characters: a byte that is printable in Latin-1
 * is that character, the 68 others are U+0100, U+0101, ... in order of their values. */
#include "text/text.h"

#include <stdio.h>

int mw__utf8_length(const char *at, int64_t size)
{
    const uint8_t *p = (const uint8_t *)at;
    uint8_t lead = p[0];
    if (lead < 0x80) return 1;
    if (lead < 0xc2 || lead > 0xf4) return 0;
    int length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    /* The second byte is what rules out overlong forms, surrogates and what is above U+10FFFF. */
    uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    for (int i = 1; i < length; i++) {
        if (i == size) return -i;
        if (p[i] < low || p[i] > high) return 0;
        low = 0x80;
        high = 0xbf;
    }
    return length;
}

static bool spells_itself(int byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

/* The bytes that don't spell themselves are 0 to 32, 127 to 160 and 173. */
static int code_of(uint8_t byte)
{
    if (spells_itself(byte)) return byte;
    if (byte <= 32) return 0x100 + byte;
    return byte <= 160 ? 0x100 + 33 + byte - 127 : 0x100 + 67;
}

int mw__byte_spell(uint8_t byte, char to[2])
{
    int code = code_of(byte);
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    to[0] = (char)(0xc0 | code >> 6);
    to[1] = (char)(0x80 | (code & 0x3f));
    return 2;
}

int mw__byte_unspell(const char *at, int64_t size, uint8_t *ret)
{
    int length = mw__utf8_length(at, size);
    if (length < 1 || length > 2) return 0;
    const uint8_t *p = (const uint8_t *)at;
    int code = length == 1 ? p[0] : (p[0] & 0x1f) << 6 | (p[1] & 0x3f);
    int byte = code;
    if (code >= 0x100) {
        int nth = code - 0x100;
        byte = nth <= 32 ? nth : nth <= 66 ? 127 + nth - 33 : nth == 67 ? 173 : -1;
    } else if (!spells_itself(code)) {
        byte = -1;
    }
    if (byte < 0) return 0;
    *ret = (uint8_t)byte;
    return length;
}

const char *mw__text_quote(mw_bytes bytes, char to[MW__QUOTE])
{
    enum { ROOM = MW__QUOTE - 4 }; /* "..." and the NUL always fit */
    int used = 0;
    int64_t i = 0;
    while (i < bytes.length) {
        int length = mw__utf8_length(bytes.at + i, bytes.length - i);
        uint8_t byte = (uint8_t)bytes.at[i];
        bool shown = length > 0 && byte >= 0x20 && byte != 0x7f;
        if (used + (shown ? length : 4) > ROOM) break;
        if (shown) {
            memcpy(to + used, bytes.at + i, (size_t)length);
            used += length;
            i += length;
        } else {
            used += snprintf(to + used, 5, "\\x%02x", byte);
            i++;
        }
    }
    (void)snprintf(to + used, 4, "%s", i < bytes.length ? "..." : "");
    return to;
}

void mw__sink_init(mw__sink *sink, char *to, int64_t size)
{
    sink->to = to;
    sink->size = size;
    sink->length = 0;
}

void mw__sink_add(mw__sink *sink, const char *at, int64_t length)
{
    int64_t room = sink->size - 1 - sink->length; /* the NUL has its place */
    int64_t fits = MW_MIN(room, length);
    if (fits > 0) memcpy(sink->to + sink->length, at, (size_t)fits);
    sink->length += length;
    if (sink->size > 0) sink->to[MW_MIN(sink->length, sink->size - 1)] = 0;
}
