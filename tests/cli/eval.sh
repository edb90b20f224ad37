# Likelihood of a text: the same on every mesh, in windows where it is longer than the context.
. "$CASES/lib"
make_model tiny.gguf
printf "hello xyz hello aaaa .. it's fun hello hello xyz hello xyz" >text
for tp in 1 2 3 4; do
    meshwise eval tiny.gguf text --mesh tp=$tp --strict --json >out
    echo "tp=$tp: $(number tokens <out) tokens, $(number nll <out | cut -c 1-6)"
done
nll=$(meshwise eval tiny.gguf text --json | number nll)
meshwise eval tiny.gguf text --expect "$nll" --mesh tp=5 | sed 's/\(\.[0-9]\{4\}\).*/\1 .../'
meshwise eval tiny.gguf text --expect 3 >out
echo "[exit $?]"
for i in 1 2 3 4 5 6 7 8 9; do cat text; done >long
for tp in 1 3; do
    meshwise eval tiny.gguf long --mesh tp=$tp --json >out
    echo "tp=$tp: $(number tokens <out) tokens, $(number nll <out | cut -c 1-6)"
done
meshwise eval tiny.gguf - --json <text | number tokens
: >empty
try eval tiny.gguf empty
printf x >one
try eval tiny.gguf one
printf 'a\004b' | meshwise eval tiny.gguf - --json | number tokens
