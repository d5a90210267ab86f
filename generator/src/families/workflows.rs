//! The shapes of three scientific workflows: Montage, Epigenomics, CyberShake.

use placebench_base::params::Params;
use placebench_base::spec::SpecError;
use placebench_datasets::OpId;

use crate::{GeneratorError, GraphFamily, Sketch, Source};

const SOURCE: &str = "Bharathi et al. 2008; Juve et al. 2013";

/// A mosaic of sky images that overlap on a grid of `rows` × `columns`, corners included. Each image is projected; each
/// overlapping pair is fitted; one model of the background follows from all fits, and corrects each image; a table and the
/// images make the mosaic, which is shrunk and turned into a picture.
///
/// With n = rows · columns images and d = r(c − 1) + c(r − 1) + 2(r − 1)(c − 1) overlaps there are 2n + d + 6 ops and
/// 4n + 3d + 4 edges.
///
/// # Reference
/// S. Bharathi, A. Chervenak, E. Deelman, G. Mehta, M.-H. Su, K. Vahi: Characterization of scientific workflows. WORKS 2008;
/// G. Juve et al.: Characterizing and profiling scientific workflows. Future Generation Computer Systems 29(3), 2013, 682–692.
/// The shape only: costs are drawn.
pub(super) struct Montage {
    rows: u32,
    columns: u32,
}

impl GraphFamily for Montage {
    const NAME: &'static str = "montage";
    const SUMMARY: &'static str = "a mosaic of overlapping sky images";
    const SOURCE: &'static str = SOURCE;
    const COSTS: Source = Source::Drawn;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            rows: params.number("rows", 3, 1..=1 << 15, "rows of images")?,
            columns: params.number("columns", 3, 1..=1 << 15, "columns of images")?,
        })
    }

    fn build(&self, sketch: &mut Sketch, _seed: u64) -> Result<(), GeneratorError> {
        let (rows, columns) = (self.rows as usize, self.columns as usize);
        let projected = tasks(sketch, rows * columns, |sketch, _| sketch.task("mProjectPP", &[]))?;
        let mut fits = Vec::new();
        for image in 0..rows * columns {
            let (row, column) = (image / columns, image % columns);
            // The neighbours after this one: right, and below from left to right.
            let right = (column + 1 < columns).then_some(image + 1);
            let below = [column.checked_sub(1), Some(column), Some(column + 1)]
                .map(|to| to.filter(|&to| row + 1 < rows && to < columns).map(|to| image + columns + to - column));
            for other in [right].into_iter().chain(below).flatten() {
                fits.push(sketch.task("mDiffFit", &[projected[image], projected[other]])?);
            }
        }
        let concat = sketch.task("mConcatFit", &fits)?;
        let model = sketch.task("mBgModel", &[concat])?;
        let corrected =
            tasks(sketch, projected.len(), |sketch, image| sketch.task("mBackground", &[projected[image], model]))?;
        let table = sketch.task("mImgtbl", &corrected)?;
        let images: Vec<OpId> = corrected.into_iter().chain([table]).collect();
        let mosaic = sketch.task("mAdd", &images)?;
        let shrunk = sketch.task("mShrink", &[mosaic])?;
        sketch.task("mJPEG", &[shrunk])?;
        Ok(())
    }
}

/// Sequenced DNA mapped to a genome: each lane is split into chunks, each chunk is filtered, converted twice and mapped; the maps
/// are merged by lane, then all together, indexed, and piled up.
///
/// With l lanes of c chunks there are l(4c + 2) + 3 ops and l(5c + 1) + 2 edges.
///
/// # Reference
/// As for `montage`. The shape only: costs are drawn.
pub(super) struct Epigenomics {
    lanes: u32,
    chunks: u32,
}

impl GraphFamily for Epigenomics {
    const NAME: &'static str = "epigenomics";
    const SUMMARY: &'static str = "sequenced DNA mapped to a genome: chains of chunks by lane";
    const SOURCE: &'static str = SOURCE;
    const COSTS: Source = Source::Drawn;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            lanes: params.number("lanes", 2, 1.., "lanes of the sequencer")?,
            chunks: params.number("chunks", 4, 1.., "chunks of a lane")?,
        })
    }

    fn build(&self, sketch: &mut Sketch, _seed: u64) -> Result<(), GeneratorError> {
        let mut lanes = Vec::new();
        for _ in 0..self.lanes {
            let split = sketch.task("fastQSplit", &[])?;
            let mut maps = Vec::new();
            for _ in 0..self.chunks {
                let mut last = split;
                for class in ["filterContams", "sol2sanger", "fastq2bfq", "map"] {
                    last = sketch.task(class, &[last])?;
                }
                maps.push(last);
            }
            lanes.push(sketch.task("mapMerge", &maps)?);
        }
        let merged = sketch.task("mapMerge", &lanes)?;
        let index = sketch.task("maqIndex", &[merged])?;
        sketch.task("pileup", &[index])?;
        Ok(())
    }
}

/// Earthquakes simulated for a site: strain tensors are extracted for each rupture, and give seismograms for its variations;
/// peak values follow from each seismogram; seismograms and peaks are packed.
///
/// With e ruptures of v variations there are e(1 + 2v) + 2 ops and 4ev edges.
///
/// # Reference
/// As for `montage`. The shape only: costs are drawn.
pub(super) struct CyberShake {
    ruptures: u32,
    variations: u32,
}

impl GraphFamily for CyberShake {
    const NAME: &'static str = "cybershake";
    const SUMMARY: &'static str = "earthquakes simulated for a site: many seismograms, packed";
    const SOURCE: &'static str = SOURCE;
    const COSTS: Source = Source::Drawn;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            ruptures: params.number("ruptures", 3, 1.., "ruptures, each with an extraction of strain tensors")?,
            variations: params.number("variations", 4, 1.., "seismograms of a rupture")?,
        })
    }

    fn build(&self, sketch: &mut Sketch, _seed: u64) -> Result<(), GeneratorError> {
        let (mut seismograms, mut peaks) = (Vec::new(), Vec::new());
        for _ in 0..self.ruptures {
            let tensors = sketch.task("ExtractSGT", &[])?;
            for _ in 0..self.variations {
                let seismogram = sketch.task("SeismogramSynthesis", &[tensors])?;
                seismograms.push(seismogram);
                peaks.push(sketch.task("PeakValCalcOkaya", &[seismogram])?);
            }
        }
        sketch.task("ZipSeis", &seismograms)?;
        sketch.task("ZipPSA", &peaks)?;
        Ok(())
    }
}

/// Several ops of a kind.
fn tasks(
    sketch: &mut Sketch,
    count: usize,
    task: impl Fn(&mut Sketch, usize) -> Result<OpId, GeneratorError>,
) -> Result<Vec<OpId>, GeneratorError> {
    (0..count).map(|number| task(sketch, number)).collect()
}
