# A log explained: the short answer, all facts, problems alone, a question, JSON, a page.
. "$CASES/lib"
cat >log <<'END'
Dispatching op_call: Op(op=aten.mm.default, args_schema=Spec(S(0) on (8, 6)), Spec(R on (6, 4)) @ mesh: (2,))
output_sharding for aten.mm.default: OutputSharding(output_spec=DTensorSpec(mesh=DeviceMesh((tp=2), device: 'hpu', stride: (1,)), placements=(Shard(dim=0),), tensor_meta=TensorMeta(shape=torch.Size([8, 4]), stride=(4, 1), dtype=torch.float32)), redistribute_schema=None, needs_redistribute=False)
redistribute from S(0) to R on mesh dim 0
something else
NotImplementedError: Operator aten.nonzero.default does not have a sharding strategy registered.
END
try explain log
try explain --all log
try explain --only problems --all log
try explain log --question 'what is "mat2"?'
try explain log --question 'why is the sky blue'
try explain log --question 'line 3'
try explain log --question 'is anything wrong?'
try explain log --question 'who asked for the gather, and how much does it cost?'
try explain log --question 'how much memory does a rank need?'
try explain log --question 'what is missing?' --json | sed 's/.*"answer"/"answer"/'
meshwise explain - --json <log | sed 's/"entries":.*"summary"/"entries": ..., "summary"/'
meshwise explain - --html page.html <log >/dev/null; grep -c '<article' page.html; grep -c 'id=l3' page.html; grep -c 'https*:' page.html
try explain nowhere
try explain log --mesh 'tp=x'
try explain log --only good
try explain log log
: | meshwise explain
