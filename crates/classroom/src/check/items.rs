//! Refuses a region of a Rust exercise that would change the file outside of it.
//!
//! A region has to be a list of whole statements, or of whole items if it stands between items. It must not define a name
//! that the rest of the file uses. Statics are refused, too: they keep values between calls, which no check counts.

use std::io;
use std::iter::once;
use std::str::FromStr;
use std::thread;

use proc_macro2::{TokenStream, TokenTree};
use syn::parse::Parser;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, File, Item, ItemImpl, Stmt, Type, UseTree};

use super::Part;
use crate::source::{outside, regions};

/// A refusal of a region.
pub struct Refused {
    /// The part of the check that refuses it.
    pub by: Part,
    /// Line of the file, from 1.
    pub line: usize,
    /// The problem.
    pub what: String,
    /// Whether the file is Rust as far as `syn` reads it. If it is not, rustc's error says more.
    pub parses: bool,
}

/// Methods that compute an exponential or can replace one.
const EXPONENTIALS: [&str; 7] = ["exp", "exp2", "exp_m1", "powf", "sinh", "cosh", "tanh"];

/// Maximum count of [`too_deep`], and a stack that is large enough for it.
const DEEPEST: usize = 1000;
const STACK: usize = 256 << 20;

/// Returns the first region that is refused. `counted` is a function that the learner is given because the check counts
/// its calls.
///
/// # Errors
/// There is no thread.
pub fn refused(text: &str, counted: Option<&str>) -> io::Result<Option<Refused>> {
    thread::scope(|scope| {
        let parser = thread::Builder::new().stack_size(STACK);
        let parser = parser.spawn_scoped(scope, || parsed(text, counted))?;
        parser.join().map_err(|_| io::ErrorKind::Other.into())
    })
}

fn parsed(text: &str, counted: Option<&str>) -> Option<Refused> {
    let tokens = TokenStream::from_str(text).unwrap_or_default();
    if let Some((by, line, what)) = too_deep(tokens) {
        return Some(Refused {
            by,
            line,
            what,
            parses: true,
        });
    }
    let file = syn::parse_file(text);
    let parses = file.is_ok();
    let names = names_outside(text);
    let mut found = regions(text).into_iter().filter_map(|region| {
        let of_file = file
            .as_ref()
            .is_ok_and(|file| !is_in_item(file, region.line));
        let read = read(&region.lines.join("\n"), of_file, &names, counted);
        let (by, line, what) = read.err()?;
        let line = region.line + line.saturating_sub(1);
        Some(Refused {
            by,
            line,
            what,
            parses,
        })
    });
    found.next()
}

/// A refusal: the part of the check, the line within the region from 1, and the problem.
type Problem = (Part, usize, String);

fn outside_of(line: usize, what: impl Into<String>) -> Problem {
    (Part::Outside, line, what.into())
}

/// Counts the brackets around a token, and the tokens before it in its statement or element, because they may be nested
/// as in `&&x`.
fn too_deep(tokens: TokenStream) -> Option<Problem> {
    let mut streams = vec![(tokens, 0)];
    while let Some((tokens, around)) = streams.pop() {
        let (mut depth, mut angles) = (around, 0);
        for token in tokens {
            depth += 1;
            if depth > DEEPEST {
                let line = token.span().start().line;
                return Some((Part::Text, line, "nested too deeply".into()));
            }
            match token {
                TokenTree::Group(group) => streams.push((group.stream(), depth)),
                TokenTree::Punct(mark) => match mark.as_char() {
                    '<' => angles += 1,
                    ',' => depth = around + angles,
                    ';' => (depth, angles) = (around, 0),
                    _ => {}
                },
                _ => {}
            }
        }
    }
    None
}

fn read(text: &str, of_file: bool, names: &[String], counted: Option<&str>) -> Result<(), Problem> {
    let whole = "expected a region of whole statements that stays inside the block it begins in";
    let not_whole = |line: usize, why: String| outside_of(line, format!("{whole}, found: {why}"));
    let tokens = TokenStream::from_str(text).map_err(|e| {
        not_whole(
            e.span().start().line,
            "a bracket, a text or a comment that is closed elsewhere".into(),
        )
    })?;
    if let Some(problem) = too_deep(tokens.clone()) {
        return Err(problem);
    }
    let refused = refused_token(tokens.clone(), counted).or_else(|| {
        let tokens = flat(tokens.clone());
        two_lifetimes(&tokens).or_else(|| type_parameter(&tokens))
    });
    if let Some((line, what)) = refused {
        return Err((Part::Text, line, what));
    }
    let bad = |e: syn::Error| not_whole(e.span().start().line, e.to_string());
    let statements = if of_file {
        let file: File = syn::parse2(tokens).map_err(bad)?;
        file.items.into_iter().map(Stmt::Item).collect()
    } else {
        Block::parse_within.parse2(tokens).map_err(bad)?
    };
    let items = statements.iter().filter_map(|statement| match statement {
        Stmt::Item(item) => Some(item),
        _ => None,
    });
    let mut own = Own::default();
    for item in items {
        let line = item.span().start().line;
        for name in names_of(item) {
            if names.contains(&name) {
                let what = format!(
                    "expected a new name, found `{name}`, which has a meaning outside the region"
                );
                return Err(outside_of(line, what));
            }
        }
        if of_file && matches!(item, Item::Macro(_)) {
            return Err(outside_of(
                line,
                "expected no macro between items, found one",
            ));
        }
    }
    statements
        .iter()
        .for_each(|statement| own.visit_stmt(statement));
    own.foreign_impl().map_or(Ok(()), |line| {
        let what =
            "expected `impl` only for a type or of a trait that the region defines, found another";
        Err(outside_of(line, what))
    })
}

/// Whether a line is inside an item of the file, and not between two.
fn is_in_item(file: &File, line: usize) -> bool {
    let is_around = |item: &Item| {
        let span = item.span();
        (span.start().line + 1..=span.end().line).contains(&line)
    };
    file.items.iter().any(is_around)
}

/// Types and traits that a region defines, and what its `impl`s are about.
#[derive(Default)]
struct Own {
    defined: Vec<String>,
    /// Line, type and trait.
    impls: Vec<(usize, [Option<String>; 2])>,
}

impl Own {
    fn foreign_impl(&self) -> Option<usize> {
        let is_own = |name: &Option<String>| {
            name.as_ref()
                .is_some_and(|name| self.defined.contains(name))
        };
        let foreign = self
            .impls
            .iter()
            .find(|(_, about)| !about.iter().any(is_own));
        foreign.map(|(line, _)| *line)
    }
}

impl<'ast> Visit<'ast> for Own {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Struct(_) | Item::Enum(_) | Item::Union(_) | Item::Trait(_) => {
                self.defined.extend(names_of(item))
            }
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let named = |path: &syn::Path| path.get_ident().map(ToString::to_string);
        let of = match &*item.self_ty {
            // `Own<T>` is the region's, too.
            Type::Path(path) if path.path.segments.len() == 1 => {
                path.path.segments.first().map(|s| s.ident.to_string())
            }
            _ => None,
        };
        let of_trait = item.trait_.as_ref().and_then(|(_, path, _)| named(path));
        self.impls.push((item.span().start().line, [of, of_trait]));
        visit::visit_item_impl(self, item);
    }
}

/// Names that an item gives a meaning to.
fn names_of(item: &Item) -> Vec<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::ExternCrate(item) => item.rename.as_ref().map_or(&item.ident, |(_, name)| name),
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Use(item) => {
            let mut names = vec![];
            used(&item.tree, &mut names);
            return names;
        }
        _ => return vec![],
    };
    vec![plain(&ident.to_string())]
}

fn used(tree: &UseTree, names: &mut Vec<String>) {
    match tree {
        UseTree::Path(path) => used(&path.tree, names),
        UseTree::Name(name) => names.push(plain(&name.ident.to_string())),
        UseTree::Rename(name) => names.push(plain(&name.rename.to_string())),
        UseTree::Glob(_) => {}
        UseTree::Group(group) => group.items.iter().for_each(|tree| used(tree, names)),
    }
}

/// `r#name` means `name`.
fn plain(name: &str) -> String {
    name.trim_start_matches("r#").to_owned()
}

/// Names that the text outside the regions uses: not those of fields, parameters and methods.
fn names_outside(text: &str) -> Vec<String> {
    let lines: Vec<&str> = outside(text).into_iter().map(|(_, line)| line).collect();
    let tokens = flat(TokenStream::from_str(&lines.join("\n")).unwrap_or_default());
    let text = |at: Option<usize>| {
        at.and_then(|at| tokens.get(at))
            .map(|(text, _)| text.as_str())
    };
    let is_a_name = |at: &usize| {
        let before = at.checked_sub(1);
        let is_typed = text(Some(at + 1)) == Some(":") && text(Some(at + 2)) != Some(":");
        text(before) != Some(".") && !is_typed
    };
    (0..tokens.len())
        .filter(is_a_name)
        .map(|at| tokens[at].0.clone())
        .collect()
}

/// Tokens with their lines, also those between brackets. Literals are left out.
fn flat(tokens: TokenStream) -> Vec<(String, usize)> {
    let of_one = |token: TokenTree| match token {
        TokenTree::Group(group) => flat(group.stream()),
        TokenTree::Literal(_) => vec![],
        token => vec![(plain(&token.to_string()), token.span().start().line)],
    };
    tokens.into_iter().flat_map(of_one).collect()
}

/// The second named lifetime of a region, or the first of an `impl`, whose methods have that of `&self`, too. With two, a
/// function that has `&'a &'b T` as an argument, also by an alias or a trait, makes references live longer than what they
/// point to (issue 25860 of rustc). Then safe code writes any memory, and so the counts of a check.
fn two_lifetimes(tokens: &[(String, usize)]) -> Option<(usize, String)> {
    let text = |at: usize| tokens[at].0.as_str();
    let is_named = |at: &usize| {
        // Labels of loops stand elsewhere.
        let is_type = matches!(text(at - 2), "&" | "<" | "," | "+");
        text(at - 1) == "'" && is_type && !matches!(text(*at), "static" | "_")
    };
    let mut named = (2..tokens.len()).filter(is_named);
    let first = named.clone().next()?;
    let refused = |at: &usize| text(*at) != text(first) || *at > 2 && text(at - 3) == "impl";
    let at = named.find(refused)?;
    let what = "expected at most one named lifetime in a region and none of an `impl`, found";
    Some((tokens[at].1, format!("{what} `'{}`", text(at))))
}

/// A type parameter. With one, safe code has two ways to make a value another type's or live longer than what it points to:
/// `dyn` of a trait with another `impl` for all types (issue 57893 of rustc), and a closure that is `'static` although what it
/// returns is not (issue 84366).
fn type_parameter(tokens: &[(String, usize)]) -> Option<(usize, String)> {
    let text = |at: usize| tokens.get(at).map_or("", |(text, _)| text);
    let named = ["fn", "struct", "enum", "union", "trait", "type"];
    let begin = |at: &usize| {
        text(*at) == "<"
            && (text(at.wrapping_sub(1)) == "impl" || named.contains(&text(at.wrapping_sub(2))))
    };
    // Lifetimes with their bounds, and constants with a type of one word: the brackets of others are not among the tokens.
    let first_other = |begin: usize| {
        let mut at = begin + 1;
        loop {
            at += match text(at) {
                ">" => return None,
                "'" => 2,
                "," | ":" | "+" => 1,
                "const" if matches!(text(at + 4), "," | ">") => 4,
                _ => return Some(at.min(tokens.len() - 1)),
            };
        }
    };
    let at = (0..tokens.len()).filter(begin).find_map(first_other)?;
    let what = "expected no type parameter in a region, found";
    let found = format!("{what} `{}` (write the type itself)", text(at));
    Some((tokens[at].1, found))
}

/// A token that is refused wherever it stands, also in the arguments of a macro.
fn refused_token(tokens: TokenStream, counted: Option<&str>) -> Option<(usize, String)> {
    let tokens = flat(tokens);
    let before = once("").chain(tokens.iter().map(|(text, _)| text.as_str()));
    let mut refused = before.zip(&tokens).filter_map(|(before, (text, line))| {
        let what = match text.as_str() {
            "static" if before != "'" => "expected no `static`, which is kept between calls, found one (use `const` for a table)".into(),
            "thread_local" | "macro_rules" | "set_hook" | "take_hook" | "quantized" => format!("expected no `{text}`, found one"),
            name if [".", ":"].contains(&before) && EXPONENTIALS.contains(&name) => {
                let counted = counted?;
                format!("use the function `{counted}` that you are given, so that its calls are counted; found `{name}`")
            }
            "exercise" => {
                let counted = counted?;
                format!("use only the function `{counted}` that you are given, so that its calls are counted; found the crate `exercise`")
            }
            _ => return None,
        };
        Some((*line, what))
    });
    refused.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The starter's text outside is the same in all.
    fn found(region: &str) -> Option<(Part, usize)> {
        let text = format!(
            "pub struct Row {{ codes: Vec<f32> }}\npub fn f(scale: f32) -> Row {{\n// REGION: a\n{region}\n// END\n}}\n\
             pub fn g(row: &Row) -> Vec<f32> {{ vec![row.codes[0]; h()] }}\nfn h() -> usize {{ 1 }}\n"
        );
        refused(&text, Some("exp"))
            .unwrap()
            .map(|refused| (refused.by, refused.line))
    }

    #[test]
    fn a_region_stays_inside_its_block() {
        for (region, line) in [
            ("Row { codes: vec![] } }\nstruct Vec; fn i() {", 4),
            ("todo!() } /*", 4),
            ("let x = 1;\n}\nimpl Row {", 5),
            ("todo!()\n#[cfg(false)]", 5),
            ("let x =", 4),
            ("let x = 1;\nstruct Vec;", 5),
            ("use std::f32::consts::PI as Row;", 4),
            ("use std::{mem::{take as h}};", 4),
            ("fn r#h() -> usize { 2 }", 4),
            ("impl Row { fn new() {} }", 4),
            ("{ impl Drop for Row { fn drop(&mut self) {} } }", 4),
            ("type Other = Row; impl Other {}", 4),
        ] {
            let (by, at) = found(region).unwrap_or_else(|| panic!("{region}"));
            assert_eq!((by, at), (Part::Outside, line), "{region}");
        }
    }

    #[test]
    fn statics_and_uncounted_exponentials_are_refused() {
        for region in [
            "static KEPT: Mutex<f32> = Mutex::new(0.);",
            "{ let x = vec![{ static A: u8 = 1; A }]; }",
            "thread_local! { static A: u8 = 1 }",
            "macro_rules! vec { () => {} }",
            "std::panic::set_hook(todo!());",
            "use exercise::candle::quantized::*;",
            "let x = scale.exp();",
            "let x = f32::exp2(scale);",
            "vec![scale.r#powf(1.)]",
            "exercise::candle_nn::ops::silu(x)",
        ] {
            assert_eq!(found(region), Some((Part::Text, 4)), "{region}");
        }
    }

    #[test]
    fn lifetimes_that_rustc_confuses_are_refused() {
        for region in [
            "fn keep<'a, 'b, T>(_: &'a &'b (), x: &'b mut T) -> &'a mut T { x }",
            "type Both<'a, 'b> = &'a &'b ();",
            "vec![{ fn keep<'a, 'b, T>(_: &'a &'b (), x: &'b T) -> &'a T { x } }]",
            "let f: for<'a, 'b> fn(&'a &'b (), &'b f32) -> &'a f32 = |_, x| x;",
            "trait K<'b> {} impl<'b> K<'b> for &'b () { fn keep(&self, x: &'b mut u8) -> &mut u8 { x } }",
        ] {
            assert_eq!(found(region), Some((Part::Text, 4)), "{region}");
        }
        for region in [
            "fn larger<'a>(x: &'a [f32], y: &'a [f32]) -> &'a [f32] { x }",
            "fn first<'a>(x: &'a [f32], y: &[f32]) -> &'a f32 { &x[0] }",
            "'rows: for i in 0..2 { 'columns: loop { if i < 1 { break 'columns; } continue 'rows; } }",
            "let x: &'static [&'static str] = &[]; let c = ['a', 'b'];",
        ] {
            assert!(found(region).is_none(), "{region}");
        }
    }

    /// The first three compile: rustc 1.95 takes any value for one of any type, and lets a value live longer than its parts.
    #[test]
    fn type_parameters_that_rustc_confuses_are_refused() {
        for region in [
            "trait Out<U> { type O; } impl<T: ?Sized, U> Out<U> for T { type O = U; } fn to<T: ?Sized, U>(x: <T as Out<U>>::O) \
             -> U { x } fn other<T, U>(x: T) -> U { to::<dyn Out<U, O = T>, U>(x) }",
            "fn keep<I: Iterator + 'static>(_: &I, x: I::Item) -> Box<dyn Display> where I::Item: Display { Box::new(x) }",
            "fn keep<I: Iterator>(_: &'static I, x: I::Item) -> Box<dyn Display> where I::Item: Display { Box::new(x) }",
            "cfg_select! { _ => { fn other<'a, T>(x: &'a T) -> &'a T { x } } }",
            "struct Max<const N: bool = { 2 > 1 }, T = u8>(T);",
            "impl<#[cfg(true)] T> Max<T> {}",
            "fn cut<",
        ] {
            assert_eq!(found(region), Some((Part::Text, 4)), "{region}");
        }
    }

    #[test]
    fn a_text_that_is_nested_too_deeply_is_refused() {
        for (open, close) in [("(", ")"), ("&", ""), ("true && ", ""), ("Vec<u8, ", ">")] {
            let nested = |n| format!("let x =\n{}1{};", open.repeat(n), close.repeat(n));
            assert_eq!(found(&nested(20_000)), Some((Part::Text, 5)), "{open}");
            // The stack is large enough for less.
            let _ = found(&nested(DEEPEST / 4));
        }
        let table = "let x = [[1., 2.], [3., 4.]];\n".repeat(2000);
        assert!(found(&table).is_none());
    }

    #[test]
    fn a_region_may_define_what_it_needs() {
        for region in [
            "",
            "let x: &'static str = \"static } {\"; // }",
            "fn scale(x: f32) -> f32 { x } const N: usize = 2;\nRow { codes: vec![scale(1.); N] }",
            "use std::collections::*;\nuse std::f32::consts::PI;\nexp(PI)",
            "struct Max<const N: usize>([u8; N]); impl<const N: usize> Max<N> {} impl Clone for Max<2> { fn clone(&self) -> Self { todo!() } }",
            "fn first<'a, const N: usize>(x: &'a [Vec<f32>; N], all: impl Iterator<Item = f32>) -> &'a Vec<f32> { &x[0] }",
            "trait Twice { fn twice(self) -> Self; } impl Twice for f32 { fn twice(self) -> f32 { 2. * self } }",
        ] {
            assert!(found(region).is_none(), "{region}");
        }
    }

    #[test]
    fn items_stand_between_items() {
        let with = |region: &str| {
            format!("fn f() {{}}\n// REGION: a\n{region}\n// END\n/// Two.\nfn g() {{ drop(f) }}\n")
        };
        let refused = |text: &str| refused(text, None).unwrap();
        assert!(refused(&with("/// One.\nfn one() {}")).is_none());
        for region in [
            "fn drop() {}",
            "fn one() {}\n#[cfg(false)]",
            "m! {}",
            "use std::mem::take as g;",
        ] {
            assert!(refused(&with(region)).is_some(), "{region}");
        }
        // Where rustc says more.
        let unread = refused(&with("fn one( {}")).unwrap();
        assert!(!unread.parses);
    }
}
