//! The choice of a container of a pod.

use quorate_meta::Value;
use quorate_registry::error::Error;

const CONTAINERS: &str = "containers";
/// The lists of a pod's containers, and what messages call those of the later ones.
const OTHERS: [(&str, &str); 2] =
    [("initContainers", "init containers"), ("ephemeralContainers", "ephemeral containers")];

/// The container that is asked for, or the only one where none is.
pub(super) fn choose(pod: &Value, asked: &str) -> Result<String, Error> {
    let name = pod.str_at(&["metadata", "name"]).unwrap_or_default();
    let own = names(pod, CONTAINERS);
    if !asked.is_empty() {
        let mut others = OTHERS.iter().flat_map(|(list, _)| names(pod, list));
        return if own.contains(&asked) || others.any(|other| other == asked) {
            Ok(asked.to_owned())
        } else {
            Err(Error::bad_request(format!("container {asked} is not valid for pod {name}")))
        };
    }
    let mut why = format!("a container name must be specified for pod {name}");
    match own[..] {
        [only] => return Ok(only.to_owned()),
        [] => {}
        _ => {
            why += &format!(", choose one of: [{}]", own.join(" "));
            for (list, what) in OTHERS {
                let names = names(pod, list);
                if !names.is_empty() {
                    why += &format!(" or one of the {what}: [{}]", names.join(" "));
                }
            }
        }
    }
    Err(Error::bad_request(why))
}

fn names<'p>(pod: &'p Value, list: &str) -> Vec<&'p str> {
    let list = pod.at(&["spec", list]).and_then(Value::as_list).unwrap_or_default();
    list.iter().filter_map(|container| container.str_at(&["name"])).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    #[test]
    fn a_container_is_named_or_the_only_one() {
        let check = |spec: Json, asked: &str, expect: Result<&str, &str>| {
            let pod = json!({"metadata": {"name": "p"}, "spec": spec}).into();
            let found = choose(&pod, asked).map_err(|error| error.into_status().message);
            assert_eq!(found, expect.map(str::to_owned).map_err(str::to_owned));
        };
        let named =
            |names: &[&str]| names.iter().map(|name| json!({"name": name})).collect::<Json>();
        let one = json!({"containers": named(&["a"]), "initContainers": named(&["i", "j"])});
        check(one.clone(), "", Ok("a"));
        check(one.clone(), "j", Ok("j"));
        check(one, "x", Err("container x is not valid for pod p"));
        let all = json!({
            "containers": named(&["a", "b"]), "initContainers": named(&["i", "j"]), "ephemeralContainers": named(&["e"])
        });
        check(all.clone(), "e", Ok("e"));
        let why = "a container name must be specified for pod p";
        check(
            all,
            "",
            Err(&format!(
                "{why}, choose one of: [a b] or one of the init containers: [i j] or one of the ephemeral containers: [e]"
            )),
        );
        check(
            json!({"containers": named(&["a", "b"])}),
            "",
            Err(&format!("{why}, choose one of: [a b]")),
        );
        check(json!({}), "", Err(why));
    }
}
