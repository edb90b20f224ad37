# A model of 405 thousand million weights on 16384 ranks: nothing is done rank by rank.
. "$CASES/lib"
config() {
    cat <<END
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 16384, "intermediate_size": 53248,
 "num_hidden_layers": $1, "num_attention_heads": 128, "num_key_value_heads": 8, "vocab_size": 128256,
 "max_position_embeddings": 131072, "torch_dtype": "bfloat16"}
END
}
config 126 >config.json
graph config.json --mesh pp=16,dp=8,tp=128 --context 8192
for layers in 12 126; do
    config $layers >config.json
    meshwise graph config.json --mesh pp=16,dp=8,tp=128 --json >out
    echo "$layers layers: $(number collectives <out) collectives, $(number parameter_bytes_least <out) B of parameters at least"
done
