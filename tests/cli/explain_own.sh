# A run's own log in DTensor's format, explained: as many movements as the run counted, and the same bytes
# where the log lets them be known (its lines of sampling name no tensor).
. "$CASES/lib"
make_model tiny.gguf
for mesh in tp=2 tp=3; do
    meshwise run tiny.gguf --ids 1,2 -n 3 --mesh $mesh --log dispatch --log-file log --json >run
    meshwise explain log --json >said
    [ "$(number collectives <run)" = "$(number movements <said)" ] && echo "$mesh: the movements agree"
    ran=$(tr '{' '\n' <run | grep '"kind":"all_reduce"' | number bytes_received | awk '{ n += $1 } END { print n }')
    told=$(tr '{' '\n' <said | grep '"collective":"all_reduce"' | grep without_bytes | number bytes)
    [ -n "$told" ] && [ "$ran" = "$told" ] && echo "$mesh: and so do the bytes of the reductions"
    number unread <said; number problems <said
done
