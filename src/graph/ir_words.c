/* Other words under which people know ops: torch's methods and functions, NumPy's and JAX's. */
#include "graph/ir_parse.h"

typedef struct other_word {
    const char *word, *op;
    mw_dtype cast;
} other_word;

static const other_word others[] = {
#define CAST(text, dtype) {#text, "to", MW_DTYPE_##dtype},
#define WORD(text, op)    {#text, #op, MW_DTYPE_NONE},
#define PREFIX(text)
#include "graph/ir_words.def"
#undef CAST
#undef WORD
#undef PREFIX
};

static const char *const prefixes[] = {
#define CAST(text, dtype)
#define WORD(text, op)
#define PREFIX(text) #text,
#include "graph/ir_words.def"
#undef CAST
#undef WORD
#undef PREFIX
};

const char *ir_plain_word(const char *word)
{
    if (strncmp(word, "torch.ops.", 10) == 0) return word;
    for (int i = 0; i < MW_COUNT(prefixes); i++) {
        size_t n = strlen(prefixes[i]);
        if (strncmp(word, prefixes[i], n) == 0 && word[n]) return word + n;
    }
    return word;
}

const char *ir_other_word(const char *word, int nth, ir_args *args)
{
    const char *plain = ir_plain_word(word);
    for (int i = 0; i < MW_COUNT(others); i++) {
        if (strcmp(others[i].word, plain) != 0 || nth-- > 0) continue;
        if (others[i].cast == MW_DTYPE_NONE) return others[i].op;
        if (args->n != 1) return NULL; /* a cast takes nothing but its tensor */
        args->given[args->n] = (mw_given){NULL, {.kind = MW_ARG_DTYPE, .i = others[i].cast}};
        args->at[args->n++] = args->at[0];
        return others[i].op;
    }
    return NULL;
}
