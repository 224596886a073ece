//! Bars on a logarithmic scale, as SVG.

use std::fmt::Write;

/// A ratio with its name.
pub(crate) type Bar = (String, f64);

const ROW: usize = 18;
const LEFT: f64 = 150.0;
const WIDTH: f64 = 460.0;

/// Bars of ratios, longer than the line in the middle where ours is faster; the scale reaches from the first limit to the second.
pub(crate) fn bars(title: &str, bars: &[Bar], (from, to): (f64, f64)) -> String {
    let at = |value: f64| LEFT + WIDTH * (value.clamp(from, to) / from).ln() / (to / from).ln();
    let height = ROW * (bars.len() + 3);
    let mut svg = String::new();
    let mut line = |text: std::fmt::Arguments<'_>| writeln!(svg, "{text}").expect("a string takes all");
    line(format_args!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 {height}" font-family="sans-serif" font-size="12">"#
    ));
    line(format_args!(
        r##"<rect width="680" height="{height}" fill="#fff"/><text x="8" y="16" font-weight="bold">{title}</text>"##
    ));
    let mut tick = 10_f64.powf(from.log10().ceil());
    while tick <= to {
        let (x, stroke) = (at(tick), if tick == 1.0 { "#333" } else { "#ccc" });
        line(format_args!(r##"<line x1="{x:.1}" x2="{x:.1}" y1="24" y2="{}" stroke="{stroke}"/>"##, height - 20));
        line(format_args!(r#"<text x="{x:.1}" y="{}" text-anchor="middle">{tick}</text>"#, height - 6));
        tick *= 10.0;
    }
    for (number, (name, value)) in bars.iter().enumerate() {
        let top = 30 + ROW * number;
        let (start, end) = (at(1.0).min(at(*value)), at(1.0).max(at(*value)));
        let color = if *value >= 1.0 { "#2a7" } else { "#c63" };
        line(format_args!(r#"<text x="{}" y="{}" text-anchor="end">{name}</text>"#, LEFT - 6.0, top + 11));
        line(format_args!(
            r#"<rect x="{start:.1}" y="{top}" width="{:.1}" height="13" fill="{color}"/>"#,
            (end - start).max(1.0)
        ));
        line(format_args!(r#"<text x="{}" y="{}">{value:.2}</text>"#, LEFT + WIDTH + 10.0, top + 11));
    }
    svg + "</svg>\n"
}
