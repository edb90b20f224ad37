# Families besides LLaMA, by their switches: what of names, shapes, biases and norms is theirs.
. "$CASES/lib"
llama() { # TYPE CLASS MORE
    cat <<END
{"architectures": ["$2"], "model_type": "$1", "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 2,
 "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 300, "max_position_embeddings": 32$3}
END
}
gpt2() {
    cat <<END
{"architectures": ["$1"], "model_type": "gpt2", "n_embd": 48, "n_head": 6, "n_layer": 2, "n_positions": 40,
 "vocab_size": 251, "activation_function": "gelu_new", "n_inner": null}
END
}
bert() {
    cat <<END
{"architectures": ["$1"], "model_type": "bert", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
 "intermediate_size": 128, "vocab_size": 101, "max_position_embeddings": 24, "type_vocab_size": 2, "hidden_act": "gelu"}
END
}
plan() { meshwise graph "$@" --to plan; }
llama mistral MistralForCausalLM ', "sliding_window": 16' >config.json
graph config.json --mesh tp=2 | grep 'note\|moved'
echo "--- qwen2"
llama qwen2 Qwen2ForCausalLM ', "sliding_window": 16, "use_sliding_window": false' >config.json
plan config.json --mesh tp=2
graph config.json --mesh tp=2 | grep 'note\|moved'
echo "--- qwen3"
llama qwen3 Qwen3Model ', "head_dim": 24' >config.json
plan config.json --mesh tp=2
echo "--- a llama with biases"
llama llama LlamaForCausalLM ', "attention_bias": true, "mlp_bias": true' >config.json
plan config.json --mesh tp=2 | grep bias
echo "--- gemma"
llama gemma GemmaForCausalLM ', "head_dim": 32, "hidden_act": "gelu_pytorch_tanh"' >config.json
graph config.json --mesh tp=2
meshwise graph config.json --mesh tp=2 --print-after capture | grep -o 'gelu(.*)\|mul_scalar(.*)\|add_scalar(.*)'
echo "--- gpt2"
gpt2 GPT2LMHeadModel >config.json
graph config.json --mesh dp=2,tp=2
echo "--- gpt2, without a head"
gpt2 GPT2Model >config.json
plan config.json --mesh tp=4 | head -n 5
echo "--- bert"
bert BertForMaskedLM >config.json
graph config.json --mesh tp=2
echo "--- bert, without a head"
bert BertModel >config.json
graph config.json --mesh tp=2 --prompt-length 5 | grep 'pass\|pooler\|moved'
