//! Placers of the registry with little to do where they search.

use placebench_algorithms::{Placer, RegistryEntry, Spec};

/// What searches are told, as far as they have the parameter.
const LITTLE: [(&str, &str); 4] = [("budget", "40"), ("trials", "20"), ("nodes", "200000"), ("preset", "fast")];

/// The placer, with little to do if it searches.
pub(crate) fn brief(entry: &RegistryEntry<dyn Placer>) -> Box<dyn Placer> {
    let known = |param: &str| entry.params().iter().any(|known| known.name == param);
    let params = LITTLE.into_iter().filter(|(param, _)| known(param));
    let params = params.map(|(param, value)| (param.to_owned(), value.to_owned())).collect();
    entry.make(&Spec { name: entry.name.clone(), params }).unwrap()
}
