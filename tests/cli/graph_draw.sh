# The program as a drawing and as a page: complete, and safe whatever a file is called.
. "$CASES/lib"
cat >'a "<b>.json' <<END
{"model_type": "gpt2", "n_embd": 16, "n_head": 2, "n_layer": 1, "n_positions": 8, "vocab_size": 11}
END
meshwise graph 'a "<b>.json' --mesh tp=2 --dot out.dot --html out.html --json >out
nodes=$(number compiled <out)
head -n 3 out.dot
tail -n 1 out.dot
[ "$(grep -c '\[fillcolor=' out.dot)" = "$nodes" ] && echo "every node is drawn"
grep -c 'ffd08a' out.dot
grep -o 'label="all_reduce[^"]*"' out.dot | sort | uniq -c
[ "$(grep -c "^<tr class='" out.html)" = "$nodes" ] && echo "every line is in the page"
grep -o '<h1>.*</h1>' out.html
grep -c "<tr class='movement'>" out.html
grep -o '64 B to the rank that receives most[^.]*' out.html | sort | uniq -c
grep -c 'http:\|https:\|src=\|<script' out.html
for v in $(grep -o "href='#v[0-9]*'" out.html | tr -d "'" | sed 's/href=#//' | sort -u); do
    grep -q "id=$v>" out.html || echo "no $v"
done
grep -A3 'transformer.h.0.mlp.c_fc.weight</code>' out.html | sed -n 's/.*<pre>\(.*\)/\1/p'
