//! A report as one HTML file, which needs nothing else.

use anyhow::Result;

use super::{Method, Reached, Report, drawn, text};

const STYLE: &str = include_str!("page.css");

pub fn page(report: &Report) -> Result<String> {
    let name = escaped(&report.level);
    let all = report.milestones.len();
    let tally = report.tally();
    let mut body = format!(
        "<h1>The level <code>{name}</code></h1>\n\
         <p>{}. {}</p>\n\
         <progress max=\"{all}\" value=\"{}\">{} of {all}</progress>\n",
        tally,
        replaced(report),
        tally.own + tally.starters,
        tally.own,
    );
    body += &whole(report)?;
    body += &methods(report)?;
    body += &milestones(report);
    body += &format!(
        "<h2>Machine</h2>\n<p class=\"soft\">{}; commit {}, {}</p>\n",
        escaped(&report.machine.to_string()),
        escaped(&report.machine.commit),
        escaped(&report.machine.date)
    );
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>The level {name}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    ))
}

/// `2 methods replaced: norm_qkv, attention.`
fn replaced(report: &Report) -> String {
    let names: Vec<String> = report
        .replaced()
        .map(|method| format!("<code>{}</code>", method.name))
        .collect();
    match names.len() {
        0 => "No method is replaced yet.".into(),
        1 => format!("One method is replaced: {}.", names[0]),
        n => format!("{n} methods are replaced: {}.", names.join(", ")),
    }
}

/// The section about whole models.
fn whole(report: &Report) -> Result<String> {
    let (names, lines) = text::whole(report);
    let head = [vec!["ms (speed-up)".into()], names].concat();
    let mut section = String::from("<h2>Whole models</h2>\n");
    section += &figure("narrow", "speed of whole models", &drawn::speed(report)?);
    section += &table(&head, &lines);
    for sentence in text::instead(report) {
        section += &format!("<p>{}</p>\n", escaped(&sentence));
    }
    section += "<p class=\"soft\">Medians of one forward pass of the trained models; speed-up over level 1. ~: a noisy time.</p>\n";
    Ok(section)
}

/// The section about methods, with the rooflines.
fn methods(report: &Report) -> Result<String> {
    let mut section = String::from("<h2>Your methods</h2>\n");
    let wrong = report.methods.iter().filter_map(|m| m.wrong.as_ref());
    for line in wrong {
        section += &format!("<p class=\"bad\">{}</p>\n", escaped(line));
    }
    let lines: Vec<Vec<String>> = report.replaced().map(text::cells).collect();
    if lines.is_empty() {
        section += "<p>All methods run level 1’s.</p>\n";
        return Ok(section);
    }
    section += &table(&text::METHODS.map(String::from), &lines);
    section += &format!(
        "<p class=\"soft\">{}</p>\n",
        escaped(text::LEGEND).replace('\n', "<br>")
    );
    match drawn::roofline(report)? {
        Some(svg) => section += &figure("narrow", "roofline of this machine", &svg),
        None => {
            section +=
                "<p>No roofline of this machine: no replaced method computes and was timed.</p>\n";
        }
    }
    let is_kernel = |method: &Method| method.counts.is_some_and(|counts| counts.launches > 0);
    match drawn::simulated(report)? {
        Some(svg) => section += &figure("broad", "roofline of a GPU", &svg),
        None if report.replaced().any(is_kernel) => {
            section +=
                "<p>No roofline of a GPU: the simulator counted no FLOPs in your kernels.</p>\n";
        }
        None => {}
    }
    Ok(section)
}

/// The section about milestones: a table of ticks, and what is left.
fn milestones(report: &Report) -> String {
    let mut kinds: Vec<&str> = vec![];
    for milestone in &report.milestones {
        if !kinds.contains(&&*milestone.kind) {
            kinds.push(&milestone.kind);
        }
    }
    let heads: String = kinds
        .iter()
        .map(|kind| format!("<th>{kind}</th>"))
        .collect();
    let mut section = format!(
        "<h2>Milestones</h2>\n<div class=\"wide\"><table>\n<tr><th>method</th>{heads}</tr>\n"
    );
    for method in &report.methods {
        let mark = |kind: &&str| {
            let of = |m: &&Reached| m.method == method.name && m.kind == *kind;
            let Some(found) = report.milestones.iter().find(of) else {
                return "<td></td>".to_owned();
            };
            let noise = text::mark(found.noisy);
            match found.passed {
                Some(true) => format!("<td class=\"mark reached\">✓{noise}</td>"),
                Some(false) => format!("<td class=\"mark missed\">–{noise}</td>"),
                None => "<td class=\"mark\">·</td>".to_owned(),
            }
        };
        let marks: String = kinds.iter().map(mark).collect();
        section += &format!("<tr><td>{}</td>{marks}</tr>\n", method.name);
    }
    section += "</table></div>\n<p class=\"soft\">✓ reached, – missed, · not measured or needs a GPU, ~ a noisy time</p>\n";
    let left: Vec<&Reached> = report
        .milestones
        .iter()
        .filter(|milestone| milestone.passed != Some(true) && !milestone.needs_gpu)
        .collect();
    if left.is_empty() {
        return section + "<p class=\"good\">All milestones are reached.</p>\n";
    }
    section += &format!("<h2>Left: {}</h2>\n", report.tally().to_do());
    let is_begun = |milestone: &&&Reached| {
        report
            .replaced()
            .any(|method| method.name == milestone.method)
    };
    let begun: Vec<&&Reached> = left.iter().filter(is_begun).collect();
    if !begun.is_empty() {
        section += "<p>Of the methods that you replaced:</p>\n<ul>\n";
        for milestone in begun {
            let line = match &*milestone.line {
                "" => String::new(),
                line => format!("<br><span class=\"soft\">{}</span>", escaped(line)),
            };
            section += &format!("<li>{}{line}</li>\n", escaped(&milestone.task));
        }
        section += "</ul>\n";
    }
    section += "<p>Of the others:</p>\n<ul>\n";
    for kind in kinds {
        let of_kind = left.iter().filter(|m| m.kind == kind && !is_begun(m));
        let methods: Vec<&str> = of_kind.map(|m| &*m.method).collect();
        if !methods.is_empty() {
            section += &format!("<li><b>{kind}</b>: {}</li>\n", methods.join(", "));
        }
    }
    section + "</ul>\n"
}

fn figure(class: &str, label: &str, svg: &str) -> String {
    format!(
        "<figure class=\"chart {class}\" role=\"img\" aria-label=\"{label}\">\n{svg}\n</figure>\n"
    )
}

fn table(head: &[String], lines: &[Vec<String>]) -> String {
    let cells = |tag: &str, cells: &[String]| -> String {
        let cell = |text: &String| format!("<{tag}>{}</{tag}>", escaped(text));
        cells.iter().map(cell).collect()
    };
    let mut table = format!(
        "<div class=\"wide\"><table>\n<tr>{}</tr>\n",
        cells("th", head)
    );
    for line in lines {
        table += &format!("<tr>{}</tr>\n", cells("td", line));
    }
    table + "</table></div>\n"
}

/// Text in HTML: it may come from a learner's code.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            c => out.push(c),
        }
    }
    out
}
