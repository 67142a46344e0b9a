fn main() {
    let mut n = 0;
    let mut bad = std::collections::BTreeMap::new();
    for f in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&f).unwrap();
        let t = std::time::Instant::now();
        let m = match simt::Module::parse(&text) {
            Ok(m) => m,
            Err(e) => {
                println!("{f}: {e}");
                continue;
            }
        };
        let p = t.elapsed();
        let names: Vec<String> = m.entries().map(String::from).collect();
        for e in &names {
            n += 1;
            if let Err(e) = m.kernel(e) {
                *bad.entry(e.to_string().split('`').nth(1).unwrap_or("").to_string() + " " + &f)
                    .or_insert(0) += 1;
            }
        }
        if t.elapsed().as_millis() > 200 {
            println!(
                "{f}: parse {p:?} all {:?} {} entries",
                t.elapsed(),
                names.len()
            );
        }
    }
    println!("{n} entries; {bad:?}");
}
