//! Comma-separated values.

use placebench_harness::results::CsvTexts;

use super::TextTable;

pub(super) fn write(table: &TextTable, texts: CsvTexts) -> String {
    let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
    for record in std::iter::once(&table.header).chain(&table.rows) {
        // Writing to memory cannot fail, and records of any length are allowed.
        let _ = writer.write_record(record.iter().map(|text| texts.cell(text).into_owned()));
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_whatever_the_names_hold() {
        let mut table = TextTable::new(["placer", "value"]);
        table.push(["fennel(gamma=1.5,load=\"x\")", "1.25"]);
        table.push(["two\nlines", ""]);
        table.push(["=cmd|' /C calc'!A0", "-1.5"]);
        let text = table.to_csv_with(CsvTexts::Raw);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
        let rows: Vec<Vec<String>> =
            reader.records().map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect();
        assert_eq!((header, &rows), (table.header.clone(), &table.rows));
        assert!(table.to_csv().ends_with("\n'=cmd|' /C calc'!A0,-1.5\n"), "{}", table.to_csv());
    }
}
