# Help is a result: stdout, exit 0. Every command has some, and every option is in somebody's.
. "$CASES/lib"
defs=$CASES/../../cli
for ask in --help -h help; do meshwise $ask | head -n 1; done
try run --help | sed -n '1,4p; $p'
try ops -h
meshwise --version | grep -xE 'meshwise [0-9]+\.[0-9]+\.[0-9]+.*' | sed 's/ .*/ and a version/'
for command in $(sed -n 's/^\(TEXT_\)\{0,1\}COMMAND(\([a-z]*\),.*/\2/p' "$defs/commands.def"); do
    meshwise --help | grep -q "meshwise $command " || echo "help says nothing of $command"
    meshwise $command --help
done >all
for option in $(sed -n 's/^OPTION([a-z_]*, "\(-[^"]*\)".*/\1/p' "$defs/options.def"); do
    grep -q -- " $option " all || echo "no command's help has $option"
done
