# Output that can't be written is an error; a reader who has had enough is none.
. "$CASES/lib"
make_model tiny.gguf
for command in "ops" "ops --json" "tokenize tiny.gguf hello" "tokenize tiny.gguf 1 --decode" "run tiny.gguf --ids 1 -n 1 --json"; do
    echo "$command"
    meshwise $command >/dev/full
    echo "[exit $?]"
done
meshwise ops --json | head -c 10 >begun && cat begun
