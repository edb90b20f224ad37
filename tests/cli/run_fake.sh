# The fake backend: no data, one thread, any number of ranks; it counts what would move.
. "$CASES/lib"
make_model tiny.gguf
for backend in fake threads; do
    meshwise run tiny.gguf --ids 1,2,3 -n 2 --mesh tp=3 --backend $backend --json >out
    echo "$backend: $(number collectives <out) collectives, received $(array bytes_received <out), weights $(array weight_bytes <out)"
done
meshwise run tiny.gguf --ids 1,2,3 -n 1 --mesh tp=128 --backend fake --json >out
number ranks <out
array ids <out
array bytes_received <out | tr ',' '\n' | wc -l
printf 'hello hello' >text
try eval tiny.gguf text --backend fake
