/* Collectives: names, and the bytes that follow from a size and a number of ranks. */
#include "log/collective.h"

#include "base/base.h"

static const struct {
    const char *name, *words, *formula;
} table[MW_COLLECTIVE_KINDS] = {
    [MW_COLLECTIVE_NONE] = {"", "", ""},
#define COLLECTIVE(name, words, formula) [MW_COLLECTIVE_##name] = {#name, words, formula},
#include "log/collectives.def"
#undef COLLECTIVE
};

mw_collective mw__collective_find(const char *name)
{
    for (int k = 1; k < MW_COLLECTIVE_KINDS; k++)
        if (strcmp(name, table[k].name) == 0) return (mw_collective)k;
    return MW_COLLECTIVE_NONE;
}

const char *mw__collective_name(mw_collective kind)
{
    return table[kind].name;
}

const char *mw__collective_words(mw_collective kind)
{
    return table[kind].words;
}

const char *mw__collective_formula(mw_collective kind)
{
    return table[kind].formula;
}

int64_t mw__collective_received(mw_collective kind, int64_t whole, int64_t n)
{
    int64_t product;
    if (n == 1) return 0;
    if (n < 1 || whole < 0 || kind == MW_COLLECTIVE_NONE) return -1;
    if (kind == MW_COLLECTIVE_broadcast) return whole;
    int64_t parts = (kind == MW_COLLECTIVE_all_reduce ? 2 : 1) * (n - 1);
    if (n > INT32_MAX || __builtin_mul_overflow(whole, parts, &product)) return -1;
    return product / n;
}
