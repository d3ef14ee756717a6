//! Validates JSON against the part of JSON Schema (draft 2020-12) that our schemas use. A keyword that is not known here is
//! an error, and so is a property that the schema does not describe: readers must accept new ones, but ours must be described.

use serde_json::Value;

/// All that is wrong, each with the place in the instance.
pub fn violations(schema: &Value, instance: &Value) -> Vec<String> {
    let mut found = Vec::new();
    Validator { root: schema }.check(schema, instance, "", &mut found);
    found
}

struct Validator<'a> {
    root: &'a Value,
}

impl Validator<'_> {
    fn check(&self, schema: &Value, instance: &Value, at: &str, found: &mut Vec<String>) {
        for (keyword, rule) in schema.as_object().expect("a schema is an object") {
            match keyword.as_str() {
                "$schema" | "$id" | "title" | "description" | "$defs" => {}
                "$ref" => {
                    let pointer = rule.as_str().and_then(|rule| rule.strip_prefix('#')).expect("a local reference");
                    let target = self.root.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is not there"));
                    self.check(target, instance, at, found);
                }
                "type" => {
                    let allowed: Vec<&str> = match rule {
                        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
                        one => one.as_str().into_iter().collect(),
                    };
                    if !allowed.iter().any(|name| has_type(instance, name)) {
                        found.push(format!("{at}: {instance} is no {}", allowed.join(" or ")));
                    }
                }
                "const" if rule != instance => found.push(format!("{at}: {instance} is not {rule}")),
                "enum" if !rule.as_array().expect("an array").contains(instance) => {
                    found.push(format!("{at}: {instance} is none of {rule}"));
                }
                "minimum" if instance.as_f64() < rule.as_f64() => found.push(format!("{at}: {instance} < {rule}")),
                "minItems"
                    if instance.as_array().is_some_and(|items| (items.len() as u64) < rule.as_u64().unwrap_or(0)) =>
                {
                    found.push(format!("{at}: fewer than {rule} items"));
                }
                "const" | "enum" | "minimum" | "minItems" => {}
                "required" => {
                    for name in rule.as_array().expect("an array").iter().filter_map(Value::as_str) {
                        if instance.is_object() && instance.get(name).is_none() {
                            found.push(format!("{at}: {name} is missing"));
                        }
                    }
                }
                "properties" => {
                    for (name, value) in instance.as_object().into_iter().flatten() {
                        match rule.get(name) {
                            Some(rule) => self.check(rule, value, &format!("{at}/{name}"), found),
                            None => found.push(format!("{at}: {name} is not described")),
                        }
                    }
                }
                "items" => {
                    for (i, item) in instance.as_array().into_iter().flatten().enumerate() {
                        self.check(rule, item, &format!("{at}/{i}"), found);
                    }
                }
                "oneOf" => {
                    let outcomes: Vec<Vec<String>> = rule
                        .as_array()
                        .expect("an array")
                        .iter()
                        .map(|choice| {
                            let mut found = Vec::new();
                            self.check(choice, instance, at, &mut found);
                            found
                        })
                        .collect();
                    match outcomes.iter().filter(|outcome| outcome.is_empty()).count() {
                        1 => {}
                        0 => found.push(format!("{at}: none of the alternatives fits: {outcomes:?}")),
                        _ => found.push(format!("{at}: several alternatives fit")),
                    }
                }
                other => panic!("the validator does not know {other}"),
            }
        }
    }
}

fn has_type(instance: &Value, name: &str) -> bool {
    match name {
        "null" => instance.is_null(),
        "boolean" => instance.is_boolean(),
        "integer" => instance.is_i64() || instance.is_u64(),
        "number" => instance.is_number(),
        "string" => instance.is_string(),
        "array" => instance.is_array(),
        "object" => instance.is_object(),
        other => panic!("there is no type {other}"),
    }
}

#[test]
fn the_validator_finds_what_is_wrong() {
    let schema = serde_json::json!({
        "type": "object",
        "required": ["n", "list"],
        "properties": {
            "n": {"type": "integer", "minimum": 0},
            "list": {"type": "array", "items": {"$ref": "#/$defs/item"}},
        },
        "$defs": {"item": {"oneOf": [{"enum": ["a", "b"]}, {"type": "null"}, {"const": 7}]}},
    });
    let count = |instance: Value| violations(&schema, &instance).len();
    assert_eq!(count(serde_json::json!({"n": 1, "list": ["a", null, 7]})), 0);
    assert_eq!(count(serde_json::json!({"n": -1, "list": []})), 1);
    assert_eq!(count(serde_json::json!({"n": 1.5, "list": ["c", 8]})), 3);
    assert_eq!(count(serde_json::json!({"list": {}, "other": 1})), 3);
    assert_eq!(count(serde_json::json!([])), 1);
}
