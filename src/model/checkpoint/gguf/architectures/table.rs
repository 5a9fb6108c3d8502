//! The architectures: names, transformations, keys of each.

use super::super::expert_names::{EXPERTS, GATED};
use super::{Architecture, Number, OutsideNames, Windows};

/// The tensors outside layers of Llama and most others.
const OUTSIDE: OutsideNames = OutsideNames {
    layers: "model.layers",
    tensors: &[
        ("token_embd", "model.embed_tokens"),
        ("output_norm", "model.norm"),
        ("output", "lm_head"),
        // Per-layer embeddings (Gemma 4).
        ("per_layer_token_embd", "model.embed_tokens_per_layer"),
        ("per_layer_model_proj", "model.per_layer_model_projection"),
        ("per_layer_proj_norm", "model.per_layer_projection_norm"),
    ],
};

const OUTSIDE_BAILING: OutsideNames = OutsideNames {
    layers: "model.layers",
    tensors: &[
        ("token_embd", "model.word_embeddings"),
        ("output_norm", "model.norm"),
        ("output", "lm_head"),
    ],
};

const OUTSIDE_PHI: OutsideNames = OutsideNames {
    layers: "model.layers",
    tensors: &[
        ("token_embd", "model.embed_tokens"),
        ("output_norm", "model.final_layernorm"),
        ("output", "lm_head"),
    ],
};

const OUTSIDE_GPT2: OutsideNames = OutsideNames {
    layers: "h",
    tensors: &[
        ("token_embd", "wte"),
        ("position_embd", "wpe"),
        ("output_norm", "ln_f"),
        ("output", "lm_head"),
    ],
};

const OUTSIDE_GPT_NEOX: OutsideNames = OutsideNames {
    layers: "gpt_neox.layers",
    tensors: &[
        ("token_embd", "gpt_neox.embed_in"),
        ("output_norm", "gpt_neox.final_layer_norm"),
        ("output", "embed_out"),
    ],
};

const fn required(own: &'static str, name: &'static str) -> Number {
    Number { own, name, is_required: true }
}

const fn optional(own: &'static str, name: &'static str) -> Number {
    Number { own, name, is_required: false }
}

/// Architectures without a peculiarity.
const PLAIN: Architecture = Architecture {
    name: "",
    model_type: "",
    outside: &OUTSIDE,
    has_interleaved_heads: false,
    adds_one_to_norms: false,
    layer_names: &[],
    whole_names: &[],
    experts: None,
    eps: ("attention.layer_norm_rms_epsilon", "rms_norm_eps"),
    biases: &[],
    numbers: &[],
    windows: Windows::Never,
};

const ATTENTION_BIAS: (&str, &[&str]) = ("attention_bias", &["attn_q", "attn_output"]);
const BAILING_BIASES: &[(&str, &[&str])] =
    &[("use_qkv_bias", &["attn_q", "attn_qkv"]), ("use_bias", &["attn_output"])];
const MLP_BIAS: (&str, &[&str]) = ("mlp_bias", &["ffn_down"]);

const GEMMA_NAMES: &[(&str, &str)] = &[
    ("post_attention_norm", "post_attention_layernorm"),
    ("ffn_norm", "pre_feedforward_layernorm"),
    ("post_ffw_norm", "post_feedforward_layernorm"),
];

/// The names of an expert that every token has, whose checkpoints fuse gate and up: this crate's.
const SHARED_EXPERT_NAMES: &[(&str, &str)] = &[
    ("ffn_gate_shexp", "shared_expert.gate_proj"),
    ("ffn_up_shexp", "shared_expert.up_proj"),
    ("ffn_down_shexp", "shared_expert.down_proj"),
];

/// Hugging Face's names of an expert that every token has, where its checkpoints speak of several.
const SHARED_EXPERTS_NAMES: [(&str, &str); 3] = [
    ("ffn_gate_shexp", "mlp.shared_experts.gate_proj"),
    ("ffn_up_shexp", "mlp.shared_experts.up_proj"),
    ("ffn_down_shexp", "mlp.shared_experts.down_proj"),
];

/// The bias of each expert's score for the choice of experts.
const SCORE_BIAS: &[(&str, &str)] = &[("exp_probs_b.bias", "mlp.gate.e_score_correction_bias")];

/// The names of norms after each part.
const POST_NORMS: &[(&str, &str)] = &[
    ("post_attention_norm", "post_attention_layernorm"),
    ("post_ffw_norm", "post_feedforward_layernorm"),
];

/// The ε of LayerNorm.
const LAYER_NORM: (&str, &str) = ("attention.layer_norm_epsilon", "layer_norm_eps");

/// The experts of architectures whose checkpoints stack them: this crate's names, of matrices apart.
const fn stacked(router: &'static str) -> Option<(&'static str, &'static str, [&'static str; 3])> {
    Some((router, EXPERTS, GATED))
}

/// The experts of Qwen and OLMoE.
const IN_MLP: Option<(&str, &str, [&str; 3])> = Some(("mlp.gate", "mlp.experts", GATED));

/// The experts of Mixtral and MiniMax.
const MIXTRAL: Option<(&str, &str, [&str; 3])> =
    Some(("block_sparse_moe.gate", "block_sparse_moe.experts", ["w1", "w3", "w2"]));

const GRANITE_NUMBERS: &[Number] = &[
    required("logit_scale", "logits_scaling"),
    optional("residual_scale", "residual_multiplier"),
    optional("embedding_scale", "embedding_multiplier"),
    optional("attention.scale", "attention_multiplier"),
];

/// All that are read.
pub(super) const ARCHITECTURES: &[Architecture] = &[
    Architecture {
        name: "llama",
        model_type: "llama",
        has_interleaved_heads: true,
        biases: &[ATTENTION_BIAS, MLP_BIAS],
        windows: Windows::All,
        ..PLAIN
    },
    Architecture {
        // `llama` with experts.
        name: "mixtral",
        model_type: "mixtral",
        has_interleaved_heads: true,
        experts: MIXTRAL,
        windows: Windows::All,
        ..PLAIN
    },
    Architecture {
        name: "arcee",
        model_type: "arcee",
        has_interleaved_heads: true,
        biases: &[ATTENTION_BIAS, MLP_BIAS],
        ..PLAIN
    },
    Architecture {
        name: "bailingmoe",
        model_type: "bailing_moe",
        outside: &OUTSIDE_BAILING,
        has_interleaved_heads: true,
        layer_names: &[
            ("attn_output", "attention.dense"),
            SHARED_EXPERTS_NAMES[0],
            SHARED_EXPERTS_NAMES[1],
            SHARED_EXPERTS_NAMES[2],
        ],
        experts: IN_MLP,
        biases: BAILING_BIASES,
        ..PLAIN
    },
    Architecture {
        name: "bailingmoe2",
        model_type: "bailing_moe_v2",
        outside: &OUTSIDE_BAILING,
        layer_names: &[
            ("attn_qkv", "attention.query_key_value"),
            ("attn_q_norm", "attention.query_layernorm"),
            ("attn_k_norm", "attention.key_layernorm"),
            ("attn_output", "attention.dense"),
            SHARED_EXPERTS_NAMES[0],
            SHARED_EXPERTS_NAMES[1],
            SHARED_EXPERTS_NAMES[2],
        ],
        whole_names: &[("exp_probs_b.bias", "mlp.gate.expert_bias")],
        experts: IN_MLP,
        biases: BAILING_BIASES,
        ..PLAIN
    },
    Architecture {
        name: "chatglm",
        model_type: "glm",
        layer_names: &[("ffn_up", "mlp.gate_up_proj")],
        biases: &[("attention_bias", &["attn_q", "attn_qkv"])],
        ..PLAIN
    },
    Architecture {
        name: "cohere2",
        model_type: "cohere2",
        eps: LAYER_NORM,
        numbers: &[required("logit_scale", "logit_scale")],
        windows: Windows::AllButEvery(4),
        ..PLAIN
    },
    Architecture {
        name: "command-r",
        model_type: "cohere",
        eps: LAYER_NORM,
        biases: &[ATTENTION_BIAS],
        numbers: &[required("logit_scale", "logit_scale")],
        ..PLAIN
    },
    Architecture {
        name: "dots1",
        model_type: "dots1",
        layer_names: &SHARED_EXPERTS_NAMES,
        whole_names: SCORE_BIAS,
        experts: IN_MLP,
        biases: &[ATTENTION_BIAS],
        ..PLAIN
    },
    Architecture {
        name: "ernie4_5",
        model_type: "ernie4_5",
        biases: &[("use_bias", &["attn_q", "ffn_down"])],
        ..PLAIN
    },
    Architecture {
        name: "ernie4_5-moe",
        model_type: "ernie4_5_moe",
        layer_names: &SHARED_EXPERTS_NAMES,
        whole_names: &[("exp_probs_b.bias", "mlp.moe_statics.e_score_correction_bias")],
        experts: IN_MLP,
        biases: &[("use_bias", &["attn_q", "ffn_down"])],
        ..PLAIN
    },
    Architecture {
        name: "exaone4",
        model_type: "exaone4",
        layer_names: POST_NORMS,
        windows: Windows::AllButEvery(4),
        ..PLAIN
    },
    Architecture {
        name: "gemma",
        model_type: "gemma",
        adds_one_to_norms: true,
        biases: &[ATTENTION_BIAS],
        ..PLAIN
    },
    Architecture {
        name: "gemma2",
        model_type: "gemma2",
        adds_one_to_norms: true,
        layer_names: GEMMA_NAMES,
        biases: &[ATTENTION_BIAS],
        numbers: &[
            optional("attn_logit_softcapping", "attn_logit_softcapping"),
            optional("final_logit_softcapping", "final_logit_softcapping"),
        ],
        windows: Windows::AllButEvery(2),
        ..PLAIN
    },
    Architecture {
        name: "gemma3",
        model_type: "gemma3_text",
        adds_one_to_norms: true,
        layer_names: GEMMA_NAMES,
        biases: &[ATTENTION_BIAS],
        numbers: &[optional("final_logit_softcapping", "final_logit_softcapping")],
        windows: Windows::AllButEvery(6),
        ..PLAIN
    },
    Architecture {
        name: "gemma4",
        model_type: "gemma4_text",
        layer_names: &[
            ("post_attention_norm", "post_attention_layernorm"),
            ("ffn_norm", "pre_feedforward_layernorm"),
            ("post_ffw_norm", "post_feedforward_layernorm"),
            ("post_ffw_norm_1", "post_feedforward_layernorm_1"),
            ("post_ffw_norm_2", "post_feedforward_layernorm_2"),
            ("pre_ffw_norm_2", "pre_feedforward_layernorm_2"),
            ("inp_gate", "per_layer_input_gate"),
            ("proj", "per_layer_projection"),
            ("post_norm", "post_per_layer_input_norm"),
        ],
        whole_names: &[
            ("layer_output_scale.weight", "layer_scalar"),
            ("ffn_gate_inp.scale", "router.scale"),
            ("ffn_down_exps.scale", "router.per_expert_scale"),
        ],
        experts: stacked("router.proj"),
        biases: &[ATTENTION_BIAS],
        numbers: &[optional("final_logit_softcapping", "final_logit_softcapping")],
        windows: Windows::AllButEvery(6),
        ..PLAIN
    },
    Architecture {
        name: "glm4",
        model_type: "glm4",
        layer_names: &[
            ("ffn_up", "mlp.gate_up_proj"),
            ("post_attention_norm", "post_self_attn_layernorm"),
            ("ffn_norm", "post_attention_layernorm"),
            ("post_ffw_norm", "post_mlp_layernorm"),
        ],
        biases: &[("attention_bias", &["attn_q"])],
        ..PLAIN
    },
    Architecture {
        // Also Solar Open, which has neither norms of heads nor dense layers.
        name: "glm4moe",
        model_type: "glm4_moe",
        layer_names: &[
            ("post_attention_norm", "post_attention_layernorm"),
            SHARED_EXPERTS_NAMES[0],
            SHARED_EXPERTS_NAMES[1],
            SHARED_EXPERTS_NAMES[2],
        ],
        whole_names: SCORE_BIAS,
        experts: IN_MLP,
        biases: &[("attention_bias", &["attn_q", "attn_qkv"])],
        ..PLAIN
    },
    Architecture {
        name: "gpt-oss",
        model_type: "gpt_oss",
        layer_names: &[("post_attention_norm", "post_attention_layernorm")],
        whole_names: &[("attn_sinks.weight", "self_attn.sinks")],
        experts: stacked("mlp.router"),
        biases: &[ATTENTION_BIAS],
        windows: Windows::AllButEvery(2),
        ..PLAIN
    },
    Architecture {
        name: "gpt2",
        model_type: "gpt2",
        outside: &OUTSIDE_GPT2,
        layer_names: &[
            ("attn_norm", "ln_1"),
            ("attn_qkv", "attn.c_attn"),
            ("attn_output", "attn.c_proj"),
            ("ffn_norm", "ln_2"),
            ("ffn_up", "mlp.c_fc"),
            ("ffn_down", "mlp.c_proj"),
        ],
        eps: ("attention.layer_norm_epsilon", "layer_norm_epsilon"),
        ..PLAIN
    },
    Architecture {
        name: "gptneox",
        model_type: "gpt_neox",
        outside: &OUTSIDE_GPT_NEOX,
        layer_names: &[
            ("attn_output", "attention.dense"),
            ("ffn_up", "mlp.dense_h_to_4h"),
            ("ffn_down", "mlp.dense_4h_to_h"),
        ],
        eps: LAYER_NORM,
        biases: &[("attention_bias", &["attn_qkv", "attn_q"])],
        ..PLAIN
    },
    Architecture {
        name: "granite",
        model_type: "granite",
        has_interleaved_heads: true,
        biases: &[ATTENTION_BIAS, MLP_BIAS],
        numbers: GRANITE_NUMBERS,
        ..PLAIN
    },
    Architecture {
        name: "granitemoe",
        model_type: "granitemoe",
        has_interleaved_heads: true,
        layer_names: SHARED_EXPERT_NAMES,
        experts: stacked("block_sparse_moe.router.layer"),
        biases: &[ATTENTION_BIAS],
        numbers: GRANITE_NUMBERS,
        ..PLAIN
    },
    Architecture {
        name: "hunyuan-dense",
        model_type: "hunyuan_v1_dense",
        layer_names: &[
            ("attn_q_norm", "self_attn.query_layernorm"),
            ("attn_k_norm", "self_attn.key_layernorm"),
        ],
        biases: &[ATTENTION_BIAS],
        ..PLAIN
    },
    Architecture {
        name: "hunyuan-moe",
        model_type: "hunyuan_v1_moe",
        layer_names: &[
            ("attn_q_norm", "self_attn.query_layernorm"),
            ("attn_k_norm", "self_attn.key_layernorm"),
            ("ffn_gate_shexp", "mlp.shared_mlp.gate_proj"),
            ("ffn_up_shexp", "mlp.shared_mlp.up_proj"),
            ("ffn_down_shexp", "mlp.shared_mlp.down_proj"),
        ],
        experts: Some(("mlp.gate.wg", "mlp.experts", GATED)),
        biases: &[ATTENTION_BIAS],
        ..PLAIN
    },
    Architecture {
        name: "minimax-m2",
        model_type: "minimax_m2",
        whole_names: &[("exp_probs_b.bias", "block_sparse_moe.e_score_correction_bias")],
        experts: MIXTRAL,
        ..PLAIN
    },
    Architecture {
        // Also Mistral Small 3, which has no temperature tuning.
        name: "mistral3",
        model_type: "ministral3",
        has_interleaved_heads: true,
        ..PLAIN
    },
    Architecture {
        // Also OLMo 3, which has a window.
        name: "olmo2",
        model_type: "olmo2",
        layer_names: POST_NORMS,
        biases: &[ATTENTION_BIAS],
        windows: Windows::AllButEvery(4),
        ..PLAIN
    },
    Architecture {
        name: "olmoe",
        model_type: "olmoe",
        experts: IN_MLP,
        biases: &[ATTENTION_BIAS],
        ..PLAIN
    },
    Architecture {
        name: "phi2",
        model_type: "phi",
        outside: &OUTSIDE_PHI,
        layer_names: &[
            ("attn_output", "self_attn.dense"),
            ("ffn_up", "mlp.fc1"),
            ("ffn_down", "mlp.fc2"),
        ],
        eps: LAYER_NORM,
        ..PLAIN
    },
    Architecture {
        name: "phi3",
        model_type: "phi3",
        layer_names: &[("attn_qkv", "self_attn.qkv_proj"), ("ffn_up", "mlp.gate_up_proj")],
        windows: Windows::All,
        ..PLAIN
    },
    Architecture { name: "qwen2", model_type: "qwen2", ..PLAIN },
    Architecture {
        name: "qwen2moe",
        model_type: "qwen2_moe",
        layer_names: &[
            ("ffn_gate_shexp", "mlp.shared_expert.gate_proj"),
            ("ffn_up_shexp", "mlp.shared_expert.up_proj"),
            ("ffn_down_shexp", "mlp.shared_expert.down_proj"),
            ("ffn_gate_inp_shexp", "mlp.shared_expert_gate"),
        ],
        experts: IN_MLP,
        biases: &[("qkv_bias", &["attn_q", "attn_qkv"])],
        ..PLAIN
    },
    Architecture { name: "qwen3", model_type: "qwen3", biases: &[ATTENTION_BIAS], ..PLAIN },
    Architecture {
        name: "qwen3moe",
        model_type: "qwen3_moe",
        experts: IN_MLP,
        biases: &[ATTENTION_BIAS],
        ..PLAIN
    },
    Architecture {
        name: "seed_oss",
        model_type: "seed_oss",
        layer_names: &[("post_attention_norm", "post_attention_layernorm")],
        biases: &[
            ("attention_bias", &["attn_q"]),
            ("attention_out_bias", &["attn_output"]),
            MLP_BIAS,
        ],
        ..PLAIN
    },
    Architecture {
        name: "smollm3",
        model_type: "smollm3",
        has_interleaved_heads: true,
        biases: &[ATTENTION_BIAS, MLP_BIAS],
        ..PLAIN
    },
    Architecture {
        name: "stablelm",
        model_type: "stablelm",
        eps: LAYER_NORM,
        biases: &[("use_qkv_bias", &["attn_q", "attn_qkv"])],
        ..PLAIN
    },
    Architecture {
        name: "starcoder2",
        model_type: "starcoder2",
        layer_names: &[("ffn_up", "mlp.c_fc"), ("ffn_down", "mlp.c_proj")],
        eps: ("attention.layer_norm_epsilon", "norm_epsilon"),
        biases: &[("use_bias", &["attn_q", "attn_qkv"])],
        ..PLAIN
    },
];
