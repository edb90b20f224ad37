# Two texts, and what moves in one and not in the other.
. "$CASES/lib"
cat >before <<'END'
rank 0 #0 move all_gather tp dim 1: f32[6, 10@tp] -> f32[6, 10]  120 B (most 120)  UNASKED by softmax: axis tp: operand 0 splits d  [net/mlp.c:44 step]
rank 0 #1 move all_reduce tp sum: f32[6, 20]{sum:tp} -> f32[6, 20]  480 B (most 480)  asked by mark_sharding  [net/mlp.c:50 step]
rank 0 #2 move all_reduce tp sum: f32[6, 20]{sum:tp} -> f32[6, 20]  480 B (most 480)  asked by mark_sharding  [net/mlp.c:50 step]
rank 0 #3 move permute tp: f32[6@tp] -> f32[6@tp]  12 B (most 12)  asked by redistribute  [net/roll.c:7 step]
END
cat >after <<'END'
rank 0 #0 move permute tp: f32[6@tp] -> f32[6@tp]  12 B (most 12)  asked by redistribute  [net/roll.c:8 step]
rank 0 #1 move all_reduce tp sum: f32[6, 20]{sum:tp} -> f32[6, 20]  480 B (most 480)  asked by mark_sharding  [net/mlp.c:50 step]
rank 0 #2 move all_reduce tp sum: f32[6, 20]{sum:tp} -> f32[6, 20]  480 B (most 480)  asked by mark_sharding  [net/mlp.c:50 step]
rank 0 #3 move all_reduce tp sum: f32[6, 20]{sum:tp} -> f32[6, 20]  480 B (most 480)  asked by mark_sharding  [net/mlp.c:61 step]
rank 0 #4 move all_to_all tp 0->1: f32[6@tp, 10] -> f32[6, 10@tp]  60 B (most 60)  asked by redistribute  [net/mlp.c:70 step]
END
try diff before after
try diff after before
try diff before before
sed -n '2p' before >one; sed -n '2,3p' before >two
try diff one two
meshwise diff before after --json
echo "the order of lines does not matter"
sort -r after | meshwise diff after - --all
cat >log.a <<'END'
Dispatching op_call: Op(op=aten.mm.default, args_schema=Spec(S(0) on (8, 6)), Spec(R on (6, 4)) @ mesh: (2,))
output_sharding for aten.mm.default: OutputSharding(output_spec=DTensorSpec(mesh=DeviceMesh((tp=2), device: 'cpu', stride: (1,)), placements=(Shard(dim=0),), tensor_meta=TensorMeta(shape=torch.Size([8, 4]), stride=(4, 1), dtype=torch.float32)), redistribute_schema=None, needs_redistribute=False)
END
(cat log.a; echo 'redistribute from S(0) to R on mesh dim 0') >log.b
try diff log.a log.b
try diff log.a log.a
echo 'not a log' >nothing
try diff nothing nothing
try diff nowhere log.a
try diff log.a
try diff - -
try diff log.a log.b --mesh 'tp=x'
meshwise diff nowhere log.a --json 2>err | string code
make_model tiny.gguf
for mesh in tp=2 tp=3; do
    meshwise run tiny.gguf --ids 1,2 -n 1 --mesh $mesh --log events --log-file events.$mesh --json >run.$mesh
    meshwise diff nothing events.$mesh --json >said
    told=$(sed 's/.*"file":"events//' said | grep -o '"movements":[0-9]*' | head -n 1 | tr -dc 0-9)
    [ -n "$told" ] && [ "$(number collectives <run.$mesh)" = "$told" ] && echo "$mesh: as many as the run counted"
done
echo "two runs by their accounts"
for mesh in tp=2 tp=3; do
    meshwise run tiny.gguf --ids 1,2 -n 1 --mesh $mesh --stats >text 2>stats.$mesh
done
meshwise diff stats.tp=2 stats.tp=3 | sed 's/\.c:[0-9]*/.c:N/g' | grep -o '^changed[^[]*' | sed 's/ *$//'
