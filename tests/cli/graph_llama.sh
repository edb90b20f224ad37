# A LLaMA by its config.json alone: uneven kv groups, groups that outnumber the ranks, kv heads that are copied.
. "$CASES/lib"
config() {
    cat <<END
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 96, "intermediate_size": 256,
 "num_hidden_layers": 3, "num_attention_heads": 12, "num_key_value_heads": $1, "vocab_size": 500,
 "max_position_embeddings": 64, "rms_norm_eps": 1e-05, "rope_theta": 50000.0, "hidden_act": "silu",
 "torch_dtype": "bfloat16", "tie_word_embeddings": $2}
END
}
config 3 false >config.json
graph config.json --mesh dp=2,tp=2
echo "--- a prompt, more sequences than ranks of dp, a shorter cache"
graph config.json --mesh dp=2,tp=3 --prompt-length 8 --batch 5 --context 16 | grep -v '^model\|^lm_head\|copies'
echo "--- more ranks than kv heads: those whose query heads share a kv head have it each"
config 2 true >tied.json
graph tied.json --mesh pp=2,tp=4
echo "--- more ranks than kv groups that can't be copied"
config 3 true >few.json
graph few.json --mesh tp=4 | grep 'note\|proj'
echo "--- one rank, and none called tp"
graph config.json | grep 'moved\|note\|memory'
graph config.json --mesh x=2 | grep 'moved\|note\|q_proj'
echo "--- the bytes are those of the program that a file of the same sizes runs"
make_model tiny.gguf
cat >same.json <<END
{"model_type": "llama", "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 3, "num_attention_heads": 6,
 "num_key_value_heads": 3, "vocab_size": 277, "max_position_embeddings": 64}
END
for mesh in tp=2 tp=3 tp=5; do
    for model in tiny.gguf same.json; do
        meshwise graph $model --mesh $mesh --json >out
        echo "$mesh $model $(number collectives <out) $(number recv_bytes_total_token <out) $(number weight_bytes <out)"
    done
done
