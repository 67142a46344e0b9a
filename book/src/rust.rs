//! The functions of a Rust source file and the places where they stand.

use std::ops::Range;

use anyhow::{Result, anyhow};
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    ImplItemFn, ItemFn, ItemImpl, ItemMod, ItemTrait, Signature, TraitItemFn, Type, Visibility,
};

/// A function of a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its own name.
    pub name: String,
    /// The type of its `impl`, or its trait, module or enclosing function; none for a free function of the file.
    pub owner: Option<String>,
    /// Whether it is `pub`, without a restriction such as `pub(crate)`.
    pub is_public: bool,
    /// Its line, from 1.
    pub line: usize,
    /// From the start of its signature's line to the closing brace, or the `;` of a function without a body.
    pub place: Range<usize>,
}

impl Function {
    /// `Type::name`, or the name of a free function.
    pub fn path(&self) -> String {
        match &self.owner {
            Some(owner) => format!("{owner}::{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// The functions of `text` in their order, but those that macros make.
///
/// # Errors
/// A text that is not Rust, with the line.
pub fn functions(text: &str) -> Result<Vec<Function>> {
    let file = syn::parse_file(text)
        .map_err(|error| anyhow!("line {}: {error}", error.span().start().line))?;
    let mut finder = Finder {
        text,
        owners: vec![],
        found: vec![],
    };
    finder.visit_file(&file);
    Ok(finder.found)
}

/// Walks through a file and notes its functions.
struct Finder<'t> {
    text: &'t str,
    /// Names of the enclosing items, the outermost first.
    owners: Vec<String>,
    found: Vec<Function>,
}

impl Finder<'_> {
    fn add(&mut self, visibility: &Visibility, signature: &Signature, end: Span) {
        let first = match visibility {
            Visibility::Inherited => signature.span(),
            _ => visibility.span(),
        };
        let start = first.byte_range().start;
        let line_start = self.text[..start].rfind('\n').map_or(0, |end| end + 1);
        let is_alone = self.text[line_start..start].trim().is_empty();
        self.found.push(Function {
            name: signature.ident.to_string(),
            owner: self.owners.last().cloned(),
            is_public: matches!(visibility, Visibility::Public(_)),
            line: first.start().line,
            place: if is_alone { line_start } else { start }..end.byte_range().end,
        });
    }

    fn inside(&mut self, owner: String, visit: impl FnOnce(&mut Self)) {
        self.owners.push(owner);
        visit(self);
        self.owners.pop();
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, f: &'ast ItemFn) {
        self.add(&f.vis, &f.sig, f.block.brace_token.span.close());
        self.inside(f.sig.ident.to_string(), |s| visit::visit_item_fn(s, f));
    }

    fn visit_impl_item_fn(&mut self, f: &'ast ImplItemFn) {
        self.add(&f.vis, &f.sig, f.block.brace_token.span.close());
        self.inside(f.sig.ident.to_string(), |s| visit::visit_impl_item_fn(s, f));
    }

    fn visit_trait_item_fn(&mut self, f: &'ast TraitItemFn) {
        let body = f.default.as_ref().map(|body| body.brace_token.span.close());
        let end = body.or(f.semi_token.as_ref().map(|semi| semi.span));
        self.add(&Visibility::Inherited, &f.sig, end.unwrap_or(f.sig.span()));
        self.inside(f.sig.ident.to_string(), |s| {
            visit::visit_trait_item_fn(s, f)
        });
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        self.inside(name_of(&item.self_ty), |s| visit::visit_item_impl(s, item));
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.inside(item.ident.to_string(), |s| visit::visit_item_trait(s, item));
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.inside(item.ident.to_string(), |s| visit::visit_item_mod(s, item));
    }
}

/// `Named` of `a::Named<T>`, `&Named` or `[Named]`.
fn name_of(ty: &Type) -> String {
    match ty {
        Type::Path(path) => path
            .path
            .segments
            .last()
            .map(|last| last.ident.to_string())
            .unwrap_or_default(),
        Type::Reference(reference) => name_of(&reference.elem),
        Type::Slice(slice) => name_of(&slice.elem),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        let found = functions(text).unwrap();
        found.iter().map(Function::path).collect()
    }

    #[test]
    fn owners_of_functions() {
        let text = "
            fn free() {}
            impl<'a, F: Fn(u8) -> Vec<u8>> fmt::Display for a::Named<'a, F> where F: for<'b> Fn(&'b u8) {
                fn method(&self) {}
            }
            impl Plain { pub const fn new() -> Self { fn inner() {} Self } }
            trait Shape: Sized { fn area(&self, n: [u8; 3]) -> f64; fn twice(&self) -> f64 { 2. * self.area([0; 3]) } }
            mod tests { fn free() {} }
            struct Entry { run: fn(&u8) -> u8 }
            fn taker(f: impl Fn(u8) -> u8) {}
            fn r#fn() {}
        ";
        let expected = [
            "free",
            "Named::method",
            "Plain::new",
            "new::inner",
            "Shape::area",
            "Shape::twice",
            "tests::free",
            "taker",
            "r#fn",
        ];
        assert_eq!(paths(text), expected);
    }

    /// Each body is followed by the mark that no function may swallow.
    #[test]
    fn braces_that_are_no_code() {
        for body in [
            r#" let a = "}"; let b = "\"}"; "#,
            r##" let a = r"\"; let b = r#"}" {"#; let c = b"}"; let d = br"}"; "##,
            r" let a = '}'; let b = '\''; let c = b'{'; let d = '\u{7d}'; let e = '\\'; ",
            " // a }\n /* { /* } */ { */ ",
            " fn g<'a>(x: &'a str) -> &'a str { x } 'outer: loop { break 'outer } ",
            " if x { match y { Some(z) => { z } None => Point { x: 1 } } } ",
            " let a = ('a', '\"', \"'\"); let _: &'static str = \"{\"; ",
            r#" println!("{{{}}} it's {x:?}", 'x'); "#,
        ] {
            let text = format!("fn f<'a>(x: &'a [u8; 2]) {{{body}}}\n// END\nfn last() {{}}\n");
            let found = functions(&text).unwrap();
            let place = found[0].place.clone();
            assert_eq!(&text[place.end..place.end + 8], "\n// END\n", "{body}");
            assert_eq!(found.last().unwrap().path(), "last", "{body}");
        }
    }

    #[test]
    fn where_a_function_stands() {
        let text = "mod a;\n\n    pub(in crate::a) const unsafe fn f() {}\ntrait A { fn g(); }\n";
        let found = functions(text).unwrap();
        assert_eq!(
            &text[found[0].place.clone()],
            "    pub(in crate::a) const unsafe fn f() {}"
        );
        assert_eq!((found[0].line, found[0].is_public), (3, false));
        assert_eq!(&text[found[1].place.clone()], "fn g();");
        assert!(functions("pub fn f() {}").unwrap()[0].is_public);
    }

    #[test]
    fn a_text_that_is_not_rust() {
        for (text, line) in [("fn f() {\n}\n}", 3), ("fn f() {\n fn\n}", 3)] {
            let error = functions(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("line {line}: ")), "{error}");
        }
    }

    /// Functions of the crates that the chapters show: each file can be read.
    #[test]
    fn sources_of_the_crates() {
        let repository = crate::root().join("..");
        let mut folders: Vec<_> = [
            "models",
            "levels",
            "kernels",
            "crates/trace",
            "crates/replay",
        ]
        .map(|folder| repository.join(folder))
        .into();
        let mut read = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|e| e == "rs") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let found = functions(&text).unwrap_or_else(|e| panic!("{path:?}: {e}"));
                    let written = text.lines().filter(|line| line.starts_with("pub fn "));
                    let public = found.iter().filter(|f| f.is_public && f.owner.is_none());
                    assert!(written.count() <= public.count(), "{path:?}");
                    read += 1;
                }
            }
        }
        assert!(read > 100, "{read}");
    }
}
