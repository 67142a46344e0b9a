//! Line charts as small multiples in two columns, with one legend.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::Error;
use crate::line::{LineChart, Place};
use crate::save::Chart;
use crate::style::{Area, Drawn, Header, Key, WIDTH, Zoom};

/// Line charts with the same series.
#[derive(Debug, Clone)]
pub struct LinePanels {
    /// Title of the whole chart.
    pub title: String,
    /// Panels from left to right, row by row.
    pub panels: Vec<LineChart>,
}

/// Number of columns.
const COLUMNS: usize = 2;
/// Heights of a panel and of its title.
const PANEL: i32 = 260;
const TITLE: i32 = 26;

impl LinePanels {
    /// Names of the series in all panels, in the order of appearance.
    fn names(&self) -> Vec<&str> {
        let mut names = vec![];
        for name in self.panels.iter().flat_map(LineChart::names) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn header<'a>(&'a self, names: &'a [&'a str]) -> Header<'a> {
        Header::new(&self.title, names, WIDTH)
    }

    fn rows(&self) -> usize {
        self.panels.len().div_ceil(COLUMNS)
    }
}

impl Chart for LinePanels {
    fn title(&self) -> &str {
        &self.title
    }

    fn size(&self) -> (u32, u32) {
        let height = self.header(&self.names()).height() + self.rows() as i32 * PANEL;
        (WIDTH, height as u32)
    }

    fn check(&self) -> Result<(), Error> {
        let empty = || Err(Error::Empty(self.title.clone()));
        self.panels.first().map_or_else(empty, |_| Ok(()))?;
        self.panels.iter().try_for_each(LineChart::check)
    }

    fn draw<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom) -> Drawn<DB> {
        let names = self.names();
        let header = self.header(&names);
        header.draw(area, zoom, Key::Point)?;
        let (_, below) = area.split_vertically(zoom.px(header.height()));
        let style = zoom.text(15, HPos::Left, VPos::Top);
        let areas = below.split_evenly((self.rows(), COLUMNS));
        for (panel, part) in self.panels.iter().zip(areas) {
            part.draw_text(&panel.title, &style, (zoom.px(78), 0))?;
            let place = Place {
                page: area,
                area: part,
                top: TITLE,
                labels: (5, 6),
            };
            panel.plot(&place, zoom, &names)?;
        }
        Ok(())
    }
}
