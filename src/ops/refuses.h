/* refuses: placements that ops do not offer though they would be right, and why. `meshwise verify`
 * reads these texts: entries separated by `;`, each placements (`*` is any text; "P(m*)" both
 * extremes) and, after a colon, the reason. What is refused costs a small reduction first, never a
 * wrong value. */
#ifndef OPS_REFUSES_H
#define OPS_REFUSES_H

#define MW_REFUSES_MEAN "*P(avg)* -> P(avg): a mean passes where a sum does, after a free division"

#define MW_REFUSES_EXTREMES                                                                \
    "*P(m*) -> P(m*): it rises or falls for some dtypes, numbers and extremes only (NaN, " \
    "infinity, negative ones aside), and a rule that holds sometimes is none; "            \
    "P(m*), R* -> P(m*): the same; R, P(m*)* -> P(m*): the same"

#define MW_REFUSES_TRUTH                                                                     \
    "*P(m*)* -> P(m*): terms are compared, or counted as true or false, once combined: NaN " \
    "is neither; S(*)* -> P(max): a sum of bools of which one is true is offered"

#define MW_REFUSES_INTEGERS \
    "P(sum) -> P(sum): sums of integers wrap, and what is made of them does not"

#define MW_REFUSES_BIAS \
    "*P(*)* -> P(*: what is added or multiplied to rows is small: its terms are combined first"

#define MW_REFUSES_WRITTEN \
    "P(*)* -> P(*): what is written over is whole afterwards, as must be what is written"

#define MW_REFUSES_PARTS "S(*) -> P(*): its parts combine at once"

#define MW_REFUSES_UNARY                                                                    \
    MW_REFUSES_EXTREMES "; P(m*) -> P(max): terms are told apart once combined: NaN wins; " \
                        "P(sum) -> P(sum): integers are whole already: there is nothing to do"

#define MW_REFUSES_LOSS                                                                  \
    "*P(*)* -> P(*): log-probabilities and weights are whole before a loss reads them; " \
    "S(*)* -> P(avg): a mean is divided by all that counts, which ranks share by chance only"

#endif
