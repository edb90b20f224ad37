# The figures themselves are not looked at: only that they are there, and that cached calls ask for no memory.
. "$CASES/lib"
make_model tiny.gguf
meshwise bench --json
meshwise bench dispatch
meshwise bench decode --model tiny.gguf --json
meshwise bench decode --model tiny.gguf
make_model short.gguf --context 8
try bench decode --model short.gguf
try bench decode --model nowhere.gguf
