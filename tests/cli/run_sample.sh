# Draws depend on the seed and the element, never on the mesh.
. "$CASES/lib"
make_model tiny.gguf
draw() { meshwise run tiny.gguf --ids 1,2,3 -n 8 --json "$@" | array ids; }
greedy=$(draw)
[ "$(draw --temp 1 --top-k 1)" = "$greedy" ] && echo "among one: the likeliest"
one=$(draw --temp 1 --seed 7)
for tp in 2 3 4; do [ "$(draw --temp 1 --seed 7 --mesh tp=$tp)" = "$one" ] && echo "tp=$tp draws the same"; done
[ "$(draw --temp 1 --seed 8)" != "$one" ] && echo "another seed, another text"
[ "$one" != "$greedy" ] && echo "a draw is not the likeliest"
few=$(draw --temp 2 --top-k 3 --seed 5)
for tp in 2 4; do [ "$(draw --temp 2 --top-k 3 --seed 5 --mesh tp=$tp)" = "$few" ] && echo "tp=$tp draws the same among 3"; done
echo "the largest logits come along, largest first"
for tp in 1 3; do
    meshwise run tiny.gguf --ids 1,2,3 -n 2 --top 3 --json --mesh tp=$tp | sed 's/.*"top":\(\[\[\[.*\]\]\]\).*/\1/; s/\(\.[0-9][0-9]\)[0-9]*/\1/g'
done
