/* Dims side by side as one string of factors, and the coordinate functions that it stands for.
 *
 * Two texts have the same owners iff, for every part of an axis that they use, the coordinate of
 * whoever holds position i is the same function of i. Each such function is piecewise constant and
 * repeats with the period of its factor, so it can be compared without visiting positions. */
#include "mesh/line.h"

void mw__line_set(mw__line *line, const mw_dim *dims, int ndim)
{
    line->nfactor = line->ncut = 0;
    line->open_chunk = 0;
    line->size = 1;
    for (int d = 0; d < ndim; d++) {
        const mw_cut *cut = dims[d].cut;
        for (int f = 0; f < dims[d].nfactor; f++) {
            mw__line_factor *to = &line->factor[line->nfactor++];
            *to = (mw__line_factor){dims[d].factor[f], 1, line->ncut, dims[d].cuts[f]};
            for (int c = 0; c < to->ncut; c++)
                line->cut[line->ncut++] = *cut++;
        }
    }
    for (int f = line->nfactor - 1; f >= 0; f--) {
        line->factor[f].stride = line->size;
        line->size *= line->factor[f].size;
    }
}

int64_t mw__line_coord(const mw__line *line, int f, int c, int64_t at, int64_t *ret_next)
{
    const mw__line_factor *factor = &line->factor[f];
    int64_t index = at / factor->stride, position = index % factor->size;
    int64_t end = index - position; /* start of the current piece, then its end */
    int64_t length = factor->size;
    for (int k = factor->first;;) {
        int64_t parts;
        int group = mw__cut_group(&line->cut[k], factor->first + factor->ncut - k, &parts);
        int64_t chunk = mw__chunk(length, parts);
        if (line->open_chunk && k + group == line->ncut) chunk = line->open_chunk;
        int64_t q = position / chunk;
        end += q * chunk;
        position -= q * chunk;
        length = MW_MIN(chunk, length - q * chunk);
        k += group;
        if (c >= k) continue;
        *ret_next = (end + length) * factor->stride;
        while (--k > c)
            q /= line->cut[k].size;
        return q % line->cut[c].size;
    }
}

void mw__asked_set(mw__asked *asked, const mw_mesh *mesh, const mw__line *line, const mw_cut *part)
{
    int64_t axis = mesh->size[part->axis];
    asked->line = line;
    asked->count = 0;
    asked->divide = axis / ((int64_t)part->major * part->size);
    asked->modulo = part->size;
    asked->period = 1;
    for (int f = 0; f < line->nfactor; f++) {
        const mw__line_factor *factor = &line->factor[f];
        for (int c = factor->first; c < factor->first + factor->ncut; c++) {
            const mw_cut *cut = &line->cut[c];
            /* parts that lie wholly to one side are of no account */
            if (cut->axis != part->axis || part->major % ((int64_t)cut->major * cut->size) == 0 ||
                cut->major % ((int64_t)part->major * part->size) == 0)
                continue;
            asked->use[asked->count].f = f;
            asked->use[asked->count].c = c;
            asked->use[asked->count++].weight = axis / ((int64_t)cut->major * cut->size);
            asked->period = MW_MAX(asked->period, factor->size * factor->stride);
        }
    }
}

int64_t mw__asked_coord(const mw__asked *asked, int64_t at, int64_t *ret_next)
{
    int64_t sum = 0, next = INT64_MAX;
    for (int i = 0; i < asked->count; i++) {
        int64_t stop;
        sum += asked->use[i].weight *
               mw__line_coord(asked->line, asked->use[i].f, asked->use[i].c, at, &stop);
        next = MW_MIN(next, stop);
    }
    *ret_next = next;
    return sum / asked->divide % asked->modulo;
}

int64_t mw__asked_rise(const mw__asked *asked)
{
    if (asked->count != 1 || asked->divide % asked->use[0].weight != 0) return -1;
    const mw__line_factor *factor = &asked->line->factor[asked->use[0].f];
    const mw_cut *cut = asked->line->cut;
    int c = asked->use[0].c, end = factor->first + factor->ncut;
    int64_t length = factor->size, parts;
    for (int k = factor->first;;) {
        int group = mw__cut_group(&cut[k], end - k, &parts);
        int64_t chunk = mw__chunk(length, parts);
        k += group;
        if (c >= k) {
            length = chunk;
            continue;
        }
        /* chunk number n goes to coordinate n / (the sizes of the later cuts of its group) */
        int64_t rise = chunk;
        while (--k > c)
            rise *= cut[k].size;
        rise *= asked->divide / asked->use[0].weight;
        return rise < length ? rise * factor->stride : -1;
    }
}

int mw__line_parts(const mw__line *line, mw_cut *ret_part)
{
    int n = 0;
    for (int c = 0; c < line->ncut; c++) {
        const mw_cut *cut = &line->cut[c];
        if (cut->axis < 0 || cut->size == 1) continue;
        int at = n++;
        for (; at > 0 &&
               (ret_part[at - 1].axis > cut->axis ||
                (ret_part[at - 1].axis == cut->axis && ret_part[at - 1].major > cut->major));
             at--)
            ret_part[at] = ret_part[at - 1];
        ret_part[at] = mw__cut_make(cut->axis, false, cut->major, cut->size);
    }
    int kept = 0;
    for (int i = 0; i < n; i++) {
        mw_cut *last = kept ? &ret_part[kept - 1] : NULL;
        if (last && last->axis == ret_part[i].axis &&
            (int64_t)last->major * last->size == ret_part[i].major)
            last->size *= ret_part[i].size;
        else
            ret_part[kept++] = ret_part[i];
    }
    return kept;
}
