//! Chunks by a seed: few ids, so that they meet each other in every order.

use tackroom_core::transcript::Chunk;

/// A small generator of numbers (`SplitMix64`).
pub(crate) struct Seed(pub(crate) u64);

impl Seed {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    pub(crate) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }
}

/// A field in one of `one_in` cases.
fn maybe(seed: &mut Seed, one_in: usize, fields: &[&str]) -> String {
    if seed.chance(one_in) { format!(",{}", seed.pick(fields)) } else { String::new() }
}

const METADATA: &[&str] = &[r#""providerMetadata":{"p":{"x":1}}"#, r#""providerMetadata":{"q":{}}"#];
const INPUTS: &[&str] = &["{}", "1", "\"s\"", r#"{"b":1,"a":[true,null]}"#, "null"];

fn call(seed: &mut Seed) -> String {
    format!(r#""toolCallId":"{}""#, seed.pick(&["c", "d"]))
}

fn tool_fields(seed: &mut Seed) -> String {
    let name = seed.pick(&["bash", "web-fetch"]);
    let mut fields = format!(r#"{},"toolName":"{name}""#, call(seed));
    fields += &maybe(seed, 4, &[r#""dynamic":true"#, r#""dynamic":false"#]);
    fields += &maybe(seed, 4, &[r#""providerExecuted":true"#, r#""providerExecuted":false"#]);
    fields += &maybe(seed, 4, &[r#""toolMetadata":{"k":[1]}"#]);
    fields += &maybe(seed, 4, METADATA);
    fields
}

fn tool_chunk(seed: &mut Seed) -> String {
    let with_title = |seed: &mut Seed| tool_fields(seed) + &maybe(seed, 4, &[r#""title":"T""#]);
    match seed.below(12) {
        0 => format!(r#""type":"tool-input-start",{}"#, with_title(seed)),
        1 | 2 => {
            let text = seed.pick(&[r#"{\"a\":"#, r#"\"x"#, "1", "}", "nope", "[tr", ",", r"\ud83d", r"\ude00"]);
            format!(r#""type":"tool-input-delta",{},"inputTextDelta":"{text}""#, call(seed))
        }
        3 | 4 => format!(r#""type":"tool-input-available",{},"input":{}"#, with_title(seed), seed.pick(INPUTS)),
        5 => format!(
            r#""type":"tool-input-error",{},"input":{},"errorText":"bad""#,
            tool_fields(seed),
            seed.pick(INPUTS)
        ),
        6 => {
            let mut fields = format!(r#""approvalId":"{}",{}"#, seed.pick(&["a", "b"]), call(seed));
            fields += &maybe(seed, 3, &[r#""reason":"why""#]);
            fields += &maybe(seed, 3, &[r#""isAutomatic":true"#, r#""isAutomatic":false"#]);
            fields += &maybe(seed, 3, &[r#""approvalDescriptor":{"d":1}"#, r#""signature":"s""#]);
            format!(r#""type":"tool-approval-request",{fields}"#)
        }
        7 | 8 => {
            let approved = seed.pick(&["true", "false"]);
            let mut fields = format!(r#""approvalId":"{}","approved":{approved}"#, seed.pick(&["a", "b"]));
            fields += &maybe(seed, 3, &[r#""reason":"because""#]);
            fields += &maybe(seed, 5, &[r#""providerExecuted":true"#]);
            fields += &maybe(seed, 5, METADATA);
            format!(r#""type":"tool-approval-response",{fields}"#)
        }
        9 => {
            let mut fields = format!(r#"{},"output":{}"#, call(seed), seed.pick(INPUTS));
            fields += &maybe(seed, 4, &[r#""preliminary":true"#, r#""dynamic":true"#]);
            fields += &maybe(seed, 4, METADATA);
            format!(r#""type":"tool-output-available",{fields}"#)
        }
        10 => format!(r#""type":"tool-output-error",{},"errorText":"e"{}"#, call(seed), maybe(seed, 4, METADATA)),
        _ => format!(r#""type":"tool-output-denied",{}"#, call(seed)),
    }
}

fn text_chunk(seed: &mut Seed) -> String {
    let flow = seed.pick(&["text", "reasoning"]);
    let id = seed.pick(&["1", "2", "__proto__"]);
    match seed.below(4) {
        0 => format!(r#""type":"{flow}-start","id":"{id}"{}"#, maybe(seed, 4, METADATA)),
        1 | 2 => {
            let text = seed.pick(&["a", r#"\"\n"#, "é😀", ""]);
            format!(r#""type":"{flow}-delta","id":"{id}","delta":"{text}"{}"#, maybe(seed, 6, METADATA))
        }
        _ => format!(r#""type":"{flow}-end","id":"{id}"{}"#, maybe(seed, 6, METADATA)),
    }
}

fn other_chunk(seed: &mut Seed) -> String {
    match seed.below(12) {
        0..=2 => r#""type":"start-step""#.into(),
        3 => seed.pick(&[r#""type":"finish-step""#, r#""type":"reset-step""#, r#""type":"abort""#]).into(),
        4 => {
            let metadata = seed.pick(&[r#"{"a":{"x":1}}"#, r#"{"a":{"y":[1]},"n":null}"#, r#"{"a":[2]}"#, "null"]);
            let kind = seed.pick(&["start", "finish", "message-metadata"]);
            format!(r#""type":"{kind}","messageMetadata":{metadata}"#)
        }
        5 => r#""type":"start","messageId":"m""#.into(),
        6 | 7 => {
            let mut fields = format!(r#""type":"data-{}","data":{}"#, seed.pick(&["x", "y"]), seed.pick(INPUTS));
            fields += &maybe(seed, 2, &[r#""id":"i""#]);
            fields += &maybe(seed, 4, &[r#""transient":true"#, r#""transient":false,"more":1"#]);
            fields
        }
        8 => format!(r#""type":"file","url":"u","mediaType":"image/png"{}"#, maybe(seed, 3, METADATA)),
        9 => format!(r#""type":"source-url","sourceId":"s","url":"u"{}"#, maybe(seed, 2, &[r#""title":"t""#])),
        10 => r#""type":"custom","kind":"a.b""#.into(),
        _ => r#""type":"error","errorText":"e""#.into(),
    }
}

/// The next chunk.
pub(crate) fn chunk(seed: &mut Seed) -> Chunk {
    let fields = match seed.below(8) {
        0 | 1 => text_chunk(seed),
        2 => other_chunk(seed),
        _ => tool_chunk(seed),
    };
    Chunk::from_json(&format!("{{{fields}}}")).unwrap()
}
