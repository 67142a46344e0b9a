//! Patterns in a wrong result: where its wrong elements are, or how they depend on the expected ones.
//!
//! Each pattern is certain: it holds for all elements of the result, so that it is a fact and no guess.

use std::collections::BTreeSet;

/// A result that differs from the expected one.
#[derive(Clone, Copy)]
pub struct Compared<'r> {
    /// Its shape; rows are those of the last dimension.
    pub shape: &'r [usize],
    /// The expected numbers, row by row.
    pub expected: &'r [f64],
    /// The found ones.
    pub found: &'r [f64],
    /// Whether a found number is the expected one, up to rounding: the first argument is the found one.
    pub is_close: &'r dyn Fn(f64, f64) -> bool,
}

/// Elements that decide about a factor or a difference, at least.
const FEWEST: usize = 3;

/// A result whose largest number is smaller says nothing about a factor: all small numbers are close to each other.
const SMALL: f64 = 1e-2;

impl Compared<'_> {
    /// Describes the pattern of the wrong elements, if it is one of those known and more than one element is wrong.
    pub fn pattern(self) -> Option<String> {
        if self.found.len() != self.expected.len() || self.columns() == 0 {
            return None;
        }
        let wrong: Vec<usize> = (0..self.found.len())
            .filter(|&i| !self.is_expected(i, self.expected[i]))
            .collect();
        if wrong.len() < 2 {
            return None;
        }
        self.of_values().or_else(|| self.of_places(&wrong))
    }

    fn columns(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    fn rows(&self) -> usize {
        self.found.len() / self.columns()
    }

    /// The columns of a single row are its elements.
    fn name_of_columns(&self) -> &'static str {
        if self.rows() == 1 {
            "element"
        } else {
            "column"
        }
    }

    fn is_expected(&self, i: usize, expected: f64) -> bool {
        (self.is_close)(self.found[i], expected)
    }

    /// Whether each found number is the one that `of` makes of its index.
    fn all(&self, of: impl Fn(usize) -> f64) -> bool {
        (0..self.found.len()).all(|i| self.is_expected(i, of(i)))
    }

    fn of_values(&self) -> Option<String> {
        self.scaled()
            .or_else(|| self.transposed())
            .or_else(|| self.shifted())
            .or_else(|| self.scaled_by_row())
            .or_else(|| self.added())
    }

    /// Found over expected at the largest expected number of `range`.
    fn factor(&self, range: std::ops::Range<usize>) -> Option<f64> {
        let size = |i: &usize| self.expected[*i].abs();
        let most = range.max_by(|a, b| size(a).total_cmp(&size(b)))?;
        let factor = self.found[most] / self.expected[most];
        (size(&most) > SMALL && factor.is_finite()).then_some(factor)
    }

    fn scaled(&self) -> Option<String> {
        let factor = self.factor(0..self.found.len())?;
        let is_it = self.found.len() >= FEWEST && self.all(|i| factor * self.expected[i]);
        is_it.then(|| match number(factor) {
            factor if factor == "0" => "every value is 0".to_owned(),
            factor => format!("every value is {factor} times the expected"),
        })
    }

    /// Whether each matrix of the last two dimensions is stored column by column.
    fn transposed(&self) -> Option<String> {
        let [.., rows, columns] = *self.shape else {
            return None;
        };
        if rows < 2 || columns < 2 {
            return None;
        }
        // Element (i, j) of a matrix is found where the transposed one, columns × rows, has it.
        let of = |at: usize| {
            let (matrix, at) = (at / (rows * columns), at % (rows * columns));
            let (j, i) = (at / rows, at % rows);
            self.expected[matrix * rows * columns + i * columns + j]
        };
        self.all(of).then(|| {
            let (i, j) = (1.min(columns - 1), 0);
            if rows == columns {
                format!("the result is transposed: [{i}, {j}] has the value expected at [{j}, {i}]")
            } else {
                "the result is transposed: it has the expected values column by column".to_owned()
            }
        })
    }

    /// Whether all rows or columns, but those at the edge, are those next to them.
    fn shifted(&self) -> Option<String> {
        let (rows, columns) = (self.rows(), self.columns());
        let is_shifted = |of: &dyn Fn(usize, usize) -> Option<(usize, usize)>| {
            let is_it = |i: usize| match of(i / columns, i % columns) {
                Some((row, column)) => self.is_expected(i, self.expected[row * columns + column]),
                None => true,
            };
            (0..self.found.len()).all(is_it)
        };
        let line = |what: &str, which: &str| {
            Some(format!(
                "every {what} has the values expected in the {which} {what}"
            ))
        };
        if rows >= FEWEST {
            if is_shifted(&|r, c| (r + 1 < rows).then_some((r + 1, c))) {
                return line("row", "next");
            }
            if is_shifted(&|r, c| Some((r.checked_sub(1)?, c))) {
                return line("row", "previous");
            }
        }
        if columns >= FEWEST {
            if is_shifted(&|r, c| (c + 1 < columns).then_some((r, c + 1))) {
                return line(self.name_of_columns(), "next");
            }
            if is_shifted(&|r, c| Some((r, c.checked_sub(1)?))) {
                return line(self.name_of_columns(), "previous");
            }
        }
        None
    }

    /// Whether each row is the expected one times a factor, as with a wrong statistic of rows.
    fn scaled_by_row(&self) -> Option<String> {
        let (rows, columns) = (self.rows(), self.columns());
        if rows < 2 || columns < FEWEST {
            return None;
        }
        let factors: Option<Vec<f64>> = (0..rows)
            .map(|row| self.factor(row * columns..(row + 1) * columns))
            .collect();
        let factors = factors?;
        self.all(|i| factors[i / columns] * self.expected[i])
            .then(|| {
                let min = factors.iter().copied().fold(f64::INFINITY, f64::min);
                let max = factors.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let (min, max) = (number(min), number(max));
                format!("each row is the expected one times a factor of its own ({min} to {max})")
            })
    }

    /// Whether all rows differ from the expected ones by the same numbers, as without a bias.
    fn added(&self) -> Option<String> {
        let columns = self.columns();
        if self.rows() < FEWEST {
            return None;
        }
        let added: Vec<f64> = (0..columns)
            .map(|j| self.found[j] - self.expected[j])
            .collect();
        self.all(|i| self.expected[i] + added[i % columns])
            .then(|| "every row differs by the same numbers, as of a bias".to_owned())
    }

    /// The rows and columns that have wrong elements, if they are not all.
    fn of_places(&self, wrong: &[usize]) -> Option<String> {
        let (rows, columns) = (self.rows(), self.columns());
        let of_rows: BTreeSet<usize> = wrong.iter().map(|i| i / columns).collect();
        let of_columns: BTreeSet<usize> = wrong.iter().map(|i| i % columns).collect();
        let parts = [
            places("row", &of_rows, rows),
            places(self.name_of_columns(), &of_columns, columns),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| format!("wrong in {} only", parts.join(" and in ")))
    }
}

/// Describes a set of rows below `count`, which are all that are wrong; `None` if they are all, or have no order.
fn places(name: &str, wrong: &BTreeSet<usize>, count: usize) -> Option<String> {
    let (first, last) = (*wrong.first()?, *wrong.last()?);
    let is_range = last - first + 1 == wrong.len();
    let is_all_of = |parity: usize| wrong.iter().copied().eq((parity..count).step_by(2));
    let end = last + 1 == count;
    if wrong.len() == count {
        None
    } else if wrong.len() == 1 {
        let which = match (first, end) {
            (0, _) => format!("the first {name}"),
            (_, true) => format!("the last {name}"),
            (n, false) => format!("{name} {n}"),
        };
        Some(which)
    } else if is_range && end {
        Some(format!("the {name}s from {first} on"))
    } else if is_range {
        Some(format!("the {name}s {first} to {last}"))
    } else if is_all_of(0) {
        Some(format!("the even {name}s"))
    } else if is_all_of(1) {
        Some(format!("the odd {name}s"))
    } else {
        None
    }
}

/// Formats a factor with four significant digits.
fn number(x: f64) -> String {
    if x.abs() < 1e-12 {
        return "0".to_owned();
    }
    let digits = (3 - x.abs().log10().floor() as i32).clamp(0, 12);
    let text = format!("{x:.0$}", digits as usize);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: usize = 6;
    const COLUMNS: usize = 5;

    /// Numbers without a pattern, some of them negative.
    fn expected(count: usize) -> Vec<f64> {
        (0..count)
            .map(|i| ((i * i * 7919 + 13 * i) % 101) as f64 / 50. - 1.)
            .collect()
    }

    fn pattern_of(shape: &[usize], expected: &[f64], found: &[f64]) -> Option<String> {
        let is_close = &|f: f64, e: f64| (f - e).abs() <= 1e-4 * e.abs().max(1.);
        let result = Compared {
            shape,
            expected,
            found,
            is_close,
        };
        result.pattern()
    }

    /// The pattern of a 6 × 5 result made of the expected one, a row and a column.
    fn of(change: impl Fn(&[f64], usize, usize) -> f64) -> String {
        let right = expected(ROWS * COLUMNS);
        let found: Vec<f64> = (0..right.len())
            .map(|i| change(&right, i / COLUMNS, i % COLUMNS))
            .collect();
        pattern_of(&[ROWS, COLUMNS], &right, &found).unwrap_or_default()
    }

    fn at(x: &[f64], row: usize, column: usize) -> f64 {
        x[row * COLUMNS + column]
    }

    /// The expected value, or another where `wrong` holds: without any other pattern.
    fn wrong_where(wrong: impl Fn(usize, usize) -> bool) -> String {
        of(|x, r, c| {
            at(x, r, c)
                + if wrong(r, c) {
                    3. + (r * r + c) as f64
                } else {
                    0.
                }
        })
    }

    #[test]
    fn values_that_depend_on_the_expected_ones_are_described() {
        assert_eq!(
            of(|x, r, c| 2. * at(x, r, c)),
            "every value is 2 times the expected"
        );
        let half = of(|x, r, c| -0.5 * at(x, r, c));
        assert_eq!(half, "every value is -0.5 times the expected");
        assert_eq!(of(|_, _, _| 0.), "every value is 0");
        let next = of(|x, r, c| at(x, (r + 1) % ROWS, c));
        assert_eq!(next, "every row has the values expected in the next row");
        let previous = of(|x, r, c| at(x, r, c.saturating_sub(1)));
        let line = "every column has the values expected in the previous column";
        assert_eq!(previous, line);
        let by_row = of(|x, r, c| at(x, r, c) * (1.5 + r as f64 / 4.));
        let line = "each row is the expected one times a factor of its own (1.5 to 2.75)";
        assert_eq!(by_row, line);
        let bias = of(|x, r, c| at(x, r, c) + [1., -2., 0.5, 7., 0.][c]);
        assert_eq!(bias, "every row differs by the same numbers, as of a bias");
    }

    #[test]
    fn a_transposed_result_is_described() {
        let right = expected(12);
        let found: Vec<f64> = (0..12).map(|at| right[at % 3 * 4 + at / 3]).collect();
        let line = "the result is transposed: it has the expected values column by column";
        assert_eq!(pattern_of(&[3, 4], &right, &found).as_deref(), Some(line));
        let found: Vec<f64> = (0..9).map(|at| right[at % 3 * 3 + at / 3]).collect();
        let line = "the result is transposed: [1, 0] has the value expected at [0, 1]";
        assert_eq!(
            pattern_of(&[1, 3, 3], &right[..9], &found).as_deref(),
            Some(line)
        );
    }

    #[test]
    fn places_of_wrong_elements_are_described() {
        let line = |text: &str| format!("wrong in {text} only");
        assert_eq!(wrong_where(|r, _| r >= 4), line("the rows from 4 on"));
        assert_eq!(wrong_where(|r, _| r == 5), line("the last row"));
        assert_eq!(
            wrong_where(|r, _| (2..4).contains(&r)),
            line("the rows 2 to 3")
        );
        assert_eq!(wrong_where(|_, c| c == 4), line("the last column"));
        assert_eq!(wrong_where(|_, c| c == 0), line("the first column"));
        assert_eq!(wrong_where(|_, c| c == 2), line("column 2"));
        assert_eq!(wrong_where(|_, c| c % 2 == 1), line("the odd columns"));
        assert_eq!(wrong_where(|r, _| r % 2 == 0), line("the even rows"));
        let both = wrong_where(|r, c| r >= 4 && c == 4);
        assert_eq!(both, line("the rows from 4 on and in the last column"));
        let right = expected(8);
        let mut found = right.clone();
        found[6] += 1.;
        found[7] -= 2.;
        let flat = pattern_of(&[8], &right, &found);
        assert_eq!(flat, Some(line("the elements from 6 on")));
    }

    #[test]
    fn a_difference_without_a_pattern_is_not_described() {
        assert_eq!(of(at), "", "nothing is wrong");
        assert_eq!(wrong_where(|_, _| true), "");
        assert_eq!(
            wrong_where(|r, c| r == 1 && c == 3),
            "",
            "one element says nothing"
        );
        let scattered = |r: usize, c: usize| [(0, 0), (2, 3), (5, 1), (3, 4)].contains(&(r, c));
        assert_eq!(wrong_where(scattered), "");
        let nan = of(|_, _, _| f64::NAN);
        assert_eq!(nan, "");
        let right = expected(4);
        assert_eq!(pattern_of(&[4], &right, &right[..3]), None);
        assert_eq!(pattern_of(&[0], &[], &[]), None);
    }

    #[test]
    fn a_factor_has_four_digits() {
        let all = [
            (2., "2"),
            (0.123456, "0.1235"),
            (-1., "-1"),
            (12345.6, "12346"),
            (100., "100"),
        ];
        for (x, text) in all {
            assert_eq!(number(x), text);
        }
    }
}
