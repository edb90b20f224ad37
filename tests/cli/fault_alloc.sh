# Every request for memory failed once, one run each: an error that says so and exit 4, until the run needs no
# more of them; never a crash, a hang or a wrong answer.
. "$CASES/lib"
make_model tiny.gguf
printf 'hello xyz hello' >text

# fail_each STEP ARGS...: the first 40 requests one by one, the later ones STEP apart.
fail_each() {
    step=$1
    shift
    meshwise "$@" >right 2>/dev/null || echo "fails without a fault"
    n=1 failed=0
    while [ $n -lt 100000 ]; do
        MESHWISE_FAULT=alloc:$n timeout 60 meshwise "$@" >out 2>err
        code=$?
        [ $code -ne 0 ] || break
        failed=$((failed + 1))
        [ $code -eq 4 ] || { echo "request $n: exit $code"; cat err; break; }
        grep -q 'out of memory' err || { echo "request $n: no word of memory"; cat err; }
        n=$((n + (n < 40 ? 1 : step)))
    done
    cmp out right
    [ $failed -ge 3 ] && echo "$1: every failure is told"
}
fail_each 1 ops mm
fail_each 7 tokenize tiny.gguf 'hello xyz' --json
fail_each 29 run tiny.gguf --prompt 'hello xyz' -n 3 --mesh tp=2
fail_each 37 run tiny.gguf --chat 'hello' -n 3 --strict
fail_each 31 eval tiny.gguf text --mesh tp=2
