# A few annotations arrive at the plan that names every weight, and what graph writes --plan reads.
. "$CASES/lib"
make_model tiny.gguf
cat >config.json <<END
{"model_type": "llama", "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 3, "num_attention_heads": 6,
 "num_key_value_heads": 3, "vocab_size": 277, "max_position_embeddings": 64}
END
# The layout and the bytes of each tensor, every movement, and the memory of each rank.
facts() {
    meshwise graph "$@" --json >json || exit
    sed -e 's/"seconds":[^,}]*//g' -e 's/"stated":[a-z]*//g' -e 's/.*"tensors":\(.*\),"moves":.*"comm":\(.*\),"replicated".*/\1\n\2/' json
}
same() { # MODEL MESH: few.txt against all
    facts "$1" --mesh "$2" >all
    facts "$1" --mesh "$2" --plan few.txt >few
    cmp all few && echo "$1 $2: the same layouts, bytes and movements"
}
cat >few.txt <<END
token_embd.weight: [277@tp, 48]
output.weight: [277@tp, 48]
blk.1.attn_q.weight: [3@tp·16, 48]
blk.1.attn_k.weight: [3@tp·8, 48]
blk.1.attn_v.weight: [3@tp·8, 48]
blk.1.attn_output.weight: [48, 3@tp·16]
blk.1.ffn_gate.weight: [64@tp, 48]
blk.1.ffn_up.weight: [64@tp, 48]
blk.1.ffn_down.weight: [48, 64@tp]
END
for mesh in tp=2 tp=3 tp=4 dp=2,tp=2; do same tiny.gguf $mesh; done
meshwise graph tiny.gguf --mesh tp=2 --plan few.txt | sed -n '/^tensors/,/^on/p'
cat >few.txt <<END
model.embed_tokens.weight: [277@tp, 48]
lm_head.weight: [277@tp, 48]
model.layers.2.self_attn.q_proj.weight: [3@tp·16, 48]
model.layers.2.self_attn.k_proj.weight: [3@tp·8, 48]
model.layers.2.self_attn.v_proj.weight: [3@tp·8, 48]
model.layers.2.mlp.up_proj.weight: [64@tp, 48]
END
for mesh in tp=2 tp=3 dp=2,tp=2; do same config.json $mesh; done
cat >gpt2.json <<END
{"model_type": "gpt2", "n_embd": 48, "n_head": 6, "n_layer": 3, "n_positions": 40, "vocab_size": 251}
END
cat >few.txt <<END
transformer.wte.weight: [251@tp, 48]
transformer.h.1.attn.c_attn.weight: [48, 3·48@tp]
transformer.h.1.mlp.c_fc.weight: [48, 192@tp]
END
for mesh in tp=2 dp=2,tp=3; do same gpt2.json $mesh; done
echo "--- what is written is read again"
for model in tiny.gguf config.json; do
    meshwise graph $model --mesh tp=2 --to plan >page
    cat page
    facts $model --mesh tp=2 >all
    facts $model --mesh tp=2 --plan page >few
    cmp all few && echo same
done
echo "--- a layer that lies otherwise has lines of its own"
{ echo 'model.layers.1.mlp.up_proj.weight: [64, 48@tp]'; cat page; } >other
meshwise graph config.json --mesh tp=2 --plan other --to plan | tee page
meshwise graph config.json --mesh tp=2 --plan page --to plan | cmp - page && echo same
meshwise graph config.json --mesh tp=2 --to plan --json
echo "--- a rule that names nothing is told"
printf 'no.such.weight: [4@tp]\nmodel.layers.*.mlp.up_proj.weight: [64@tp, 48]\n' >few.txt
meshwise graph config.json --mesh tp=2 --plan few.txt | grep 'no tensor'
echo "--- the order of the ranks goes along"
for system in dtensor torch_xla jax shardy; do
    meshwise graph tiny.gguf --mesh "dp=2,tp=2 ids=[0,2,1,3]" --to $system | head -1
done
