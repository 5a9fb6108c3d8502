//! Draws the loss and the accuracy over the steps.

use std::error::Error;
use std::fs;
use std::path::Path;

use plotters::prelude::*;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Steps that one point of the loss averages over.
const WINDOW: usize = 25;

/// Reads the folder's records and writes `loss.svg`.
pub fn draw(folder: &Path) -> Result<()> {
    let losses = columns(&fs::read_to_string(folder.join("loss.csv"))?, |row| {
        Some((row.first()?.parse().ok()?, row.get(1)?.parse().ok()?))
    });
    let smooth: Vec<(f64, f64)> = losses
        .chunks(WINDOW)
        .map(|points| {
            let mean = |of: fn(&(f64, f64)) -> f64| {
                points.iter().map(of).sum::<f64>() / points.len() as f64
            };
            (mean(|point| point.0), mean(|point| point.1))
        })
        .collect();
    let accuracies = fs::read_to_string(folder.join("accuracy.csv"))?;
    let last = losses.last().map_or(1.0, |point| point.0);
    let highest = smooth.iter().fold(1.0_f64, |high, point| high.max(point.1));

    let path = folder.join("loss.svg");
    let root = SVGBackend::new(&path, (800, 640)).into_drawing_area();
    root.fill(&WHITE)?;
    let (upper, lower) = root.split_vertically(320);
    let mut chart = ChartBuilder::on(&upper)
        .margin(10)
        .x_label_area_size(20)
        .y_label_area_size(40)
        .build_cartesian_2d(0.0..last, 0.0..highest)?;
    chart.configure_mesh().y_desc("loss of the answer").draw()?;
    chart.draw_series(LineSeries::new(smooth, &BLUE))?;
    let mut chart = ChartBuilder::on(&lower)
        .margin(10)
        .x_label_area_size(35)
        .y_label_area_size(40)
        .build_cartesian_2d(0.0..last, 0.0..1.0)?;
    chart.configure_mesh().y_desc("held-out values right").x_desc("step").draw()?;
    let courses = [
        ("copying", BLACK),
        ("unnamed", BLUE),
        ("named", RED),
        ("tools", GREEN),
        ("new tools", MAGENTA),
        ("missing", CYAN),
    ];
    for (course, color) in courses {
        let points = columns(&accuracies, |row| {
            if *row.get(1)? != course {
                return None;
            }
            Some((row.first()?.parse().ok()?, row.get(2)?.parse().ok()?))
        });
        chart
            .draw_series(LineSeries::new(points, &color))?
            .label(course)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 15, y)], color));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .border_style(BLACK)
        .background_style(WHITE)
        .draw()?;
    root.present()?;
    Ok(())
}

/// Points from the lines of a table.
fn columns(table: &str, point: impl Fn(&[&str]) -> Option<(f64, f64)>) -> Vec<(f64, f64)> {
    table.lines().filter_map(|line| point(&line.split(',').collect::<Vec<_>>())).collect()
}
