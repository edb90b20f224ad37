# A compiled run gives the tokens of a run op by op, on every mesh and whatever else is asked for, and moves no
# more; its calls and movements are logged like others.
. "$CASES/lib"
make_model tiny.gguf
prompt="hello xyz hello xyz hello xyz hello"
for mesh in tp=1 tp=2 tp=3 tp=4 dp=2,tp=2; do
    for options in "-n 16" "-n 0" "-n 1" "-n 12 --threads 2" "-n 12 --strict" "-n 8 --seed 3 --temp 1 --top-k 8"; do
        # shellcheck disable=SC2086
        meshwise run tiny.gguf --mesh $mesh --prompt "$prompt" $options --json >plain || echo "[exit $?]"
        # shellcheck disable=SC2086
        meshwise run tiny.gguf --mesh $mesh --prompt "$prompt" $options --json --compiled >compiled || echo "[exit $?]"
        [ "$(array ids <plain)" = "$(array ids <compiled)" ] || echo "$mesh $options: other tokens"
        [ "$(number collectives <compiled)" -le "$(number collectives <plain)" ] || echo "$mesh $options: more collectives"
        [ "$(number unasked <compiled)" -eq 0 ] || echo "$mesh $options: moved unasked"
    done
    echo "$mesh: $(array ids <compiled)"
done
for form in events json dispatch; do
    for how in "" --compiled; do
        # shellcheck disable=SC2086
        meshwise run tiny.gguf --mesh tp=2 --prompt "$prompt" -n 4 -q $how --log $form --log-file "log$how" >text$how || echo "[exit $?]"
    done
    cmp text text--compiled
    case $form in dispatch) words=aten. ;; *) words="all_reduce linear" ;; esac
    for word in $words; do
        grep -q "$word" log--compiled || echo "$form: no $word in the log of a compiled run"
    done
    rm -f log log--compiled
done
meshwise run tiny.gguf --mesh tp=4 --backend fake --prompt "$prompt" -n 3 --compiled --json >fake || echo "[exit $?]"
meshwise run tiny.gguf --mesh tp=4 --backend fake --prompt "$prompt" -n 3 --json >plain || echo "[exit $?]"
echo "fake: $(number collectives <fake) collectives compiled, $(number collectives <plain) op by op"
