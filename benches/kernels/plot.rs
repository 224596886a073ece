//! Plots on logarithmic scales, as SVG.

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

/// Points with a name, whose coordinates are above zero.
pub(crate) type Line = (String, Vec<(f64, f64)>);

/// Lines through points, on logarithmic scales that reach from the least to the greatest coordinate.
pub(crate) fn lines(title: &str, lines: &[Line]) -> String {
    const HEIGHT: f64 = 300.0;
    const TOP: f64 = 40.0;
    const COLORS: [&str; 3] = ["#2a7", "#27a", "#c63"];
    let points = || lines.iter().flat_map(|(_, points)| points);
    let limits = |of: fn(&(f64, f64)) -> f64| {
        let values = points().map(of);
        values.fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(value), most.max(value)))
    };
    let ((left, right), (least, most)) = (limits(|point| point.0), limits(|point| point.1));
    let x = |value: f64| LEFT + WIDTH * (value / left).ln() / (right / left).ln();
    let y = |value: f64| TOP + HEIGHT * (1.0 - (value / least).ln() / (most / least).ln());
    let mut svg = String::new();
    let mut line = |text: std::fmt::Arguments<'_>| writeln!(svg, "{text}").expect("a string takes all");
    line(format_args!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 780 380" font-family="sans-serif" font-size="12">"#
    ));
    line(format_args!(
        r##"<rect width="780" height="380" fill="#fff"/><text x="8" y="16" font-weight="bold">{title}</text>"##
    ));
    let powers = |from: f64, to: f64| {
        let first = from.log10().ceil() as i32;
        (first..=to.log10().floor() as i32).map(|power| 10_f64.powi(power))
    };
    for tick in powers(left, right) {
        let (x, bottom) = (x(tick), TOP + HEIGHT);
        line(format_args!(r##"<line x1="{x:.1}" x2="{x:.1}" y1="{TOP}" y2="{bottom}" stroke="#ccc"/>"##));
        line(format_args!(r#"<text x="{x:.1}" y="{}" text-anchor="middle">{tick}</text>"#, bottom + 18.0));
    }
    for tick in powers(least, most) {
        let (y, right) = (y(tick), LEFT + WIDTH);
        line(format_args!(r##"<line x1="{LEFT}" x2="{right}" y1="{y:.1}" y2="{y:.1}" stroke="#ccc"/>"##));
        line(format_args!(r#"<text x="{}" y="{:.1}" text-anchor="end">{tick}</text>"#, LEFT - 6.0, y + 4.0));
    }
    for ((name, points), color) in lines.iter().zip(COLORS) {
        let path: Vec<String> = points.iter().map(|point| format!("{:.1},{:.1}", x(point.0), y(point.1))).collect();
        line(format_args!(r#"<polyline points="{}" fill="none" stroke="{color}" stroke-width="2"/>"#, path.join(" ")));
        if let Some(last) = points.last() {
            let (x, y) = (LEFT + WIDTH + 8.0, y(last.1) + 4.0);
            line(format_args!(r#"<text x="{x}" y="{y:.1}" fill="{color}">{name}</text>"#));
        }
    }
    svg + "</svg>\n"
}
