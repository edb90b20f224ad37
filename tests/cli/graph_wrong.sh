# config.json that is none: what is wrong is named. Sizes that no machine has are no problem.
. "$CASES/lib"
base='"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 99'
full="$base, \"max_position_embeddings\": 32"
llama="{\"model_type\": \"llama\", $full"
config() { echo "$1" >config.json; try graph config.json --mesh tp=2; }
try graph nowhere.json
config ''
config '{"model_type": "llama",'
config '[1, 2]'
config "{$full}"
config "{\"model_type\": \"mamba\", $full}"
config "{\"model_type\": 7, $full}"
config "{\"architectures\": [\"T5ForConditionalGeneration\"], $full}"
config "{\"architectures\": \"LlamaForCausalLM\", $full}"
config "{\"model_type\": \"llama\", \"architectures\": [\"LlamaForSequenceClassification\"], $full}"
config "{\"model_type\": \"llama\", $base}"
config '{"model_type": "gpt2", "n_layer": 2, "n_head": 2, "vocab_size": 9, "n_positions": 8}'
config "$llama, \"num_key_value_heads\": 3}"
config "$llama, \"num_key_value_heads\": 0}"
config "$llama, \"num_key_value_heads\": \"4\"}"
config "$llama, \"head_dim\": 15}"
config "{\"model_type\": \"llama\", ${full%64,*}66, ${full#*64, }}"
config '{"model_type": "bert", "hidden_size": 30, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 99, "max_position_embeddings": 8}'
config "$llama, \"hidden_act\": \"maxout\"}"
config "$llama, \"torch_dtype\": \"int4\"}"
config "$llama, \"tie_word_embeddings\": \"no\"}"
config "$llama, \"rms_norm_eps\": -1}"
config "$llama, \"partial_rotary_factor\": 0.5}"
config "$llama, \"tp_plan\": {\"layers.*.self_attn.q_proj\": \"diagonal\"}}"
config "$llama, \"base_model_tp_plan\": {\"layers.*.self_attn.q_proj\": [\"colwise\"]}}"
config "$llama, \"tp_plan\": [\"colwise\"]}"
config "{\"model_type\": \"llama\", \"num_hidden_layers\": 99999, \"hidden_size\": 64, \"num_attention_heads\": 4}"
echo "$llama}" >config.json
try graph config.json --mesh tp=2 --batch 0
try graph config.json --mesh tp=2 --prompt-length 33
try graph config.json --mesh tp=2 --context 8 --prompt-length 9
try graph config.json --mesh tp=2 --to nothing
try graph config.json --mesh tp=2 --dot no/such/folder
try graph config.json --mesh tp=2 --html no/such/folder
try graph config.json --mesh tp=2 --json --plan nowhere
echo 'model.norm.weight: [65]' >plan
try graph config.json --mesh tp=2 --plan plan
make_model tiny.gguf
try graph tiny.gguf --mesh tp=2 --batch 2
