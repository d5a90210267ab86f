//! Placers of a suite that only the program which runs it can call.

use placebench_algorithms::{Decision, PlaceContext, PlaceError, Placer};
use placebench_datasets::{DeviceId, Instance, Placement};
use placebench_harness::suite::{RunPlan, Suite};

/// Everything on the first device.
struct OnFirst;

impl Placer for OnFirst {
    fn place(&self, instance: &Instance, _: &PlaceContext) -> Result<Decision, PlaceError> {
        Ok(Decision::placement(Placement::new(vec![DeviceId(0); instance.graph().op_count()])))
    }
}

const SUITE: &str = r#"
    name = "small"
    [[graph]]
    catalogue = "convnet"
    [[cluster]]
    preset = "laich7"
    [[placer]]
    name = "HEFT"
    placer = "heft(average=speed)"
    [[placer]]
    name = "mine"
    function = "notebook:mine"
"#;

#[test]
fn a_function_places_only_where_it_is_provided() {
    let suite = Suite::parse(SUITE, "s.toml").unwrap();
    assert_eq!(Suite::parse(&suite.to_toml().unwrap(), "s.toml").unwrap(), suite);
    let mut plan = RunPlan::new(suite).unwrap();
    let instance = plan.problem(&plan.groups[0]).unwrap().instance;
    let place = |plan: &RunPlan| plan.placers[1].1.place(&instance, &PlaceContext::default());
    assert_eq!(
        place(&plan).unwrap_err().to_string(),
        "the placer 'mine' is the Python function notebook:mine: run the suite in Python, with placebench.run"
    );
    plan.provide("HEFT", Box::new(OnFirst));
    plan.provide("mine", Box::new(OnFirst));
    assert!(place(&plan).unwrap().placement.devices().iter().all(|&device| device == DeviceId(0)));
    assert!(plan.placers[0].1.makes_plan(), "only a table with a function takes one");
}

#[test]
fn a_function_stands_alone_in_its_table() {
    for (wrong, expected) in [
        ("placer = \"heft\"", "give exactly one of placer, command, function"),
        ("time_limit_seconds = 1", "placer and function go with name alone"),
        ("functon = \"x\"", "did you mean `function`?"),
    ] {
        let error = Suite::parse(&format!("{SUITE}\n{wrong}"), "s.toml").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let error = Suite::parse(&SUITE.replace("notebook:mine", ""), "s.toml").unwrap_err().to_string();
    assert!(error.contains("placer 'mine': function: name one"), "{error}");
}
