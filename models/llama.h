/* A LLaMA-family transformer on meshwise's public interface: weights from a GGUF file, a KV cache,
 * one forward function. It is written for whole tensors; how these lie on the mesh is the plan's
 * business. */
#ifndef MODELS_LLAMA_H
#define MODELS_LLAMA_H

#include "models/plan.h"

#include <meshwise/meshwise.h>
#include <meshwise/model_file.h>

typedef struct llama_config {
    int64_t layers, dim, heads, kv_heads, head_dim, hidden, vocab, context;
    double rope_base, norm_eps;
    int tied; /* the head is the embedding */
} llama_config;

/* Reads the sizes from the file's keys and checks that they fit together. Fails: MW_ERR_FORMAT
 * names the key, MW_ERR_UNSUPPORTED another architecture. Pure. */
MW_NODISCARD mw_status llama_config_read(const mw_model_file *file, llama_config *ret);

/* The plan that splits the model over axis `tp`: kv groups (each a kv head with its query heads),
 * MLP columns, vocabulary; no head is cut, nothing is computed twice. Its text, into `to`; returns
 * the length. Pure. */
int llama_plan_text(const llama_config *config, char *to, int size);

typedef struct llama llama;

/* Loads this rank's shards of all weights, as `dtype` (f32 or bf16). `positions`: how many tokens
 * the KV cache will hold at most. `loaded` (may be NULL) is told the share done. Everything belongs
 * to the current scope; llama_close frees the rest. Local. */
MW_NODISCARD mw_status llama_open(const mw_model_file *file, const llama_config *config,
                                  const model_plan *plan, mw_dtype dtype, int64_t positions,
                                  void (*loaded)(void *user, double share), void *user,
                                  llama **ret);
void llama_close(llama *model); /* NULL is fine */

int64_t llama_weight_bytes(const llama *model);              /* of this rank's shards */
int64_t llama_weight_bytes_of(const llama *model, int rank); /* of any rank's, from the layouts */
int64_t llama_position(const llama *model);                  /* tokens in the cache */
void llama_restart(llama *model);                            /* forgets what is in the cache */

/* Runs the next n tokens (n > 1 only into an empty cache) and returns the residual stream after the
 * last norm, [n, dim]; NULL on failure. Collective. */
mw_tensor *llama_forward(llama *model, const int64_t *ids, int64_t n);

/* The same as logits [1, vocab] of the last of them, split over the vocabulary. Collective. */
mw_tensor *llama_next(llama *model, const int64_t *ids, int64_t n);

/* From now on llama_next runs as a compiled program: one for each length of a prompt, one for all
 * later tokens, which is made here; or (`on` 0) op by op again, the programs kept. Collective. */
MW_NODISCARD mw_status llama_compile(llama *model, int on);
const mw_compiled *llama_compiled(const llama *model); /* NULL: it runs op by op */

/* What llama_next computes, to be captured: ids and positions [n] in, logits out; `user` is the
 * model. */
mw_status llama_next_function(void *user, mw_tensor *const *in, mw_tensor **out);

/* Logits [rows, vocab] of residual rows [rows, dim]; they stay split over the vocabulary.
 * Collective. */
mw_tensor *llama_logits(llama *model, mw_tensor *rows);

/* Negative log-likelihood of targets[i] after residual row i, [rows]. Collective. */
mw_tensor *llama_nll(llama *model, mw_tensor *rows, const int64_t *targets, int64_t n);

#endif
