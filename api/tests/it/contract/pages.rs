//! Paginated and whole lists of the contract test, of now and of before, through a different server
//! for each page, while other clients write.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use serde_json::{Value, json};

use super::model::{Objects, WISHES, key};
use super::world::World;

/// Lists once; writes between the pages.
pub(super) async fn check(world: &mut World, random: &mut StdRng) {
    let wish = WISHES.choose(random).unwrap();
    let limit = random.random_range(1..4);
    let base = format!("{}?{}&limit={limit}", wish.path, wish.selectors);
    let (start, revision) = match random.random_bool(0.5) {
        true => (String::new(), world.revision()),
        false => {
            let revision = random.random_range(1..=world.revision());
            (format!("&resourceVersion={revision}&resourceVersionMatch=Exact"), revision)
        }
    };
    let expect = wish.select(&world.model.objects_at(revision));
    let (mut query, mut found, mut pages) = (start, Objects::new(), 0);
    loop {
        let answer = world.server(random).get(&format!("{base}{query}")).await;
        if revision < world.oldest() {
            assert_eq!(answer.status, 410, "{base}{query}: {}", answer.text());
            return check_rest(world, random, (&base, pages, limit), &answer.json()).await;
        }
        assert_eq!(
            (answer.status.as_u16(), answer.version()),
            (200, revision.to_string()),
            "{base}{query}"
        );
        let list = answer.json();
        let new = items(&list);
        pages += 1;
        let left = expect.len() - found.len() - new.len();
        found.extend(new);
        let remaining = &list["metadata"]["remainingItemCount"];
        let counted = left > 0 && wish.selectors.is_empty();
        assert_eq!(*remaining, if counted { json!(left) } else { Value::Null }, "{base}{query}");
        match list["metadata"]["continue"].as_str() {
            Some(token) => query = format!("&continue={token}"),
            None => break,
        }
        if random.random_bool(0.5) {
            world.write(random).await;
            world.wait(random);
        }
    }
    assert_eq!(found, expect, "{base} at {revision}");
}

/// When the state of a list is gone, its rest can be had as it is now.
async fn check_rest(
    world: &World,
    random: &mut StdRng,
    (base, pages, limit): (&str, usize, usize),
    refusal: &Value,
) {
    let token = refusal["metadata"]["continue"].as_str();
    assert_eq!(token.is_some(), pages > 0, "{refusal}");
    let Some(token) = token else { return };
    let answer = world.server(random).get(&format!("{base}&continue={token}")).await;
    assert_eq!(
        (answer.status.as_u16(), answer.version()),
        (200, world.revision().to_string()),
        "{base}"
    );
    let rest = items(&answer.json());
    assert!(
        rest.len() <= limit
            && rest.iter().all(|(key, pod)| world.model.objects.get(key) == Some(pod)),
        "{rest:?}"
    );
}

fn items(list: &Value) -> Objects {
    let complete = |item: &Value| {
        let mut pod = item.clone();
        (pod["kind"], pod["apiVersion"]) = (json!("Pod"), json!("v1"));
        pod
    };
    list["items"].as_array().unwrap().iter().map(complete).map(|pod| (key(&pod), pod)).collect()
}
