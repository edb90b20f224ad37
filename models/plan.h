/* A sharding plan: a page that says how a model's weights lie on a mesh.
 *
 *     # tensor parallel over tp
 *     token_embd.weight:     [49152@tp, 576]
 *     blk.*.attn_q.weight:   [3@tp·192, 576]
 *     *norm.weight:          [576]
 *
 * One rule a line: a glob of names (`*` any characters, `?` one) and a layout without dtype. The
 * first rule that matches a name holds; a name that none matches is an error. */
#ifndef MODELS_PLAN_H
#define MODELS_PLAN_H

#include <meshwise/mesh.h>

typedef struct model_plan model_plan;

/* Reads a plan's text; `name` stands for it in messages. The layouts are checked against the mesh,
 * so one plan per mesh. Fails: MW_ERR_PARSE with line, column and caret. The caller frees it. Pure.
 */
MW_NODISCARD mw_status model_plan_parse(const mw_mesh *mesh, const char *name, const char *text,
                                        model_plan **ret);
void model_plan_free(model_plan *plan); /* NULL is fine */

/* The layout that the plan gives the tensor `name` of this shape. Fails: MW_ERR_LAYOUT where no
 * rule matches or the rule's sizes are others. Pure. */
MW_NODISCARD mw_status model_plan_layout(const model_plan *plan, const char *name, int ndim,
                                         const int64_t *shape, mw_layout *ret);

/* Does some rule match the name? Pure. */
int model_plan_has(const model_plan *plan, const char *name);

/* Its rules in order of the page: how many; the glob and the line of one; does its glob match the
 * name? Borrowed. Pure. */
int model_plan_rules(const model_plan *plan);
const char *model_plan_glob(const model_plan *plan, int index, int *ret_line);
int model_plan_matches(const model_plan *plan, int index, const char *name);

/* From now on names that no rule matches are whole on every rank, and no error. */
void model_plan_rest_whole(model_plan *plan);

#endif
