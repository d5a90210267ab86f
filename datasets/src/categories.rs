//! Compact storage for the text that ops carry: unique names, and the few distinct op types and layer labels.

use std::collections::HashMap;

/// One string for each op, all in one allocation: 4 bytes an op beside the text itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameTable {
    text: String,
    ends: Vec<u32>,
}

impl NameTable {
    /// Appends the next op's name.
    ///
    /// # Panics
    /// If all names together exceed 4 GiB.
    pub fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(u32::try_from(self.text.len()).expect("op names exceed 4 GiB"));
    }

    /// The name at `index`.
    pub fn get(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.text[start..self.ends[index] as usize]
    }

    /// Bytes that the table occupies.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.text.len() + self.ends.len() * 4
    }

    /// Bytes of all names together.
    pub(crate) fn text_len(&self) -> usize {
        self.text.len()
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

/// A label for each op out of a small set, or none: 4 bytes an op.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Categories {
    labels: Vec<String>,
    index: HashMap<String, u32>,
    /// Label number plus one; 0 is "no label".
    codes: Vec<u32>,
}

impl Categories {
    /// Appends the next op's label. Labels are numbered in the order in which they first appear.
    pub fn push(&mut self, label: Option<&str>) {
        let code = match label {
            None => 0,
            Some(label) => match self.index.get(label) {
                Some(&number) => number + 1,
                None => {
                    let number = self.labels.len() as u32;
                    self.labels.push(label.to_owned());
                    self.index.insert(label.to_owned(), number);
                    number + 1
                }
            },
        };
        self.codes.push(code);
    }

    /// The label at `index`.
    pub fn get(&self, index: usize) -> Option<&str> {
        self.number(index).map(|number| self.labels[number].as_str())
    }

    /// The number of the label at `index`: a position in [`Categories::labels`].
    pub fn number(&self, index: usize) -> Option<usize> {
        (self.codes[index] as usize).checked_sub(1)
    }

    /// The distinct labels, in the order in which they first appear.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Bytes that the entries and the distinct labels occupy.
    pub(crate) fn heap_bytes(&self) -> usize {
        // Each label is kept twice: in order, and as a key.
        let labels: usize = self.labels.iter().map(|label| 2 * (label.len() + size_of::<String>())).sum();
        labels + self.codes.len() * 4
    }

    /// How many ops have an entry, labelled or not.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }
}
