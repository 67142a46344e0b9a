//! Names of a kernel's parameters in CUDA C++, which a compiler to PTX replaces by numbers.

/// Maximum length of a name, and maximum number of names.
const LONGEST: usize = 64;
const MOST: usize = 100;

/// Names of the parameters of `entry`, from `__global__ void entry(const float *x, unsigned n)`; none where the text has no such
/// signature, or one with a longer name.
pub fn parameters<'t>(entry: &str, cuda: &'t str) -> Vec<&'t str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let signature = |(at, _): (usize, &str)| {
        let declaration = cuda[..at].rsplit([';', '}']).next()?;
        let is_word_before = declaration.ends_with(is_word);
        let rest = cuda[at + entry.len()..].trim_start().strip_prefix('(')?;
        let (inside, _) = rest.split_once(')')?;
        (declaration.contains("__global__") && !is_word_before).then_some(inside)
    };
    let Some(inside) = cuda.match_indices(entry).find_map(signature) else {
        return vec![];
    };
    let name = |parameter: &'t str| {
        let mut words = parameter.split(|c: char| !is_word(c));
        words.rfind(|word| !word.is_empty()).unwrap_or(parameter)
    };
    let names: Vec<&str> = inside.split(',').take(MOST).map(name).collect();
    let is_short = names.iter().all(|name| name.len() <= LONGEST);
    if is_short { names } else { vec![] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_the_names_of_the_signature() {
        let cuda = "// sum(a)\nvoid presum(int q);\nextern \"C\" __global__ void sum (const float *__restrict__ x,\n  float* y, unsigned n) {}";
        assert_eq!(parameters("sum", cuda), ["x", "y", "n"]);
        assert!(parameters("other", cuda).is_empty());
        let long = format!("__global__ void f(int {})", "a".repeat(65));
        assert!(parameters("f", &long).is_empty());
    }
}
