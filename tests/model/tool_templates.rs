//! Messages as chat templates write them, accepted by the grammar of the family's tool format and
//! read back to the same calls, however they are split; random calls likewise.
#![allow(clippy::unwrap_used)]

use maskwright::model::{ChatTemplate, Message};
use maskwright::sample::{Bounds, Texts};
use maskwright::tools::{
    AfterReasoning, AssistantMessage, MessagePart, MessageReader, ReasoningFormat, ReasoningStart,
    Tool, ToolCalls, ToolChoice, ToolFormat,
};
use maskwright::{Compiler, Constraint, Vocabulary};
use serde_json::{Value, json};

use crate::model_support::shared;

/// A family of models: how it writes an assistant's message.
struct Family {
    /// Name of the format, and names of parsers and structural tags elsewhere that are aliases.
    names: &'static [&'static str],
    template: Template,
    /// Texts after the message, the last first, which end the turn.
    end: &'static [&'static str],
    /// Names of special tokens, in vocabularies that have them.
    special: &'static [&'static str],
    shape: Shape,
}

/// The source of a family's chat template.
enum Template {
    /// A real one, by its file among those of the corpora.
    File(&'static str),
    /// The part for an assistant's message `m`, after the family's documentation.
    Assistant(&'static str),
}

/// Parts that a message of a format can have together.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// Text and several calls.
    Both,
    /// Several calls, or text.
    EitherMany,
    /// One call, or text.
    EitherOne,
}
use Shape::{Both, EitherMany, EitherOne};

const LIST: &str = r#"{% for c in m.tool_calls %}{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments|tojson }}}{% if not loop.last %}, {% endif %}{% endfor %}"#;

const FAMILIES: &[Family] = &[
    Family {
        names: &["qwen", "hermes", "qwen25", "qwen_3", "granite4"],
        template: Template::File("Qwen-Qwen2.5-7B-Instruct.jinja"),
        end: &["<|im_end|>\n"],
        special: &["<tool_call>", "</tool_call>"],
        shape: Both,
    },
    Family {
        names: &["qwen"],
        template: Template::File("Qwen-Qwen3-0.6B.jinja"),
        end: &["<|im_end|>\n"],
        special: &[],
        shape: Both,
    },
    Family {
        names: &["qwen"],
        template: Template::File("NousResearch-Hermes-3-Llama-3.1-8B-tool_use.jinja"),
        end: &["<|im_end|>\n"],
        special: &[],
        shape: EitherMany,
    },
    Family {
        names: &["llama3", "llama3_json", "llama"],
        template: Template::File("meta-llama-Llama-3.1-8B-Instruct.jinja"),
        end: &["<|eot_id|>"],
        special: &[],
        shape: EitherOne,
    },
    Family {
        names: &["llama3", "llama3.2"],
        template: Template::File("meta-llama-Llama-3.2-3B-Instruct.jinja"),
        end: &["<|eot_id|>"],
        special: &[],
        shape: EitherOne,
    },
    Family {
        names: &["mistral"],
        template: Template::File("mistralai-Mistral-Nemo-Instruct-2407.jinja"),
        end: &["</s>"],
        special: &["[TOOL_CALLS]"],
        shape: EitherMany,
    },
    Family {
        names: &["mistral-args"],
        template: Template::Assistant(
            "{{ m.content }}{# [ARGS] #}{% for c in m.tool_calls %}[TOOL_CALLS]{{ c.function.name }}[ARGS]{{ c.function.arguments|tojson }}{% endfor %}",
        ),
        end: &["</s>"],
        special: &["[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"],
        shape: Both,
    },
    Family {
        names: &["deepseek", "deepseek_v3", "deepseekv3", "deepseek_r1"],
        template: Template::Assistant(
            "{{ m.content }}{% if m.tool_calls %}<｜tool▁calls▁begin｜>{% for c in m.tool_calls %}{{ '' if loop.first else '\\n' }}<｜tool▁call▁begin｜>function<｜tool▁sep｜>{{ c.function.name + '\\n```json\\n' + c.function.arguments|tojson + '\\n```' }}<｜tool▁call▁end｜>{% endfor %}<｜tool▁calls▁end｜>{% endif %}",
        ),
        end: &[],
        special: &[
            "<｜tool▁calls▁begin｜>",
            "<｜tool▁call▁begin｜>",
            "<｜tool▁sep｜>",
            "<｜tool▁call▁end｜>",
            "<｜tool▁calls▁end｜>",
        ],
        shape: Both,
    },
    Family {
        names: &["deepseek-v3.1", "deepseek_v31", "deepseekv31", "deepseek_v3_1"],
        template: Template::Assistant(
            "{{ m.content }}{% for tool in m.tool_calls %}{% if loop.first %}{{ '<｜tool▁calls▁begin｜>' }}{% endif %}{{ '<｜tool▁call▁begin｜>'+ tool['function']['name'] + '<｜tool▁sep｜>' + tool['function']['arguments']|tojson + '<｜tool▁call▁end｜>' }}{% if loop.last %}<｜tool▁calls▁end｜>{% endif %}{% endfor %}",
        ),
        end: &[],
        special: &["<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>"],
        shape: Both,
    },
    Family {
        names: &["gpt-oss", "openai", "harmony"],
        template: Template::File("openai-gpt-oss-120b.jinja"),
        end: &["<|call|>", "<|return|>"],
        special: &["<|channel|>", "<|message|>", "<|end|>", "<|start|>", "<|constrain|>"],
        shape: EitherOne,
    },
    Family {
        names: &["kimi-k2", "kimi_k2", "kimi"],
        template: Template::Assistant(
            "{{ m.content }}{% for c in m.tool_calls %}{% if loop.first %}<|tool_calls_section_begin|>{% endif %}<|tool_call_begin|>functions.{{ c.function.name }}:{{ loop.index0 }}<|tool_call_argument_begin|>{{ c.function.arguments|tojson }}<|tool_call_end|>{% if loop.last %}<|tool_calls_section_end|>{% endif %}{% endfor %}",
        ),
        end: &[],
        special: &["<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_call_end|>"],
        shape: Both,
    },
    Family {
        names: &["exaone4", "exaone"],
        template: Template::Assistant(
            "{# [|assistant|] #}{{ m.content }}{% for c in m.tool_calls %}<tool_call>{\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments|tojson }}}</tool_call>{{ '\\n' if not loop.last else '' }}{% endfor %}",
        ),
        end: &[],
        special: &["<tool_call>"],
        shape: Both,
    },
    Family {
        names: &["command", "cohere_command3"],
        template: Template::Assistant(
            "{% if m.tool_calls %}<|START_ACTION|>{{ '[\\n    ' }}{% for c in m.tool_calls %}{\"tool_call_id\": \"{{ loop.index0 }}\", \"tool_name\": \"{{ c.function.name }}\", \"parameters\": {{ c.function.arguments|tojson }}}{{ ',\\n    ' if not loop.last else '\\n]' }}{% endfor %}<|END_ACTION|>{% else %}<|START_RESPONSE|>{{ m.content }}<|END_RESPONSE|>{% endif %}",
        ),
        end: &[],
        special: &["<|START_ACTION|>", "<|END_ACTION|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>"],
        shape: EitherMany,
    },
    Family {
        names: &["functools", "phi4_mini_json"],
        template: Template::Assistant(
            "{{ m.content }}{% if m.tool_calls %} functools[LIST]{% endif %}",
        ),
        end: &[],
        special: &[],
        shape: Both,
    },
    Family {
        names: &["phi4-mini"],
        template: Template::Assistant(
            "{{ m.content }}{% for c in m.tool_calls %}<|tool_call|>{\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments|tojson }}}<|/tool_call|>{% endfor %}",
        ),
        end: &[],
        special: &["<|tool_call|>", "<|/tool_call|>"],
        shape: Both,
    },
    Family {
        names: &["granite"],
        template: Template::Assistant(
            "{# <|start_of_role|> #}{{ m.content }}{% if m.tool_calls %}<|tool_call|>[LIST]{% endif %}",
        ),
        end: &[],
        special: &["<|tool_call|>"],
        shape: Both,
    },
    Family {
        names: &["hunyuan", "hunyuan_a13b"],
        template: Template::Assistant(
            "{{ m.content }}{% if m.tool_calls %}<tool_calls>[LIST]</tool_calls>{% endif %}",
        ),
        end: &[],
        special: &[],
        shape: Both,
    },
    Family {
        names: &["nemotron"],
        template: Template::Assistant(
            "{{ m.content }}{% if m.tool_calls %}<TOOLCALL>[LIST]</TOOLCALL>{% endif %}",
        ),
        end: &[],
        special: &[],
        shape: Both,
    },
    Family {
        names: &["longcat"],
        template: Template::Assistant(
            "{{ m.content }}{% for c in m.tool_calls %}{{ '' if loop.first else '\\n' }}<longcat_tool_call>{{ '\\n' }}{\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments|tojson }}}{{ '\\n' }}</longcat_tool_call>{% endfor %}",
        ),
        end: &[],
        special: &["<longcat_tool_call>", "</longcat_tool_call>"],
        shape: Both,
    },
    Family {
        names: &["apertus"],
        template: Template::Assistant(
            "{{ m.content }}{% for c in m.tool_calls %}{{ '<|tools_prefix|>[' if loop.first else ', ' }}{\"{{ c.function.name }}\": {{ c.function.arguments|tojson }}}{{ ']<|tools_suffix|>' if loop.last else '' }}{% endfor %}",
        ),
        end: &[],
        special: &["<|tools_prefix|>", "<|tools_suffix|>"],
        shape: Both,
    },
    Family {
        names: &["qwen-coder", "qwen3_coder", "qwen3_xml", "qwen_3_5"],
        template: Template::Assistant(
            "{{ m.content }}{% for c in m.tool_calls %}{{ '\\n<tool_call>\\n<function=' + c.function.name + '>\\n' }}{% for k, v in c.function.arguments|items %}{{ '<parameter=' + k + '>\\n' }}{{ v if v is string else v|tojson }}{{ '\\n</parameter>\\n' }}{% endfor %}{{ '</function>\\n</tool_call>' }}{% endfor %}",
        ),
        end: &[],
        special: &["<tool_call>", "</tool_call>"],
        shape: Both,
    },
    Family {
        names: &["mimo"],
        template: Template::Assistant(
            "{{ m.content }}{% for c in m.tool_calls %}<tool_call><function={{ c.function.name }}>{% for k, v in c.function.arguments|items %}<parameter={{ k }}>{{ v if v is string else v|tojson }}</parameter>{% endfor %}</function></tool_call>{% endfor %}",
        ),
        end: &[],
        special: &["<tool_call>", "</tool_call>"],
        shape: Both,
    },
    Family {
        names: &["seed-oss", "seed_oss"],
        template: Template::Assistant(
            "{{ m.content }}{% for c in m.tool_calls %}{{ '\\n<seed:tool_call>\\n<function=' + c.function.name + '>\\n' }}{% for k, v in c.function.arguments|items %}<parameter={{ k }}>{{ v if v is string else v|tojson }}{{ '</parameter>\\n' }}{% endfor %}{{ '</function>\\n</seed:tool_call>' }}{% endfor %}",
        ),
        end: &[],
        special: &["<seed:tool_call>"],
        shape: Both,
    },
    Family {
        names: &["glm-4.5", "glm45"],
        template: Template::Assistant(
            "{{ m.content }}{% for c in m.tool_calls %}{{ '\\n<tool_call>' + c.function.name + '\\n' }}{% for k, v in c.function.arguments|items %}<arg_key>{{ k }}</arg_key>{{ '\\n' }}<arg_value>{{ v if v is string else v|tojson }}</arg_value>{{ '\\n' }}{% endfor %}</tool_call>{% endfor %}",
        ),
        end: &[],
        special: &["<tool_call>", "</tool_call>"],
        shape: Both,
    },
    Family {
        names: &["glm-4.7", "glm47", "glm_4_7"],
        template: Template::Assistant(
            "{# <tool_call>{function-name}<arg_key> #}{{ m.content }}{% for c in m.tool_calls %}<tool_call>{{ c.function.name }}{% for k, v in c.function.arguments|items %}<arg_key>{{ k }}</arg_key><arg_value>{{ v if v is string else v|tojson }}</arg_value>{% endfor %}</tool_call>{{ '' if loop.last else '\\n' }}{% endfor %}",
        ),
        end: &[],
        special: &["<tool_call>", "</tool_call>"],
        shape: Both,
    },
    Family {
        names: &["minimax-m2", "minimax_m2", "minimax"],
        template: Template::Assistant(
            "{{ m.content }}{% for c in m.tool_calls %}{% if loop.first %}{{ '\\n<minimax:tool_call>\\n' }}{% endif %}{{ '<invoke name=\"' + c.function.name + '\">\\n' }}{% for k, v in c.function.arguments|items %}<parameter name=\"{{ k }}\">{{ v if v is string else v|tojson }}</parameter>{{ '\\n' }}{% endfor %}{{ '</invoke>\\n' }}{% if loop.last %}</minimax:tool_call>{% endif %}{% endfor %}",
        ),
        end: &[],
        special: &["<minimax:tool_call>", "</minimax:tool_call>"],
        shape: Both,
    },
    Family {
        names: &["deepseek-v3.2", "deepseek_v32", "deepseekv32"],
        template: Template::Assistant(
            "{{ m.content }}{% for c in m.tool_calls %}{% if loop.first %}{{ '\\n\\n<｜DSML｜function_calls>\\n' }}{% endif %}{{ '<｜DSML｜invoke name=\"' + c.function.name + '\">\\n' }}{% for k, v in c.function.arguments|items %}<｜DSML｜parameter name=\"{{ k }}\" string=\"{{ 'true' if v is string else 'false' }}\">{{ v if v is string else v|tojson }}</｜DSML｜parameter>{{ '\\n' }}{% endfor %}{{ '</｜DSML｜invoke>\\n' }}{% if loop.last %}</｜DSML｜function_calls>{% endif %}{% endfor %}",
        ),
        end: &[],
        special: &["｜DSML｜"],
        shape: Both,
    },
    Family {
        names: &["deepseek-v4", "deepseek_v4"],
        template: Template::Assistant(
            "{{ m.content }}{% for c in m.tool_calls %}{% if loop.first %}{{ '\\n\\n<｜DSML｜tool_calls>\\n' }}{% endif %}{{ '<｜DSML｜invoke name=\"' + c.function.name + '\">\\n' }}{% for k, v in c.function.arguments|items %}<｜DSML｜parameter name=\"{{ k }}\" string=\"{{ 'true' if v is string else 'false' }}\">{{ v if v is string else v|tojson }}</｜DSML｜parameter>{{ '\\n' }}{% endfor %}{{ '</｜DSML｜invoke>\\n' }}{% if loop.last %}</｜DSML｜tool_calls>{% endif %}{% endfor %}",
        ),
        end: &[],
        special: &["｜DSML｜"],
        shape: Both,
    },
    Family {
        names: &["deepseek-v4.1", "deepseek_v4_1"],
        template: Template::Assistant(
            "{{ m.content }}{% for c in m.tool_calls %}{% if loop.first %}{{ '\\n\\n<｜DSML｜ calls>\\n' }}{% endif %}{{ '<｜DSML｜ invoke name=\"' + c.function.name + '\">\\n' }}{% for k, v in c.function.arguments|items %}<｜DSML｜ parameter name=\"{{ k }}\" string=\"{{ 'true' if v is string else 'false' }}\">{{ v if v is string else v|tojson }}</｜DSML｜ parameter>{{ '\\n' }}{% endfor %}{{ '</｜DSML｜ invoke>\\n' }}{% if loop.last %}</｜DSML｜ calls>{% endif %}{% endfor %}",
        ),
        end: &[],
        special: &[],
        shape: Both,
    },
    Family {
        names: &["kimi-k3", "kimi_k3"],
        template: Template::Assistant(
            "{# <|end_of_msg|> #}{{ m.content }}<|close|>response<|sep|>{% for c in m.tool_calls %}{% if loop.first %}<|open|>tools<|sep|>{% endif %}<|open|>call tool=\"{{ c.function.name }}\" index=\"{{ loop.index }}\"<|sep|>{% for k, v in c.function.arguments|items %}<|open|>argument key=\"{{ k }}\" type=\"{{ 'boolean' if v is boolean else 'number' if v is number else 'string' if v is string else 'object' if v is mapping else 'array' }}\"<|sep|>{{ v if v is string else v|tojson }}<|close|>argument<|sep|>{% endfor %}<|close|>call<|sep|>{% if loop.last %}<|close|>tools<|sep|>{% endif %}{% endfor %}<|close|>message<|sep|>",
        ),
        end: &[],
        special: &["<|open|>", "<|close|>", "<|sep|>"],
        shape: Both,
    },
    Family {
        names: &["gemma4", "gemma_4"],
        template: Template::Assistant(
            "{% macro arg(v) %}{% if v is string %}<|\"|>{{ v }}<|\"|>{% elif v is mapping %}{{ '{' }}{% for k, x in v|items %}{{ k }}:{{ arg(x) }}{{ ',' if not loop.last }}{% endfor %}{{ '}' }}{% elif v is boolean or v is none or v is number %}{{ v|tojson }}{% else %}[{% for x in v %}{{ arg(x) }}{{ ',' if not loop.last }}{% endfor %}]{% endif %}{% endmacro %}{{ m.content }}{% for c in m.tool_calls %}<|tool_call>call:{{ c.function.name }}{{ arg(c.function.arguments) }}<tool_call|>{% endfor %}",
        ),
        end: &[],
        special: &["<|tool_call>", "<tool_call|>", "<|\"|>"],
        shape: Both,
    },
    Family {
        names: &["llama4", "llama4_pythonic"],
        template: Template::Assistant(
            "{# <|header_start|> #}{{ m.content }}{% if m.tool_calls %}[{% for c in m.tool_calls %}{{ c.function.name }}({% for k, v in c.function.arguments|items %}{{ k }}={{ v|tojson }}{{ ', ' if not loop.last }}{% endfor %}){{ ', ' if not loop.last }}{% endfor %}]{% endif %}",
        ),
        end: &[],
        special: &[],
        shape: EitherMany,
    },
    Family {
        names: &["minimax-m3", "minimax_m3"],
        template: Template::Assistant(
            "{% macro arg(v) %}{% if v is string %}{{ v }}{% elif v is mapping %}{% for k, x in v|items %}]<]minimax[>[<{{ k }}>{{ arg(x) }}]<]minimax[>[</{{ k }}>{% endfor %}{% elif v is boolean or v is none or v is number %}{{ v|tojson }}{% else %}{% for x in v %}]<]minimax[>[<item>{{ arg(x) }}]<]minimax[>[</item>{% endfor %}{% endif %}{% endmacro %}{{ m.content }}{% for c in m.tool_calls %}{% if loop.first %}{{ ']<]minimax[>[<tool_call>\\n' }}{% endif %}]<]minimax[>[<invoke name=\"{{ c.function.name }}\">{{ arg(c.function.arguments) }}{{ ']<]minimax[>[</invoke>\\n' }}{% if loop.last %}]<]minimax[>[</tool_call>{% endif %}{% endfor %}",
        ),
        end: &[],
        special: &["]<]minimax[>["],
        shape: Both,
    },
    Family {
        names: &["lfm2", "lfm2.5"],
        template: Template::Assistant(
            "{% macro arg(v) %}{% if v is string and '\\\\' not in v and '\\n' not in v %}'{{ v }}'{% elif v is boolean %}{{ 'True' if v else 'False' }}{% elif v is none %}None{% elif v is string or v is number %}{{ v|tojson }}{% elif v is mapping %}{{ '{' }}{% for k, x in v|items %}\"{{ k }}\": {{ arg(x) }}{{ ', ' if not loop.last }}{% endfor %}{{ '}' }}{% else %}[{% for x in v %}{{ arg(x) }}{{ ', ' if not loop.last }}{% endfor %}]{% endif %}{% endmacro %}{{ m.content }}{% if m.tool_calls %}<|tool_call_start|>[{% for c in m.tool_calls %}{{ c.function.name }}({% for k, v in c.function.arguments|items %}{{ k }}={{ arg(v) }}{{ ', ' if not loop.last }}{% endfor %}){{ ', ' if not loop.last }}{% endfor %}]<|tool_call_end|>{% endif %}",
        ),
        end: &[],
        special: &["<|tool_call_start|>", "<|tool_call_end|>"],
        shape: Both,
    },
    Family {
        names: &["lfm2"],
        template: Template::Assistant(
            "{{ m.content }}{% if m.tool_calls %}<|tool_call_start|>[{% for c in m.tool_calls %}{{ c.function.name }}({% for k, v in c.function.arguments|items %}{{ k }}={{ v|tojson }}{{ ', ' if not loop.last }}{% endfor %}){{ ', ' if not loop.last }}{% endfor %}]<|tool_call_end|>{% endif %}",
        ),
        end: &[],
        special: &["<|tool_call_start|>", "<|tool_call_end|>"],
        shape: Both,
    },
    Family {
        names: &["olmo3"],
        template: Template::Assistant(
            "{{ m.content }}{% if m.tool_calls %}<function_calls>{{ '\\n' }}{% for c in m.tool_calls %}{{ c.function.name }}({% for k, v in c.function.arguments|items %}{{ k }}={{ v|tojson }}{{ ', ' if not loop.last }}{% endfor %}){{ '\\n' }}{% endfor %}</function_calls>{% endif %}",
        ),
        end: &[],
        special: &[],
        shape: Both,
    },
];

fn tools() -> Vec<Tool> {
    let weather = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
        "additionalProperties": false,
    });
    let search = json!({
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "filter": {
                "type": "object",
                "properties": {
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "exact": {"type": "boolean"},
                    "limit": {"type": ["number", "null"]},
                },
                "required": ["tags", "exact", "limit"],
                "additionalProperties": false,
            },
            "pages": {"type": "array", "items": {"type": "integer"}},
            "safe": {"type": "boolean"},
        },
        "required": ["query", "filter"],
        "additionalProperties": false,
    });
    vec![
        Tool::new("get_weather", weather).unwrap().with_description("Weather."),
        Tool::new("web.search-2", search).unwrap().with_description("Finds."),
        Tool::new(
            "now",
            json!({"type": "object", "properties": {}, "additionalProperties": false}),
        )
        .unwrap()
        .with_description("The time."),
    ]
}

/// Text, reasoning and calls of a message.
fn conversations() -> Vec<(&'static str, Vec<(&'static str, Value)>)> {
    let oslo = ("get_weather", json!({"city": "Oslo", "days": 31}));
    let nested = json!({
        "query": "naïve \"δ\" </x> \\ {日本}\n🌦 [a] <b>",
        "filter": {"tags": ["x", "é, y"], "exact": false, "limit": null},
        "pages": [1, 22],
        "safe": true,
    });
    vec![
        ("Hé, no call: f(x) < g. No [list], no {object}.", vec![]),
        ("", vec![oslo.clone()]),
        ("Let me see.", vec![oslo.clone()]),
        ("", vec![("web.search-2", nested.clone())]),
        ("", vec![oslo.clone(), ("now", json!({})), ("web.search-2", nested)]),
        ("One < two, so:", vec![("now", json!({})), oslo]),
    ]
}

fn template(family: &Family) -> Option<String> {
    Some(match family.template {
        Template::File(file) => std::fs::read_to_string(shared("templates")?.join(file)).unwrap(),
        Template::Assistant(part) => {
            let part = part.replace("LIST", LIST);
            format!(
                "{{% for m in messages %}}{{% if m.role == 'assistant' %}}{part}{{% else %}}<|user|>{{{{ m.content }}}}<|assistant|>{{% endif %}}{{% endfor %}}"
            )
        }
    })
}

/// The message as the template writes it after the prompt.
fn written(
    template: &ChatTemplate,
    family: &Family,
    text: &str,
    calls: &[(&str, Value)],
) -> String {
    let user = Message::new("user", "Hi!");
    let mut assistant = Message::new("assistant", text);
    if !calls.is_empty() {
        let calls: Vec<Value> = calls
            .iter()
            .map(|(name, arguments)| {
                json!({"id": "abcDEF123", "type": "function",
                    "function": {"name": name, "arguments": arguments}})
            })
            .collect();
        assistant.more.insert("tool_calls".into(), calls.into());
    }
    let tools = tools().iter().map(Tool::to_value).collect::<Value>();
    // A template that reads no tools is not told of any: it would have the calls in words.
    let told = template.render(std::slice::from_ref(&user), true, Some(&tools)).unwrap();
    let tools = Some(&tools).filter(|_| !told.contains("You can call these tools."));
    let render = |messages: &[Message], generation: bool| {
        template.render(messages, generation, tools).unwrap()
    };
    let prompt = render(std::slice::from_ref(&user), true);
    let whole = render(&[user, assistant], false);
    let start = prompt.bytes().zip(whole.bytes()).take_while(|(a, b)| a == b).count();
    // Templates that write the line end of the role with the message.
    assert!(prompt[start..].trim().is_empty(), "{prompt}\n{whole}");
    let mut message = &whole[start..];
    for end in family.end {
        message = message.strip_suffix(end).unwrap_or(message);
    }
    message.to_owned()
}

/// A vocabulary of bytes and special tokens; all are text in one without.
fn vocabulary(special: &[&str]) -> Vocabulary {
    let bytes = (0..=255u8).map(|byte| Some(vec![byte]));
    let tokens = bytes.chain(std::iter::repeat_n(None, special.len() + 1)).collect();
    let mut names: Vec<(u32, &str)> = (257..).zip(special.iter().copied()).collect();
    names.push((256, "</s>"));
    Vocabulary::from_tokens(tokens, &names, &[256]).unwrap()
}

/// Text in parts: runs of text, and names of special tokens.
fn parts<'a>(mut text: &'a str, special: &[&'a str]) -> Vec<(&'a str, Option<u32>)> {
    let mut parts = Vec::new();
    while !text.is_empty() {
        let first = special.iter().enumerate().filter_map(|(i, name)| Some((text.find(name)?, i)));
        let (at, token) = match first.min() {
            Some((at, i)) => (at, Some(i)),
            None => (text.len(), None),
        };
        if at > 0 {
            parts.push((&text[..at], None));
        }
        text = &text[at..];
        if let Some(i) = token {
            parts.push((special[i], Some(257 + i as u32)));
            text = &text[special[i].len()..];
        }
    }
    parts
}

fn accepts(constraint: &Constraint, message: &str, special: &[&str]) -> bool {
    let mut matcher = constraint.matcher();
    let read = parts(message, special).into_iter().all(|(text, token)| match token {
        Some(token) => matcher.accept(token).is_ok(),
        None => matcher.accept_bytes(text.as_bytes()).is_ok(),
    });
    read && matcher.is_accepting()
}

/// Reads a message whose runs of text come split.
fn read(
    mut reader: MessageReader,
    message: &str,
    special: &[&str],
    split: &dyn Fn(&str) -> Vec<String>,
) -> (AssistantMessage, Vec<MessagePart>) {
    let mut told = Vec::new();
    for (text, token) in parts(message, special) {
        match token {
            Some(_) => told.extend(reader.special(text)),
            None => split(text).iter().for_each(|text| told.extend(reader.text(text))),
        }
    }
    told.extend(reader.finish());
    let mut reply = AssistantMessage::default();
    told.iter().for_each(|part| reply.add(part));
    (reply, told)
}

/// Each character alone.
fn characters(text: &str) -> Vec<String> {
    text.chars().map(String::from).collect()
}

fn check_reply(reply: &AssistantMessage, text: &str, calls: &[(&str, Value)], message: &str) {
    assert_eq!(reply.text.trim(), text, "{message}");
    let read: Vec<(&str, Value)> = reply
        .calls
        .iter()
        .map(|call| (call.name.as_str(), serde_json::from_str(&call.arguments).unwrap()))
        .collect();
    assert_eq!(read, calls, "{message}");
}

#[test]
fn messages_of_chat_templates_are_accepted_and_read_back() {
    let tokenizer = tiktoken_rs::o200k_base().unwrap();
    let tokens = |text: &str| {
        let (mut pieces, mut open) = (Vec::new(), Vec::new());
        for token in tokenizer.encode_ordinary(text) {
            open.extend(tokenizer.decode_bytes(&[token]).unwrap());
            if let Ok(piece) = std::str::from_utf8(&open) {
                pieces.push(piece.to_owned());
                open.clear();
            }
        }
        pieces
    };
    for family in FAMILIES {
        let Some(source) = template(family) else { continue };
        let format = ToolFormat::named(family.names[0]).unwrap();
        for name in family.names {
            assert_eq!(ToolFormat::named(name).unwrap().name(), format.name());
        }
        let shown = ToolFormat::of_template(&source);
        assert_eq!(shown.map(|format| format.name().to_owned()).as_deref(), Some(format.name()));
        let template = ChatTemplate::new(&source, &[("eos_token", "</s>")]).unwrap();
        // Formats whose tokens a vocabulary must have say so.
        let plain =
            ToolCalls::new(tools(), format.clone()).compile(&Compiler::new(vocabulary(&[])));
        let needs = matches!(format.name(), "gpt-oss" | "mistral" | "mistral-args");
        assert_eq!(plain.is_err(), needs, "{}", format.name());
        let mut kinds = vec![family.special];
        if !needs {
            kinds.push(&[]);
        }
        for special in kinds {
            let compiler = Compiler::new(vocabulary(special));
            for (text, mut calls) in conversations() {
                if family.shape == EitherOne {
                    calls.truncate(1);
                }
                let both = family.shape == Both;
                let text = if both || calls.is_empty() { text } else { "" };
                let message = written(&template, family, text, &calls);
                // Reasoning, be it none, which the template writes before the message.
                let think = ReasoningFormat::named("think").unwrap();
                let thinks = message.starts_with("<think>");
                let reasoning = thinks.then_some((&think, ReasoningStart::Message));
                let (start, after) = (ReasoningStart::Message, AfterReasoning::ToolFormat);
                let prefix = think.grammar(compiler.vocabulary(), start, after).unwrap();
                let compiler = if thinks {
                    compiler.clone().with_prefix(&prefix).unwrap()
                } else {
                    compiler.clone()
                };
                let choices = match (text, calls.as_slice()) {
                    (_, []) => vec![ToolChoice::Auto, ToolChoice::None],
                    ("", [one]) => vec![
                        ToolChoice::Auto,
                        ToolChoice::Required,
                        ToolChoice::Named(one.0.to_owned()),
                    ],
                    ("", _) => vec![ToolChoice::Auto, ToolChoice::Required],
                    _ => vec![ToolChoice::Auto],
                };
                for choice in choices {
                    let is_auto = choice == ToolChoice::Auto;
                    // Where a call must come, text before it is no message.
                    let message = match choice {
                        ToolChoice::Required | ToolChoice::Named(_) => {
                            let bare = message.trim_start();
                            if bare.starts_with("to=") { &message } else { bare }
                        }
                        _ => &message,
                    };
                    let forced = ToolCalls::new(tools(), format.clone()).with_choice(choice);
                    let constraint = forced.compile(&compiler).unwrap();
                    assert!(
                        accepts(&constraint, message, special),
                        "{}: {message}",
                        family.names[0]
                    );
                    let (reply, told) =
                        read(forced.reader(reasoning), message, special, &characters);
                    check_reply(&reply, text, &calls, message);
                    // Arguments come as they are written.
                    let arguments = |part: &&MessagePart| matches!(part, MessagePart::Arguments(_));
                    let has_arguments = calls.iter().any(|(name, _)| *name != "now");
                    assert!(!has_arguments || told.iter().filter(arguments).count() > 8);
                    let (reply, _) = read(forced.reader(reasoning), message, special, &tokens);
                    check_reply(&reply, text, &calls, message);
                    let splits = message.char_indices().map(|(at, _)| at);
                    for at in splits.filter(|_| is_auto && special == family.special) {
                        let halves = |text: &str| match message
                            .find(text)
                            .filter(|&from| from < at && at < from + text.len())
                        {
                            Some(from) => {
                                vec![text[..at - from].to_owned(), text[at - from..].to_owned()]
                            }
                            None => vec![text.to_owned()],
                        };
                        let (again, _) = read(forced.reader(reasoning), message, special, &halves);
                        assert_eq!(again, reply, "{message}");
                    }
                }
                // Another tool, an argument of another type.
                let auto = ToolCalls::new(tools(), format.clone()).compile(&compiler).unwrap();
                for (right, wrong) in
                    [("get_weather", "get_whether"), ("31", "many"), ("31", "3.5")]
                {
                    if message.contains(right) {
                        let bad = message.replace(right, wrong);
                        assert!(!accepts(&auto, &bad, special), "{}: {bad}", family.names[0]);
                    }
                }
            }
        }
    }
}

#[test]
fn ids_of_calls_are_read() {
    let calls = |name: &str| ToolCalls::new(tools(), ToolFormat::named(name).unwrap());
    let kimi = "<|tool_calls_section_begin|><|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_call_begin|>functions.web.search-2:12<|tool_call_argument_begin|>{";
    let (reply, _) = read(calls("kimi-k2").reader(None), kimi, &[], &characters);
    let ids: Vec<_> = reply.calls.iter().map(|call| call.id.as_deref()).collect();
    assert_eq!(ids, [Some("functions.now:0"), Some("functions.web.search-2:12")]);
    let twice = kimi.replace("functions.web.search-2:12", "functions.now:0");
    let (reply, _) = read(calls("kimi-k2").reader(None), &twice, &[], &characters);
    let ids: Vec<_> = reply.calls.iter().map(|call| call.id.as_deref()).collect();
    assert_eq!(ids, [Some("functions.now:0"), None]);
    let special = &["[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"];
    let mistral = "[TOOL_CALLS]now[CALL_ID]abcDEF123[ARGS]{}[TOOL_CALLS]now[ARGS]{}";
    let constraint = calls("mistral-args").compile(&Compiler::new(vocabulary(special))).unwrap();
    assert!(accepts(&constraint, mistral, special));
    let (reply, _) = read(calls("mistral-args").reader(None), mistral, special, &characters);
    let ids: Vec<_> = reply.calls.iter().map(|call| call.id.as_deref()).collect();
    assert_eq!(ids, [Some("abcDEF123"), None]);
}

/// A schema of arguments that a seed draws.
fn drawn_schema(random: &mut impl FnMut(u32) -> u32, depth: u32) -> Value {
    match random(if depth == 0 { 6 } else { 8 }) {
        0 | 1 => json!({"type": "string", "maxLength": 12}),
        2 => json!({"type": "integer", "minimum": -50, "maximum": 999}),
        3 => json!({"type": "boolean"}),
        4 => json!({"enum": ["a", "b c", 7, null, true]}),
        5 => json!({"type": ["number", "null"]}),
        6 => json!({"type": "array", "items": drawn_schema(random, depth - 1), "maxItems": 3}),
        _ => drawn_object(random, depth - 1),
    }
}

fn drawn_object(random: &mut impl FnMut(u32) -> u32, depth: u32) -> Value {
    let names = ["city", "n", "when", "list", "a_b"];
    let mut properties = serde_json::Map::new();
    let mut required = Vec::new();
    for name in names.iter().take(random(4) as usize) {
        properties.insert((*name).to_owned(), drawn_schema(random, depth));
        if random(2) == 0 {
            required.push(*name);
        }
    }
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

#[test]
fn random_calls_are_read_back() {
    let mut state = 7u64;
    let mut random = move |below: u32| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % u64::from(below)) as u32
    };
    let compiler = Compiler::new(vocabulary(&[]));
    for format in ToolFormat::known().unwrap() {
        for round in 0..3 {
            let tools: Vec<Tool> = ["one", "two.b", "three-c"]
                .into_iter()
                .map(|name| Tool::new(name, drawn_object(&mut random, 2)).unwrap())
                .collect();
            for choice in [ToolChoice::Required, ToolChoice::Auto] {
                let calls = ToolCalls::new(tools.clone(), format.clone()).with_choice(choice);
                // Special tokens are not drawn.
                let Ok(constraint) = calls.compile(&compiler) else { continue };
                let bounds = Bounds { max_bytes: 600, ..Bounds::default() };
                let mut texts = Texts::new(&constraint, round).unwrap().within(bounds);
                for _ in 0..6 {
                    let message = String::from_utf8(texts.draw().unwrap()).unwrap();
                    let (reply, _) = read(calls.reader(None), &message, &[], &characters);
                    let (again, _) =
                        read(calls.reader(None), &message, &[], &|text| vec![text.to_owned()]);
                    assert_eq!(reply, again, "{}: {message}", format.name());
                    for call in &reply.calls {
                        let tool = tools.iter().find(|tool| tool.name() == call.name).unwrap();
                        let value: Value =
                            serde_json::from_str(&call.arguments).unwrap_or_else(|error| {
                                panic!("{}: {message}\n{error}: {}", format.name(), call.arguments)
                            });
                        let valid = jsonschema::is_valid(tool.parameters(), &value);
                        assert!(valid, "{}: {message}\n{value}", format.name());
                    }
                    let required = calls.clone().with_choice(ToolChoice::Required);
                    if accepts(&required.compile(&compiler).unwrap(), &message, &[]) {
                        assert!(
                            !reply.calls.is_empty() && reply.text.is_empty(),
                            "{}: {message}",
                            format.name()
                        );
                    }
                }
            }
        }
    }
}
