# The log of calls and movements.
. "$CASES/lib"
make_model tiny.gguf
run() { meshwise run tiny.gguf --ids 1,2 -n 2 --mesh tp=2 "$@"; }
run --log events --log-file events.%r >out
ls events.*
grep ' move ' events.1 | head -n 4
grep ' linear(' events.0 | head -n 2
grep -c 'UNASKED' events.0
echo "both ranks say as many movements as the account does"
grep -c ' move ' events.0
grep -c ' move ' events.1
run --log json --log-file both --json | number collectives
grep -c '"event":"move","rank":0' both
grep -m1 '"event":"move","rank":0' both
echo "without a file it goes to stderr"
run --log events 2>err >out; grep -c ' move ' err
try run tiny.gguf --ids 1 --log everything
try run tiny.gguf --ids 1 --log-file x
try run tiny.gguf --ids 1 --log events --log-file no/such/folder
