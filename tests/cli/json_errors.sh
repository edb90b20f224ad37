# With --json a failure is an object on stdout, one line, and the same sentence on stderr.
. "$CASES/lib"
make_model tiny.gguf
both() {
    timeout 60 meshwise "$@" >out 2>err
    echo "[exit $?]"
    cat out
}
both run nowhere.gguf --ids 1 --json
both run tiny.gguf --ids 1 --temp nan --json
both run tiny.gguf --ids 1,999 --json
both run --json
both tokenize tiny.gguf x1 --decode --json
both ops nothing_like_it --json
both bench --json everything
MESHWISE_FAULT=rank:1,op:20 both run tiny.gguf --ids 1,2 -n 2 --mesh tp=2 --json
MESHWISE_FAULT=alloc:1 both tokenize tiny.gguf hello --json
