//! Names of the files with results.

/// Maximum bytes of a name, with room for an extension and a temporary name.
const LONGEST: usize = 100;

/// A name that a file can have everywhere, and no two students share: bytes of other characters become `%2E`, and a long
/// name ends with the number of the student.
pub fn file_name(student: &str, number: usize) -> String {
    let mut name = String::new();
    for c in student.chars() {
        let start = name.len();
        if c.is_alphanumeric() || "-_ ()".contains(c) {
            name.push(c);
        } else {
            let mut bytes = [0; 4];
            let bytes = c.encode_utf8(&mut bytes).bytes();
            bytes.for_each(|byte| name += &format!("%{byte:02X}"));
        }
        if name.len() > LONGEST {
            name.truncate(start);
            return format!("{name}~{number}");
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn no_two_students_share_a_file() {
        assert_eq!(file_name("Ada Lovelace (2)", 7), "Ada Lovelace (2)");
        assert_eq!(file_name("a_b", 0), "a_b");
        assert_eq!(file_name("a.b", 1), "a%2Eb");
        assert_eq!(file_name("a%2Eb", 2), "a%252Eb");
        assert_eq!(file_name("../x", 3), "%2E%2E%2Fx");
        let long = "a".repeat(253);
        assert_eq!(file_name(&long, 4), "a".repeat(100) + "~4");
        assert_ne!(file_name(&long, 4), file_name(&long, 5));
    }
}
