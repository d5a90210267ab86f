//! What a collection says of itself: README, licence, citation, and Croissant metadata.

use std::path::Path;

use serde_json::{Value, json};

/// What the descriptions need to know.
#[derive(Clone, Debug)]
pub struct CollectionFacts {
    /// Name of the collection.
    pub name: String,
    /// Its title.
    pub title: String,
    /// What it holds, in a paragraph or two.
    pub about: String,
    /// The command that makes it.
    pub command: String,
    /// Number of graphs.
    pub graphs: usize,
    /// Whether best known makespans go with it.
    pub has_best: bool,
}

const VERSION: &str = env!("CARGO_PKG_VERSION");
const URL: &str = env!("CARGO_PKG_REPOSITORY");

/// The columns of the index and of the best makespans: name, type of schema.org, meaning.
const INDEX: [(&str, &str, &str); 22] = [
    ("name", "sc:Text", "name of the graph"),
    ("file", "sc:Text", "file or folder"),
    ("format", "sc:Text", "format of the file"),
    ("family", "sc:Text", "family of the graph"),
    ("parameters", "sc:Text", "what it was made from, as TOML"),
    ("seed", "sc:Integer", "seed"),
    ("nodes", "sc:Integer", "number of ops or vertices"),
    ("edges", "sc:Integer", "number of edges"),
    ("tensors", "sc:Integer", "number of tensors"),
    ("levels", "sc:Integer", "ops on the longest path"),
    ("max_width", "sc:Integer", "ops on the fullest level"),
    ("density", "sc:Float", "edges / pairs of ops"),
    ("degree_cv", "sc:Float", "standard deviation / mean of the degrees"),
    ("components", "sc:Integer", "weakly connected components"),
    ("isolated_nodes", "sc:Integer", "ops without any edge"),
    ("colocated_nodes", "sc:Integer", "ops in a colocation group"),
    ("groups", "sc:Integer", "colocation groups"),
    ("total_ops", "sc:Float", "cost of all ops, in operations"),
    ("total_tensor_bytes", "sc:Float", "size of all tensors, in bytes"),
    ("critical_path_ops", "sc:Float", "cost of the costliest path, in operations"),
    ("parallelism", "sc:Float", "cost of all ops / cost of the costliest path"),
    ("sha256", "sc:Text", "SHA-256 of the content"),
];
const BEST: [(&str, &str, &str); 13] = [
    ("graph", "sc:Text", "name of the graph"),
    ("cluster", "sc:Text", "name of the cluster"),
    ("seed", "sc:Integer", "seed of both"),
    ("network", "sc:Text", "network model"),
    ("kinds", "sc:Text", "which kinds of devices ops may run on"),
    ("memory", "sc:Text", "how memory limits placements"),
    ("makespan", "sc:Float", "least makespan found"),
    ("time_unit", "sc:Text", "its unit"),
    ("placer", "sc:Text", "the placer that found it"),
    ("scheduler", "sc:Text", "the scheduler that executed it"),
    ("lower_bound", "sc:Float", "a makespan that no placement beats"),
    ("bound", "sc:Text", "which bound that is"),
    ("optimal", "sc:Boolean", "whether the makespan is proven to be the least"),
];

/// The README.
pub fn readme(facts: &CollectionFacts) -> String {
    let CollectionFacts { name, title, about, command, graphs, has_best } = facts;
    let table = |columns: &[(&str, &str, &str)]| {
        let lines: String = columns.iter().map(|(name, _, what)| format!("| `{name}` | {what} |\n")).collect();
        format!("| column | meaning |\n|---|---|\n{lines}")
    };
    let best = match has_best {
        true => format!(
            "## Best known makespans\n\n`best.csv` and `best.parquet` have a row for each graph and cluster: the least makespan that the \
             placers of this version found, and whether it is proven to be optimal. A placement that beats one is welcome.\n\n{}\n",
            table(&BEST)
        ),
        false => String::new(),
    };
    format!(
        "# {name}: {title}\n\n{about}\n\n{graphs} graphs. Made by placebench {VERSION}:\n\n```\n{command}\n```\n\nThe same command makes \
         the same files. `placebench dataset verify .` and `sha256sum -c SHA256SUMS` check them.\n\n## Index\n\n`index.csv` and \
         `index.parquet` have a row for each graph:\n\n{}\n{best}## Metadata\n\n`croissant.json` describes the files for machines \
         (Croissant 1.0). `CITATION.cff` says how to cite them, `LICENSE` under what terms they may be used.\n",
        table(&INDEX)
    )
}

/// The licence, in a paragraph.
pub fn licence() -> String {
    format!(
        "This collection is licensed under either of\n\n- the Apache License, Version 2.0 (https://www.apache.org/licenses/LICENSE-2.0)\n\
         - the MIT license (https://opensource.org/license/mit)\n\nat your option, as placebench is that made it ({URL}).\n\
         Graphs that were extracted from programs say so, and under what terms, in their own headers.\n"
    )
}

/// The citation, in the Citation File Format 1.2.
pub fn citation(facts: &CollectionFacts) -> String {
    let quoted = |text: &str| Value::from(text).to_string();
    format!(
        "cff-version: 1.2.0\nmessage: If you use this collection, please cite it with its version.\ntype: dataset\ntitle: {}\n\
         version: {VERSION}\nauthors:\n  - name: The placebench authors\nrepository-code: {URL}\nlicense:\n  - MIT\n  - Apache-2.0\n",
        quoted(&format!("placebench collection {}: {}", facts.name, facts.title))
    )
}

/// Croissant metadata of the files, each with its SHA-256.
///
/// # Reference
/// M. Akhtar et al.: Croissant: a metadata format for ML-ready datasets. DEEM 2024, doi:10.1145/3650203.3663326. Format 1.0:
/// <https://docs.mlcommons.org/croissant/docs/croissant-spec.html>.
pub fn croissant(facts: &CollectionFacts, digests: &[(String, String)]) -> Value {
    let files: Vec<Value> = digests
        .iter()
        .map(|(name, digest)| {
            json!({
                "@type": "cr:FileObject",
                "@id": name,
                "name": name,
                "contentUrl": name,
                "encodingFormat": encoding(name),
                "sha256": digest,
            })
        })
        .collect();
    let mut records = vec![record_set("index", "index.csv", "the graphs", &INDEX)];
    if facts.has_best {
        records.push(record_set("best", "best.csv", "the best known makespans", &BEST));
    }
    json!({
        "@context": context(),
        "@type": "sc:Dataset",
        "name": format!("placebench-{}", facts.name),
        "description": format!("{}. {}", facts.title, facts.about),
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "citeAs": format!("placebench collection {}, version {VERSION}, {URL}", facts.name),
        "license": ["https://opensource.org/license/mit", "https://www.apache.org/licenses/LICENSE-2.0"],
        "url": URL,
        "version": VERSION,
        "distribution": files,
        "recordSet": records,
    })
}

fn record_set(name: &str, file: &str, what: &str, columns: &[(&str, &str, &str)]) -> Value {
    let field = |&(column, data_type, meaning): &(&str, &str, &str)| {
        json!({
            "@type": "cr:Field",
            "@id": format!("{name}/{column}"),
            "name": column,
            "description": meaning,
            "dataType": data_type,
            "source": { "fileObject": { "@id": file }, "extract": { "column": column } },
        })
    };
    let fields: Vec<Value> = columns.iter().map(field).collect();
    json!({ "@type": "cr:RecordSet", "@id": name, "name": name, "description": what, "field": fields })
}

fn encoding(name: &str) -> &'static str {
    match Path::new(name).extension().and_then(|extension| extension.to_str()) {
        Some("csv") => "text/csv",
        Some("parquet") => "application/vnd.apache.parquet",
        Some("json") => "application/json",
        Some("toml") => "application/toml",
        Some("md") => "text/markdown",
        Some("cff") => "application/yaml",
        None => "text/plain",
        Some(_) => "application/octet-stream",
    }
}

/// The context of Croissant 1.0, as the specification gives it.
fn context() -> Value {
    json!({
        "@language": "en",
        "@vocab": "https://schema.org/",
        "citeAs": "cr:citeAs",
        "column": "cr:column",
        "conformsTo": "dct:conformsTo",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "data": { "@id": "cr:data", "@type": "@json" },
        "dataType": { "@id": "cr:dataType", "@type": "@vocab" },
        "dct": "http://purl.org/dc/terms/",
        "equivalentProperty": "cr:equivalentProperty",
        "examples": { "@id": "cr:examples", "@type": "@json" },
        "extract": "cr:extract",
        "field": "cr:field",
        "fileProperty": "cr:fileProperty",
        "fileObject": "cr:fileObject",
        "fileSet": "cr:fileSet",
        "format": "cr:format",
        "includes": "cr:includes",
        "isLiveDataset": "cr:isLiveDataset",
        "jsonPath": "cr:jsonPath",
        "key": "cr:key",
        "md5": "cr:md5",
        "parentField": "cr:parentField",
        "path": "cr:path",
        "recordSet": "cr:recordSet",
        "references": "cr:references",
        "regex": "cr:regex",
        "repeated": "cr:repeated",
        "replace": "cr:replace",
        "samplingRate": "cr:samplingRate",
        "sc": "https://schema.org/",
        "separator": "cr:separator",
        "source": "cr:source",
        "subField": "cr:subField",
        "transform": "cr:transform",
    })
}
