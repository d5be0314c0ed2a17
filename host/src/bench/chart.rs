//! The table as a chart: a bar for each system and operation, on a logarithmic scale.

use std::fmt::Write;

use super::table::{Figure, Table, grouped};

const LABELS: f64 = 280.0;
const BARS: f64 = 520.0;
const ROW: f64 = 34.0;
const BAR: f64 = 13.0;
const TOP: f64 = 50.0;
/// The scale starts at ten instructions.
const START: f64 = 1.0;

/// Draws the table as SVG.
pub fn svg(table: &Table) -> String {
    let most = table.rows.iter().flat_map(|row| [&row.nacre, &row.linux]).flatten().map(|figure| figure.instructions).max();
    let decades = (most.unwrap_or(10).max(10) as f64).log10().ceil() - START;
    let height = TOP + ROW * table.rows.len() as f64 + 20.0;
    let width = LABELS + BARS + 110.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"10\" y=\"20\" font-size=\"15\">Guest instructions an operation: <tspan fill=\"#0a7d74\">Nacre</tspan> and <tspan fill=\"#999\">Linux</tspan></text>\n"
    );
    draw_scale(&mut text, decades, height);
    for (index, row) in table.rows.iter().enumerate() {
        let y = TOP + ROW * index as f64;
        let name = escaped(&row.name);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{name}</text>", LABELS - 8.0, y + 18.0);
        draw_bar(&mut text, &row.nacre, y + 2.0, decades, "#0a7d74");
        draw_bar(&mut text, &row.linux, y + 2.0 + BAR, decades, "#bbb");
    }
    text.push_str("</svg>\n");
    text
}

fn draw_scale(text: &mut String, decades: f64, height: f64) {
    for decade in 0..=decades.max(1.0) as u32 {
        let x = LABELS + BARS * f64::from(decade) / decades.max(1.0);
        let label = grouped(10u64.pow(decade + START as u32));
        let _ = writeln!(text, "<line x1=\"{x}\" y1=\"{TOP}\" x2=\"{x}\" y2=\"{}\" stroke=\"#ddd\"/>", height - 15.0);
        let _ = writeln!(text, "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\" fill=\"#777\">{label}</text>", TOP - 8.0);
    }
}

fn draw_bar(text: &mut String, figure: &Option<Figure>, y: f64, decades: f64, colour: &str) {
    let Some(figure) = figure else { return };
    let length = BARS * ((figure.instructions.max(1) as f64).log10() - START).max(0.02) / decades.max(1.0);
    let number = grouped(figure.instructions);
    let _ = writeln!(text, "<rect x=\"{LABELS}\" y=\"{y}\" width=\"{length:.1}\" height=\"{}\" fill=\"{colour}\"/>", BAR - 1.0);
    let _ = writeln!(text, "<text x=\"{:.1}\" y=\"{}\" font-size=\"10\">{number}</text>", LABELS + length + 4.0, y + 10.0);
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::table::Figures;

    #[test]
    fn every_figure_has_a_bar() {
        let nacre = Figures::parse("measure a<b 60 1\nmeasure zero 0 0\n");
        let linux = Figures::parse("measure a<b 338 1\n");
        let drawing = svg(&Table::join(&nacre, &linux));
        assert_eq!(drawing.matches("<rect x=").count(), 3);
        assert!(drawing.contains("a&lt;b") && !drawing.contains("a<b") && !drawing.contains("NaN"));
    }

    #[test]
    fn an_empty_table_is_an_empty_chart() {
        assert!(svg(&Table::default()).ends_with("</svg>\n"));
    }
}
