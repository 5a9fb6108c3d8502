//! A bar chart of mask times on a logarithmic axis, as SVG text.

use std::fmt::Write as _;

/// An engine's mask times in µs: average, median, 99th percentile.
pub struct Bars {
    pub engine: String,
    pub times: [f64; 3],
}

impl Bars {
    /// From all mask times of an engine, in µs. None without any.
    pub fn new(engine: &str, mut times: Vec<f64>) -> Option<Self> {
        times.sort_unstable_by(f64::total_cmp);
        let at = |p: usize| times.get((times.len() * p / 100).min(times.len() - 1)).copied();
        let average = times.iter().sum::<f64>() / times.len() as f64;
        (!times.is_empty()).then(|| ())?;
        Some(Self { engine: engine.to_owned(), times: [average, at(50)?, at(99)?] })
    }
}

const GROUPS: [&str; 3] = ["average", "median", "p99"];
/// The first engine's bars stand out.
const COLOURS: [&str; 4] = ["#1f7a4d", "#b9bec5", "#8f97a1", "#d9dce0"];
const WIDTH: f64 = 720.0;
/// Left edge of the bars, after the names of the groups and engines.
const LEFT: f64 = 190.0;
/// Room for the figures after the longest bar.
const RIGHT: f64 = 90.0;
const BAR: f64 = 18.0;

/// The chart; its axis begins at a power of ten below all times.
pub fn svg(title: &str, note: &str, engines: &[Bars]) -> String {
    let all = || engines.iter().flat_map(|bars| bars.times);
    let low = all().fold(f64::INFINITY, f64::min).log10().floor();
    let high = all().fold(0.0, f64::max).log10().ceil();
    let x = |us: f64| LEFT + (us.log10() - low) / (high - low) * (WIDTH - LEFT - RIGHT);
    let group = engines.len() as f64 * (BAR + 3.0) + 16.0;
    let height = 64.0 + group * GROUPS.len() as f64 + 40.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"16\" y=\"28\" font-size=\"16\" font-weight=\"bold\" fill=\"#1c1f23\">{title}</text>\n"
    );
    let bottom = 48.0 + group * GROUPS.len() as f64;
    for power in low as i32..=high as i32 {
        let at = x(10f64.powi(power));
        let label = match power {
            ..3 => format!("{} µs", 10f64.powi(power)),
            3..6 => format!("{} ms", 10f64.powi(power - 3)),
            _ => format!("{} s", 10f64.powi(power - 6)),
        };
        let _ = writeln!(
            out,
            "<line x1=\"{at:.1}\" y1=\"44\" x2=\"{at:.1}\" y2=\"{bottom}\" stroke=\"#e6e8eb\"/>\
             <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\" font-size=\"11\" \
             fill=\"#6b7178\">{label}</text>",
            bottom + 16.0
        );
    }
    for (g, name) in GROUPS.iter().enumerate() {
        let top = 52.0 + group * g as f64;
        let _ = writeln!(
            out,
            "<text x=\"16\" y=\"{}\" font-weight=\"bold\" fill=\"#1c1f23\">{name}</text>",
            top + BAR - 4.0
        );
        for (e, bars) in engines.iter().enumerate() {
            let (y, us) = (top + (BAR + 3.0) * e as f64, bars.times[g]);
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#3b4046\">{}</text>\
                 <rect x=\"{LEFT}\" y=\"{y}\" width=\"{:.1}\" height=\"{BAR}\" rx=\"2\" fill=\"{}\"/>\
                 <text x=\"{:.1}\" y=\"{}\" fill=\"#3b4046\">{}</text>",
                LEFT - 8.0,
                y + BAR - 4.0,
                bars.engine,
                x(us) - LEFT,
                COLOURS[e % COLOURS.len()],
                x(us) + 6.0,
                y + BAR - 4.0,
                time(us)
            );
        }
    }
    let _ = writeln!(
        out,
        "<text x=\"16\" y=\"{}\" font-size=\"11\" fill=\"#6b7178\">{note}</text>\n</svg>",
        height - 10.0
    );
    out
}

/// A time with its unit, three digits.
fn time(us: f64) -> String {
    match us {
        ..10.0 => format!("{us:.2} µs"),
        ..100.0 => format!("{us:.1} µs"),
        ..1_000.0 => format!("{us:.0} µs"),
        _ => format!("{:.1} ms", us / 1e3),
    }
}
