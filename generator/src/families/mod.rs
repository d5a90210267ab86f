//! The families of graphs, one file each; the table is [`all`], the presets are [`presets`].

mod barabasi_albert;
mod cholesky;
mod cnn;
mod collective;
mod erdos_renyi;
mod fan_in_fan_out;
mod fft;
mod gauss;
mod gnm;
mod hyperbolic;
mod layered;
mod leveled;
mod lu;
mod map_reduce;
mod network;
mod pipeline;
mod planted_partition;
mod random_geometric;
mod random_orders;
mod rnn;
mod seq2seq;
mod series_parallel;
mod skips;
mod stencil;
mod tensor_parallel;
mod tiles;
mod training;
mod transformer;
mod transformer_costs;
mod trees;
mod undirected;
mod wavefront;
mod workflows;

use placebench_base::spec::Spec;

use crate::family::FamilyEntry;

/// The families, in the order in which tables list them.
pub(crate) fn all() -> Vec<FamilyEntry> {
    vec![
        leveled::entry(),
        FamilyEntry::of::<layered::Layered>(),
        FamilyEntry::of::<erdos_renyi::ErdosRenyi>(),
        FamilyEntry::of::<random_orders::RandomOrders>(),
        FamilyEntry::of::<fan_in_fan_out::FanInFanOut>(),
        FamilyEntry::of::<series_parallel::SeriesParallel>(),
        FamilyEntry::of::<trees::OutTree>(),
        FamilyEntry::of::<trees::InTree>(),
        FamilyEntry::of::<gauss::Gauss>(),
        FamilyEntry::of::<lu::Lu>(),
        FamilyEntry::of::<cholesky::Cholesky>(),
        FamilyEntry::of::<fft::Fft>(),
        FamilyEntry::of::<stencil::Stencil>(),
        FamilyEntry::of::<wavefront::Wavefront>(),
        FamilyEntry::of::<map_reduce::MapReduce>(),
        FamilyEntry::of::<workflows::Montage>(),
        FamilyEntry::of::<workflows::Epigenomics>(),
        FamilyEntry::of::<workflows::CyberShake>(),
        FamilyEntry::of::<rnn::Rnn>(),
        FamilyEntry::of::<seq2seq::Seq2Seq>(),
        FamilyEntry::of::<cnn::Cnn>(),
        FamilyEntry::of::<transformer::Transformer>(),
        FamilyEntry::of::<transformer::Decoder>(),
        training::entry(),
        FamilyEntry::of::<pipeline::Pipeline>(),
        FamilyEntry::of::<tensor_parallel::TensorParallel>(),
        FamilyEntry::of_undirected::<undirected::Grid>(),
        FamilyEntry::of_undirected::<random_geometric::RandomGeometric>(),
        FamilyEntry::of_undirected::<hyperbolic::Hyperbolic>(),
        FamilyEntry::of_undirected::<barabasi_albert::BarabasiAlbert>(),
        FamilyEntry::of_undirected::<planted_partition::PlantedPartition>(),
        FamilyEntry::of_undirected::<gnm::Gnm>(),
        FamilyEntry::of_undirected::<undirected::Rmat>(),
    ]
}

/// A named choice of parameters of a family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Unique name.
    pub name: &'static str,
    /// One line: what it is, with its source.
    pub summary: String,
    /// The family and the parameters that differ from its defaults.
    pub values: Spec,
}

/// All presets, in the order of their families.
pub fn presets() -> Vec<Preset> {
    let mut presets = leveled::presets();
    presets.extend(training::presets());
    presets.extend(NAMED.iter().filter_map(|&(name, summary, values)| {
        Some(Preset { name, summary: summary.to_owned(), values: values.parse().ok()? })
    }));
    presets
}

/// Presets of other families: name, one line, and the family with its parameters.
const NAMED: &[(&str, &str, &str)] = &[
    (
        "gnmt4",
        "GNMT with 4 layers, training (Wu et al. 2016)",
        "seq2seq(layers=4,source=20,target=20,hidden=1024,batch=64,training=true)",
    ),
    ("resnet18", "ResNet-18 (He et al. 2016, Table 1)", "cnn(blocks=[2,2,2,2])"),
    ("resnet34", "ResNet-34 (He et al. 2016, Table 1)", "cnn(blocks=[3,4,6,3])"),
    (
        "bert_base",
        "BERT base (Devlin et al. 2019)",
        "transformer(layers=12,heads=12,model=768,feed_forward=3072,sequence=512,vocabulary=30522)",
    ),
    (
        "switch_base8",
        "a Switch encoder with 8 experts (Fedus et al. 2022)",
        "transformer(layers=12,heads=12,model=768,feed_forward=3072,sequence=512,vocabulary=32128,experts=8,top=1)",
    ),
    (
        "gpt2",
        "GPT-2 with 12 layers, 8 tokens after a prompt (Radford et al. 2019)",
        "decoder(layers=12,model=768,feed_forward=3072,prompt=512,steps=8,vocabulary=50257)",
    ),
    (
        "gpipe4",
        "4 pipeline stages under GPipe (Huang et al. 2019)",
        "pipeline(stages=4,micro_batches=8,schedule=gpipe,layers=6,model=1024,sequence=1024)",
    ),
    (
        "megatron8",
        "8 tensor-parallel workers (Shoeybi et al. 2019)",
        "tensor_parallel(workers=8,layers=4,model=3072,sequence=1024)",
    ),
];
