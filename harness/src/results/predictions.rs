//! What network models predicted for a measured run: two columns a model, from the table of models.

use std::borrow::Cow;
use std::fmt;

use polars::prelude::*;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::frame::ColumnValue;
use super::{ColumnInfo, Content};
use crate::execute::simulate::PREDICTING_MODELS;

/// What a network model predicted for the placement and the order that were measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prediction {
    /// The makespan, in the row's time unit: column `predicted_MODEL`.
    pub makespan: Option<f64>,
    /// Predicted / measured makespan − 1: column `prediction_error_MODEL`.
    pub error: Option<f64>,
}

/// A [`Prediction`] for each of [`PREDICTING_MODELS`], in their order; all empty for what was not measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictions(Vec<Prediction>);

/// The columns of a model, up to its name: predicted makespan, and its error.
const COLUMNS: [ColumnInfo; 2] = [
    ColumnInfo {
        name: Cow::Borrowed("predicted_"),
        title: Cow::Borrowed("predicted by "),
        type_name: Option::<f64>::NAME,
        content: Content::Time,
        is_measured: false,
        came_later: true,
        doc: "Makespan that the network model predicts for the measured placement and order; empty if simulated.",
    },
    ColumnInfo {
        name: Cow::Borrowed("prediction_error_"),
        title: Cow::Borrowed("error of "),
        type_name: Option::<f64>::NAME,
        content: Content::Ratio,
        is_measured: false,
        came_later: true,
        doc: "Predicted / measured makespan − 1; empty if simulated.",
    },
];

impl Default for Predictions {
    fn default() -> Self {
        Self(vec![Prediction::default(); PREDICTING_MODELS.len()])
    }
}

impl Predictions {
    /// The predictions of all models, in their order, for a run that took `measured`.
    pub fn of(makespans: &[f64], measured: f64) -> Self {
        let error = |predicted: f64| (measured > 0.0).then(|| predicted / measured - 1.0);
        let one = |&predicted: &f64| Prediction { makespan: Some(predicted), error: error(predicted) };
        let mut all = Self::default();
        all.0.iter_mut().zip(makespans).for_each(|(slot, predicted)| *slot = one(predicted));
        all
    }

    /// What a model predicted; `None` if there is no such model.
    pub fn get(&self, model: &str) -> Option<Prediction> {
        self.iter().find(|(name, _)| *name == model).map(|(_, prediction)| prediction)
    }

    /// Each model's name, with its prediction.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Prediction)> + '_ {
        PREDICTING_MODELS.iter().map(|model| model.name()).zip(self.0.iter().copied())
    }

    /// The names of the columns, in order.
    pub fn columns() -> Vec<String> {
        Self::about().map(|column| column.name.into_owned()).collect()
    }

    /// The columns of all models, in order.
    pub(super) fn about() -> impl Iterator<Item = ColumnInfo> {
        PREDICTING_MODELS.iter().flat_map(|model| Self::columns_of(model.name()))
    }

    /// The columns of a model.
    pub fn columns_of(model: &str) -> [ColumnInfo; 2] {
        COLUMNS.map(|column| ColumnInfo {
            name: format!("{}{model}", column.name).into(),
            title: format!("{}{model}", column.title).into(),
            ..column
        })
    }

    /// The values, in the order of [`Predictions::columns`].
    fn values(&self) -> impl Iterator<Item = Option<f64>> + '_ {
        self.0.iter().flat_map(|prediction| [prediction.makespan, prediction.error])
    }

    fn set(&mut self, column: usize, value: Option<f64>) {
        let prediction = &mut self.0[column / 2];
        *if column.is_multiple_of(2) { &mut prediction.makespan } else { &mut prediction.error } = value;
    }

    /// The columns of some rows.
    pub(super) fn to_columns<'a>(rows: impl Iterator<Item = &'a Self> + Clone) -> Vec<Column> {
        let column = |(index, name): (usize, String)| {
            let values = rows.clone().map(|predictions| predictions.values().nth(index).flatten());
            ColumnValue::column(&name, values.collect::<Vec<Option<f64>>>())
        };
        Self::columns().into_iter().enumerate().map(column).collect()
    }

    /// The predictions in a data frame. Columns that are missing are empty: the model, or all of them, came later.
    ///
    /// # Errors
    /// If a column is of another type.
    pub(super) fn from_frame(frame: &DataFrame) -> PolarsResult<Vec<Self>> {
        let mut rows = vec![Self::default(); frame.height()];
        for (index, name) in Self::columns().into_iter().enumerate() {
            let Ok(column) = frame.column(&name) else { continue };
            for (row, value) in rows.iter_mut().zip(<Option<f64> as ColumnValue>::values(column)?) {
                row.set(index, value);
            }
        }
        Ok(rows)
    }
}

impl Serialize for Predictions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let columns = Self::columns();
        let mut map = serializer.serialize_map(Some(columns.len()))?;
        for (name, value) in columns.iter().zip(self.values()) {
            map.serialize_entry(name, &value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Predictions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Columns;

        impl<'de> Visitor<'de> for Columns {
            type Value = Predictions;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the columns of a row")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Predictions, A::Error> {
                let (columns, mut predictions) = (Predictions::columns(), Predictions::default());
                while let Some(name) = map.next_key::<String>()? {
                    match columns.iter().position(|column| *column == name) {
                        Some(index) => predictions.set(index, map.next_value::<Cell>()?.0),
                        None => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(predictions)
            }
        }

        deserializer.deserialize_map(Columns)
    }
}

/// A number or nothing: a CSV file writes nothing as an empty text.
struct Cell(Option<f64>);

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Found {
            Number(f64),
            Nothing(()),
            Text(String),
        }

        match Found::deserialize(deserializer)? {
            Found::Number(number) => Ok(Self(Some(number))),
            Found::Nothing(()) => Ok(Self(None)),
            Found::Text(text) if text.is_empty() => Ok(Self(None)),
            Found::Text(text) => text
                .parse()
                .map(|number| Self(Some(number)))
                .map_err(|_| serde::de::Error::custom(format!("invalid number '{text}' in a column of predictions"))),
        }
    }
}
