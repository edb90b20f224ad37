# The rules of ops against brute force: nothing wrong, a planted fault found, mistakes with the nearest name.
. "$CASES/lib"
try verify mm aten::add.Tensor --json | sed 's/"combinations":[0-9]*,"valid":[0-9]*/"combinations":N,"valid":N/g; s/"refused":\[[^]]*\]/"refused":[...]/g'
try verify addmm --plant bias | tail -n 5
try verify mm --plant bias
try verify permute --plant flag
try verify aten::mmm
try verify mm --plant bais
try verify mm --mesh 1
