# tp_plan of Transformers: read as where weights lie, written for what lies so, and what it can't say.
. "$CASES/lib"
config() { # HEADS KV_HEADS MORE
    cat <<END
{"model_type": "llama", "hidden_size": 96, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": $1,
 "num_key_value_heads": $2, "head_dim": 8, "vocab_size": 500, "max_position_embeddings": 64$3}
END
}
layers='"layers.*.self_attn.q_proj": "colwise", "layers.*.self_attn.k_proj": "colwise",
 "layers.*.self_attn.v_proj": "colwise", "layers.*.self_attn.o_proj": "rowwise", "layers.*.mlp.gate_proj": "colwise",
 "layers.*.mlp.up_proj": "colwise", "layers.*.mlp.down_proj": "rowwise"'
config 12 4 ", \"base_model_tp_plan\": {$layers}, \"tp_plan\": {\"lm_head\": \"colwise_rep\"}" >config.json
graph config.json --mesh dp=2,tp=4
echo "--- it is written as it was read"
meshwise graph config.json --mesh tp=4 --to tp_plan | tee out
config 12 4 ", $(sed -e '1d' -e '$d' out)" >again.json
meshwise graph again.json --mesh tp=4 --to tp_plan | cmp - out && echo same
echo "--- names below the model, norms along the sequence, an embedding by vocabulary"
config 12 4 ", \"tp_plan\": {\"model.layers.*.input_layernorm\": \"sequence_parallel\", \"model.embed_tokens\": \"rowwise\",
 \"model.layers.*.mlp.up_proj\": \"local_colwise\", \"model.layers.*.mlp.gate_proj\": \"local_colwise\",
 \"model.layers.*.mlp.down_proj\": \"local_rowwise\", \"layers.*.mlp\": \"gather\"}" >config.json
graph config.json --mesh tp=4 --prompt-length 8
meshwise graph config.json --mesh tp=4 --prompt-length 8 --to tp_plan
echo "--- heads that are cut, and a module that is not there"
config 9 3 ", \"tp_plan\": {$layers, \"layers.*.mlp.experts\": \"colwise\"}" >config.json
graph config.json --mesh tp=2 | grep 'note\|moved\|_proj'
echo "--- what has no style; biases; weights that are stored [in, out]"
config 9 3 '' >config.json
meshwise graph config.json --mesh tp=2 --to tp_plan 2>&1
cat >config.json <<END
{"model_type": "gpt2", "n_embd": 48, "n_head": 6, "n_layer": 2, "n_positions": 40, "vocab_size": 251,
 "tp_plan": {"h.*.attn.c_attn": "packed_colwise", "h.*.attn.c_proj": "rowwise", "h.*.mlp.c_fc": "colwise",
 "transformer.h.*.mlp.c_proj": "rowwise", "wte": "colwise"}}
END
meshwise graph config.json --mesh tp=2 --to plan
graph config.json --mesh tp=2 | grep moved
make_model tiny.gguf
meshwise graph tiny.gguf --mesh tp=3 --to tp_plan
meshwise graph tiny.gguf --mesh tp=3 --to tp_plan --json
