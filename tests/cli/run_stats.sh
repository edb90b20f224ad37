# What a user sees with --stats: the text on stdout, the tables on stderr.
make_model tiny.gguf
meshwise run tiny.gguf --mesh tp=2 --prompt 'hello xyz' -n 4 --stats >out
wc -l <out | tr -d ' '
