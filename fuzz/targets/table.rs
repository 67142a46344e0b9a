#![no_main]

fuzz::target!("table");
