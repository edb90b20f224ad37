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
fail_each 113 run tiny.gguf --prompt 'hello xyz' -n 3 --mesh tp=2 --compiled
fail_each 37 run tiny.gguf --chat 'hello' -n 3 --strict
fail_each 31 eval tiny.gguf text --mesh tp=2
cat >config.json <<END
{"model_type": "qwen2", "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
 "vocab_size": 9, "max_position_embeddings": 8, "tp_plan": {"layers.*.mlp.up_proj": "colwise"}}
END
fail_each 97 graph config.json --mesh dp=2,tp=2 --to plan
fail_each 101 graph config.json --mesh tp=2 --to tp_plan --html page --dot drawing
